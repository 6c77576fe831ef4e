/*
 * signature.h
 *	  SQL-callable functions, whose callers are checked.
 */
#ifndef ACCEL_SIGNATURE_H
#define ACCEL_SIGNATURE_H

#include "compat.h"

#include "fmgr.h"
#include "utils/rel.h"

/*
 * Raises SQLSTATE 55000 unless the SQL function that is called has the
 * signature that the install script gives to the C function of this name.
 */
extern void signature_check(FunctionCallInfo fcinfo, const char *name);

/*
 * Does the same for each table of the extension in its schema.  It must have
 * the columns that the install script gives it, and no others.
 */
extern void signature_check_tables(Oid schema);

/* Does the same for one of them, which may have others after those. */
extern void signature_check_columns(Relation table);

/* Is it an error of these? */
extern bool signature_is_refused(const ErrorData *error);

/*
 * Defines an SQL-callable function.  Its first call by an FmgrInfo checks how
 * that calls it.  fn_extra, which no function here uses otherwise, says that
 * it did.
 *
 * LLVM must not import it into a JIT-ed expression.  The body refers to
 * symbols that this library hides, and the JIT resolves names through dlsym().
 * llvmjit's inliner leaves alone what is marked noinline.
 */
#define SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name); \
	static Datum name##_checked(PG_FUNCTION_ARGS); \
	pg_noinline Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		if (unlikely(fcinfo->flinfo == NULL || \
					 fcinfo->flinfo->fn_extra == NULL)) \
			signature_check(fcinfo, #name); \
		return name##_checked(fcinfo); \
	} \
	static Datum name##_checked(PG_FUNCTION_ARGS)

#endif							/* ACCEL_SIGNATURE_H */
