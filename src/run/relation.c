/*
 * relation.c
 *	  Verifies one relation for a run, in batches if it is large.
 *
 * A batch is a transaction.  It locks the relation, scans a part of it,
 * unlocks it, records and commits.  Batches are short, and end when another
 * session waits for our lock, for DDL or replay.  Their ends are where a later
 * run may go on.  Between two batches the relation may get another file, which
 * is begun anew.
 *
 * No snapshot is held while a batch is scanned, so vacuum may go on, however
 * long it takes.  Findings are kept aside during the scan, since writing needs
 * a snapshot and is forbidden beside parallel workers.
 */
#include "compat.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_namespace_d.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relmapper.h"
#include "utils/syscache.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "access/htup_details.h"
#include "run/database_run.h"
#include "run/deputy.h"
#include "run/lock.h"

/*
 * These say how long a batch may take, in microseconds.  The least is that
 * after conflicts.
 */
#define BATCH_TIME			USECS_PER_SEC
#define BATCH_TIME_STANDBY	(USECS_PER_SEC / 2)
#define BATCH_TIME_MIN		(USECS_PER_SEC / 100)

/* How often to look who waits for the relation, in microseconds. */
#define LOOK_INTERVAL		(USECS_PER_SEC / 20)

/* For how long a worker at work is waited for after the time limit. */
#define OVERTIME			(2 * USECS_PER_SEC)

/* Attempts at a batch that replay cancels, one after the other. */
#define CONFLICT_TRIES	3

typedef enum BatchResult
{
	BATCH_MORE,					/* there is another one */
	BATCH_LAST,					/* the relation is verified */
	BATCH_GONE					/* the relation was dropped */
} BatchResult;

static BatchResult scan_batch(DatabaseRun *run, RunRelation *relation);
static Relation open_relation(DatabaseRun *run, Oid relid);
static void set_file(DatabaseRun *run, RunRelation *relation, Relation rel);
static BatchResult next_batch(DatabaseRun *run, const RunRelation *relation,
							  RelationScanOptions *options, RunPosition *after);
static void begin_time(DatabaseRun *run);
static void report_failures(DatabaseRun *run);

bool
run_is_late(const DatabaseRun *run)
{
	return run->deadline != 0 && run->advanced &&
		GetCurrentTimestamp() >= run->deadline;
}

/* The run stops then, whatever else is the matter. */
static bool
time_is_up(DatabaseRun *run)
{
	if (run_is_late(run))
		run->stopped = true;
	return deputy_must_end(run);
}

bool
run_relation(DatabaseRun *run, RunRelation *relation, ErrorData **error)
{
	MemoryContext context = CurrentMemoryContext;

	*error = NULL;
	run->relation = relation;
	run->lines = 0;
	run->untold = 0;
	for (;;)
	{
		volatile BatchResult result = BATCH_GONE;

		if (time_is_up(run))
			return false;
		run_begin_batch(run);
		*error = NULL;
		PG_TRY();
		{
			result = scan_batch(run, relation);
		}
		PG_CATCH();
		{
			MemoryContextSwitchTo(context);
			*error = run_rollback(run);
		}
		PG_END_TRY();
		if (*error != NULL)
		{
			relation->tries++;
			report_line(run);
			relation->shown = Max(relation->shown, run->batch.findings -
								  run->batch.unverifiable);
			run->batch_time = Max(run->batch_time / 8, BATCH_TIME_MIN);
			if (time_is_up(run))
				return false;
			if (ERRCODE_TO_CATEGORY((*error)->sqlerrcode) != ERRCODE_TRANSACTION_ROLLBACK ||
				relation->tries % CONFLICT_TRIES == 0)
				return false;
			continue;
		}
		if (result == BATCH_GONE)
		{
			procedure_commit();
			return true;
		}
		relation->shown = 0;
		run_end_batch(run, result == BATCH_LAST);
		if (result == BATCH_LAST)
			return true;
	}
}

static BatchResult
scan_batch(DatabaseRun *run, RunRelation *relation)
{
	RelationScanOptions options = SCAN_OPTIONS_ALL;
	RunPosition after;
	BatchResult result;
	Relation	rel;

	CHECK_FOR_INTERRUPTS();		/* a conflict costs this batch, not the run */
	if (relation->name == NULL)
		run_name_relation(relation);
	rel = open_relation(run, relation->item.relid);
	if (rel == NULL)
		return BATCH_GONE;
	run_describe_relation(relation, rel);
	set_file(run, relation, rel);
	run->at = relation->next;
	relation_close(rel, NoLock);	/* the lock stays up to the scan's end */
	result = next_batch(run, relation, &options, &after);
	ledger_batch_begin(&run->read, options.first);
	begin_time(run);
	scan_run_relation(&run->scan, relation->item.relid, &options);
	/* who waits for it may have the tables that record_batch() waits for */
	UnlockRelationOid(relation->item.relid, AccessShareLock);
	if (run->ended.block != InvalidBlockNumber)
	{
		after.fork = run->ended.fork;
		after.block = run->ended.block;
		result = BATCH_MORE;
	}
	if (run->batch.unverifiable > 0)
		return BATCH_LAST;		/* each of its batches would say so again */
	run->at = relation->next = after;
	return result;
}

void
run_begin_batch(DatabaseRun *run)
{
	memset(&run->batch, 0, sizeof(run->batch));
	memset(&run->line, 0, sizeof(run->line));
	MemoryContextReset(run->batch_context);
	run->store = NULL;
	run->failures = 0;
	ledger_batch_begin(&run->read, 0);
	if (run->deputy != NULL)
		deputy_send_begin(run);
}

/*
 * Returns for how many milliseconds a lock may be waited for, or 0 if there is
 * no bound.
 */
static int
patience(const DatabaseRun *run)
{
	int64		left = run->deadline == 0 ? INT_MAX :
		(run->deadline - GetCurrentTimestamp()) / 1000 + 1;
	int			most = StatementTimeout > 0 ? StatementTimeout : INT_MAX;

	most = (int) Min(most, Max(left, 1));
	return most == INT_MAX ? 0 : most;
}

/*
 * Locks a relation, once.  Returns NULL when it was dropped.  The server's
 * statement_timeout bounds this alone, since a scan may take hours.  So does
 * the run's time limit.
 *
 * While workers hold locks, none is waited for.  They and we are one to the
 * server.  So with a session that has what we wait for and wants what a worker
 * has there would be a deadlock.  The relation is put off until they are done
 * with theirs.
 */
static Relation
open_relation(DatabaseRun *run, Oid relid)
{
	Relation	rel;

	if (run->crew != NULL && run->turn >= 0)
	{
		if (!ConditionalLockRelationOid(relid, AccessShareLock))
			run_lock_fail(relid);
		return try_relation_open(relid, NoLock);
	}
	if (ConditionalLockRelationOid(relid, AccessShareLock))
		return try_relation_open(relid, NoLock);
	record_progress(run);
	if (run->deputy != NULL)
	{
		deputy_lock(run, relid, patience(run));
		return try_relation_open(relid, NoLock);
	}
	if (patience(run) > 0)
		enable_timeout_after(STATEMENT_TIMEOUT, patience(run));
	rel = try_relation_open(relid, AccessShareLock);
	disable_timeout(STATEMENT_TIMEOUT, false);
	return rel;
}

RunFile
run_catalog_file(Form_pg_class row)
{
	RunFile		file = {row->reltablespace, row->relfilenode};

	if (!OidIsValid(file.tablespace))
		file.tablespace = MyDatabaseTableSpace;
	if (!OidIsValid(file.number))
		file.number = RelationMapOidToFilenumber(row->oid, row->relisshared);
	return file;
}

void
run_name_relation(RunRelation *relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation->item.relid));
	Form_pg_class row;

	if (!HeapTupleIsValid(tuple))
		return;
	row = (Form_pg_class) GETSTRUCT(tuple);
	relation->name = pstrdup(NameStr(row->relname));
	relation->schema = get_namespace_name(row->relnamespace);
	relation->shared = row->relisshared;
	relation->file = run_catalog_file(row);
	ReleaseSysCache(tuple);
}

static const char *
kind_name(const RunRelation *relation, Relation rel)
{
	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
			return "table";
		case RELKIND_INDEX:
			return "index";
		case RELKIND_SEQUENCE:
			return "sequence";
		case RELKIND_TOASTVALUE:
			return "TOAST table";
		case RELKIND_MATVIEW:
			return "materialized view";
	}
	return "relation";
}

/*
 * Returns the table that a TOAST table serves, since the server names it after
 * that one.
 */
static Oid
table_of_toast(Oid relid)
{
	char	   *name = get_rel_name(relid);
	unsigned int table;
	HeapTuple	tuple;
	bool		served;

	if (name == NULL || sscanf(name, "pg_toast_%u", &table) != 1)
		return InvalidOid;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	served = ((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid == relid;
	ReleaseSysCache(tuple);
	return served ? table : InvalidOid;
}

static char *
qualified_name(Oid relid)
{
	char	   *schema = get_namespace_name(get_rel_namespace(relid));
	char	   *name = get_rel_name(relid);

	return schema && name ? quote_qualified_identifier(schema, name) : NULL;
}

void
run_describe_relation(RunRelation *relation, Relation rel)
{
	Oid			owner = InvalidOid;
	Oid			toast = RelationGetRelid(rel);

	if (rel->rd_index != NULL)
		toast = owner = rel->rd_index->indrelid;
	if (rel->rd_rel->relnamespace == PG_TOAST_NAMESPACE)
		owner = table_of_toast(toast);
	relation->schema = get_namespace_name(rel->rd_rel->relnamespace);
	relation->name = pstrdup(RelationGetRelationName(rel));
	relation->owner = OidIsValid(owner) ? qualified_name(owner) : NULL;
	relation->kind = kind_name(relation, rel);
	relation->shared = rel->rd_rel->relisshared;
}

/* Begins the relation, where an earlier run stands in it if it has this file. */
static void
set_file(DatabaseRun *run, RunRelation *relation, Relation rel)
{
	RunFile		file = {LOCATOR_TABLESPACE(rel->rd_locator), LOCATOR_NUMBER(rel->rd_locator)};
	RunRelation fresh = {0};
	const RunRelation *position = NULL;
	bool		first = relation->began == 0;

	if (!first && relation->file.number == file.number &&
		relation->file.tablespace == file.tablespace)
		return;
	if (first)
		position = record_position(run, relation->item.relid, file);
	if (position == NULL)
		position = &fresh;
	relation->file = file;
	relation->began = position->began != 0 ? position->began : GetCurrentTimestamp();
	relation->next = position->next;
	relation->next.relid = relation->item.relid;
	relation->next.number = file.number;
	/* what is recorded as verified was verified whole */
	if (first && !run->recording &&
		run->options.resume_at.relid == relation->item.relid &&
		run->options.resume_at.number == file.number)
		relation->next = run->options.resume_at;
	relation->blocks = position->blocks;
	relation->bytes = position->bytes;
	relation->new_pages = position->new_pages;
	relation->findings = position->findings;
	relation->unverifiable = 0;
}

/* What to scan, and where the relation stands after it. */
static BatchResult
next_batch(DatabaseRun *run, const RunRelation *relation,
		   RelationScanOptions *options, RunPosition *after)
{
	const RunPosition *next = &relation->next;

	*after = *next;
	run->fork_blocks = -1;
	if (next->fork == MAIN_FORKNUM && next->block == 0)
		return BATCH_LAST;		/* the whole relation, if there is time */
	options->fork = next->fork;
	options->first = next->block;
	if (next->fork == MAIN_FORKNUM)
		run->fork_blocks = run_file_bytes(relation->file.tablespace,
										  relation->shared ? InvalidOid : MyDatabaseId,
										  relation->file.number) / BLCKSZ;
	after->block = 0;
	after->fork = next->fork + 1;
	return after->fork > MAX_FORKNUM ? BATCH_LAST : BATCH_MORE;
}

TimestampTz
run_next_look(void)
{
	return GetCurrentTimestamp() + LOOK_INTERVAL;
}

/* The scan of a batch begins. */
static void
begin_time(DatabaseRun *run)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		usual = RecoveryInProgress() ? BATCH_TIME_STANDBY : BATCH_TIME;

	/* less after a conflict, then more again */
	run->batch_time = run->batch_time == 0 ? usual : Min(run->batch_time * 2, usual);
	run->batch_end = now + run->batch_time;
	run->next_look = run_next_look();
	run->ended.block = InvalidBlockNumber;
}

/*
 * Does anybody wait for a lock that is not to be had beside ours?  Where nobody
 * has more than a weak lock, the server's table of locks has no entry.
 */
bool
run_waited_for(Oid relid, bool shared, TimestampTz *next_look)
{
	LOCKTAG		tag;
	LockData   *locks;
	bool		waiting = false;

	if (GetCurrentTimestamp() < *next_look)
		return false;
	*next_look = run_next_look();
	SET_LOCKTAG_RELATION(tag, shared ? InvalidOid : MyDatabaseId, relid);
	if (LockWaiterCount(&tag) == 0)
		return false;
	locks = GetLockStatusData();
	for (int i = 0; i < locks->nelements && !waiting; i++)
		waiting = memcmp(&locks->locks[i].locktag, &tag, sizeof(tag)) == 0 &&
			locks->locks[i].waitLockMode != NoLock &&
			DoLockModesConflict(locks->locks[i].waitLockMode, AccessShareLock);
	pfree(locks->locks);
	pfree(locks);
	return waiting;
}

bool
run_batch_enough(DatabaseRun *run)
{
	TimestampTz now = GetCurrentTimestamp();

	if (run->deadline != 0 && now >= Max(run->deadline, run->batch_end) + OVERTIME)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("a worker of this run does not answer")));
	if (now >= run->batch_end || deputy_must_end(run) || run_is_late(run))
		return true;
	return run_waited_for(run->relation->item.relid, run->relation->shared,
						  &run->next_look);
}

/*
 * This is recorded as well, since a run without findings would be taken for
 * clean.
 */
static void
note_checksums_off(DatabaseRun *run)
{
	PageFinding finding;

	page_finding_checksums_off(&finding);
	run_keep_finding(run, &finding);
	run->totals.findings++;
	run->totals.unverifiable++;
	run->checksums_off = true;
}

/* Counts what was scanned, reports and records it. */
void
run_end_batch(DatabaseRun *run, bool complete)
{
	RunRelation *relation = run->relation;
	RunTotals  *totals = &run->totals;
	const RunRelation *batch = &run->batch;
	MemoryContext context = CurrentMemoryContext;

	run->advanced |= complete || batch->blocks > 0;
	relation->blocks += batch->blocks;
	relation->bytes += batch->bytes;
	relation->new_pages += batch->new_pages;
	relation->findings += batch->findings;
	relation->unverifiable += batch->unverifiable;
	totals->relations += complete && relation->unverifiable == 0;
	totals->blocks += batch->blocks;
	totals->bytes += batch->bytes;
	totals->new_pages += batch->new_pages;
	totals->unwritten += batch->unwritten;
	totals->findings += batch->findings;
	totals->unverifiable += batch->unverifiable;
	report_failures(run);
	if (run->scan.warned && !run->checksums_off)
		note_checksums_off(run);
	PG_TRY();
	{
		report_line(run);
		if (complete)
			report_relation(run);
		record_batch(run, complete);
	}
	PG_CATCH();
	{
		/* on a standby replay may cancel what is already verified */
		if (run->recording)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		(void) run_rollback(run);
	}
	PG_END_TRY();
}

/*
 * Reports to the server's own counters, where those of shared relations stand
 * apart.
 */
static void
report_failures(DatabaseRun *run)
{
	Oid			database = run->relation->shared ? InvalidOid : MyDatabaseId;

	if (!run->options.report_failures || run->failures == 0)
		return;
	pgstat_prepare_report_checksum_failure(database);
	pgstat_report_checksum_failures_in_db(database, run->failures);
}

/*
 * Of what was scanned in vain only the findings count, since they were shown.
 */
void
run_relation_unverifiable(DatabaseRun *run, RunRelation *relation,
						  const char *why)
{
	PageFinding finding;

	run->relation = relation;
	run_begin_batch(run);
	run->batch.findings = relation->shown;
	page_finding_not_verifiable(&finding, relation->item.relid,
								InvalidForkNumber, why);
	scan_run_finding(&run->scan, &finding);
	run_end_batch(run, true);
}
