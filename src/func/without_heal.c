/*
 * without_heal.c
 *	  In place of the functions that write pages, in a library built by
 *	  WITHOUT=heal.
 */
#include "compat.h"

#include "func/func.h"

static void
refuse(const char *function)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not supported by this library", function),
			 errdetail("It was built without the functions that write pages (WITHOUT=heal).")));
}

SQL_FUNCTION(accel_heal_block)
{
	refuse("heal_block()");
	PG_RETURN_NULL();
}

SQL_FUNCTION(accel_restore_block)
{
	refuse("restore_block()");
	PG_RETURN_NULL();
}
