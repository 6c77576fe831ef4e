/*
 * func_database.c
 *	  verify_database_checksums(): every relation of a database, one a
 *	  transaction.
 *
 * The list of relations is made once; then each is locked (AccessShareLock),
 * scanned, recorded and committed.  Between two nothing is held; while one is
 * scanned no snapshot is, so vacuum may clean up behind us however long it
 * takes (parallel workers need one, for the relation at work only).  Findings
 * are kept aside during the scan and written after it, because writing needs a
 * snapshot and is forbidden beside parallel workers.
 *
 * The tables are found in the procedure's own schema, and every name in our
 * statements is qualified, operators too: the caller's search_path decides
 * nothing.  The statements run with the caller's rights.
 */
#include "compat.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "scan/relation_scan.h"
#include "scan/scan_run.h"

typedef struct DatabaseRun
{
	ScanSink	sink;			/* first */
	ScanRun		scan;

	/* what was asked for */
	bool		include_catalogs;
	bool		resume;
	TimestampTz verified_since; /* if resume */
	bool		verbose;
	bool		report_failures;

	/* the run */
	MemoryContext context;
	const char *schema;			/* quoted */
	bool		recording;		/* not on a standby */
	int64		number;			/* in checksum_runs */
	int64		relations;
	int64		blocks;
	int64		bytes;
	int64		findings;

	/* the relation at work */
	Oid			relid;
	const char *name;			/* NULL: cannot be told */
	bool		shared;
	int64		relation_blocks;
	int64		relation_bytes;
	int64		relation_findings;
	int			failures;		/* of checksums, confirmed */
	Tuplestorestate *store;		/* findings, each a bytea; if recording */
	TupleDesc	store_desc;
} DatabaseRun;

static void run_init(DatabaseRun *run, FunctionCallInfo fcinfo);
static void run_all(DatabaseRun *run);
static void run_fail(DatabaseRun *run, MemoryContext context,
					 MemoryContext caller);
static void finish_nested_spi(MemoryContext caller);
static List *list_relations(DatabaseRun *run);
static void verify_one(DatabaseRun *run, Oid relid);
static void verify_open(DatabaseRun *run);
static bool open_relation(DatabaseRun *run, Oid relid, ErrorData **error);
static bool ends_run(int sqlerrcode);
static void note_closed(DatabaseRun *run, const ErrorData *error);
static void note_finding(ScanSink *sink, const PageFinding *finding);
static void warn_finding(DatabaseRun *run, const PageFinding *finding);
static void keep_finding(DatabaseRun *run, const PageFinding *finding);
static void note_fork(ScanSink *sink, const ForkSummary *summary);
static void note_checksums_off(DatabaseRun *run);
static void report_failures(DatabaseRun *run);
static void start_record(DatabaseRun *run);
static void tidy_runs(DatabaseRun *run);
static bool lock_run(int64 number, bool session);
static void unlock_run(int64 number);
static void record_relation(DatabaseRun *run, bool verified);
static void record_findings(DatabaseRun *run);
static void record_run(DatabaseRun *run, const char *state);
static void commit(DatabaseRun *run);
static void execute(DatabaseRun *run, int expected, const char *statement,
					int nargs, Oid *types, Datum *values, const char *nulls);

SQL_FUNCTION(accel_verify_database_checksums)
{
	DatabaseRun *run;
	MemoryContext context;
	MemoryContext caller = CurrentMemoryContext;

	if (!IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("verify_database_checksums cannot run inside a transaction block"),
				 errdetail("It commits after every relation.")));
	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect_ext failed");
	context = CurrentMemoryContext; /* lives as long as the procedure */
	run = palloc0(sizeof(DatabaseRun));
	run_init(run, fcinfo);
	start_record(run);
	commit(run);				/* the caller's snapshot goes too */
	PG_TRY();
	{
		run_all(run);
	}
	PG_CATCH();
	{
		run_fail(run, context, caller);
	}
	PG_END_TRY();
	scan_run_end(&run->scan);
	SPI_finish();
	PG_RETURN_VOID();
}

static bool
boolean_argument(FunctionCallInfo fcinfo, int argno)
{
	return !PG_ARGISNULL(argno) && PG_GETARG_BOOL(argno);
}

static void
run_init(DatabaseRun *run, FunctionCallInfo fcinfo)
{
	char	   *schema;

	run->context = CurrentMemoryContext;
	run->include_catalogs = boolean_argument(fcinfo, 2);
	run->resume = !PG_ARGISNULL(3);
	if (run->resume)
		run->verified_since = PG_GETARG_TIMESTAMPTZ(3);
	run->verbose = boolean_argument(fcinfo, 4);
	run->report_failures = boolean_argument(fcinfo, 5);
	run->recording = !RecoveryInProgress();
	if (run->resume && !run->recording)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("skip_verified_since cannot be used during recovery"),
				 errdetail("What the tables record was verified on the primary.")));
	schema = get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid));
	run->schema = quote_identifier(schema);
	run->sink.finding = note_finding;
	run->sink.fork_end = note_fork;
	scan_run_begin(&run->scan, &run->sink,
				   PG_ARGISNULL(0) ? 0 : PG_GETARG_INT32(0),
				   PG_ARGISNULL(1) ? 0 : PG_GETARG_INT32(1));
	run->store_desc = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(run->store_desc, 1, "finding", BYTEAOID, -1, 0);
	TupleDescFinalize(run->store_desc);
}

static void
run_all(DatabaseRun *run)
{
	List	   *relations = list_relations(run);
	MemoryContext item = AllocSetContextCreate(run->context,
											   "relation being verified",
											   ALLOCSET_DEFAULT_SIZES);
	ListCell   *cell;

	commit(run);				/* the list's snapshot goes */
	foreach(cell, relations)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(item);
		verify_one(run, lfirst_oid(cell));
		commit(run);
		MemoryContextSwitchTo(run->context);
		MemoryContextReset(item);
	}
	if (run->recording)
	{
		record_run(run, "completed");
		commit(run);			/* or others would take it for interrupted */
		unlock_run(run->number);
	}
	if (run->verbose)
		ereport(INFO,
				(errmsg("verified " INT64_FORMAT " relations, " INT64_FORMAT " blocks: " INT64_FORMAT " findings",
						run->relations, run->blocks, run->findings)));
}

/*
 * Records how far the run came, then raises the error again.  The transaction
 * has failed; what it held is released by the rollback.
 */
static void
run_fail(DatabaseRun *run, MemoryContext context, MemoryContext caller)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	while (ActiveSnapshotSet()) /* all ours: none outlived the first commit */
		PopActiveSnapshot();
	finish_nested_spi(caller);
	SPI_rollback();
	MemoryContextSwitchTo(context);
	scan_run_end(&run->scan);
	if (run->recording)
	{
		PG_TRY();
		{
			record_run(run, error->sqlerrcode == ERRCODE_QUERY_CANCELED ?
					   "cancelled" : "failed");
			SPI_commit();
		}
		PG_FINALLY();
		{
			unlock_run(run->number);
		}
		PG_END_TRY();
	}
	ReThrowError(error);
}

/*
 * An error inside a trigger of the tables (their foreign keys are some) leaves
 * the trigger's SPI connections above ours, and those may not end a
 * transaction.  Ours is the one that was made in the caller's memory context,
 * where SPI_palloc() allocates.
 */
static void
finish_nested_spi(MemoryContext caller)
{
	while (GetMemoryChunkContext(SPI_palloc(1)) != caller)
		if (SPI_finish() != SPI_OK_FINISH)
			elog(ERROR, "no SPI connection of this procedure");
}

/* Ends the transaction and with it every lock and snapshot. */
static void
commit(DatabaseRun *run)
{
	MemoryContext context = CurrentMemoryContext;

	SPI_commit();
	MemoryContextSwitchTo(context);
}

/* The relations of this database that have storage, temporary ones aside. */
static List *
list_relations(DatabaseRun *run)
{
	static const char query[] =
		"SELECT c.oid FROM pg_catalog.pg_class c"
		" WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,i,S,t,m}'::pg_catalog.\"char\"[])"
		" AND c.relpersistence OPERATOR(pg_catalog.<>) 't'"
		" AND (c.oid OPERATOR(pg_catalog.>=) %u::pg_catalog.oid OR $1)"
		" AND ($2 IS NULL OR NOT EXISTS (SELECT FROM %s.checksum_relations v"
		" WHERE v.relid OPERATOR(pg_catalog.=) c.oid"
		" AND v.verified_at OPERATOR(pg_catalog.>=) $2))"
		" ORDER BY c.oid USING OPERATOR(pg_catalog.<)";
	Oid			types[] = {BOOLOID, TIMESTAMPTZOID};
	Datum		values[] = {BoolGetDatum(run->include_catalogs),
	TimestampTzGetDatum(run->verified_since)};
	char	   *statement = psprintf(query, FirstNormalObjectId, run->schema);
	List	   *relations = NIL;

	PushActiveSnapshot(GetTransactionSnapshot());
	execute(run, SPI_OK_SELECT, statement, 2, types, values,
			run->resume ? "  " : " n");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Oid			relid = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[i],
														   SPI_tuptable->tupdesc,
														   1, &isnull));
		MemoryContext old = MemoryContextSwitchTo(run->context);

		relations = lappend_oid(relations, relid);
		MemoryContextSwitchTo(old);
	}
	SPI_freetuptable(SPI_tuptable);
	PopActiveSnapshot();
	return relations;
}

static void
verify_one(DatabaseRun *run, Oid relid)
{
	ErrorData  *error = NULL;
	bool		opened;

	run->relid = relid;
	run->name = NULL;
	run->shared = false;
	run->relation_blocks = 0;
	run->relation_bytes = 0;
	run->relation_findings = 0;
	run->failures = 0;
	run->store = NULL;
	opened = open_relation(run, relid, &error);
	if (!opened && error == NULL)
		return;					/* dropped meanwhile */
	if (run->recording)
		run->store = tuplestore_begin_heap(false, false, work_mem);
	if (opened)
		verify_open(run);
	else
		note_closed(run, error);
	run->findings += run->relation_findings;
	if (run->recording)
		record_relation(run, opened);
}

static void
verify_open(DatabaseRun *run)
{
	RelationScanOptions options = SCAN_OPTIONS_ALL;

	scan_run_relation(&run->scan, run->relid, &options);
	report_failures(run);
	run->relations++;
	run->blocks += run->relation_blocks;
	run->bytes += run->relation_bytes;
	if (run->verbose)
		ereport(INFO,
				(errmsg("verified \"%s\": " INT64_FORMAT " blocks, " INT64_FORMAT " findings",
						run->name, run->relation_blocks,
						run->relation_findings)));
}

/*
 * Locks a relation up to the commit.  False when it was dropped meanwhile, or
 * with *error when the server cannot open it: its rows in the catalogs may be
 * damaged, the library of its access method gone.  That must not keep us from
 * the relations behind it.  The transaction has been rolled back then.
 */
static bool
open_relation(DatabaseRun *run, Oid relid, ErrorData **error)
{
	MemoryContext context = CurrentMemoryContext;
	volatile Relation rel = NULL;

	PG_TRY();
	{
		run->name = get_rel_name(relid);
		rel = try_relation_open(relid, AccessShareLock);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		*error = CopyErrorData();
		if (ends_run((*error)->sqlerrcode))
			PG_RE_THROW();
		FlushErrorState();
		SPI_rollback();
		MemoryContextSwitchTo(context);
	}
	PG_END_TRY();
	if (rel == NULL)
		return false;
	run->shared = rel->rd_rel->relisshared;
	relation_close(rel, NoLock);	/* the lock stays up to the commit */
	return true;
}

/*
 * Errors that are not of the relation's making: a cancel, a deadlock, a lock
 * that took too long, too few resources.
 */
static bool
ends_run(int sqlerrcode)
{
	int			category = ERRCODE_TO_CATEGORY(sqlerrcode);

	return category == ERRCODE_OPERATOR_INTERVENTION ||
		category == ERRCODE_TRANSACTION_ROLLBACK ||
		category == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE ||
		category == ERRCODE_INSUFFICIENT_RESOURCES;
}

static void
note_closed(DatabaseRun *run, const ErrorData *error)
{
	PageFinding finding;

	page_finding_init(&finding, run->relid, InvalidForkNumber,
					  PAGE_NOT_VERIFIABLE);
	snprintf(finding.message, sizeof(finding.message),
			 "the relation cannot be opened: %s", error->message);
	scan_run_finding(&run->scan, &finding);
}

static void
note_fork(ScanSink *sink, const ForkSummary *summary)
{
	DatabaseRun *run = (DatabaseRun *) sink;

	run->relation_blocks += summary->blocks;
	run->relation_bytes += summary->bytes;
	if (scan_run_checksums_off(&run->scan, summary))
		note_checksums_off(run);
}

/*
 * Once a run, and of no relation.  Recorded as well: a run without findings
 * would later be taken for a clean one.
 */
static void
note_checksums_off(DatabaseRun *run)
{
	PageFinding finding;

	page_finding_checksums_off(&finding);
	keep_finding(run, &finding);
	run->findings++;
}

static void
note_finding(ScanSink *sink, const PageFinding *finding)
{
	DatabaseRun *run = (DatabaseRun *) sink;

	keep_finding(run, finding);
	run->relation_findings++;
	if (finding->status == PAGE_CHECKSUM_MISMATCH)
		run->failures++;
	warn_finding(run, finding);
}

/* Up to the relation's end, when it is recorded. */
static void
keep_finding(DatabaseRun *run, const PageFinding *finding)
{
	bytea	   *copy = palloc(VARHDRSZ + sizeof(*finding));
	Datum		value = PointerGetDatum(copy);
	bool		null = false;

	SET_VARSIZE(copy, VARHDRSZ + sizeof(*finding));
	memcpy(VARDATA(copy), finding, sizeof(*finding));
	if (run->store)
		tuplestore_putvalues(run->store, run->store_desc, &value, &null);
	pfree(copy);
}

static void
warn_finding(DatabaseRun *run, const PageFinding *finding)
{
	char		place[64] = "";

	if (finding->blkno >= 0)
		snprintf(place, sizeof(place), "block " INT64_FORMAT " of ",
				 finding->blkno);
	ereport(WARNING,
			(errcode(finding->status == PAGE_NOT_VERIFIABLE ?
					 ERRCODE_WARNING : ERRCODE_DATA_CORRUPTED),
			 errmsg("%s%s fork of relation \"%s\" (OID %u): %s", place,
					finding->fork == InvalidForkNumber ? "any" :
					forkNames[finding->fork],
					run->name ? run->name : "?", finding->relid,
					page_status_name(finding->status)),
			 finding->message[0] ? errdetail_internal("%s.", finding->message) : 0,
			 finding->path[0] == '\0' ? 0 : finding->file_offset < 0 ?
			 errcontext("file \"%s\"", finding->path) :
			 errcontext("file \"%s\", offset " INT64_FORMAT,
						finding->path, finding->file_offset)));
}

/* The server's own counters; those of shared relations stand apart there. */
static void
report_failures(DatabaseRun *run)
{
	Oid			database = run->shared ? InvalidOid : MyDatabaseId;

	if (!run->report_failures || run->failures == 0)
		return;
	pgstat_prepare_report_checksum_failure(database);
	pgstat_report_checksum_failures_in_db(database, run->failures);
}

static void
start_record(DatabaseRun *run)
{
	bool		isnull;

	if (!run->recording)
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	execute(run, SPI_OK_INSERT_RETURNING,
			psprintf("INSERT INTO %s.checksum_runs"
					 " (started, relations, blocks, bytes, findings, state)"
					 " VALUES (pg_catalog.clock_timestamp(), 0, 0, 0, 0, 'running')"
					 " RETURNING run", run->schema),
			0, NULL, NULL, NULL);
	run->number = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
											  SPI_tuptable->tupdesc, 1,
											  &isnull));
	tidy_runs(run);
	PopActiveSnapshot();
	(void) lock_run(run->number, true);
}

/*
 * A run is at work as long as its session holds a lock in its name, which
 * outlives commits and nothing else: rows of other running ones are those of
 * sessions that died.  It is given up after the row's last state is committed,
 * which we may not have seen yet.
 */
static void
tidy_runs(DatabaseRun *run)
{
	Oid			types[] = {INT8OID};
	SPITupleTable *rows;
	uint64		count;

	execute(run, SPI_OK_SELECT,
			psprintf("SELECT run FROM %s.checksum_runs"
					 " WHERE state OPERATOR(pg_catalog.=) 'running'",
					 run->schema),
			0, NULL, NULL, NULL);
	rows = SPI_tuptable;
	count = SPI_processed;
	for (uint64 i = 0; i < count; i++)
	{
		bool		isnull;
		Datum		number = SPI_getbinval(rows->vals[i], rows->tupdesc, 1,
										   &isnull);

		if (DatumGetInt64(number) == run->number ||
			!lock_run(DatumGetInt64(number), false))
			continue;
		execute(run, SPI_OK_UPDATE,
				psprintf("UPDATE %s.checksum_runs SET state = 'interrupted'"
						 " WHERE run OPERATOR(pg_catalog.=) $1"
						 " AND state OPERATOR(pg_catalog.=) 'running'",
						 run->schema),
				1, types, &number, NULL);
	}
	SPI_freetuptable(rows);
}

/* Users' advisory locks have 1 and 2 in the last field. */
#define LOCKTAG_OF_RUN(tag, number) \
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) ((number) >> 32), \
						 (uint32) (number), 3)

/* For the session, up to unlock_run(), or for the transaction. */
static bool
lock_run(int64 number, bool session)
{
	LOCKTAG		tag;

	LOCKTAG_OF_RUN(tag, number);
	return LockAcquire(&tag, ExclusiveLock, session, true) !=
		LOCKACQUIRE_NOT_AVAIL;
}

static void
unlock_run(int64 number)
{
	LOCKTAG		tag;

	LOCKTAG_OF_RUN(tag, number);
	(void) LockRelease(&tag, ExclusiveLock, true);
}

/* What was found, and that the relation was verified to its end. */
static void
record_relation(DatabaseRun *run, bool verified)
{
	Oid			types[] = {INT8OID, OIDOID, INT8OID, INT8OID};
	Datum		values[] = {Int64GetDatum(run->number),
		ObjectIdGetDatum(run->relid),
		Int64GetDatum(run->relation_blocks),
	Int64GetDatum(run->relation_findings)};

	/* thousands of commits: none is worth a wait for the disk */
	(void) set_config_option("synchronous_commit", "off", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
	PushActiveSnapshot(GetTransactionSnapshot());
	record_findings(run);
	tuplestore_end(run->store);
	if (verified)
		execute(run, SPI_OK_INSERT,
				psprintf("INSERT INTO %s.checksum_relations"
						 " (run, relid, verified_at, blocks, findings)"
						 " VALUES ($1, $2, pg_catalog.clock_timestamp(), $3, $4)",
						 run->schema),
				4, types, values, NULL);
	record_run(run, "running");
	PopActiveSnapshot();
}

static void
record_findings(DatabaseRun *run)
{
	static Oid	types[] = {INT8OID, REGCLASSOID, TEXTOID, INT8OID, TEXTOID,
	INT8OID, TEXTOID, INT4OID, INT4OID, LSNOID, INT4OID, TEXTOID, TEXTOID};
	char	   *statement = psprintf("INSERT INTO %s.checksum_findings"
									 " VALUES ($1, $2, $3, $4, $5, $6, $7, $8,"
									 " $9, $10, $11, $12, $13)", run->schema);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(run->store_desc,
													&TTSOpsMinimalTuple);
	MemoryContext context = CurrentMemoryContext;
	MemoryContext row = AllocSetContextCreate(context, "row",
											  ALLOCSET_DEFAULT_SIZES);

	while (tuplestore_gettupleslot(run->store, true, false, slot))
	{
		Datum		values[1 + ACCEL_FINDING_COLUMNS];
		bool		nulls[1 + ACCEL_FINDING_COLUMNS] = {false};
		char		spi_nulls[1 + ACCEL_FINDING_COLUMNS];
		PageFinding finding;
		bool		isnull;
		bytea	   *copy = DatumGetByteaPP(slot_getattr(slot, 1, &isnull));

		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(row);
		memcpy(&finding, VARDATA_ANY(copy), sizeof(finding));
		values[0] = Int64GetDatum(run->number);
		accel_finding_values(&finding, values + 1, nulls + 1);
		for (int i = 0; i <= ACCEL_FINDING_COLUMNS; i++)
			spi_nulls[i] = nulls[i] ? 'n' : ' ';
		execute(run, SPI_OK_INSERT, statement, lengthof(types),
				types, values, spi_nulls);
		MemoryContextSwitchTo(context);
		MemoryContextReset(row);
	}
	MemoryContextDelete(row);
	ExecDropSingleTupleTableSlot(slot);
}

/* Brings the run's row up to date; any other state than "running" ends it. */
static void
record_run(DatabaseRun *run, const char *state)
{
	Oid			types[] = {INT8OID, INT8OID, INT8OID, INT8OID, INT8OID,
	TEXTOID, BOOLOID};
	Datum		values[] = {Int64GetDatum(run->number),
		Int64GetDatum(run->relations),
		Int64GetDatum(run->blocks),
		Int64GetDatum(run->bytes),
		Int64GetDatum(run->findings),
		CStringGetTextDatum(state),
	BoolGetDatum(strcmp(state, "running") != 0)};

	PushActiveSnapshot(GetTransactionSnapshot());
	execute(run, SPI_OK_UPDATE,
			psprintf("UPDATE %s.checksum_runs SET relations = $2, blocks = $3,"
					 " bytes = $4, findings = $5, state = $6, finished ="
					 " CASE WHEN $7 THEN pg_catalog.clock_timestamp() END"
					 " WHERE run OPERATOR(pg_catalog.=) $1", run->schema),
			lengthof(types), types, values, NULL);
	PopActiveSnapshot();
}

static void
execute(DatabaseRun *run, int expected, const char *statement, int nargs,
		Oid *types, Datum *values, const char *nulls)
{
	int			result = SPI_execute_with_args(statement, nargs, types, values,
											   nulls, false, 0);

	if (result != expected)
		elog(ERROR, "unexpected result of a statement: %s",
			 SPI_result_code_string(result));
}
