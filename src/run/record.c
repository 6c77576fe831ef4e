/*
 * record.c
 *	  Keeps the history of runs in its tables, and the lock that a run holds.
 *
 * Damage, a full disk or a DROP EXTENSION must not keep a run from looking at
 * the rest.  What cannot be recorded is reported once, then the run goes on
 * without.
 */
#include "compat.h"

#include <sys/stat.h>

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "run/archive_record.h"
#include "run/backup_record.h"
#include "run/database_run.h"
#include "run/deputy.h"
#include "run/lock.h"

/* How often the run's row is brought up to date, in microseconds. */
#define RECORD_INTERVAL		USECS_PER_SEC

/* The rows of findings to write, as the statement knows them. */
#define STORE_NAME	"accel_findings"

/* What guarded() writes. */
typedef struct LockedWrite
{
	DatabaseRun *run;
	void		(*write) (void *);
	void	   *arg;
} LockedWrite;

/* The run's end, for write_end(). */
typedef struct RunEnd
{
	DatabaseRun *run;
	const char *state;
} RunEnd;

static bool guarded(DatabaseRun *run, void (*write) (void *), void *arg);
static void write_locked(void *arg);
static void lock_tables(DatabaseRun *run);
static void wait_for_table(DatabaseRun *run, Oid relid, TimestampTz start);
static void lock_turn(void);
static void write_start(void *arg);
static void tidy_runs(DatabaseRun *run);
static void write_batch(void *arg);
static void write_complete_batch(void *arg);
static void write_cluster(void *arg);
static void write_progress(void *arg);
static void write_findings(DatabaseRun *run);
static void write_digests(DatabaseRun *run);
static void write_relation(DatabaseRun *run);
static void write_verdict(DatabaseRun *run);
static void drop_verdicts(DatabaseRun *run);
static void write_position(DatabaseRun *run);
static void write_end(void *arg);
static void write_run(DatabaseRun *run, const char *state);
static void prune(DatabaseRun *run);
static void execute(DatabaseRun *run, const char *table, int expected,
					const char *statement, int nargs, Oid *types,
					Datum *values, const char *nulls);

/* ---------------------------------------------------------------- *
 *		Writing
 * ---------------------------------------------------------------- */

void
record_start(DatabaseRun *run)
{
	if (run->recording)
		(void) guarded(run, write_start, run);
}

/* While a lock is waited for, the run's row says what is done. */
void
record_progress(DatabaseRun *run)
{
	if (run->deputy == NULL && run->recording)
		(void) guarded(run, write_progress, run);
}

void
record_batch(DatabaseRun *run, bool complete)
{
	if (run->deputy != NULL)
		deputy_send_batch(run, complete);
	if (run->deputy != NULL || !run->recording ||
		!guarded(run, complete ? write_complete_batch : write_batch, run))
		procedure_commit();
	run->store = NULL;
}

/* Findings of no relation, but of files of the cluster, or of a database. */
void
record_cluster(DatabaseRun *run, bool files)
{
	RunRelation none = {{0}};

	none.shared = files;
	run->relation = &none;
	if (!run->recording || !guarded(run, write_cluster, run))
	{
		run->files_recorded = 0;
		procedure_commit();
	}
	run->relation = NULL;
	run->store = NULL;
}

/* The same of a relation that lost writes, or of WAL. */
void
record_lost(DatabaseRun *run)
{
	if (run->deputy != NULL)
		deputy_send_lost_end(run);
	if (run->deputy != NULL || !run->recording || !guarded(run, write_cluster, run))
		procedure_commit();
	run->store = NULL;
}

/*
 * The state is written even where the history was lost on the way.  Later runs
 * read from it that the session did not just die.
 */
void
record_end(DatabaseRun *run, const char *state)
{
	RunEnd		end = {run, run->record_lost ? "not_recorded" : state};

	if (run->number == 0)
		return;
	PG_TRY();
	{
		(void) guarded(run, write_end, &end);
	}
	PG_FINALLY();				/* another cancel, for instance */
	{
		history_unlock(HISTORY_LOCK_RUN, (uint64) run->number);
		run->number = 0;
	}
	PG_END_TRY();
}

void
record_free_plans(DatabaseRun *run)
{
	SPIPlanPtr	plans[] = {run->insert_relation, run->insert_verdict, run->update_verdict};

	for (int i = 0; i < lengthof(plans); i++)
		if (plans[i] != NULL)
			SPI_freeplan(plans[i]);
}

/*
 * Writes and commits.  After a failure the transaction is rolled back, and
 * nothing is recorded any more.
 */
static bool
guarded(DatabaseRun *run, void (*write) (void *), void *arg)
{
	LockedWrite locked = {run, write, arg};
	ErrorData  *error = history_write(&run->history, write_locked, &locked);

	if (error == NULL)
		return true;
	if (run->number == 0 && signature_is_refused(error))
		ReThrowError(error);
	run_show_progress(run);
	if (!run->record_lost)
		history_warn_loss(error);
	run->record_lost = true;
	run->recording = false;
	return false;
}

/* No snapshot is held while a table is waited for, so that vacuum goes on. */
static void
write_locked(void *arg)
{
	LockedWrite *locked = arg;

	PopActiveSnapshot();
	lock_tables(locked->run);
	lock_turn();
	PushActiveSnapshot(GetTransactionSnapshot());
	locked->write(locked->arg);
}

/*
 * All tables are locked at once, whatever is to be written, so that a session
 * that waits for one of them holds no lock.  So there is no deadlock with a
 * session that locks them in another order, or one of them and a relation that
 * the run reads.
 */
static void
lock_tables(DatabaseRun *run)
{
	static const char *const tables[] = {"verify_runs", "verify_run_relations",
	"verify_findings", "internal_positions", "internal_verdicts", "internal_page_digests"};
	TimestampTz start = GetCurrentTimestamp();
	Oid			relids[lengthof(tables)];
	int			wanted = run->number == 0 ? 1 : lengthof(tables);	/* to begin, its row */
	int			locked = 0;

	while (locked < wanted)
	{
		Oid			relid = get_relname_relid(tables[locked], run->history.namespace);

		if (!OidIsValid(relid) ||	/* owner_of() says so */
			ConditionalLockRelationOid(relid, RowExclusiveLock))
		{
			relids[locked++] = relid;
			continue;
		}
		while (locked > 0)
			if (OidIsValid(relids[--locked]))
				UnlockRelationOid(relids[locked], RowExclusiveLock);
		wait_for_table(run, relid, start);
	}
}

/*
 * While workers hold locks no queue is joined, see open_relation().  Nor is it
 * where there is a time limit, which the queue does not know.
 */
static void
wait_for_table(DatabaseRun *run, Oid relid, TimestampTz start)
{
	TimestampTz now = GetCurrentTimestamp();

	if (run->crew == NULL && run->deadline == 0)
	{
		LockRelationOid(relid, RowExclusiveLock);
		UnlockRelationOid(relid, RowExclusiveLock);
		return;
	}
	if ((LockTimeout > 0 && TimestampDifferenceExceeds(start, now, LockTimeout)) ||
		(run->deadline != 0 && now >= run->deadline))
		run_lock_fail(relid);
	run_lock_pause();
}

/*
 * One run after the other writes, so that of its tables' rows each sees what
 * the one before has written.  Whoever has the turn has all of its locks and
 * waits for nobody.  So it is soon over, and no matter of lock_timeout.
 */
static void
lock_turn(void)
{
	if (history_lock(HISTORY_LOCK_RUN, 0, false, false))
		return;
	(void) set_config_option("lock_timeout", "0", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
	(void) history_lock(HISTORY_LOCK_RUN, 0, false, true);
}

/*
 * A copy of a data directory has another file there, and its pages are its
 * own.
 */
static int64
directory_number(void)
{
	struct stat status;

	return stat("PG_VERSION", &status) == 0 ? (int64) status.st_ino : 0;
}

/*
 * These are the columns that tell whose run it is, see internal_is_own_run().
 */
#define ORIGIN_TYPES	INT8OID, INT8OID, INT8OID, OIDOID

static void
fill_origin(Datum *values)
{
	values[0] = Int64GetDatum((int64) GetSystemIdentifier());
	values[1] = Int64GetDatum(GetWALInsertionTimeLine());
	values[2] = Int64GetDatum(directory_number());
	values[3] = ObjectIdGetDatum(MyDatabaseId);
}

/*
 * Numbers go on after the highest one, be it of a template or of a restored
 * dump.  One run after the other takes its number, see lock_turn().
 */
static void
write_start(void *arg)
{
	DatabaseRun *run = arg;
	Oid			types[] = {INT8OID, TIMESTAMPTZOID, ORIGIN_TYPES};
	Datum		values[lengthof(types)];

	signature_check_tables(run->history.namespace);
	execute(run, "verify_runs", SPI_OK_SELECT,
			"SELECT COALESCE(max(run) + 1, 1)"
			" FROM " HISTORY_SCHEMA ".verify_runs", 0, NULL, NULL, NULL);
	run->number = DatumGetInt64(history_column(SPI_tuptable->vals[0], 1));
	SPI_freetuptable(SPI_tuptable);
	values[0] = Int64GetDatum(run->number);
	values[1] = TimestampTzGetDatum(run->started);
	fill_origin(&values[2]);
	execute(run, "verify_runs", SPI_OK_INSERT,
			"SELECT $1, $2, NULL::timestamptz, 0::int8,"
			" 0::int8, 0::int8, 0::int8,"
			" 'running'::text, 0::int8,"
			" 0::int8, 0::int8, $3, $4, $5, $6",
			lengthof(types), types, values, NULL);
	(void) history_lock(HISTORY_LOCK_RUN, (uint64) run->number, true, false);
	tidy_runs(run);
}

/*
 * A run is at work as long as its session holds a lock in its name, which
 * outlives commits and nothing else.  Rows of other running ones are those of
 * sessions that died.  It is given up after the row's last state is committed,
 * which we may not have seen yet.
 */
static void
tidy_runs(DatabaseRun *run)
{
	Oid			types[] = {INT8OID};
	SPITupleTable *rows;
	uint64		count;

	execute(run, "verify_runs", SPI_OK_SELECT,
			"SELECT run FROM " HISTORY_SCHEMA ".verify_runs"
			" WHERE state = 'running'",
			0, NULL, NULL, NULL);
	rows = SPI_tuptable;
	count = SPI_processed;
	for (uint64 i = 0; i < count; i++)
	{
		bool		isnull;
		Datum		number = SPI_getbinval(rows->vals[i], rows->tupdesc, 1,
										   &isnull);

		if (DatumGetInt64(number) == run->number ||
			!history_lock(HISTORY_LOCK_RUN, DatumGetUInt64(number), false, false))
			continue;
		execute(run, "verify_runs", SPI_OK_UPDATE,
				"SELECT r.ctid, run, started_at, finished_at, relations, blocks, read_bytes,"
				" findings, 'interrupted'::text, not_verifiable, zero_blocks, files,"
				" system_identifier, timeline_id, data_directory_inode, datid"
				" FROM " HISTORY_SCHEMA ".verify_runs r"
				" WHERE run = $1"
				" AND state = 'running' FOR UPDATE",
				1, types, &number, NULL);
	}
	SPI_freetuptable(rows);
}

static void
write_complete_batch(void *arg)
{
	DatabaseRun *run = arg;

	write_findings(run);
	write_digests(run);
	if (run->relation->unverifiable == 0)
		write_relation(run);
	if (GetCurrentTimestamp() - run->recorded >= RECORD_INTERVAL)
		write_run(run, "running");
}

static void
write_batch(void *arg)
{
	DatabaseRun *run = arg;

	write_findings(run);
	write_digests(run);
	write_position(run);
	write_run(run, "running");
}

static void
write_cluster(void *arg)
{
	DatabaseRun *run = arg;

	write_findings(run);
	write_run(run, "running");
}

static void
write_progress(void *arg)
{
	write_run(arg, "running");
}

/*
 * These are the runs of this database, without those of a template or of
 * before an upgrade.
 */
#define OWN_RUNS \
	"ARRAY(SELECT r.run FROM " HISTORY_SCHEMA ".verify_runs r WHERE " \
	HISTORY_SCHEMA ".internal_is_own_run(r.system_identifier, r.timeline_id," \
	" r.data_directory_inode, r.datid))"

/* The columns that tell of a relation, its file and its database. */
#define NAME_TYPES	TEXTOID, TEXTOID, TEXTOID, TEXTOID, OIDOID, OIDOID, OIDOID, TEXTOID

static Oid
database_of(const DatabaseRun *run, const RunRelation *relation)
{
	return relation->shared ? InvalidOid : run->database;
}

static void
fill_names(const DatabaseRun *run, Datum *values, char *nulls)
{
	const RunRelation *relation = run->relation;

	values[0] = history_text(relation->schema, &nulls[0]);
	values[1] = history_text(relation->name, &nulls[1]);
	values[2] = history_text(relation->kind, &nulls[2]);
	values[3] = history_text(relation->owner, &nulls[3]);
	values[4] = ObjectIdGetDatum(relation->file.tablespace);
	values[5] = ObjectIdGetDatum(relation->file.number);
	values[6] = ObjectIdGetDatum(database_of(run, relation));
	values[7] = history_text(relation->shared ? NULL : run->database_name, &nulls[7]);
}

/*
 * Makes the store a relation of SPI.  A write that fails leaves it registered,
 * the last one of the run.  Then every statement that names a table without a
 * schema looks at it, so it lives as long as the run.
 */
static void
register_store(DatabaseRun *run)
{
	EphemeralNamedRelation relation = &run->store_relation;
	MemoryContext old = MemoryContextSwitchTo(run->context);	/* SPI keeps its list
																 * here */

	relation->md.name = STORE_NAME;
	relation->md.tupdesc = run->store_desc;
	relation->md.enrtype = ENR_NAMED_TUPLESTORE;
	relation->reldata = run->store;
	if (SPI_register_relation(relation) != SPI_OK_REL_REGISTER)
		elog(ERROR, "could not register the findings");
	MemoryContextSwitchTo(old);
}

/* One statement for all of the batch. */
static void
write_findings(DatabaseRun *run)
{
	Oid			types[] = {INT8OID, TIMESTAMPTZOID, NAME_TYPES};
	char		nulls[] = "          ";
	Datum		values[lengthof(types)];

	if (run->store == NULL)
		return;
	values[0] = Int64GetDatum(run->number);
	values[1] = TimestampTzGetDatum(GetCurrentTimestamp());
	fill_names(run, &values[2], &nulls[2]);
	register_store(run);
	execute(run, "verify_findings", SPI_OK_INSERT,
			"SELECT $1"
#define FINDING_COLUMN(name, ...) ", f." #name
#define FINDING_RUN_COLUMNS \
			", $2," \
			" CASE WHEN f.relid IS NOT NULL THEN $3 END," \
			" CASE WHEN f.relid IS NOT NULL THEN $4 END," \
			" CASE WHEN f.relid IS NOT NULL THEN $5 END," \
			" CASE WHEN f.relid IS NOT NULL THEN $6 END," \
			" CASE WHEN f.relid IS NOT NULL THEN $7 END," \
			" CASE WHEN f.relid IS NOT NULL THEN $8 END," \
			" $9, $10"
#include "func/finding.def"
			" FROM " STORE_NAME " f",
			lengthof(types), types, values, nulls);
	SPI_unregister_relation(STORE_NAME);
	tuplestore_end(run->store);
	run->store = NULL;
}

static void
write_digests(DatabaseRun *run)
{
	const RunRelation *relation = run->relation;
	LedgerFile	file = {database_of(run, relation),
		relation->file.tablespace, relation->file.number,
	relation->item.relid};

	if (relation->kind == NULL)
		return;
	if (strcmp(relation->kind, "index") == 0)
		file.kind = LEDGER_INDEX;
	else if (strcmp(relation->kind, "sequence") == 0)
		file.kind = LEDGER_SEQUENCE;
	ledger_write(&run->ledger, &file, &run->read);
}

/* Forgets where the run stood in the relation. */
static void
delete_position(DatabaseRun *run)
{
	Oid			types[] = {INT8OID};
	Datum		number = Int64GetDatum(run->number);

	if (run->relation->position)
		execute(run, "internal_positions", SPI_OK_DELETE,
				"SELECT t.ctid FROM " HISTORY_SCHEMA ".internal_positions t"
				" WHERE run = $1 FOR UPDATE", 1, types, &number, NULL);
}

/*
 * Replaces the last verdict on the relation.  Runs take turns, so there is one
 * row at most.  A verdict with findings keeps when the file was good, by a run
 * that is trusted.
 */
static void
write_verdict(DatabaseRun *run)
{
	const RunRelation *relation = run->relation;
	Oid			types[] = {OIDOID, OIDOID, OIDOID, OIDOID, INT8OID,
	TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID};
	char		nulls[] = "        ";
	Datum		values[] = {ObjectIdGetDatum(database_of(run, relation)),
		ObjectIdGetDatum(relation->item.relid),
		ObjectIdGetDatum(relation->file.tablespace),
		ObjectIdGetDatum(relation->file.number),
		Int64GetDatum(run->number),
		TimestampTzGetDatum(run->verified),
		Int64GetDatum(relation->blocks),
	TimestampTzGetDatum(run->verified)};

	if (relation->findings > 0)
	{
		nulls[7] = 'n';
		execute(run, "internal_verdicts", SPI_OK_UPDATE,
				"SELECT v.ctid, $1, $2, $3, $4, $5, $6, CASE WHEN $8 IS NULL"
				" AND v.tablespace = $3 AND v.filenode = $4"
				" AND v.run = ANY (" OWN_RUNS ") THEN v.good_at END, $7"
				" FROM " HISTORY_SCHEMA ".internal_verdicts v"
				" WHERE v.datid = $1 AND v.relid = $2 FOR UPDATE OF v",
				lengthof(types), types, values, nulls);
	}
	else
		history_execute(&run->history, "internal_verdicts", SPI_OK_UPDATE,
						&run->update_verdict,
						"SELECT v.ctid, $1, $2, $3, $4, $5, $6, $8, $7"
						" FROM " HISTORY_SCHEMA ".internal_verdicts v"
						" WHERE v.datid = $1 AND v.relid = $2 FOR UPDATE OF v",
						lengthof(types), types, values, nulls);
	if (SPI_processed == 0)
		history_execute(&run->history, "internal_verdicts", SPI_OK_INSERT,
						&run->insert_verdict,
						"SELECT $1, $2, $3, $4, $5, $6, $8, $7",
						lengthof(types), types, values, nulls);
}

/*
 * Deletes what comes before the oldest good verdict on a relation that is still
 * there, which are those of relations that are not, and of other directories.
 * So internal_oldest_good passes over those that went since the last run.
 */
static void
drop_verdicts(DatabaseRun *run)
{
	execute(run, "internal_verdicts", SPI_OK_DELETE,
			"SELECT v.ctid FROM " HISTORY_SCHEMA ".internal_oldest_good g"
			" JOIN " HISTORY_SCHEMA ".internal_verdicts v"
			" ON v.datid = g.datid"
			" AND v.good_at < COALESCE(g.good_at, 'infinity')"
			" FOR UPDATE OF v", 0, NULL, NULL, NULL);
}

/* Executes the statement of every relation, which is prepared once. */
static void
write_relation(DatabaseRun *run)
{
	const RunRelation *relation = run->relation;
	Oid			types[] = {INT8OID, OIDOID, TIMESTAMPTZOID, INT8OID, INT8OID,
	TIMESTAMPTZOID, INT8OID, NAME_TYPES};
	char		nulls[] = "               ";
	Datum		values[lengthof(types)];

	values[0] = Int64GetDatum(run->number);
	values[1] = ObjectIdGetDatum(relation->item.relid);
	run->verified = GetCurrentTimestamp();
	values[2] = TimestampTzGetDatum(run->verified);
	values[3] = Int64GetDatum(relation->blocks);
	values[4] = Int64GetDatum(relation->findings);
	values[5] = TimestampTzGetDatum(relation->began);
	values[6] = Int64GetDatum(relation->new_pages);
	fill_names(run, &values[7], &nulls[7]);
	history_execute(&run->history, "verify_run_relations", SPI_OK_INSERT,
					&run->insert_relation,
					"SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15",
					lengthof(types), types, values, nulls);
	delete_position(run);
	write_verdict(run);
}

/* Where the run stands in a large relation. */
static void
write_position(DatabaseRun *run)
{
	RunRelation *relation = run->relation;
	Oid			types[] = {INT8OID, OIDOID, TEXTOID, INT8OID, TIMESTAMPTZOID,
	TIMESTAMPTZOID, INT8OID, INT8OID, INT8OID, INT8OID, OIDOID, OIDOID, OIDOID};
	Datum		values[] = {Int64GetDatum(run->number),
		ObjectIdGetDatum(relation->item.relid),
		CStringGetTextDatum(forkNames[relation->next.fork]),
		Int64GetDatum(relation->next.block),
		TimestampTzGetDatum(GetCurrentTimestamp()),
		TimestampTzGetDatum(relation->began),
		Int64GetDatum(relation->blocks),
		Int64GetDatum(relation->bytes),
		Int64GetDatum(relation->new_pages),
		Int64GetDatum(relation->findings),
		ObjectIdGetDatum(relation->file.tablespace),
		ObjectIdGetDatum(relation->file.number),
	ObjectIdGetDatum(database_of(run, relation))};

	delete_position(run);
	execute(run, "internal_positions", SPI_OK_INSERT,
			"SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13",
			lengthof(types), types, values, NULL);
	relation->position = true;
}

static void
write_end(void *arg)
{
	RunEnd	   *end = arg;

	write_run(end->run, end->state);
	if (strcmp(end->state, "completed") == 0 || strcmp(end->state, "stopped") == 0)
		drop_verdicts(end->run);
	if (strcmp(end->state, "completed") == 0)
		prune(end->run);
}

/* Brings the run's row up to date.  Any other state than "running" ends it. */
static void
write_run(DatabaseRun *run, const char *state)
{
	const RunTotals *totals = &run->totals;
	Oid			types[] = {INT8OID, INT8OID, INT8OID, INT8OID, INT8OID,
	TEXTOID, BOOLOID, INT8OID, INT8OID, INT8OID};
	Datum		values[] = {Int64GetDatum(run->number),
		Int64GetDatum(totals->relations),
		Int64GetDatum(totals->blocks),
		Int64GetDatum(totals->bytes),
		Int64GetDatum(totals->findings),
		CStringGetTextDatum(state),
		BoolGetDatum(strcmp(state, "running") != 0),
		Int64GetDatum(totals->unverifiable),
		Int64GetDatum(totals->new_pages),
	Int64GetDatum(run->files_recorded)};

	execute(run, "verify_runs", SPI_OK_UPDATE,
			"SELECT r.ctid, run, started_at,"
			" CASE WHEN $7 THEN clock_timestamp() END,"
			" $2, $3, $4, $5, $6, $8, $9, $10,"
			" system_identifier, timeline_id, data_directory_inode, datid"
			" FROM " HISTORY_SCHEMA ".verify_runs r"
			" WHERE run = $1 FOR UPDATE",
			lengthof(types), types, values, NULL);
	run->recorded = GetCurrentTimestamp();
}

/* ---------------------------------------------------------------- *
 *		Reading
 * ---------------------------------------------------------------- */

/*
 * Returns the runs of this very database in this very data directory, as an
 * array, or 0 for none.  A template, a restored dump or backup, pg_upgrade and
 * another timeline all have other files, or may have.
 */
Datum
record_trusted_runs(DatabaseRun *run)
{
	Oid			types[] = {ORIGIN_TYPES};
	Datum		values[lengthof(types)];
	bool		isnull;
	Datum		runs;

	fill_origin(values);
	execute(run, "verify_runs", SPI_OK_SELECT,
			"SELECT array_agg(run) FROM " HISTORY_SCHEMA ".verify_runs"
			" WHERE system_identifier = $1"
			" AND timeline_id = $2"
			" AND data_directory_inode = $3"
			" AND datid = $4",
			lengthof(types), types, values, NULL);
	runs = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						 &isnull);
	return isnull ? (Datum) 0 : runs;
}

static int64
number_column(HeapTuple row, int number)
{
	return DatumGetInt64(history_column(row, number));
}

static RunRelation *
position_of_row(HeapTuple row)
{
	RunRelation *position = palloc0(sizeof(RunRelation));

	position->item.relid = position->next.relid =
		DatumGetObjectId(history_column(row, 1));
	position->next.fork = forkname_to_number(SPI_getvalue(row, SPI_tuptable->tupdesc, 2));
	position->next.block = (BlockNumber) number_column(row, 3);
	position->began = number_column(row, 4);
	position->blocks = number_column(row, 5);
	position->bytes = number_column(row, 6);
	position->new_pages = number_column(row, 7);
	position->findings = number_column(row, 8);
	position->file.tablespace = DatumGetObjectId(history_column(row, 9));
	position->file.number = DatumGetObjectId(history_column(row, 10));
	return position;
}

/*
 * Loads where earlier runs stood in a relation when they ended, the latest
 * first.  That is nowhere if it was verified whole since.
 */
void
record_load_positions(DatabaseRun *run)
{
	Oid			types[] = {TIMESTAMPTZOID, INT8ARRAYOID, OIDOID};
	Datum		values[3] = {TimestampTzGetDatum(run->options.skip_since)};

	values[2] = ObjectIdGetDatum(run->database);
	PushActiveSnapshot(GetTransactionSnapshot());
	values[1] = record_trusted_runs(run);
	if (values[1] != (Datum) 0)
	{
		execute(run, "internal_positions", SPI_OK_SELECT,
				"SELECT relid, fork, blkno, began_at, blocks, read_bytes, zero_blocks,"
				" findings, tablespace, filenode FROM " HISTORY_SCHEMA ".internal_positions p"
				" WHERE NOT EXISTS (SELECT FROM " HISTORY_SCHEMA ".verify_run_relations v"
				" WHERE v.relid = p.relid"
				" AND v.datid = p.datid"
				" AND v.verified_at > p.recorded_at)"
				" AND p.datid = ANY (ARRAY[0::oid, $3])"
				" AND recorded_at >= $1"
				" AND run = ANY ($2)"
				" ORDER BY recorded_at DESC",
				lengthof(types), types, values, NULL);
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			MemoryContext old = MemoryContextSwitchTo(run->context);

			run->positions = lappend(run->positions,
									 position_of_row(SPI_tuptable->vals[i]));
			MemoryContextSwitchTo(old);
		}
	}
	PopActiveSnapshot();
}

/* Returns where an earlier run stood in this file, or NULL if nowhere. */
const RunRelation *
record_position(DatabaseRun *run, Oid relid, RunFile file)
{
	ListCell   *cell;

	foreach(cell, run->positions)
	{
		const RunRelation *position = lfirst(cell);

		if (position->item.relid == relid &&
			position->file.tablespace == file.tablespace &&
			position->file.number == file.number)
			return position;
	}
	return NULL;
}

static void
execute(DatabaseRun *run, const char *table, int expected,
		const char *statement, int nargs, Oid *types, Datum *values,
		const char *nulls)
{
	history_execute(&run->history, table, expected, NULL, statement, nargs,
					types, values, nulls);
}

/* ---------------------------------------------------------------- *
 *		Pruning
 * ---------------------------------------------------------------- */

/*
 * A relation of this database that is not in its catalog, or one of a database
 * that is no more.  Of another database its file tells.
 */
#define GONE \
	"CASE WHEN t.datid = 0::oid" \
	" OR t.datid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())" \
	" THEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = t.relid)" \
	" ELSE NOT " HISTORY_SCHEMA ".internal_file_exists(t.datid, t.tablespace, t.filenode) END"

/*
 * Deletes what is older than the limit, save what nothing newer of this
 * database replaces.  That is the last verification of a relation, its last
 * one without a finding, and findings that no later verification has refuted.
 * What another database said goes by its age.  Of WAL archives, only files
 * that are gone by right, and of backups those that are gone.
 */
static const struct
{
	const char *table;
	const char *statement;
}			prune_steps[] =

{
	{
		"verify_findings",
		"SELECT t.ctid FROM " HISTORY_SCHEMA ".verify_findings t"
		" WHERE t.found_at < $1 AND (t.relid IS NULL"
		" OR " GONE
		" OR t.run <> ALL (" OWN_RUNS ")"
		" OR CASE WHEN t.retries IS NULL THEN NOT " HISTORY_SCHEMA
		".internal_block_has_lsn(t.datid, t.tablespace, t.filenode, t.fork, t.blkno, t.lsn)"
		" ELSE EXISTS (SELECT FROM " HISTORY_SCHEMA ".verify_run_relations n"
		" WHERE n.relid = t.relid AND n.datid = t.datid"
		" AND n.run = ANY (" OWN_RUNS ")"
		" AND n.began_at > t.found_at) END) FOR UPDATE OF t"
	},
	{
		"verify_run_relations",
		"SELECT t.ctid FROM " HISTORY_SCHEMA ".verify_run_relations t"
		" WHERE t.run = ANY (ARRAY(SELECT r.run"
		" FROM " HISTORY_SCHEMA ".verify_runs r WHERE r.started_at < $1))"
		" AND t.verified_at < $1"
		" AND (" GONE
		" OR t.run <> ALL (" OWN_RUNS ")"
		" OR EXISTS (SELECT FROM " HISTORY_SCHEMA ".verify_run_relations n"
		" WHERE n.relid = t.relid AND n.datid = t.datid"
		" AND n.run = ANY (" OWN_RUNS ")"
		" AND n.verified_at > t.verified_at"
		" AND (n.findings = 0::int8"
		" OR t.findings > 0::int8))) FOR UPDATE OF t"
	},
	{
		"internal_verdicts",
		"SELECT t.ctid FROM " HISTORY_SCHEMA ".internal_verdicts t"
		" WHERE t.verified_at < $1 AND (" GONE
		" OR t.run <> ALL (" OWN_RUNS ")) FOR UPDATE OF t"
	},
	{
		"internal_positions",
		"SELECT t.ctid FROM " HISTORY_SCHEMA ".internal_positions t"
		" WHERE t.recorded_at < $1 FOR UPDATE"
	},
	{
		"verify_runs",
		"SELECT t.ctid FROM " HISTORY_SCHEMA ".verify_runs t"
		" WHERE t.started_at < $1"
		" AND t.state <> 'running'"
		" AND NOT EXISTS (SELECT FROM " HISTORY_SCHEMA ".verify_run_relations n"
		" WHERE n.run = t.run)"
		" AND NOT EXISTS (SELECT FROM " HISTORY_SCHEMA ".verify_findings n"
		" WHERE n.run = t.run) FOR UPDATE OF t"
	}
};

static int64
prune_before(DatabaseRun *run, TimestampTz limit)
{
	Oid			types[] = {TIMESTAMPTZOID};
	Datum		values[] = {TimestampTzGetDatum(limit)};
	int64		deleted = 0;

	for (int i = 0; i < lengthof(prune_steps); i++)
	{
		execute(run, prune_steps[i].table, SPI_OK_DELETE, prune_steps[i].statement, 1,
				types, values, NULL);
		deleted += SPI_processed;
	}
	return deleted + ledger_prune(&run->history, limit) +
		archive_record_prune(&run->history, limit) +
		backup_record_prune(&run->history, limit);
}

/* At the end of a run, if the parameter says so and there is an old one. */
static void
prune(DatabaseRun *run)
{
	int64		keep = history_keep_minutes;
	Oid			types[] = {TIMESTAMPTZOID};
	Datum		limit = TimestampTzGetDatum(GetCurrentTimestamp() - keep * USECS_PER_MINUTE);

	if (keep < 0)
		return;
	execute(run, "verify_runs", SPI_OK_SELECT,
			"SELECT FROM " HISTORY_SCHEMA ".verify_runs"
			" WHERE started_at < $1 LIMIT 1",
			1, types, &limit, NULL);
	if (SPI_processed > 0)
		(void) prune_before(run, DatumGetTimestampTz(limit));
}

/*
 * Is a row of verify_runs of this database?  A standby has the history of its
 * primary, whose data directory is another.  Its timeline ends at promotion.
 */
SQL_FUNCTION(accel_internal_is_own_run)
{
	if (PG_GETARG_INT64(0) != (int64) GetSystemIdentifier() ||
		PG_GETARG_OID(3) != MyDatabaseId)
		PG_RETURN_BOOL(false);
	PG_RETURN_BOOL(RecoveryInProgress() ||
				   (PG_GETARG_INT64(1) == GetWALInsertionTimeLine() &&
					PG_GETARG_INT64(2) == directory_number()));
}

/* Of a relation in any database, which the views cannot ask for it. */
SQL_FUNCTION(accel_prune_history)
{
	DatabaseRun run = {{0}};
	Datum		limit;
	int64		deleted;

	(void) accel_interval(fcinfo, 0, "older_than", 0);
	limit = DirectFunctionCall2(timestamptz_mi_interval,
								TimestampTzGetDatum(GetCurrentTimestamp()),
								PG_GETARG_DATUM(0));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	run.history = history_of(fcinfo);
	signature_check_tables(run.history.namespace);
	deleted = prune_before(&run, DatumGetTimestampTz(limit));
	SPI_finish();
	PG_RETURN_INT64(deleted);
}
