/*
 * database.c
 *	  Verifies every relation of a database, with one transaction per relation
 *	  or part of a large one.
 *
 * The list of relations is made once.  Then each is locked (AccessShareLock),
 * scanned, recorded and committed.  Between two nothing is held.
 *
 * Neither damage nor another user ends a run.  What cannot be verified now is
 * tried again at the end, and is a finding (not_verifiable) after that.  Only
 * a cancel, a shutdown and the caller's time limit stop it, and a stopped run
 * can be continued.
 */
#include "compat.h"

#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "run/database_run.h"
#include "run/deputy.h"

/*
 * After so many relations the caches are emptied, which the server never does.
 */
#define CACHED_RELATIONS	500

static void list_relations(DatabaseRun *run);
static void warn_of_nothing(const DatabaseRun *run);
static void list_anew(DatabaseRun *run);
static void verify_listed(DatabaseRun *run);
static void verify_deferred(DatabaseRun *run);
static void verify_one(DatabaseRun *run, RunRelation *relation, bool last_try);
static void note_stop(DatabaseRun *run, const RunPosition *position);
static void stop_in(DatabaseRun *run, const RunRelation *relation);
static void note_fork_begin(ScanSink *sink, const ForkSummary *summary);
static void note_finding(ScanSink *sink, const PageFinding *finding);
static void note_progress(ScanSink *sink, int64 blocks);
static bool note_enough(ScanSink *sink);
static void note_fork_end(ScanSink *sink, const ForkSummary *summary);
static void note_digest(ScanSink *sink, const DigestRow *row);

/* The findings are kept in the columns of verify_findings. */
void
run_prepare(DatabaseRun *run)
{
	run->turn = -1;
	run->progress.started = run->started;
	run->batch_context = AllocSetContextCreate(run->context, "findings",
											   ALLOCSET_DEFAULT_SIZES);
	run->row_context = AllocSetContextCreate(run->context, "finding",
											 ALLOCSET_DEFAULT_SIZES);
	run->sink.fork_begin = note_fork_begin;
	run->sink.finding = note_finding;
	run->sink.progress = note_progress;
	run->sink.enough = note_enough;
	run->sink.fork_end = note_fork_end;
	if (run->options.record_digests)
	{
		run->sink.digest = LEDGER_DIGESTS;
		run->sink.part = note_digest;
	}
	scan_run_begin(&run->scan, &run->sink, run->options.workers,
				   run->options.max_rate, run->options.direct);
	run->store_desc = CreateTemplateTupleDesc(FINDING_COLUMNS);
#define FINDING_COLUMN(name, type, ...) \
	TupleDescInitEntry(run->store_desc, FINDING_COLUMN_##name + 1, #name, type, -1, 0);
#include "func/finding.def"
	TupleDescFinalize(run->store_desc);
}

/* ---------------------------------------------------------------- *
 *		The run
 * ---------------------------------------------------------------- */

void
run_own_database(DatabaseRun *run)
{
	list_relations(run);
	run_listed(run);
}

void
run_listed(DatabaseRun *run)
{
	run_crew_start(run);
	verify_listed(run);
	verify_deferred(run);
	run_crew_stop(run, false);
}

/* A history that cannot be read excuses nothing, so all is verified. */
static void
list_relations(DatabaseRun *run)
{
	ErrorData  *error = run_tried(run, list_anew);

	if (error != NULL)
	{
		if (!run->options.skip && run->options.order != RUN_ORDER_STALEST)
			ReThrowError(error);
		ereport(WARNING,
				(errcode(error->sqlerrcode),
				 errmsg("could not read the history: %s", error->message),
				 errdetail("All relations are verified, in the order of their OIDs.")));
		run->options.skip = run->options.leave = false;
		run->options.order = RUN_ORDER_OID;
		run->nitems = run->progress.bytes_total = 0;
		run_list_relations(run);
		procedure_commit();
	}
	warn_of_nothing(run);
	progress_database(&run->progress);
}

/* Else a view, or a relation that was just dropped, would look sound. */
static void
warn_of_nothing(const DatabaseRun *run)
{
	if (run->nitems > 0 || run->options.relations == NULL ||
		run->options.skip || OidIsValid(run->options.resume_at.relid))
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("no relation was selected"),
			 errdetail("None of those in relations has storage in this database.")));
}

static void
list_anew(DatabaseRun *run)
{
	run->positions = NIL;
	run->nitems = run->progress.bytes_total = 0;
	if (run->options.skip ||
		(run->options.order == RUN_ORDER_STALEST && run->recording))
		record_load_positions(run);
	run_list_relations(run);
	procedure_commit();
}

static void
verify_listed(DatabaseRun *run)
{
	MemoryContext item = AllocSetContextCreate(run->context,
											   "relation being verified",
											   ALLOCSET_DEFAULT_SIZES);

	for (int64 i = 0; i < run->nitems && !deputy_must_end(run); i++)
	{
		RunRelation relation = {run->items[i]};

		run->turn = i;
		MemoryContextSwitchTo(item);
		verify_one(run, &relation, false);
		MemoryContextSwitchTo(run->context);
		MemoryContextReset(item);
		if ((i + 1) % CACHED_RELATIONS == 0)
			InvalidateSystemCaches();
	}
	MemoryContextDelete(item);
	run->turn = -1;
}

/* Those that were locked, or that replay kept from us, for a last time. */
static void
verify_deferred(DatabaseRun *run)
{
	ListCell   *cell;

	foreach(cell, run->deferred)
	{
		RunRelation *relation = lfirst(cell);

		if (run->stopped)
			stop_in(run, relation);
		else
			verify_one(run, relation, true);
	}
	run->deferred = NIL;
}

static bool
worth_another_try(const ErrorData *error)
{
	int			category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	return category == ERRCODE_TRANSACTION_ROLLBACK ||
		category == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE ||
		category == ERRCODE_OPERATOR_INTERVENTION ||
		category == ERRCODE_INSUFFICIENT_RESOURCES;
}

static void
defer(DatabaseRun *run, const RunRelation *relation)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	RunRelation *copy = palloc(sizeof(RunRelation));

	*copy = *relation;
	copy->schema = copy->name = copy->owner = NULL;
	run->deferred = lappend(run->deferred, copy);
	MemoryContextSwitchTo(old);
}

static void
verify_one(DatabaseRun *run, RunRelation *relation, bool last_try)
{
	ErrorData  *error;

	relation->next.relid = relation->item.relid;
	run->at = relation->next;
	if (!run_crew_relation(run, relation) &&
		!run_relation(run, relation, &error))
	{
		if (run->stopped)
			stop_in(run, relation);
		else if (!last_try && worth_another_try(error))
		{
			defer(run, relation);
			return;
		}
		else
			run_relation_unverifiable(run, relation, error->message);
	}
	run->at.relid = InvalidOid;
	run->progress.relations_done++;
	run->progress.bytes_done += relation->item.bytes;
	run->progress.findings = run->totals.findings;
	run->fork_bytes = 0;
	progress_database(&run->progress);
}

/* A later run begins at the first relation that is not done. */
static void
note_stop(DatabaseRun *run, const RunPosition *position)
{
	if (run->options.order != RUN_ORDER_OID ||
		(OidIsValid(run->stopped_at.relid) && position->relid >= run->stopped_at.relid))
		return;
	run->stopped_at = *position;
	run->stopped_at.database = run->options.cluster ? run->database : InvalidOid;
}

/* What was shown of it and not counted yet counts. */
static void
stop_in(DatabaseRun *run, const RunRelation *relation)
{
	note_stop(run, &relation->next);
	run->totals.findings += relation->shown;
}

/*
 * After an error that ended the run, with the position where it was.  What was
 * put off has no other chance.
 */
void
run_abandon(DatabaseRun *run)
{
	run->stopped = true;
	run->turn = -1;
	if (OidIsValid(run->at.relid))
		note_stop(run, &run->at);
	verify_deferred(run);
}

/* ---------------------------------------------------------------- *
 *		What a scan tells
 * ---------------------------------------------------------------- */

static void
note_fork_begin(ScanSink *sink, const ForkSummary *summary)
{
	DatabaseRun *run = (DatabaseRun *) sink;
	const RunPosition *next = &run->relation->next;

	if (summary->fork != MAIN_FORKNUM)
		return;
	run->fork_bytes = (int64) next->block * BLCKSZ;
	if (run->fork_blocks >= 0)
		progress_fork_blocks(run->fork_blocks, next->block);
}

static void
note_progress(ScanSink *sink, int64 blocks)
{
	DatabaseRun *run = (DatabaseRun *) sink;

	run->fork_bytes += blocks * BLCKSZ;
	report_progress(run);
}

static bool
note_enough(ScanSink *sink)
{
	return run_batch_enough((DatabaseRun *) sink);
}

static void
note_fork_end(ScanSink *sink, const ForkSummary *summary)
{
	DatabaseRun *run = (DatabaseRun *) sink;

	run->ended.fork = summary->fork;
	run->ended.block = summary->next;
	if (run->options.record_digests && summary->fork == MAIN_FORKNUM)
		ledger_batch_end(&run->read, summary->next == InvalidBlockNumber);

	run->batch.blocks += summary->blocks;
	run->batch.bytes += summary->bytes;
	run->batch.new_pages += summary->new_pages;
	run->batch.unwritten += summary->unwritten;
	(void) scan_run_checksums_off(&run->scan, summary);
}

static void
note_finding(ScanSink *sink, const PageFinding *finding)
{
	DatabaseRun *run = (DatabaseRun *) sink;

	run_keep_finding(run, finding);
	run->batch.findings++;
	if (finding->status == PAGE_NOT_VERIFIABLE)
		run->batch.unverifiable++;
	if (finding->status == PAGE_CHECKSUM_MISMATCH)
		run->failures++;
	report_finding(run, finding);
}

/* Kept up to the end of the batch, as findings are. */
static void
note_digest(ScanSink *sink, const DigestRow *row)
{
	DatabaseRun *run = (DatabaseRun *) sink;
	MemoryContext old = MemoryContextSwitchTo(run->batch_context);

	ledger_batch_add(&run->read, row);
	MemoryContextSwitchTo(old);
}
