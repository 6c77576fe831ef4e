/*
 * lost.c
 *	  Lost writes, which a run of verify_cluster() looks for before all else.
 *
 * The WAL at hand is read once for all databases, and tells which of them may
 * have lost a write.  That is none where all is well.  In each of the others
 * the run, or its deputy there, reads the WAL again and decides.  It comes
 * first, since checkpoints remove WAL while pages are verified.
 *
 * A later verification of the pages says nothing of such a finding.  It is open
 * as long as the block lies on disk as it was found, so the views look there.
 */
#include "compat.h"

#include <limits.h>

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "lost/server.h"
#include "run/deputy.h"

/* For how long a relation is waited for that may have lost a write, in ms. */
#define LOCK_PATIENCE	10000

/* The parts of max_duration when a survey, and what follows it, are over. */
#define SURVEY_SHARE	0.5
#define SEARCH_SHARE	0.75

static void survey(DatabaseRun *run);
static void search(DatabaseRun *run);
static void record_found(DatabaseRun *run);

/* ---------------------------------------------------------------- *
 *		Reading WAL
 * ---------------------------------------------------------------- */

/* Where what is found stays up to its turn. */
static void
begin_search(DatabaseRun *run)
{
	if (run->lost_context == NULL)
		run->lost_context = AllocSetContextCreate(run->context, "lost writes",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(run->lost_context);
	run->lost = NIL;
}

static void
keep_found(void *arg, const LostFinding *finding)
{
	DatabaseRun *run = arg;
	MemoryContext old = MemoryContextSwitchTo(run->lost_context);
	LostFinding *copy = palloc(lost_finding_bytes(finding));

	memcpy(copy, finding, lost_finding_bytes(finding));
	run->lost = lappend(run->lost, copy);
	MemoryContextSwitchTo(old);
}

/* The blocks that are left take their time, too. */
static bool
is_late(const DatabaseRun *run, size_t blocks)
{
	int64		rate = (int64) run->options.max_rate * 1024;
	int64		owed = rate > 0 ? (int64) blocks * BLCKSZ * USECS_PER_SEC / rate : 0;

	return run->options.lost_until != 0 &&
		GetCurrentTimestamp() + owed + owed / 4 >= run->options.lost_until;
}

static bool
survey_enough(void *arg, size_t blocks)
{
	return is_late(arg, blocks);
}

static bool
search_enough(void *arg, size_t blocks)
{
	if (deputy_must_end(arg))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("the database is wanted by another session")));
	return is_late(arg, blocks);
}

/* Part of the time is for the pages, whatever the bound on the rate. */
static void
set_end(DatabaseRun *run, double share)
{
	if (run->deadline != 0)
		run->options.lost_until = run->started +
			(TimestampTz) ((run->deadline - run->started) * share);
}

static void
describe_wal(DatabaseRun *run, WalDirectory *own, LostOptions *options)
{
	memset(options, 0, sizeof(*options));
	options->horizon = lost_server_horizon();	/* before the directory */
	options->end = WAL_LSN_MAX;
	options->memory = (size_t) maintenance_work_mem * 1024;
	options->throttle = run->scan.policy.throttle;
	options->direct = run->options.direct;
	options->pass_over = true;	/* as relations there are not verifiable */
	accel_wal_directory(own, NULL, options->direct, NULL);
	options->own = options->dir = own;
	InvalidateCatalogSnapshot();	/* would hold back vacuum */
}

/* Allocates in a context that its caller resets. */
static void
survey(DatabaseRun *run)
{
	WalDirectory own;
	LostOptions options;
	MemoryContext old;
	List	   *databases;

	begin_search(run);
	old = MemoryContextSwitchTo(run->batch_context);
	describe_wal(run, &own, &options);
	options.enough = survey_enough;
	run->options.lost_end = lost_survey(&options, keep_found, run, &databases);
	MemoryContextSwitchTo(run->context);
	run->suspected = list_copy(databases);
	MemoryContextSwitchTo(old);
	procedure_commit();
}

/* Relations are waited for, but not for ever. */
static void
bound_waits(void)
{
	char		patience[16];

	if (LockTimeout > 0 && LockTimeout <= LOCK_PATIENCE)
		return;
	snprintf(patience, sizeof(patience), "%d", LOCK_PATIENCE);
	(void) set_config_option("lock_timeout", patience, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
}

/* Of this database, and what is shared if this is its home. */
static void
search(DatabaseRun *run)
{
	WalDirectory own;
	LostOptions options;
	MemoryContext old;

	begin_search(run);
	bound_waits();
	old = MemoryContextSwitchTo(run->batch_context);
	describe_wal(run, &own, &options);
	options.end = run->options.lost_end;
	options.leave_shared = run->options.leave_shared;
	options.enough = search_enough;
	(void) lost_scan(&options, keep_found, run);
	MemoryContextSwitchTo(old);
	procedure_commit();
}

/* ---------------------------------------------------------------- *
 *		What was found
 * ---------------------------------------------------------------- */

/* Is it over when the block is another?  Else a verification of the pages tells. */
static bool
is_of_block(const LostFinding *finding)
{
	return OidIsValid(finding->relid) && !finding->damaged &&
		finding->status != LOST_IO_ERROR;
}

static void
fill_found(const LostFinding *finding, Datum *values, bool *nulls)
{
#define SET(column, value) \
	(values[FINDING_COLUMN_##column] = (value), nulls[FINDING_COLUMN_##column] = false)
	SET(status, CStringGetTextDatum(lost_status_name(finding->status)));
	SET(message, CStringGetTextDatum(finding->message));
	if (!OidIsValid(finding->relid))
		return;
	SET(relid, ObjectIdGetDatum(finding->relid));
	SET(fork, CStringGetTextDatum(forkNames[finding->fork]));
	SET(blkno, Int64GetDatum((int64) finding->block));
	SET(path, CStringGetTextDatum(finding->path));
	SET(file_offset, Int64GetDatum((int64) (finding->block % RELSEG_SIZE) * BLCKSZ));
	if (!is_of_block(finding))
		SET(retries, Int32GetDatum(0));
	else if (finding->status != LOST_MISSING_BLOCK)
		SET(lsn, LSNGetDatum(finding->disk_lsn));
#undef SET
}

void
run_keep_lost(DatabaseRun *run, const LostFinding *finding)
{
	Datum		values[FINDING_COLUMNS] = {0};
	bool		nulls[FINDING_COLUMNS];
	MemoryContext old;

	if (run->deputy != NULL)
		deputy_send_lost(run, finding);
	if (run->deputy != NULL || !run->recording)
		return;
	memset(nulls, true, sizeof(nulls));
	old = run_row_begin(run);
	fill_found(finding, values, nulls);
	run_row_end(run, old, values, nulls);
}

/* What is known of the relation now, which may have been dropped since. */
static void
describe_relation(RunRelation *relation)
{
	Oid			relid = relation->item.relid;
	Relation	rel;

	if (!OidIsValid(relid))
		return;
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		run_name_relation(relation);
		return;
	}
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		return;
	run_describe_relation(relation, rel);
	relation->file = (RunFile)
	{
		LOCATOR_TABLESPACE(rel->rd_locator), LOCATOR_NUMBER(rel->rd_locator)
	};
	relation_close(rel, NoLock);
}

/* Nothing is wrong where WAL is gone, or is left to the next run. */
static void
report_unread(DatabaseRun *run, const LostFinding *finding)
{
	if (finding->unread)
		ereport(NOTICE,
				(errmsg("lost writes were not looked for in all WAL"),
				 errdetail_internal("%s.", finding->message)));
	else
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("could not look for lost writes in all WAL"),
				 errdetail_internal("%s.", finding->message)));
}

/* Those of one relation from the at-th on, or one about none.  Returns the next. */
static int
record_relation(DatabaseRun *run, int at)
{
	const LostFinding *first = list_nth(run->lost, at);
	RunRelation relation = {{first->relid}};
	bool		is_row = OidIsValid(first->relid) || !first->unread;
	int			end = at + 1;

	while (OidIsValid(first->relid) && end < list_length(run->lost) &&
		   ((LostFinding *) list_nth(run->lost, end))->relid == first->relid)
		end++;
	run_begin_batch(run);
	run->relation = &relation;
	relation.shared = run->at_survey;
	describe_relation(&relation);
	for (int i = at; i < end && is_row; i++)
		run_keep_lost(run, list_nth(run->lost, i));
	run->totals.findings += is_row ? end - at : 0;
	if (OidIsValid(first->relid))
		report_lost(run, first, end - at);
	else
	{
		run->totals.unverifiable += is_row;
		report_unread(run, first);
	}
	record_lost(run);
	run->relation = NULL;
	return end;
}

static void
record_found(DatabaseRun *run)
{
	for (int at = 0; at < list_length(run->lost);)
	{
		CHECK_FOR_INTERRUPTS();
		at = record_relation(run, at);
	}
	run->lost = NIL;
	run->progress.findings = run->totals.findings;
}

/* ---------------------------------------------------------------- *
 *		The run
 * ---------------------------------------------------------------- */

static void
record_failure(DatabaseRun *run, const ErrorData *error)
{
	LostFinding failure = {0};

	failure.status = LOST_NOT_VERIFIABLE;
	strlcpy(failure.message, error->message, sizeof(failure.message));
	begin_search(run);
	keep_found(run, &failure);
	record_found(run);
}

List *
run_lost_survey(DatabaseRun *run)
{
	ErrorData  *error;

	run->at_survey = true;
	set_end(run, SURVEY_SHARE);
	run_begin_batch(run);
	error = run_tried(run, survey);
	if (error != NULL)
	{
		record_failure(run, error);
		run->suspected = NIL;
	}
	else
		record_found(run);
	run->at_survey = false;
	return run->suspected;
}

void
run_lost_database(DatabaseRun *run)
{
	ErrorData  *error;

	set_end(run, SEARCH_SHARE);
	run_begin_batch(run);
	error = run_tried(run, search);
	if (error == NULL)
		record_found(run);
	else if (!run->yielded)
		record_failure(run, error);
}

/*
 * Does a block lie on disk, or on the device below its page cache, as it was
 * found?  The device is left where its file system does not show it.
 */
static bool
lies_as_found(const WalBlockTag *tag, bool direct, bool has_lsn,
			  XLogRecPtr found)
{
	XLogRecPtr	lsn = InvalidXLogRecPtr;

	switch (lost_disk_read(tag, direct, &lsn))
	{
		case LOST_DISK_NO_BLOCK:
			return !has_lsn;
		case LOST_DISK_BLOCK:
			return has_lsn && lsn == found;
		case LOST_DISK_REFUSED:
			return false;
		default:
			return true;
	}
}

/* Is a lost write still there?  Anybody may ask, see the views. */
SQL_FUNCTION(accel_internal_block_has_lsn)
{
	WalBlockTag tag = {0};
	bool		has_lsn = !PG_ARGISNULL(5);
	XLogRecPtr	lsn = has_lsn ? PG_GETARG_LSN(5) : InvalidXLogRecPtr;
	int64		block;

	for (int i = 0; i < 5; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	if (RecoveryInProgress())	/* the findings are the primary's */
		PG_RETURN_BOOL(true);
	tag.database = PG_GETARG_OID(0);
	tag.tablespace = PG_GETARG_OID(1);
	tag.relation = PG_GETARG_OID(2);
	tag.fork = forkname_to_number(text_to_cstring(PG_GETARG_TEXT_PP(3)));
	block = PG_GETARG_INT64(4);
	if (block < 0 || block > MaxBlockNumber)
		PG_RETURN_BOOL(false);
	tag.block = (BlockNumber) block;
	PG_RETURN_BOOL(lies_as_found(&tag, false, has_lsn, lsn) ||
				   (has_lsn && lies_as_found(&tag, true, has_lsn, lsn)));
}
