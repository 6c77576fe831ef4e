/*
 * argument.c
 *	  Errors of arguments, in the server's words.
 */
#include "postgres.h"

#include "fmgr.h"

#include "func/func.h"

void
accel_check_range(int sqlstate, const char *name, int64 value, int64 min,
				  int64 max)
{
	if (value < min || value > max)
		ereport(ERROR,
				(errcode(sqlstate),
				 errmsg(INT64_FORMAT " is outside the valid range for parameter \"%s\" ("
						INT64_FORMAT " .. " INT64_FORMAT ")",
						value, name, min, max)));
}

void
accel_check_null(FunctionCallInfo fcinfo, int argument, const char *name)
{
	if (PG_ARGISNULL(argument))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", name)));
}
