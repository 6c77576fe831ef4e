/*
 * call.c
 *	  Runs verify_database() and verify_cluster().  Reads their arguments,
 *	  begins the run and ends it.
 */
#include "compat.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "host/digits.h"
#include "host/host.h"
#include "run/database_run.h"

static void run_init(DatabaseRun *run, FunctionCallInfo fcinfo, bool cluster);
static void read_options(RunOptions *options, FunctionCallInfo fcinfo);
static void check_options(DatabaseRun *run);
static void run_all(DatabaseRun *run);
static void raise_findings(DatabaseRun *run);
static void run_fail(DatabaseRun *run, MemoryContext context);
static Datum run_procedure(FunctionCallInfo fcinfo, bool cluster);

SQL_FUNCTION(accel_verify_database)
{
	return run_procedure(fcinfo, false);
}

SQL_FUNCTION(accel_verify_cluster)
{
	return run_procedure(fcinfo, true);
}

static Datum
run_procedure(FunctionCallInfo fcinfo, bool cluster)
{
	DatabaseRun *run;
	bool		bounded;
	MemoryContext context;
	MemoryContext caller = CurrentMemoryContext;

	procedure_begin(fcinfo, cluster ? "verify_cluster" : "verify_database",
					"relation");
	context = CurrentMemoryContext; /* lives as long as the procedure */
	run = palloc0(sizeof(DatabaseRun));
	run_init(run, fcinfo, cluster);
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
	record_free_plans(run);
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

/* verify_cluster() has databases for relations. */
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
	ARG_DIRECT_IO,
	ARG_LOST_WRITES				/* of verify_cluster() */
};

static void
run_init(DatabaseRun *run, FunctionCallInfo fcinfo, bool cluster)
{
	run->context = CurrentMemoryContext;
	run->database = MyDatabaseId;
	run->database_name = get_database_name(MyDatabaseId);
	run->options.cluster = cluster;
	read_options(&run->options, fcinfo);
	run->recording = !RecoveryInProgress();
	check_options(run);
	run->history = history_of(fcinfo);
	run->started = GetCurrentTimestamp();
	if (run->options.max_duration > 0)
		run->deadline = run->started + run->options.max_duration;
	if (run->options.report_interval > 0)
		run->next_report = run->started + run->options.report_interval;
	if (run->options.record_digests)
	{
		run->ledger.history = &run->history;
		ledger_server(&run->ledger.server);
	}
	run_prepare(run);
}

static ArrayType *
array_argument(FunctionCallInfo fcinfo, int argno, const char *name)
{
	ArrayType  *array;

	if (PG_ARGISNULL(argno))
		return NULL;
	array = PG_GETARG_ARRAYTYPE_P_COPY(argno);
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not contain nulls", name)));
	return array;
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

/*
 * Returns false if it is not OID/fork/block or OID/fork/block/file.  A cluster
 * has the OID of the database before it.
 */
static bool
parse_position(const char *string, bool cluster, RunPosition *position)
{
	char		fork[16];
	int			length = 0;

	position->number = position->database = InvalidOid;
	if (cluster)
	{
		if (!parse_number(&string, OID_MAX, &position->database) || *string != '/')
			return false;
		string++;
	}
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
position_argument(FunctionCallInfo fcinfo, int argno, bool cluster)
{
	char	   *string = text_to_cstring(PG_GETARG_TEXT_PP(argno));
	RunPosition position;

	if (!parse_position(string, cluster, &position))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid resume_at \"%s\"", string),
				 errdetail("Expected %san OID, a fork, a block and the number of a file, as in \"%s16384/main/0/16384\".",
						   cluster ? "the OID of a database, " : "", cluster ? "5/" : "")));
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
	options->leave = options->skip;
	options->leave_since = options->skip_since;
}

static void
read_options(RunOptions *options, FunctionCallInfo fcinfo)
{
	if (options->cluster)
		options->databases = array_argument(fcinfo, ARG_RELATIONS, "databases");
	else
		options->relations = array_argument(fcinfo, ARG_RELATIONS, "relations");
	options->order = order_argument(fcinfo, ARG_ORDER_BY);
	options->include_catalogs = accel_boolean(fcinfo, ARG_INCLUDE_CATALOGS, false);
	options->cluster_files = PG_ARGISNULL(ARG_CLUSTER_FILES) ?
		run_cluster_allowed() : PG_GETARG_BOOL(ARG_CLUSTER_FILES);
	read_reverify_after(options, fcinfo);
	if (!PG_ARGISNULL(ARG_RESUME_AT))
		options->resume_at = position_argument(fcinfo, ARG_RESUME_AT, options->cluster);
	options->max_duration = accel_interval(fcinfo, ARG_MAX_DURATION, "max_duration", 1);
	options->fail_on_findings = accel_boolean(fcinfo, ARG_FAIL_ON_FINDINGS, false);
	options->report_failures = accel_boolean(fcinfo, ARG_REPORT_FAILURES, false);
	options->report_interval = accel_interval(fcinfo, ARG_REPORT_INTERVAL, "report_interval", 1);
	options->verbose = accel_boolean(fcinfo, ARG_VERBOSE, false);
	options->record_digests = accel_boolean(fcinfo, ARG_RECORD_DIGESTS, false);
	options->workers = accel_integer(fcinfo, ARG_WORKERS, 0);
	options->max_rate = accel_integer(fcinfo, ARG_MAX_RATE, 0);
	options->lost_writes = options->cluster && accel_boolean(fcinfo, ARG_LOST_WRITES, true);
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
	if (run->options.cluster)
		run_databases_check(run);
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
	if (run->options.cluster)
		run_databases(run);
	else
		run_own_database(run);
	state = run->stopped ? "stopped" : "completed";
	report_end(run, state);
	record_end(run, state);
}

static void
raise_findings(DatabaseRun *run)
{
	int64		findings = run->totals.findings - run->totals.unverifiable;

	if (findings > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("%s in this %s", accel_counted(findings, "finding", "findings"),
						run->options.cluster ? "cluster" : "database"),
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
	run_abandon(run);
	report_end(run, state);
	record_end(run, state);
	ReThrowError(error);
}
