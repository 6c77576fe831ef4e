/*
 * list.c
 *	  The relations that a run verifies, in its order.
 *
 * The list is read through a cursor and kept in 16 bytes per relation: a
 * database may have 300,000.  Resuming and not resuming are two statements:
 * only a NOT EXISTS that stands alone becomes an anti join.
 *
 * Every name in the statements is qualified, operators too: the caller's
 * search_path decides nothing.  They run with the caller's rights, so the names
 * must be those of the extension's own tables, see history_prepare().
 */
#include "compat.h"

#include <sys/stat.h>

#include "access/transam.h"
#include "catalog/pg_tablespace_d.h"
#include "catalog/pg_type.h"
#include "common/relpath.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/relmapper.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "run/database_run.h"

#define FETCH_ROWS	1000

/* Columns of the list. */
enum
{
	LIST_OID = 1,
	LIST_TABLESPACE,
	LIST_FILENODE,
	LIST_SHARED,
	LIST_SCHEMA,				/* the rest only where there are patterns */
	LIST_NAME,
	LIST_OWNER_SCHEMA,
	LIST_OWNER
};

static char *list_statement(DatabaseRun *run);
static void add_rows(DatabaseRun *run, int64 *room);
static bool row_selected(DatabaseRun *run, HeapTuple row, TupleDesc desc);
static int	compare_sizes(const void *a, const void *b);

void
run_list_relations(DatabaseRun *run)
{
	Oid			types[] = {BOOLOID, OIDOID, TIMESTAMPTZOID, INT8ARRAYOID, OIDOID};
	Datum		values[] = {BoolGetDatum(run->options.include_catalogs),
		ObjectIdGetDatum(MyDatabaseTableSpace),
		TimestampTzGetDatum(run->options.verified_since),
		(Datum) 0,
	ObjectIdGetDatum(run->options.start ? run->options.start_at.relid : InvalidOid)};
	char		nulls[] = "     ";
	int64		room = 0;
	Portal		cursor;

	PushActiveSnapshot(GetTransactionSnapshot());
	if (run->options.resume)
		values[3] = record_trusted_runs(run);
	if (values[3] == (Datum) 0)
		nulls[3] = 'n';
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
	PopActiveSnapshot();
	if (run->options.order == RUN_ORDER_LARGEST && run->nitems > 0)
		qsort(run->items, run->nitems, sizeof(RunItem), compare_sizes);
	for (int64 i = 0; i < run->nitems; i++)
		run->progress.bytes_total += run->items[i].bytes;
	run->progress.relations_total = run->nitems;
}

/* What has storage, temporary relations aside. */
static char *
list_statement(DatabaseRun *run)
{
	StringInfoData text;
	bool		names = run->options.include || run->options.exclude;

	initStringInfo(&text);
	appendStringInfoString(&text,
						   "SELECT c.oid, c.reltablespace, c.relfilenode, c.relisshared");
	if (names)
		appendStringInfoString(&text,
							   ", n.nspname, c.relname, m.nspname, o.relname");
	appendStringInfoString(&text, " FROM pg_catalog.pg_class c");
	if (names)
		appendStringInfoString(&text,
							   " JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
							   " LEFT JOIN pg_catalog.pg_index i ON i.indexrelid OPERATOR(pg_catalog.=) c.oid"
							   " LEFT JOIN pg_catalog.pg_class t ON t.reltoastrelid OPERATOR(pg_catalog.=) COALESCE(i.indrelid, c.oid)"
							   " LEFT JOIN pg_catalog.pg_class o ON o.oid OPERATOR(pg_catalog.=) COALESCE(t.oid, i.indrelid)"
							   " LEFT JOIN pg_catalog.pg_namespace m ON m.oid OPERATOR(pg_catalog.=) o.relnamespace");
	if (run->options.order == RUN_ORDER_STALEST)
		appendStringInfoString(&text,
							   " LEFT JOIN (SELECT relid, pg_catalog.max(recorded_at) AS at"
							   " FROM " HISTORY_SCHEMA ".internal_positions GROUP BY relid) p"
							   " ON p.relid OPERATOR(pg_catalog.=) c.oid");
	appendStringInfo(&text,
					 " WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,i,S,t,m}'::pg_catalog.\"char\"[])"
					 " AND c.relpersistence OPERATOR(pg_catalog.<>) 't'"
					 " AND (c.oid OPERATOR(pg_catalog.>=) %u::pg_catalog.oid OR $1)"
					 " AND c.oid OPERATOR(pg_catalog.>=) $5", FirstNormalObjectId);
	if (run->options.resume)
		appendStringInfoString(&text,
							   " AND NOT EXISTS (SELECT FROM " HISTORY_SCHEMA ".verify_run_relations v"
							   " WHERE v.relid OPERATOR(pg_catalog.=) c.oid"
							   " AND v.verified_at OPERATOR(pg_catalog.>=) $3"
							   " AND v.run OPERATOR(pg_catalog.=) ANY ($4)"
							   " AND v.tablespace OPERATOR(pg_catalog.=) CASE"
							   " WHEN c.reltablespace OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN $2"
							   " ELSE c.reltablespace END"
							   " AND v.filenode OPERATOR(pg_catalog.=) CASE"
							   " WHEN c.relfilenode OPERATOR(pg_catalog.=) 0::pg_catalog.oid"
							   " THEN pg_catalog.pg_relation_filenode(c.oid)"
							   " ELSE c.relfilenode END)");
	appendStringInfoString(&text, " ORDER BY ");

	/*
	 * one that was begun is less stale than those that were not: each has a
	 * turn
	 */
	if (run->options.order == RUN_ORDER_STALEST)
		appendStringInfoString(&text, "GREATEST((SELECT pg_catalog.max(v.verified_at)"
							   " FROM " HISTORY_SCHEMA ".verify_run_relations v"
							   " WHERE v.relid OPERATOR(pg_catalog.=) c.oid), p.at)"
							   " USING OPERATOR(pg_catalog.<) NULLS FIRST, ");
	appendStringInfoString(&text, "c.oid USING OPERATOR(pg_catalog.<)");
	return text.data;
}

static Datum
column(HeapTuple row, TupleDesc desc, int number)
{
	bool		isnull;

	return SPI_getbinval(row, desc, number, &isnull);
}

static void
add_rows(DatabaseRun *run, int64 *room)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		RunItem    *item;
		Oid			tablespace = DatumGetObjectId(column(row, desc, LIST_TABLESPACE));
		Oid			number = DatumGetObjectId(column(row, desc, LIST_FILENODE));
		bool		shared = DatumGetBool(column(row, desc, LIST_SHARED));

		CHECK_FOR_INTERRUPTS();
		if (!row_selected(run, row, desc))
			continue;
		if (run->nitems == *room)
		{
			*room = *room > 0 ? *room * 2 : 1024;
			run->items = run->items == NULL ?
				MemoryContextAllocHuge(run->context, *room * sizeof(RunItem)) :
				repalloc_huge(run->items, *room * sizeof(RunItem));
		}
		item = &run->items[run->nitems];
		item->relid = DatumGetObjectId(column(row, desc, LIST_OID));
		if (!OidIsValid(number))
			number = RelationMapOidToFilenumber(item->relid, shared);
		item->bytes = run_file_bytes(OidIsValid(tablespace) ? tablespace :
									 MyDatabaseTableSpace,
									 shared ? InvalidOid : MyDatabaseId, number);
		if (item->bytes >= run->options.min_size &&
			item->bytes <= run->options.max_size)
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

static const char *
next_character(const char *string)
{
	int			length = pg_encoding_mblen(GetDatabaseEncoding(), string);

	for (; length > 0 && *string != '\0'; length--)
		string++;
	return string;
}

/*
 * * stands for any characters, ? for one, as in psql.  Only the last * is ever
 * tried again, with one character more: what precedes it has matched.
 */
static bool
pattern_matches(const char *pattern, const char *string)
{
	const char *after_star = NULL;
	const char *taken = NULL;	/* the end of what the star stands for */

	while (*string != '\0')
	{
		if (*pattern == '*')
		{
			after_star = ++pattern;
			taken = string;
		}
		else if (*pattern == '?')
		{
			pattern++;
			string = next_character(string);
		}
		else if (*pattern == *string)
		{
			pattern++;
			string++;
		}
		else if (after_star == NULL)
			return false;
		else
		{
			pattern = after_star;
			string = taken = next_character(taken);
		}
	}
	return pattern[strspn(pattern, "*")] == '\0';
}

/* A pattern with a dot is for schema.relation, others are for the relation. */
static bool
name_matches(ArrayType *patterns, const char *schema, const char *name)
{
	Datum	   *elements;
	int			count;

	if (name == NULL)
		return false;
	deconstruct_array(patterns, TEXTOID, -1, false, TYPALIGN_INT, &elements,
					  NULL, &count);
	for (int i = 0; i < count; i++)
	{
		char	   *pattern = TextDatumGetCString(elements[i]);

		if (pattern_matches(pattern, strchr(pattern, '.') ?
							psprintf("%s.%s", schema, name) : name))
			return true;
	}
	return false;
}

/* Indexes and TOAST tables go with their table, or by their own name. */
static bool
row_selected(DatabaseRun *run, HeapTuple row, TupleDesc desc)
{
	ArrayType  *patterns[] = {run->options.include, run->options.exclude};
	bool		matched[] = {true, false};
	MemoryContext old;
	MemoryContext context;

	if (desc->natts < LIST_OWNER)
		return true;
	context = AllocSetContextCreate(CurrentMemoryContext, "patterns",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	for (int i = 0; i < 2; i++)
		if (patterns[i] != NULL)
			matched[i] =
				name_matches(patterns[i], SPI_getvalue(row, desc, LIST_SCHEMA),
							 SPI_getvalue(row, desc, LIST_NAME)) ||
				name_matches(patterns[i],
							 SPI_getvalue(row, desc, LIST_OWNER_SCHEMA),
							 SPI_getvalue(row, desc, LIST_OWNER));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return matched[0] && !matched[1];
}

/* The largest first; equals by OID. */
static int
compare_sizes(const void *a, const void *b)
{
	const RunItem *left = a;
	const RunItem *right = b;

	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return left->relid < right->relid ? -1 : left->relid > right->relid;
}
