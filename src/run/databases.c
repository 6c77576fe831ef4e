/*
 * databases.c
 *	  The databases of a cluster, one after the other, for verify_cluster().
 *
 * The session verifies its own database itself.  For each of the others it
 * starts a worker there, a deputy, and records what that one says.  So locks,
 * memory and the bound on the rate are those of a run of one database.
 *
 * The next database is always looked up in the catalog, so that what was
 * created, dropped or renamed meanwhile is no error.  A deputy that leaves
 * before its end is followed by another one, which goes on.  What this run has
 * recorded as verified tells where, or on a standby its position.
 */
#include "compat.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "run/deputy.h"
#include "run/foreign.h"

/* A database whose DROP was interrupted; 15.4 and later mark it so. */
#define CONNLIMIT_INVALID	(-2)

/* So many deputies may die one after the other without any result. */
#define DEPUTY_TRIES		3

/* For how long a place for a worker is waited for, in microseconds. */
#define WORKER_PATIENCE		(2 * USECS_PER_SEC)

/* For how long a deputy is waited for after the time limit, or its start. */
#define DEPUTY_OVERTIME		(5 * USECS_PER_SEC)

typedef struct Database
{
	Oid			oid;
	char	   *name;
	int			encoding;
	bool		invalid;
} Database;

/* The state of the tour. */
typedef struct Tour
{
	DatabaseRun *run;
	RunOptions	given;			/* by the caller */
	List	   *at_start;		/* of Database */
	List	   *visited;		/* of OIDs, of this part of the tour */
	Oid			home;			/* its deputy has the shared relations */
	bool		no_workers;		/* the last one could not be started */
	DeputyKnown *ages;			/* of databases, the oldest time */
	Size		nages;
} Tour;

/* The leader's end of a deputy. */
typedef struct Leader
{
	DatabaseRun *run;
	const Database *database;
	dsm_segment *segment;
	DeputyShared *shared;
	shm_mq_handle *queue;
	BackgroundWorkerHandle *handle;
	RunTotals	before;			/* of the run, without this deputy's */
	bool		position;		/* is recorded, of the relation at work */
	bool		spoke;			/* it has verified something */
	bool		ended;			/* as it should */
	bool		yielded;
	TimestampTz overdue;		/* when it is ended, 0 for never */
	char		error[SCAN_MESSAGE_SIZE];
} Leader;

static void tour_lost(Tour *tour);
static void tour_part(Tour *tour, RunStale part);
static bool next_database(Tour *tour, Database *found);
static void visit(Tour *tour, const Database *database);
static bool is_there(DatabaseRun *run, const Database *database);
static void visit_other(Tour *tour, const Database *database);
static bool start_deputy(Tour *tour, Leader *leader);
static void follow(Leader *leader);
static void on_message(void *arg, const char *message, Size bytes);
static void on_state(Leader *leader, const DeputyMessage *message);
static void report_unverified(DatabaseRun *run, const Database *database, const char *why);

/* ---------------------------------------------------------------- *
 *		Arguments
 * ---------------------------------------------------------------- */

/* Whoever may call it has a role that counts in all databases. */
void
run_databases_check(DatabaseRun *run)
{
	Datum	   *names;
	int			count;

	if (!has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to verify other databases"),
				 errdetail("Only members of pg_stat_scan_tables may do that.")));
	if (run->options.databases == NULL)
		return;
	deconstruct_array(run->options.databases, TEXTOID, -1, false, TYPALIGN_INT,
					  &names, NULL, &count);
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("databases must not be empty")));
	for (int i = 0; i < count; i++)
		run->selected = list_append_unique_oid(run->selected,
											   get_database_oid(TextDatumGetCString(names[i]), false));
}

/* ---------------------------------------------------------------- *
 *		The tour
 * ---------------------------------------------------------------- */

static bool
is_selected(const DatabaseRun *run, Oid database)
{
	return run->selected == NIL || list_member_oid(run->selected, database);
}

/* Returns those to be verified, in no order, in the current context. */
static List *
read_databases(const DatabaseRun *run)
{
	Relation	catalog = table_open(DatabaseRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	List	   *databases = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_database row = (Form_pg_database) GETSTRUCT(tuple);
		Database   *database;

		if (!is_selected(run, row->oid))
			continue;
		database = palloc(sizeof(Database));
		database->oid = row->oid;
		database->name = foreign_text(NameStr(row->datname), GetDatabaseEncoding());
		database->encoding = row->encoding;
		database->invalid = row->datconnlimit == CONNLIMIT_INVALID;
		databases = lappend(databases, database);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return databases;
}

static const Database *
find_database(List *databases, Oid oid)
{
	ListCell   *cell;

	foreach(cell, databases)
		if (((Database *) lfirst(cell))->oid == oid)
		return lfirst(cell);
	return NULL;
}

/* The one that has the shared relations: this one, or the first. */
static Oid
home_of(const Tour *tour)
{
	Oid			home = InvalidOid;
	ListCell   *cell;

	foreach(cell, tour->at_start)
	{
		const Database *database = lfirst(cell);

		if (database->oid == MyDatabaseId)
			return MyDatabaseId;
		if (!database->invalid && (!OidIsValid(home) || database->oid < home))
			home = database->oid;
	}
	return home;
}

/* Of those that were there at the start and were not visited. */
static void
tell_of_dropped(const Tour *tour)
{
	List	   *now = read_databases(tour->run);
	ListCell   *cell;

	foreach(cell, tour->at_start)
	{
		const Database *database = lfirst(cell);

		if (find_database(now, database->oid) == NULL)
			ereport(NOTICE,
					(errmsg("database \"%s\" was dropped meanwhile", database->name)));
	}
	procedure_commit();
}

void
run_databases(DatabaseRun *run)
{
	Tour		tour = {run, run->options};

	tour.at_start = read_databases(run);
	tour.home = home_of(&tour);
	procedure_commit();
	if (run->options.lost_writes)
		tour_lost(&tour);
	if (run->options.order == RUN_ORDER_STALEST && run->recording)
	{
		tour_part(&tour, RUN_PART_NEVER);
		tour_part(&tour, RUN_PART_KNOWN);
	}
	else
		tour_part(&tour, RUN_PART_ALL);
	run->options = tour.given;
	run->database = MyDatabaseId;
	run->at.relid = InvalidOid;
	if (!run->stopped)
		tell_of_dropped(&tour);
}

/* Loads of databases or relations what the trusted runs, $2, say of them. */
static void
load_known(DatabaseRun *run, const char *statement, Oid first,
		   DeputyKnown **known, Size *count)
{
	Oid			types[] = {OIDOID, INT8ARRAYOID};
	Datum		values[] = {ObjectIdGetDatum(first), (Datum) 0};

	*known = NULL;
	*count = 0;
	PushActiveSnapshot(GetTransactionSnapshot());
	values[1] = record_trusted_runs(run);
	if (values[1] != (Datum) 0)
	{
		history_execute(&run->history, "verify_run_relations", SPI_OK_SELECT, NULL,
						statement, lengthof(types), types, values, NULL);
		*count = SPI_processed;
		*known = MemoryContextAllocHuge(run->context, Max(*count, 1) * sizeof(DeputyKnown));
		for (Size i = 0; i < *count; i++)
		{
			HeapTuple	row = SPI_tuptable->vals[i];

			(*known)[i].relid = DatumGetObjectId(history_column(row, 1));
			(*known)[i].tablespace = DatumGetObjectId(history_column(row, 2));
			(*known)[i].number = DatumGetObjectId(history_column(row, 3));
			(*known)[i].at = DatumGetTimestampTz(history_column(row, 4));
		}
		SPI_freetuptable(SPI_tuptable);
	}
	PopActiveSnapshot();
}

/* What this run, or the runs that it follows, have verified is left. */
static void
leave_verified(Tour *tour)
{
	RunOptions *options = &tour->run->options;

	options->leave = true;
	options->leave_since = tour->given.leave ?
		Min(tour->given.leave_since, tour->run->started) : tour->run->started;
}

/*
 * Loads of each database when its stalest relation was last verified.  What was
 * dropped or rewritten since has no file, or a new one whose age nobody knows.
 * It counts as the last that was verified there, so that no database is first
 * for ever, nor last.
 */
static void
load_ages(Tour *tour)
{
	DatabaseRun *run = tour->run;

	load_known(run, "SELECT v.datid, 0::oid, 0::oid, min("
			   " CASE WHEN " HISTORY_SCHEMA ".internal_file_exists(v.datid, v.tablespace, v.filenode)"
			   " THEN v.verified_at ELSE v.last END) FROM"
			   " (SELECT DISTINCT ON (r.datid, r.relid) r.datid, r.tablespace, r.filenode,"
			   " r.verified_at, max(r.verified_at) OVER (PARTITION BY r.datid) AS last"
			   " FROM " HISTORY_SCHEMA ".verify_run_relations r"
			   " WHERE r.relid >= $1 AND r.run = ANY ($2)"
			   " ORDER BY r.datid, r.relid, r.verified_at DESC) v GROUP BY v.datid",
			   run->options.include_catalogs ? InvalidOid : FirstNormalObjectId,
			   &tour->ages, &tour->nages);
}

static void
tour_part(Tour *tour, RunStale part)
{
	DatabaseRun *run = tour->run;
	Database	database;

	tour->visited = NIL;
	run->options.part = part;
	if (part == RUN_PART_KNOWN)
	{
		leave_verified(tour);
		load_ages(tour);
	}
	while (!run->stopped && next_database(tour, &database))
	{
		tour->visited = lappend_oid(tour->visited, database.oid);
		visit(tour, &database);
	}
}

/* How old the oldest verification of a database is, for RUN_PART_KNOWN. */
static TimestampTz
age_of(const Tour *tour, Oid database)
{
	for (Size i = 0; i < tour->nages; i++)
		if (tour->ages[i].relid == database)
			return tour->ages[i].at;
	return DT_NOEND;
}

/* Does a come before b?  This database is first, then the lowest OID. */
static bool
comes_before(const Tour *tour, Oid a, Oid b)
{
	if (tour->run->options.part == RUN_PART_KNOWN &&
		age_of(tour, a) != age_of(tour, b))
		return age_of(tour, a) < age_of(tour, b);
	if ((a == MyDatabaseId) != (b == MyDatabaseId))
		return a == MyDatabaseId;
	return a < b;
}

static bool
next_database(Tour *tour, Database *found)
{
	DatabaseRun *run = tour->run;
	Oid			resume = tour->given.resume_at.database;
	const Database *best = NULL;
	MemoryContext old = MemoryContextSwitchTo(run->context);
	List	   *databases = read_databases(run);
	ListCell   *cell;

	foreach(cell, databases)
	{
		const Database *database = lfirst(cell);

		if (list_member_oid(tour->visited, database->oid) ||
			(OidIsValid(resume) && comes_before(tour, database->oid, resume)) ||
			(best != NULL && !comes_before(tour, database->oid, best->oid)))
			continue;
		best = database;
	}
	if (best != NULL)
		*found = *best;
	MemoryContextSwitchTo(old);
	procedure_commit();
	return best != NULL;
}

static void
stop_here(DatabaseRun *run)
{
	run->stopped = true;
	if (run->options.order == RUN_ORDER_OID)
		run->stopped_at = run->at;
}

/* The time limit may have passed between two of them. */
static bool
time_is_up(DatabaseRun *run)
{
	if (run_is_late(run))
		stop_here(run);
	return run->stopped;
}

/* Has it blocks that may have lost a write, or the shared relations that have? */
static bool
is_suspected(const Tour *tour, const Database *database)
{
	const DatabaseRun *run = tour->run;

	return !database->invalid &&
		(list_member_oid(run->suspected, database->oid) ||
		 (database->oid == tour->home && list_member_oid(run->suspected, InvalidOid)));
}

/*
 * Goes where the WAL tells of lost writes.  Where time is up meanwhile, the tour
 * of the pages says so.
 */
static void
tour_lost(Tour *tour)
{
	DatabaseRun *run = tour->run;
	ListCell   *cell;

	if (run_lost_survey(run) == NIL)
		return;
	run->options.lost_pass = true;
	foreach(cell, tour->at_start)
	{
		const Database *database = lfirst(cell);

		if (run->stopped || !is_suspected(tour, database))
			continue;
		run->database = database->oid;
		run->database_name = database->name;
		run->options.leave_shared = database->oid != tour->home;
		run->at = (RunPosition)
		{
			0
		};
		if (database->oid == MyDatabaseId)
			run_lost_database(run);
		else
			visit_other(tour, database);
	}
	run->options = tour->given;
	run->suspected = NIL;
	run->stopped = false;
	run->stopped_at = (RunPosition)
	{
		0
	};
}

/* So is one for a moment while it is dropped. */
static void
visit_invalid(DatabaseRun *run, const Database *database)
{
	if (is_there(run, database))
		report_unverified(run, database, "the database is invalid: only DROP DATABASE is possible");
}

static void
visit(Tour *tour, const Database *database)
{
	DatabaseRun *run = tour->run;
	const Database *before = find_database(tour->at_start, database->oid);
	RunPosition first = {database->oid, 1, MAIN_FORKNUM, 0, InvalidOid};

	run->database = database->oid;
	run->database_name = database->name;
	run->options.leave_shared = database->oid != tour->home;
	run->options.resume_at = (RunPosition)
	{
		0
	};
	if (tour->given.resume_at.database == database->oid)
		run->options.resume_at = tour->given.resume_at;
	run->at = first;
	if (time_is_up(run))
		return;
	if (before != NULL && strcmp(before->name, database->name) != 0)
		ereport(NOTICE,
				(errmsg("database \"%s\" was renamed to \"%s\" meanwhile",
						before->name, database->name)));
	if (database->invalid)
		visit_invalid(run, database);
	else if (database->oid == MyDatabaseId)
	{
		run_own_database(run);
		run->databases += !run->stopped && run->options.part != RUN_PART_NEVER;
	}
	else
		visit_other(tour, database);
	run->nitems = 0;
	run->positions = NIL;
}

/* ---------------------------------------------------------------- *
 *		A database and its deputies
 * ---------------------------------------------------------------- */

static bool
exists(Oid database)
{
	char	   *name = get_database_name(database);

	procedure_commit();
	return name != NULL;
}

/* Has it become invalid since its row was read? */
static bool
is_invalid(Oid database)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	bool		invalid = HeapTupleIsValid(tuple) &&
		((Form_pg_database) GETSTRUCT(tuple))->datconnlimit == CONNLIMIT_INVALID;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	procedure_commit();
	return invalid;
}

/* Who wants it for himself goes first, and may drop it. */
static bool
is_there(DatabaseRun *run, const Database *database)
{
	while (!run->stopped && foreign_database_wanted(database->oid))
	{
		if (run->deadline != 0 && GetCurrentTimestamp() >= run->deadline)
			stop_here(run);
		task_doze();
	}
	return !run->stopped && exists(database->oid);
}

/* Nobody can connect to one that is being dropped. */
static void
report_failed(DatabaseRun *run, const Database *database, const char *why)
{
	if (is_invalid(database->oid))
		visit_invalid(run, database);
	else
		report_unverified(run, database, why);
}

/* Where another deputy goes on. */
static void
go_on(Tour *tour)
{
	DatabaseRun *run = tour->run;

	if (run->recording)
		leave_verified(tour);
	else
		run->options.resume_at = run->at;
}

static void
visit_other(Tour *tour, const Database *database)
{
	DatabaseRun *run = tour->run;
	RunOptions	options = run->options;
	int			tries = 0;

	while (!run->stopped)
	{
		Leader		leader = {run, database};

		if (!is_there(run, database))
			break;				/* tell_of_dropped() says so */
		if (!start_deputy(tour, &leader))
		{
			report_failed(run, database, leader.error);
			break;
		}
		follow(&leader);
		if (leader.ended && !leader.yielded)
		{
			run->databases += !run->stopped && !run->options.lost_pass &&
				run->options.part != RUN_PART_NEVER;
			break;
		}
		tries = leader.spoke || leader.yielded ? 0 : tries + 1;
		if (tries == DEPUTY_TRIES)
		{
			report_failed(run, database, leader.error[0] ? leader.error :
						  "its worker ended before its work was done");
			break;
		}
		go_on(tour);
	}
	run->options = options;
}

/* A finding that is none: what could not be verified is not verified. */
static void
report_unverified(DatabaseRun *run, const Database *database, const char *why)
{
	run_begin_batch(run);
	run_keep_row(run, NULL, page_status_name(PAGE_NOT_VERIFIABLE), why);
	run->totals.findings++;
	run->totals.unverifiable++;
	run->advanced = true;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("could not verify database \"%s\": %s", database->name, why)));
	record_cluster(run, false);
}

/* The leader goes, whatever the reason. */
static void
dismiss(dsm_segment *segment, Datum shared)
{
	pg_atomic_write_u32(&((DeputyShared *) DatumGetPointer(shared))->over, 1);
}

static void
fill_shared(Leader *leader, const DeputyKnown *known, Size nknown)
{
	DatabaseRun *run = leader->run;
	DeputyShared *shared = leader->shared;
	RunRelation *position;
	ListCell   *cell;

	memset(shared, 0, sizeof(*shared));
	foreign_share(&shared->foreign, leader->database->oid, StatementTimeout,
				  &run->scan.throttle);
	shared->options = run->options;
	shared->started = run->started;
	shared->deadline = run->deadline;
	shared->advanced = run->advanced;
	shared->recording = run->recording;
	shared->checksums_off = run->checksums_off;
	pg_atomic_init_u32(&shared->over, 0);
	shared->nknown = nknown;
	shared->npositions = list_length(run->positions);
	if (nknown > 0)
		memcpy((char *) shared + MAXALIGN(sizeof(DeputyShared)), known,
			   nknown * sizeof(DeputyKnown));
	position = (RunRelation *) ((char *) shared +
								deputy_layout(nknown, shared->npositions).positions);
	foreach(cell, run->positions)
		* position++ = *(RunRelation *) lfirst(cell);
}

/* Returns false with an error if there is no place for a worker. */
static bool
start_deputy(Tour *tour, Leader *leader)
{
	DatabaseRun *run = leader->run;
	DeputyLayout place;
	DeputyKnown *known = NULL;
	Size		nknown = 0;
	TimestampTz until = GetCurrentTimestamp() + WORKER_PATIENCE;

	run->positions = NIL;
	if (!run->options.lost_pass &&
		(run->options.leave || (run->options.order == RUN_ORDER_STALEST && run->recording)))
	{
		record_load_positions(run);
		load_known(run, "SELECT r.relid, r.tablespace, r.filenode, r.verified_at"
				   " FROM " HISTORY_SCHEMA ".verify_run_relations r"
				   " WHERE r.datid = ANY (ARRAY[0::oid, $1]) AND r.run = ANY ($2)"
				   " UNION ALL SELECT p.relid, p.tablespace, 0::oid, p.recorded_at"
				   " FROM " HISTORY_SCHEMA ".internal_positions p"
				   " WHERE p.datid = ANY (ARRAY[0::oid, $1]) AND p.run = ANY ($2)"
				   " ORDER BY 1, 4 DESC", run->database, &known, &nknown);
	}
	procedure_commit();
	place = deputy_layout(nknown, list_length(run->positions));
	leader->segment = dsm_create(place.total, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	strlcpy(leader->error, "no shared memory for a worker", sizeof(leader->error));
	if (leader->segment == NULL)
		return false;
	dsm_pin_mapping(leader->segment);
	leader->shared = dsm_segment_address(leader->segment);
	fill_shared(leader, known, nknown);
	if (known != NULL)
		pfree(known);
	on_dsm_detach(leader->segment, dismiss, PointerGetDatum(leader->shared));
	leader->queue = task_queue_create((char *) leader->shared + place.queue,
									  leader->segment);
	strlcpy(leader->error, "all of max_worker_processes are in use", sizeof(leader->error));
	while (!foreign_launch(leader->segment, "accel_deputy_main", &leader->handle))
	{
		if (tour->no_workers || GetCurrentTimestamp() >= until || time_is_up(run))
		{
			tour->no_workers = true;
			dsm_detach(leader->segment);
			return false;
		}
		task_doze();
	}
	shm_mq_set_handle(leader->queue, leader->handle);
	if (run->deadline != 0)
		leader->overdue = Max(run->deadline, GetCurrentTimestamp()) + DEPUTY_OVERTIME;
	tour->no_workers = false;
	leader->error[0] = '\0';
	return true;
}

/* A deputy that does not end in time is ended. */
static void
on_idle(void *arg)
{
	Leader	   *leader = arg;

	if (leader->overdue != 0 && GetCurrentTimestamp() >= leader->overdue)
		TerminateBackgroundWorker(leader->handle);
}

static void
on_gone(void *arg)
{
	Leader	   *leader = arg;
	DatabaseRun *run = leader->run;

	if (leader->ended)
		throttle_copy(&run->scan.throttle, &leader->shared->foreign.throttle);
	else
		(void) time_is_up(run);
}

static void
follow(Leader *leader)
{
	ForeignListener listener = {leader, on_message, on_idle, on_gone};

	leader->before = leader->run->totals;
	foreign_follow(leader->segment, leader->queue, leader->handle,
				   leader->run->context, &listener);
	leader->run->relation = NULL;
}

/* ---------------------------------------------------------------- *
 *		What a deputy says
 * ---------------------------------------------------------------- */

/* What it has found since the last batch is void, if that failed. */
static void
on_begin(DatabaseRun *run)
{
	if (run->store != NULL)
		tuplestore_end(run->store);
	run_begin_batch(run);
}

/* Kept up to the end of the batch. */
static void
on_digests(DatabaseRun *run, const DeputyDigests *digests)
{
	MemoryContext old = MemoryContextSwitchTo(run->batch_context);

	ledger_batch_append(&run->read, digests->pages, digests->count);
	MemoryContextSwitchTo(old);
}

static void
on_message(void *arg, const char *message, Size bytes)
{
	Leader	   *leader = arg;
	DatabaseRun *run = leader->run;

	switch (message[0])
	{
		case DEPUTY_BEGIN:
			on_begin(run);
			break;
		case DEPUTY_FINDING:
			{
				PageFinding finding = ((const DeputyFinding *) message)->finding;

				foreign_copy_text(finding.message, sizeof(finding.message),
								  finding.message, leader->database->encoding);
				run_keep_finding(run, &finding);
				break;
			}
		case DEPUTY_LOST:
			run_keep_lost(run, &((const DeputyLost *) message)->finding);
			break;
		case DEPUTY_DIGESTS:
			on_digests(run, (const DeputyDigests *) message);
			break;
		case DEPUTY_BATCH:
		case DEPUTY_COMPLETE:
		case DEPUTY_LOST_END:
		case DEPUTY_END:
			on_state(leader, (const DeputyMessage *) message);
			break;
		case 'E':
		case 'N':
			foreign_report(leader->database->name, leader->database->encoding,
						   message, bytes, leader->error, sizeof(leader->error));
			break;
	}
}

/* A name in the current memory context, or NULL. */
static char *
name_of(const Leader *leader, const char *name)
{
	return name[0] ? foreign_text(name, leader->database->encoding) : NULL;
}

static void
add_totals(DatabaseRun *run, const RunTotals *before, const RunTotals *added)
{
	run->totals = *before;
	run->totals.relations += added->relations;
	run->totals.blocks += added->blocks;
	run->totals.bytes += added->bytes;
	run->totals.new_pages += added->new_pages;
	run->totals.unwritten += added->unwritten;
	run->totals.findings += added->findings;
	run->totals.unverifiable += added->unverifiable;
}

static void
on_batch(Leader *leader, const DeputyMessage *message)
{
	DatabaseRun *run = leader->run;
	RunRelation relation = message->relation;
	bool		complete = message->kind == DEPUTY_COMPLETE;
	LedgerPage *pages;

	leader->spoke = true;
	run->advanced |= message->kind != DEPUTY_LOST_END;
	relation.schema = name_of(leader, message->schema);
	relation.name = name_of(leader, message->name);
	relation.owner = name_of(leader, message->owner);
	relation.kind = name_of(leader, message->kind_name);
	relation.position = leader->position;
	pages = run->read.pages;
	run->read = message->read;
	run->read.pages = pages;
	run->relation = &relation;
	if (message->kind == DEPUTY_LOST_END)
	{
		record_lost(run);
		run->relation = NULL;
		return;
	}
	record_batch(run, complete);
	run->relation = NULL;
	leader->position = relation.position && !complete;
	run->at = relation.next;
	run->at.database = run->database;
	if (complete)
		run->at = (RunPosition)
	{
		run->database, relation.item.relid + 1, MAIN_FORKNUM, 0, InvalidOid
	};
}

static void
on_state(Leader *leader, const DeputyMessage *message)
{
	DatabaseRun *run = leader->run;

	add_totals(run, &leader->before, &message->totals);
	run->checksums_off |= message->checksums_off;
	run->scan.warned |= message->checksums_off;
	if (message->kind != DEPUTY_END)
		on_batch(leader, message);
	else
	{
		leader->ended = true;
		leader->yielded = message->yielded;
		if (message->stopped && !message->yielded)
		{
			run->stopped = true;
			run->stopped_at = message->stopped_at;
			run->stopped_at.database = OidIsValid(run->stopped_at.relid) ? run->database : InvalidOid;
		}
	}
	run->progress = message->progress;
	run_show_progress(run);
}
