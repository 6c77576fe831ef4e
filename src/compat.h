/*
 * compat.h
 *	  The only place that knows server versions (PG_VERSION_NUM).
 *
 * A wrapper here has the newest server's signature; callers never test the
 * version themselves.
 */
#ifndef ACCEL_COMPAT_H
#define ACCEL_COMPAT_H

#include "postgres.h"
#include "fmgr.h"
#include "funcapi.h"

#if PG_VERSION_NUM < 150000
#error "crc32c_accel needs PostgreSQL 15 or later"
#endif

/*
 * Defines an SQL-callable function.  LLVM must not import it into a JIT-ed
 * expression: the body refers to symbols that this library hides, and the JIT
 * resolves names through dlsym().  llvmjit's inliner leaves alone what is marked
 * noinline.
 */
#define SQL_FUNCTION(name) \
	PG_FUNCTION_INFO_V1(name); \
	pg_noinline Datum name(PG_FUNCTION_ARGS)

#endif							/* ACCEL_COMPAT_H */
