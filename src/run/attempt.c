/*
 * attempt.c
 *	  Tries a part of a run, tries it again or rolls it back, and keeps what it
 *	  found.
 *
 * What the parts of a run do alike.  This calls none of them.
 */
#include "compat.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/timestamp.h"

#include "run/database_run.h"
#include "run/deputy.h"

/*
 * Replay may cancel what a run does on a standby.  A pause, in milliseconds,
 * lets it catch up, and with that get max_standby_streaming_delay anew.
 */
#define TRY_PAUSE	100
#define TRIES		300

static ErrorData *try_part(DatabaseRun *run, RunPart part, long pause);

/* A rollback ends what was shown. */
void
run_show_progress(DatabaseRun *run)
{
	run->progress.findings = run->totals.findings;
	progress_database(&run->progress);
}

ErrorData *
run_rollback(DatabaseRun *run)
{
	ErrorData  *error = procedure_rollback(run->history.caller);

	run_show_progress(run);
	return error;
}

ErrorData *
run_tried(DatabaseRun *run, RunPart part)
{
	ErrorData  *error = try_part(run, part, 0);

	for (int tries = 1; tries < TRIES && error != NULL &&
		 ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_TRANSACTION_ROLLBACK &&
		 (run->deadline == 0 || GetCurrentTimestamp() < run->deadline);
		 tries++)
		error = try_part(run, part, TRY_PAUSE);
	return error;
}

/* The pause is in here, since it may end in a conflict, too. */
static ErrorData *
try_part(DatabaseRun *run, RunPart part, long pause)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		if (pause > 0)
		{
			(void) WaitLatch(MyLatch,
							 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 pause, PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		part(run);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = run_rollback(run);
	}
	PG_END_TRY();
	return error;
}

MemoryContext
run_row_begin(DatabaseRun *run)
{
	MemoryContext before = MemoryContextSwitchTo(run->batch_context);

	if (run->store == NULL)
		run->store = tuplestore_begin_heap(false, false, work_mem);
	MemoryContextSwitchTo(run->row_context);
	return before;
}

void
run_row_end(DatabaseRun *run, MemoryContext before, Datum *values, bool *nulls)
{
	tuplestore_putvalues(run->store, run->store_desc, values, nulls);
	MemoryContextSwitchTo(before);
	MemoryContextReset(run->row_context);
}

/* Up to the end of the batch, when it is recorded. */
void
run_keep_finding(DatabaseRun *run, const PageFinding *finding)
{
	Datum		values[FINDING_COLUMNS] = {0};
	bool		nulls[FINDING_COLUMNS] = {0};
	MemoryContext old;

	if (run->deputy != NULL)
		deputy_send_finding(run, finding);
	if (run->deputy != NULL || !run->recording)
		return;
	old = run_row_begin(run);
	accel_finding_values(finding, values, nulls);
	run_row_end(run, old, values, nulls);
}
