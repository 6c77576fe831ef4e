/*
 * argument.c
 *	  Errors of arguments, in the server's words.
 */
#include "postgres.h"

#include "access/xlogdefs.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

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

bool
accel_boolean(FunctionCallInfo fcinfo, int argument, bool absent)
{
	return PG_ARGISNULL(argument) ? absent : PG_GETARG_BOOL(argument);
}

int
accel_integer(FunctionCallInfo fcinfo, int argument, int absent)
{
	return PG_ARGISNULL(argument) ? absent : PG_GETARG_INT32(argument);
}

char *
accel_text(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL :
		text_to_cstring(PG_GETARG_TEXT_PP(argument));
}

void
accel_check_lsns(XLogRecPtr start, XLogRecPtr end)
{
	if (start > end)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("WAL start LSN must not be greater than end LSN"),
				 errdetail("The start is %X/%X, the end %X/%X.",
						   LSN_FORMAT_ARGS(start), LSN_FORMAT_ARGS(end))));
}

/* Some 30,000 years.  A time so far away can still be computed. */
#define INTERVAL_LONGEST	1e18

int64
accel_interval(FunctionCallInfo fcinfo, int argument, const char *name,
			   int64 least)
{
	Interval   *interval;
	double		result;

	if (PG_ARGISNULL(argument))
		return 0;
	interval = PG_GETARG_INTERVAL_P(argument);
	result = interval->time +
		((double) interval->month * DAYS_PER_MONTH + interval->day) * USECS_PER_DAY;
	if (result < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 least > 0 ? errmsg("%s must be greater than zero", name) :
				 errmsg("%s must not be negative", name)));
	return (int64) Min(result, INTERVAL_LONGEST);
}
