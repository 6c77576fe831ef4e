/*
 * progress.c
 *	  The function of verify_progress, which shows running verifications.
 */
#include "compat.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "func/signature.h"
#include "page/progress.h"

#define PROGRESS_COLUMNS	15

static void emit_row(ReturnSetInfo *rsinfo, const ProgressRow *row);

SQL_FUNCTION(accel_internal_progress)
{
	ProgressRow row;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < progress_backends(); i++)
		if (progress_read(i, &row))
			emit_row((ReturnSetInfo *) fcinfo->resultinfo, &row);
	return (Datum) 0;
}

/* What a run does not know is NULL. */
static void
emit_row(ReturnSetInfo *rsinfo, const ProgressRow *row)
{
	Datum		values[PROGRESS_COLUMNS];
	bool		nulls[PROGRESS_COLUMNS] = {false};
	bool		relation = OidIsValid(row->relid);
	bool		database = row->relations_total > 0;
	double		seconds = (GetCurrentTimestamp() - row->started) / (double) USECS_PER_SEC;
	int64		done = Min(row->bytes_done, row->bytes_total);
	bool		backup = row->backup[0] != '\0';
	bool		rate = (database || backup) && done > 0 && seconds > 0;

	values[0] = Int32GetDatum(row->pid);
	values[1] = ObjectIdGetDatum(row->datid);
	values[2] = ObjectIdGetDatum(row->relid);
	values[3] = relation ? CStringGetTextDatum(forkNames[row->fork]) : (Datum) 0;
	values[4] = Int64GetDatum(row->blocks_total);
	values[5] = Int64GetDatum(row->blocks_done);
	values[6] = Int64GetDatum(row->findings);
	values[7] = TimestampTzGetDatum(row->started);
	values[8] = Int64GetDatum(row->relations_total);
	values[9] = Int64GetDatum(row->relations_done);
	values[10] = Int64GetDatum(row->bytes_total);
	values[11] = Int64GetDatum(done);
	values[12] = Int64GetDatum(rate ? (int64) (done / seconds) : 0);
	values[13] = TimestampTzGetDatum(rate ? row->started +
									 (TimestampTz) (seconds * USECS_PER_SEC *
													row->bytes_total / done) : 0);
	nulls[2] = nulls[3] = !relation;
	values[14] = backup ? CStringGetTextDatum(row->backup) : (Datum) 0;
	nulls[8] = nulls[9] = !database;
	nulls[10] = nulls[11] = !database && !backup;
	nulls[14] = !backup;
	nulls[12] = nulls[13] = !rate;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}
