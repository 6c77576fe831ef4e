/*
 * database.c
 *	  Runs verify_database(), which verifies every relation of a database, with
 *	  one transaction per relation or part of a large one.
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

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "host/digits.h"
#include "host/host.h"
#include "run/database_run.h"

/*
 * After so many relations the caches are emptied, which the server never does.
 */
#define CACHED_RELATIONS	500

static void run_init(DatabaseRun *run, FunctionCallInfo fcinfo);
static void init_sink(DatabaseRun *run);
static void read_options(RunOptions *options, FunctionCallInfo fcinfo);
static void check_options(DatabaseRun *run);
static void run_all(DatabaseRun *run);
static void list_relations(DatabaseRun *run);
static void warn_of_nothing(const DatabaseRun *run);
static void list_anew(DatabaseRun *run);
static void verify_listed(DatabaseRun *run);
static void verify_deferred(DatabaseRun *run);
static void verify_one(DatabaseRun *run, RunRelation *relation, bool last_try);
static void note_stop(DatabaseRun *run, const RunPosition *position);
static void stop_in(DatabaseRun *run, const RunRelation *relation);
static void raise_findings(DatabaseRun *run);
static void run_fail(DatabaseRun *run, MemoryContext context);
static void note_fork_begin(ScanSink *sink, const ForkSummary *summary);
static void note_finding(ScanSink *sink, const PageFinding *finding);
static void note_progress(ScanSink *sink, int64 blocks);
static bool note_enough(ScanSink *sink);
static void note_fork_end(ScanSink *sink, const ForkSummary *summary);
static void note_digest(ScanSink *sink, const DigestRow *row);

SQL_FUNCTION(accel_verify_database)
{
	DatabaseRun *run;
	bool		bounded;
	MemoryContext context;
	MemoryContext caller = CurrentMemoryContext;

	procedure_begin(fcinfo, "verify_database", "relation");
	context = CurrentMemoryContext; /* lives as long as the procedure */
	run = palloc0(sizeof(DatabaseRun));
	run_init(run, fcinfo);
	run->history.caller = caller;
	procedure_commit();			/* the caller's snapshot goes */
	bounded = get_timeout_active(STATEMENT_TIMEOUT);
	disable_timeout(STATEMENT_TIMEOUT, false);	/* see open_relation() */
	PG_TRY();
	{
		record_start(run);
		run_all(run);
	}
	PG_CATCH();
	{
		run_fail(run, context);
	}
	PG_END_TRY();
	scan_run_end(&run->scan);
	if (run->insert_relation != NULL)
		SPI_freeplan(run->insert_relation);
	ledger_end(&run->ledger);
	if (run->options.fail_on_findings)
		raise_findings(run);
	if (bounded && StatementTimeout > 0)	/* for the rest of the caller's */
		enable_timeout_after(STATEMENT_TIMEOUT, StatementTimeout);
	SPI_finish();
	PG_RETURN_VOID();
}

/* ---------------------------------------------------------------- *
 *		Arguments
 * ---------------------------------------------------------------- */

enum
{
	ARG_RELATIONS,
	ARG_ORDER_BY,
	ARG_INCLUDE_CATALOGS,
	ARG_CLUSTER_FILES,
	ARG_REVERIFY_AFTER,
	ARG_RESUME_AT,
	ARG_MAX_DURATION,
	ARG_FAIL_ON_FINDINGS,
	ARG_REPORT_FAILURES,
	ARG_REPORT_INTERVAL,
	ARG_VERBOSE,
	ARG_RECORD_DIGESTS,
	ARG_WORKERS,
	ARG_MAX_RATE,
	ARG_DIRECT_IO
};

static void
run_init(DatabaseRun *run, FunctionCallInfo fcinfo)
{
	run->context = CurrentMemoryContext;
	read_options(&run->options, fcinfo);
	run->recording = !RecoveryInProgress();
	check_options(run);
	run->history = history_of(fcinfo);
	run->started = GetCurrentTimestamp();
	if (run->options.max_duration > 0)
		run->deadline = run->started + run->options.max_duration;
	if (run->options.report_interval > 0)
		run->next_report = run->started + run->options.report_interval;
	run->progress.started = run->started;
	run->batch_context = AllocSetContextCreate(run->context, "findings",
											   ALLOCSET_DEFAULT_SIZES);
	run->row_context = AllocSetContextCreate(run->context, "finding",
											 ALLOCSET_DEFAULT_SIZES);
	init_sink(run);
}

/* The findings are kept in the columns of verify_findings. */
static void
init_sink(DatabaseRun *run)
{
	run->sink.fork_begin = note_fork_begin;
	run->sink.finding = note_finding;
	run->sink.progress = note_progress;
	run->sink.enough = note_enough;
	run->sink.fork_end = note_fork_end;
	if (run->options.record_digests)
	{
		run->sink.digest = LEDGER_DIGESTS;
		run->sink.part = note_digest;
		run->ledger.history = &run->history;
		ledger_server(&run->ledger.server);
	}
	scan_run_begin(&run->scan, &run->sink, run->options.workers,
				   run->options.max_rate, run->options.direct);
	run->store_desc = CreateTemplateTupleDesc(FINDING_COLUMNS);
#define FINDING_COLUMN(name, type, ...) \
	TupleDescInitEntry(run->store_desc, FINDING_COLUMN_##name + 1, #name, type, -1, 0);
#include "func/finding.def"
	TupleDescFinalize(run->store_desc);
}

static ArrayType *
relations_argument(FunctionCallInfo fcinfo, int argno)
{
	ArrayType  *relations;

	if (PG_ARGISNULL(argno))
		return NULL;
	relations = PG_GETARG_ARRAYTYPE_P_COPY(argno);
	if (array_contains_nulls(relations))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("relations must not contain nulls")));
	return relations;
}

static RunOrder
order_argument(FunctionCallInfo fcinfo, int argno)
{
	static const char *const names[] = {
		[RUN_ORDER_OID] = "oid",
		[RUN_ORDER_LARGEST] = "largest",
		[RUN_ORDER_STALEST] = "stalest"
	};
	char	   *name;

	if (PG_ARGISNULL(argno))
		return RUN_ORDER_OID;
	name = text_to_cstring(PG_GETARG_TEXT_PP(argno));
	for (int i = 0; i < lengthof(names); i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized order_by \"%s\"", name),
			 errhint("Valid values are \"oid\", \"largest\" and \"stalest\".")));
}

/*
 * Parses digits alone, up to most.  Returns false if there is anything else,
 * and sets *string to what follows them.
 */
static bool
parse_number(const char **string, uint32 most, uint32 *number)
{
	uint64		value;
	const char *end = digits_read(*string, most, &value);

	if (end == NULL)
		return false;
	*string = end;
	*number = (uint32) value;
	return true;
}

/* Returns false if it is not OID/fork/block or OID/fork/block/file. */
static bool
parse_position(const char *string, RunPosition *position)
{
	char		fork[16];
	int			length = 0;

	position->number = InvalidOid;
	if (!parse_number(&string, OID_MAX, &position->relid) ||
		sscanf(string, "/%15[a-z]/%n", fork, &length) != 1 || length == 0)
		return false;
	string += length;
	if (!parse_number(&string, MaxBlockNumber, &position->block))
		return false;
	if (*string == '/')
	{
		string++;
		if (!parse_number(&string, OID_MAX, &position->number))
			return false;
	}
	if (*string != '\0')
		return false;
	position->fork = forkname_to_number(fork);
	return true;
}

/* As the closing line gives it. */
static RunPosition
position_argument(FunctionCallInfo fcinfo, int argno)
{
	char	   *string = text_to_cstring(PG_GETARG_TEXT_PP(argno));
	RunPosition position;

	if (!parse_position(string, &position))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid resume_at \"%s\"", string),
				 errdetail("Expected an OID, a fork, a block and the number of a file, as in \"16384/main/0/16384\".")));
	return position;
}

/*
 * The interval ends at the start of the caller's transaction, which is now()
 * to them.  So reverify_after => now() - started_at begins where that run did.
 */
static void
read_reverify_after(RunOptions *options, FunctionCallInfo fcinfo)
{
	options->skip = !PG_ARGISNULL(ARG_REVERIFY_AFTER);
	options->skip_since = !options->skip ? DT_NOBEGIN :
		GetCurrentTransactionStartTimestamp() -
		accel_interval(fcinfo, ARG_REVERIFY_AFTER, "reverify_after", 0);
}

static void
read_options(RunOptions *options, FunctionCallInfo fcinfo)
{
	options->relations = relations_argument(fcinfo, ARG_RELATIONS);
	options->order = order_argument(fcinfo, ARG_ORDER_BY);
	options->include_catalogs = accel_boolean(fcinfo, ARG_INCLUDE_CATALOGS, false);
	options->cluster_files = PG_ARGISNULL(ARG_CLUSTER_FILES) ?
		run_cluster_allowed() : PG_GETARG_BOOL(ARG_CLUSTER_FILES);
	read_reverify_after(options, fcinfo);
	if (!PG_ARGISNULL(ARG_RESUME_AT))
		options->resume_at = position_argument(fcinfo, ARG_RESUME_AT);
	options->max_duration = accel_interval(fcinfo, ARG_MAX_DURATION, "max_duration", 1);
	options->fail_on_findings = accel_boolean(fcinfo, ARG_FAIL_ON_FINDINGS, false);
	options->report_failures = accel_boolean(fcinfo, ARG_REPORT_FAILURES, false);
	options->report_interval = accel_interval(fcinfo, ARG_REPORT_INTERVAL, "report_interval", 1);
	options->verbose = accel_boolean(fcinfo, ARG_VERBOSE, false);
	options->record_digests = accel_boolean(fcinfo, ARG_RECORD_DIGESTS, false);
	options->workers = accel_integer(fcinfo, ARG_WORKERS, 0);
	options->max_rate = accel_integer(fcinfo, ARG_MAX_RATE, 0);
	options->direct = accel_boolean(fcinfo, ARG_DIRECT_IO, false);
}

/* Once and at once, not for each relation. */
static void
refuse_unless_direct(void)
{
	int			fd = host_open_direct(XLOG_CONTROL_FILE);

	if (fd >= 0)
		host_close(fd);
}

static void
check_options(DatabaseRun *run)
{
	if (run->options.record_digests && !run->recording)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("record_digests cannot be used during recovery"),
				 errhint("Record digests on the primary. verify_page_digests() judges this server by them.")));
	if (run->options.skip && !run->recording)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("reverify_after cannot be used during recovery"),
				 errdetail("What the tables record was verified on the primary."),
				 errhint("Use resume_at, which the last message of a run names.")));
	if (OidIsValid(run->options.resume_at.relid) &&
		run->options.order != RUN_ORDER_OID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("resume_at requires that order_by is \"oid\"")));
	if (run->options.direct)
		refuse_unless_direct();
	if (run->options.cluster_files && !run_cluster_allowed())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to verify the files of the cluster"),
				 errdetail("Only members of pg_stat_scan_tables or pg_read_server_files may do that.")));
}

/* ---------------------------------------------------------------- *
 *		The run
 * ---------------------------------------------------------------- */

static void
run_all(DatabaseRun *run)
{
	const char *state;

	if (run->options.cluster_files)
		run_cluster_files(run);
	list_relations(run);
	run_crew_start(run);
	verify_listed(run);
	verify_deferred(run);
	run_crew_stop(run, false);
	state = run->stopped ? "stopped" : "completed";
	report_end(run, state);
	record_end(run, state);
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
		run->options.skip = false;
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

	for (int64 i = 0; i < run->nitems && !run->stopped; i++)
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
	if (run->options.order == RUN_ORDER_OID &&
		(!OidIsValid(run->stopped_at.relid) || position->relid < run->stopped_at.relid))
		run->stopped_at = *position;
}

/* What was shown of it and not counted yet counts. */
static void
stop_in(DatabaseRun *run, const RunRelation *relation)
{
	note_stop(run, &relation->next);
	run->totals.findings += relation->shown;
}

static void
raise_findings(DatabaseRun *run)
{
	int64		findings = run->totals.findings - run->totals.unverifiable;

	if (findings > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_plural(INT64_FORMAT " finding in this database",
							   INT64_FORMAT " findings in this database",
							   findings, findings),
				 errhint("See %s.", ACCEL_RUNBOOK)));
}

/*
 * Handles a cancel, a shutdown, or what nobody foresaw.  Reports and records
 * how far the run came, then raises the error again.
 */
static void
run_fail(DatabaseRun *run, MemoryContext context)
{
	ErrorData  *error;
	const char *state;

	MemoryContextSwitchTo(context);
	error = procedure_fail(run->history.caller);
	run_crew_stop(run, true);
	scan_run_end(&run->scan);
	state = error->sqlerrcode == ERRCODE_QUERY_CANCELED ? "cancelled" : "failed";
	run->stopped = true;
	run->turn = -1;
	if (OidIsValid(run->at.relid))
		note_stop(run, &run->at);
	verify_deferred(run);
	report_end(run, state);
	record_end(run, state);
	ReThrowError(error);
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
