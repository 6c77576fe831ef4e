/*
 * signature.c
 *	  Library and SQL objects of one age, or an error.
 *
 * They are of different ages between the steps of an upgrade, and where the
 * library was preloaded or loaded before it.  A function may take its
 * arguments for what they are not, or return fewer columns than its row has.
 * Then it reads memory that is not its own.  So every call from SQL is
 * compared with the declaration that this library was built with.  That tells
 * what kind of routine it is, the types of its arguments, result and columns,
 * and whether it may be called with NULL.
 *
 * A table that has other columns is refused before a run writes to it, so that
 * no row is lost or put wrong.  An upgrade may alter a table while a run is at
 * work.  Then the rest of the run is kept from the table, but not from its
 * end.
 *
 * The declarations come from the install script, by signatures.awk.  Nothing
 * else of the catalog decides how a C function is called.  A C function whose
 * meaning changes while its signature stays needs another name.
 */
#include "compat.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "func/signature.h"

#define TYPES(...)		(const Oid[]) {__VA_ARGS__}
#define COLUMNS(...)	(const ColumnSignature[]) {__VA_ARGS__}

typedef struct FunctionSignature
{
	const char *name;			/* of the C function */
	char		kind;			/* PROKIND_... */
	bool		strict;
	bool		set;			/* of rows */
	Oid			result;
	const Oid  *arguments;		/* up to InvalidOid */
	const Oid  *columns;		/* likewise */
} FunctionSignature;

typedef struct ColumnSignature
{
	const char *name;
	Oid			type;
} ColumnSignature;

typedef struct TableSignature
{
	const char *name;
	const ColumnSignature *columns; /* up to NULL */
} TableSignature;

#include "func/signatures.auto.h"

/* Are the types of this direction those of the signature? */
static bool
types_match(const Oid *wanted, const Oid *types, const char *modes, int count,
			const char *direction)
{
	for (int i = 0; i < count; i++)
	{
		char		mode = modes == NULL ? PROARGMODE_IN : modes[i];

		if (strchr(direction, mode) != NULL && types[i] != *wanted++)
			return false;
	}
	return *wanted == InvalidOid;
}

/*
 * Returns the first part of the declaration that is another, or NULL if none
 * is.
 */
static const char *
difference(const FunctionSignature *wanted, const FmgrInfo *flinfo,
		   HeapTuple tuple)
{
	Form_pg_proc declared = (Form_pg_proc) GETSTRUCT(tuple);
	Oid		   *types;
	char	  **names;
	char	   *modes;
	int			count = get_func_arg_info(tuple, &types, &names, &modes);

	if (declared->prokind != wanted->kind)
		return "kind of routine";
	if (!types_match(wanted->arguments, types, modes, count, "ibv"))
		return "list of arguments";
	if (declared->prorettype != wanted->result ||
		flinfo->fn_retset != wanted->set ||
		!types_match(wanted->columns, types, modes, count, "obt"))
		return "result";
	if (flinfo->fn_strict != wanted->strict)
		return "strictness";
	return NULL;
}

static void
refuse(const char *what, const char *name, const char *part)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s %s does not fit the loaded library of crc32c_accel",
					what, name),
			 errdetail("The library, of version %s, expects another %s.",
					   SIGNATURES_VERSION, part),
			 errhint("Execute ALTER EXTENSION crc32c_accel UPDATE in this database. If the library is the older one, begin a new session; restart the server if shared_preload_libraries names it.")));
}

/*
 * Several SQL functions may share a C function.  What C calls directly is no
 * call from SQL.  fn_extra is not freed by anybody, so it may point to what
 * was not allocated.
 */
void
signature_check(FunctionCallInfo fcinfo, const char *name)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;
	const char *part = "name";
	HeapTuple	tuple;

	if (flinfo == NULL)
		return;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(flinfo->fn_oid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", flinfo->fn_oid);
	for (int i = 0; i < lengthof(function_signatures) && part != NULL; i++)
		if (strcmp(function_signatures[i].name, name) == 0)
			part = difference(&function_signatures[i], flinfo, tuple);
	ReleaseSysCache(tuple);
	if (part != NULL)
		refuse("function", format_procedure(flinfo->fn_oid), part);
	flinfo->fn_extra = (void *) function_signatures;
}

/* Passes over what was dropped, since an upgrade may drop columns. */
static bool
columns_match(const ColumnSignature *wanted, TupleDesc desc, bool whole)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (column->attisdropped)
			continue;
		if (wanted->name == NULL)
			return !whole;
		if (strcmp(NameStr(column->attname), wanted->name) != 0 ||
			column->atttypid != wanted->type)
			return false;
		wanted++;
	}
	return wanted->name == NULL;
}

static void
check_table(const TableSignature *wanted, Relation table, bool whole)
{
	if (!columns_match(wanted->columns, RelationGetDescr(table), whole))
		refuse("table", wanted->name, "list of columns");
}

/*
 * A table that is not there, or that somebody has locked, is left to those who
 * write it.
 */
void
signature_check_tables(Oid schema)
{
	for (int i = 0; i < lengthof(table_signatures); i++)
	{
		Oid			relid = get_relname_relid(table_signatures[i].name, schema);
		Relation	table;

		if (!OidIsValid(relid) ||
			!ConditionalLockRelationOid(relid, AccessShareLock))
			continue;
		table = relation_open(relid, NoLock);
		check_table(&table_signatures[i], table, true);
		relation_close(table, AccessShareLock);
	}
}

void
signature_check_columns(Relation table)
{
	for (int i = 0; i < lengthof(table_signatures); i++)
		if (strcmp(table_signatures[i].name, RelationGetRelationName(table)) == 0)
			check_table(&table_signatures[i], table, false);
}

bool
signature_is_refused(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
}
