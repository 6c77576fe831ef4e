/*
 * server.c
 *	  SQL function that shows who computes the server's own CRC-32C.
 */
#include "compat.h"

#include "access/htup_details.h"
#include "utils/builtins.h"

#include "func/signature.h"
#include "server/accelerate.h"

static Datum
text_or_null(const char *string, bool *isnull)
{
	*isnull = string == NULL || string[0] == '\0';
	return *isnull ? (Datum) 0 : CStringGetTextDatum(string);
}

SQL_FUNCTION(accel_crc32c_server)
{
	TupleDesc	tupdesc;
	AccelerateStatus status;
	Datum		values[7];
	bool		nulls[7] = {0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	accelerate_get_status(&status);
	values[0] = BoolGetDatum(status.preloaded);
	values[1] = BoolGetDatum(status.swappable);
	values[2] = BoolGetDatum(status.accelerated);
	values[3] = text_or_null(status.server_kernel, &nulls[3]);
	values[4] = text_or_null(status.active_kernel, &nulls[4]);
	values[5] = text_or_null(status.self_test, &nulls[5]);
	values[6] = text_or_null(status.reason, &nulls[6]);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}
