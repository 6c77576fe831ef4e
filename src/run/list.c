/*
 * list.c
 *	  The relations that a run verifies, in its order.
 *
 * The list is read through a cursor and kept in 16 bytes per relation, since a
 * database may have 300,000.  Resuming and not resuming are two statements,
 * since only a NOT EXISTS that stands alone becomes an anti join.  That hashes
 * or merges.  A history without statistics is taken for one row, and a nested
 * loop over its rows would take the square of the time.
 *
 * The caller's search_path decides nothing, see history_safe_path().  The
 * statements run with the caller's rights, so the names must be those of the
 * extension's own tables, see history_prepare().
 */
#include "compat.h"

#include <sys/stat.h>

#include "access/transam.h"
#include "catalog/pg_tablespace_d.h"
#include "catalog/pg_type.h"
#include "common/relpath.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/relmapper.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "host/host.h"
#include "run/database_run.h"

#define FETCH_ROWS	1000

/* Columns of the list. */
enum
{
	LIST_OID = 1,
	LIST_TABLESPACE,
	LIST_FILENODE,
	LIST_SHARED
};

static char *list_statement(DatabaseRun *run);
static void add_rows(DatabaseRun *run, int64 *room);
static int	compare_sizes(const void *a, const void *b);

void
run_list_relations(DatabaseRun *run)
{
	Oid			types[] = {BOOLOID, OIDOID, TIMESTAMPTZOID, INT8ARRAYOID, OIDOID,
	REGCLASSARRAYOID, OIDOID};
	Datum		values[] = {BoolGetDatum(run->options.include_catalogs),
		ObjectIdGetDatum(MyDatabaseTableSpace),
		TimestampTzGetDatum(run->options.leave_since),
		(Datum) 0,
		ObjectIdGetDatum(run->options.resume_at.relid),
		PointerGetDatum(run->options.relations),
	ObjectIdGetDatum(run->database)};
	char		nulls[] = "       ";
	int64		room = 0;
	int			level;
	Portal		cursor;

	PushActiveSnapshot(GetTransactionSnapshot());
	level = history_safe_path();
	if (run->options.leave)
		values[3] = record_trusted_runs(run);
	if (run->options.leave && run->options.relations == NULL)
		(void) set_config_option("enable_nestloop", "off", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (values[3] == (Datum) 0)
		nulls[3] = 'n';
	if (run->options.relations == NULL)
		nulls[5] = 'n';
	if (run->list_plan != NULL)
		SPI_freeplan(run->list_plan);	/* of a try that failed */
	run->list_plan = NULL;
	run->list_plan = history_prepare(&run->history, list_statement(run),
									 lengthof(types), types);
	cursor = SPI_cursor_open(NULL, run->list_plan, values, nulls, true);
	do
	{
		SPI_cursor_fetch(cursor, true, FETCH_ROWS);
		add_rows(run, &room);
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(cursor);
	SPI_freeplan(run->list_plan);
	run->list_plan = NULL;
	AtEOXact_GUC(true, level);
	PopActiveSnapshot();
	if (run->options.order == RUN_ORDER_LARGEST && run->nitems > 0)
		qsort(run->items, run->nitems, sizeof(RunItem), compare_sizes);
	for (int64 i = 0; i < run->nitems; i++)
		run->progress.bytes_total += run->items[i].bytes;
	run->progress.relations_total = run->nitems;
}

/*
 * The relations of the argument, their indexes, their TOAST tables and the
 * indexes of these.  A partitioned table or index stands for its partitions,
 * whatever the level.  Tables that inherit from a plain one are their own.
 * The recursion begins at partitioned ones alone.  A plan for all would expect
 * a hundred times as many rows as there are, and be compiled for them.
 */
static void
append_selection(StringInfo text)
{
	appendStringInfoString(text,
						   "WITH RECURSIVE given AS MATERIALIZED ("
						   "SELECT unnest($6)::oid AS oid),"
						   " parts AS (SELECT g.oid FROM given g"
						   " JOIN pg_class p ON p.oid = g.oid"
						   " AND p.relkind = ANY ('{p,I}'::\"char\"[])"
						   " UNION SELECT i.inhrelid FROM parts"
						   " JOIN pg_inherits i ON i.inhparent = parts.oid"
						   " JOIN pg_class p ON p.oid = parts.oid"
						   " AND p.relkind = ANY ('{p,I}'::\"char\"[])),"
						   " owners AS (SELECT oid FROM given UNION ALL SELECT oid FROM parts),"
						   " tables AS (SELECT oid FROM owners"
						   " UNION ALL SELECT t.reltoastrelid FROM pg_class t"
						   " JOIN owners o ON o.oid = t.oid),"
						   " selected AS (SELECT oid FROM tables"
						   " UNION ALL SELECT x.indexrelid FROM pg_index x"
						   " JOIN tables t ON t.oid = x.indrelid) ");
}

/* When a relation was last verified, or read in part. */
#define LAST_AT \
	"GREATEST((SELECT max(v.verified_at)" \
	" FROM " HISTORY_SCHEMA ".verify_run_relations v" \
	" WHERE v.relid = c.oid AND v.datid = ANY (ARRAY[0::oid, $7])), p.at)"

/* What has storage, temporary relations aside. */
static char *
list_statement(DatabaseRun *run)
{
	StringInfoData text;

	initStringInfo(&text);
	if (run->options.relations != NULL)
		append_selection(&text);
	appendStringInfoString(&text,
						   "SELECT c.oid, c.reltablespace, c.relfilenode, c.relisshared"
						   " FROM pg_class c");
	if (run->options.order == RUN_ORDER_STALEST)
		appendStringInfoString(&text,
							   " LEFT JOIN (SELECT relid, max(recorded_at) AS at"
							   " FROM " HISTORY_SCHEMA ".internal_positions"
							   " WHERE datid = ANY (ARRAY[0::oid, $7]) GROUP BY relid) p"
							   " ON p.relid = c.oid");
	appendStringInfo(&text,
					 " WHERE c.relkind = ANY ('{r,i,S,t,m}'::\"char\"[])"
					 " AND (NOT c.relisshared OR %s)"
					 " AND c.relpersistence <> 't'"
					 " AND (c.oid >= %u::oid OR $1)"
					 " AND c.oid >= $5", run->options.leave_shared ? "false" : "true",
					 FirstNormalObjectId);
	if (run->options.relations != NULL)
		appendStringInfoString(&text,
							   " AND c.oid = ANY (SELECT s.oid FROM selected s)");
	if (run->options.leave)
		appendStringInfoString(&text,
							   " AND NOT EXISTS (SELECT FROM " HISTORY_SCHEMA ".verify_run_relations v"
							   " WHERE v.relid = c.oid"
							   " AND v.datid = ANY (ARRAY[0::oid, $7])"
							   " AND v.verified_at >= $3"
							   " AND v.run = ANY ($4)"
							   " AND v.tablespace = CASE"
							   " WHEN c.reltablespace = 0::oid THEN $2"
							   " ELSE c.reltablespace END"
							   " AND v.filenode = CASE"
							   " WHEN c.relfilenode = 0::oid"
							   " THEN pg_relation_filenode(c.oid)"
							   " ELSE c.relfilenode END)");
	if (run->options.part != RUN_PART_ALL)
		appendStringInfoString(&text, run->options.part == RUN_PART_NEVER ?
							   " AND " LAST_AT " IS NULL" :
							   " AND " LAST_AT " IS NOT NULL");
	appendStringInfoString(&text, " ORDER BY ");

	/*
	 * One that was begun is less stale than those that were not, so that each
	 * has a turn.
	 */
	if (run->options.order == RUN_ORDER_STALEST)
		appendStringInfoString(&text, LAST_AT " NULLS FIRST, ");
	appendStringInfoString(&text, "c.oid");
	return text.data;
}

static void
add_rows(DatabaseRun *run, int64 *room)
{
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		RunItem    *item;
		Oid			tablespace = DatumGetObjectId(history_column(row, LIST_TABLESPACE));
		Oid			number = DatumGetObjectId(history_column(row, LIST_FILENODE));
		bool		shared = DatumGetBool(history_column(row, LIST_SHARED));
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		old = MemoryContextSwitchTo(run->context);
		HOST_MAKE_ROOM(run->items, run->nitems, *room);
		MemoryContextSwitchTo(old);
		item = &run->items[run->nitems];
		item->relid = DatumGetObjectId(history_column(row, LIST_OID));
		if (!OidIsValid(number))
			number = RelationMapOidToFilenumber(item->relid, shared);
		item->bytes = run_file_bytes(OidIsValid(tablespace) ? tablespace :
									 MyDatabaseTableSpace,
									 shared ? InvalidOid : MyDatabaseId, number);
		run->nitems++;
	}
}

/*
 * The size of a relation's main fork, without opening the relation, which could
 * wait for a lock.  Zero where there is no such file.
 */
int64
run_file_bytes(Oid tablespace, Oid database, Oid number)
{
	RelFileLocator locator = {tablespace, database, number};
	int64		total = 0;

	for (BlockNumber segment = 0;; segment++)
	{
		char		path[SCAN_PATH_SIZE];
		struct stat status;

		LOCATOR_PATH(locator, path, sizeof(path));
		if (segment > 0)
			snprintf(path + strlen(path), sizeof(path) - strlen(path), ".%u",
					 segment);
		if (stat(path, &status) != 0)
			return total;
		total += status.st_size;
		if (status.st_size < (int64) RELSEG_SIZE * BLCKSZ)
			return total;
	}
}

/* Sorts the largest first, and equals by OID. */
static int
compare_sizes(const void *a, const void *b)
{
	const RunItem *left = a;
	const RunItem *right = b;

	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return left->relid < right->relid ? -1 : left->relid > right->relid;
}

SQL_FUNCTION(accel_internal_file_exists)
{
	PG_RETURN_BOOL(run_file_bytes(PG_GETARG_OID(1), PG_GETARG_OID(0),
								  PG_GETARG_OID(2)) > 0);
}
