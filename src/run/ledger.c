/*
 * ledger.c
 *	  The page ledger in its table, internal_page_digests.
 *
 * A row is about LEDGER_BLOCKS blocks of a file.  It has an LSN and a masked
 * digest of each of them, and says where and when they were recorded.  A run
 * writes a row only where something has changed, or where the row would be
 * pruned for its age before long.  Rows are never decoded for logical
 * replication, see history.c.
 *
 * What makes the rows evidence is proven in page/ledger.c.  Here that takes
 * three things.  The end of WAL is noted while the relation is still locked, so
 * the file was this relation's then.  The first write of a run deletes the rows
 * of files that are gone.  And what is known already is held against what was
 * read, so that a run does not record damage over evidence.
 */
#include "compat.h"

#include <unistd.h>

#include "access/timeline.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "page/finding.h"
#include "page/mask.h"
#include "run/ledger.h"

#define LEDGER_TABLE_NAME	"internal_page_digests"

/* Columns of the table, and of what is selected of it. */
enum
{
	ROW_DATID,
	ROW_TABLESPACE,
	ROW_FILENODE,
	ROW_RELID,
	ROW_FIRST_BLOCK,
	ROW_RECORDED_AT,
	ROW_TAKEN_LSN,
	ROW_SYSTEM_IDENTIFIER,
	ROW_TIMELINE_ID,
	ROW_MASK_VERSION,
	ROW_CHECKSUMS,
	ROW_WAL_LOG_HINTS,
	ROW_FULL_PAGE_WRITES,
	ROW_LSNS,
	ROW_DIGESTS,
	ROW_COLUMNS
};

#define ROW_TYPES \
	OIDOID, OIDOID, OIDOID, OIDOID, INT8OID, TIMESTAMPTZOID, PG_LSNOID, \
	INT8OID, INT8OID, INT4OID, BOOLOID, BOOLOID, BOOLOID, BYTEAOID, BYTEAOID

#define ROW_PARAMETERS \
	"$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15"

/* ---------------------------------------------------------------- *
 *		What was read
 * ---------------------------------------------------------------- */

void
ledger_batch_begin(LedgerBatch *batch, BlockNumber first)
{
	memset(batch, 0, sizeof(*batch));
	batch->first = batch->next = first;
}

static void
make_room(LedgerBatch *batch, int64 count)
{
	int64		room = Max(batch->room, LEDGER_BLOCKS);

	if (count <= batch->room)
		return;
	while (room < count)
		room *= 2;
	if (batch->pages == NULL)
		batch->pages = MemoryContextAllocHuge(CurrentMemoryContext,
											  room * sizeof(LedgerPage));
	else
		batch->pages = repalloc_huge(batch->pages, room * sizeof(LedgerPage));
	batch->room = room;
}

/* Blocks that no row is about were not read. */
void
ledger_batch_add(LedgerBatch *batch, const DigestRow *row)
{
	LedgerPage *page;

	if (row->first < batch->next)
		return;
	make_room(batch, row->first + 1 - batch->first);
	for (; batch->next < row->first; batch->next++)
		memset(&batch->pages[batch->next - batch->first], 0, sizeof(LedgerPage));
	page = &batch->pages[batch->next++ - batch->first];
	memset(page, 0, sizeof(*page));
	if (row->broken)
		return;
	page->disk = row->empty ? LEDGER_NOTHING : LEDGER_PAGE;
	page->lsn = row->lsn;
	page->digest = row->crc;
}

void
ledger_batch_append(LedgerBatch *batch, const LedgerPage *pages, int64 count)
{
	int64		known = batch->next - batch->first;

	make_room(batch, known + count);
	memcpy(&batch->pages[known], pages, count * sizeof(LedgerPage));
	batch->next += count;
}

void
ledger_batch_end(LedgerBatch *batch, bool whole)
{
	batch->taken = GetXLogInsertRecPtr();
	batch->whole = whole;
}

/* ---------------------------------------------------------------- *
 *		The server and its rows
 * ---------------------------------------------------------------- */

void
ledger_file_of(Relation rel, LedgerFile *file)
{
	char		kind = rel->rd_rel->relkind;

	file->database = LOCATOR_DATABASE(rel->rd_locator);
	file->tablespace = LOCATOR_TABLESPACE(rel->rd_locator);
	file->number = LOCATOR_NUMBER(rel->rd_locator);
	file->relid = RelationGetRelid(rel);
	file->kind = kind == RELKIND_SEQUENCE ? LEDGER_SEQUENCE :
		kind == RELKIND_INDEX ? LEDGER_INDEX : LEDGER_TABLE;
}

void
ledger_server(LedgerServer *server)
{
	TimeLineID	timeline;

	server->origin.system = GetSystemIdentifier();
	server->origin.mask = SERVER_MAJOR * 100 + PAGE_MASK_REVISION;
	if (RecoveryInProgress())
		server->origin.taken = GetXLogReplayRecPtr(&timeline);
	else
	{
		timeline = GetWALInsertionTimeLine();
		server->origin.taken = GetXLogInsertRecPtr();
	}
	server->origin.timeline = timeline;
	server->history = readTimeLineHistory(timeline);
	server->upgraded = false;
}

static LedgerReason
refuse(const LedgerOrigin *row, const LedgerFile *file,
	   const LedgerServer *server)
{
	LedgerOrigin here = server->origin;

	here.timeline = tliOfPointInHistory(row->taken, server->history);
	return ledger_refuse(row, &here, server->upgraded &&
						 file->relid >= FirstNormalObjectId);
}

/* Selects rows of a file from a block on, with the bound of the statement. */
static uint64
select_rows(const History *history, SPIPlanPtr *kept, const LedgerFile *file,
			int64 first, const char *statement, int64 bound)
{
	Oid			types[] = {OIDOID, OIDOID, OIDOID, OIDOID, INT8OID, INT8OID};
	Datum		values[] = {ObjectIdGetDatum(file->database),
		ObjectIdGetDatum(file->tablespace), ObjectIdGetDatum(file->number),
	ObjectIdGetDatum(file->relid), Int64GetDatum(first), Int64GetDatum(bound)};

	history_execute(history, LEDGER_TABLE_NAME, SPI_OK_SELECT, kept,
					statement, lengthof(types), types, values, NULL);
	return SPI_processed;
}

#define SELECT_ROWS	"SELECT t.* FROM " HISTORY_SCHEMA ".internal_page_digests t" \
	" WHERE t.datid = $1 AND t.tablespace = $2 AND t.filenode = $3" \
	" AND t.relid = $4 AND t.first_block >= $5"

uint64
ledger_select(const History *history, SPIPlanPtr *kept,
			  const LedgerFile *file, int64 first, int64 next)
{
	return select_rows(history, kept, file, first, SELECT_ROWS
					   " AND t.first_block < $6 ORDER BY t.first_block", next);
}

uint64
ledger_select_some(const History *history, SPIPlanPtr *kept,
				   const LedgerFile *file, int64 first, int64 rows)
{
	return select_rows(history, kept, file, first, SELECT_ROWS
					   " ORDER BY t.first_block LIMIT $6", rows);
}

int64
ledger_first_block(HeapTuple tuple)
{
	return DatumGetInt64(history_column(tuple, ROW_FIRST_BLOCK + 1));
}

void
ledger_read(HeapTuple tuple, const LedgerFile *file,
			const LedgerServer *server, LedgerRow *row, LedgerPage *known)
{
	bytea	   *lsns = DatumGetByteaPP(history_column(tuple, ROW_LSNS + 1));
	bytea	   *digests = DatumGetByteaPP(history_column(tuple, ROW_DIGESTS + 1));

	row->first = ledger_first_block(tuple);
	row->recorded_at = DatumGetTimestampTz(history_column(tuple, ROW_RECORDED_AT + 1));
	row->origin.taken = DatumGetLSN(history_column(tuple, ROW_TAKEN_LSN + 1));
	row->origin.system = (uint64) DatumGetInt64(history_column(tuple, ROW_SYSTEM_IDENTIFIER + 1));
	row->origin.timeline = (uint32) DatumGetInt64(history_column(tuple, ROW_TIMELINE_ID + 1));
	row->origin.mask = (uint32) DatumGetInt32(history_column(tuple, ROW_MASK_VERSION + 1));
	row->refused = refuse(&row->origin, file, server);
	if (!ledger_unpack(known, (uint8 *) VARDATA_ANY(lsns),
					   VARSIZE_ANY_EXHDR(lsns),
					   (uint8 *) VARDATA_ANY(digests),
					   VARSIZE_ANY_EXHDR(digests)))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the digests of relation %u from block " INT64_FORMAT " are damaged",
						file->relid, row->first)));
}

/* ---------------------------------------------------------------- *
 *		Recording
 * ---------------------------------------------------------------- */

/*
 * Deletes the rows of files that no relation of this database has any more,
 * and those of other clusters, which came with a copy.
 */
static void
delete_vanished_here(LedgerRun *run)
{
	Oid			types[] = {INT8OID, OIDOID, OIDOID};
	Datum		values[] = {Int64GetDatum((int64) run->server.origin.system),
	ObjectIdGetDatum(MyDatabaseId), ObjectIdGetDatum(MyDatabaseTableSpace)};

	history_execute(run->history, LEDGER_TABLE_NAME, SPI_OK_DELETE, NULL,
					"SELECT t.ctid FROM " HISTORY_SCHEMA ".internal_page_digests t"
					" WHERE t.system_identifier <> $1"
					" OR (t.datid = ANY (ARRAY[0::oid, $2])"
					" AND NOT EXISTS (SELECT FROM pg_class c"
					" WHERE c.oid = t.relid"
					" AND t.tablespace = CASE WHEN c.reltablespace = 0::oid"
					" THEN $3 ELSE c.reltablespace END"
					" AND t.filenode = CASE WHEN c.relfilenode = 0::oid"
					" THEN pg_relation_filenode(c.oid)"
					" ELSE c.relfilenode END)) FOR UPDATE OF t",
					lengthof(types), types, values, NULL);
}

/* Of a table that has become shorter, by VACUUM. */
static void
delete_cut_off(LedgerRun *run, const LedgerFile *file, int64 end)
{
	Oid			types[] = {OIDOID, OIDOID, OIDOID, INT8OID};
	Datum		values[] = {ObjectIdGetDatum(file->database),
		ObjectIdGetDatum(file->tablespace), ObjectIdGetDatum(file->number),
	Int64GetDatum(end)};

	history_execute(run->history, LEDGER_TABLE_NAME, SPI_OK_DELETE,
					&run->cut_off,
					"SELECT t.ctid FROM " HISTORY_SCHEMA ".internal_page_digests t"
					" WHERE t.datid = $1 AND t.tablespace = $2"
					" AND t.filenode = $3 AND t.first_block >= $4 FOR UPDATE",
					lengthof(types), types, values, NULL);
}

static bool
is_gone(const LedgerFile *file)
{
	RelFileLocator locator = {file->tablespace, file->database, file->number};
	char		path[SCAN_PATH_SIZE];

	LOCATOR_PATH(locator, path, sizeof(path));
	return access(path, F_OK) != 0 && errno == ENOENT;
}

/*
 * The same of other databases, whose catalogs are not asked.  A file of a
 * relation that was dropped is removed by the next checkpoint.  One that was cut
 * off to nothing is there, and so is what is known of it.
 */
static void
delete_vanished_elsewhere(LedgerRun *run)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(MyDatabaseId)};
	SPITupleTable *table;
	uint64		count;

	history_execute(run->history, LEDGER_TABLE_NAME, SPI_OK_SELECT, NULL,
					"SELECT DISTINCT t.datid, t.tablespace, t.filenode"
					" FROM " HISTORY_SCHEMA ".internal_page_digests t"
					" WHERE t.datid <> ALL (ARRAY[0::oid, $1])",
					lengthof(types), types, values, NULL);
	table = SPI_tuptable;
	count = SPI_processed;
	for (uint64 i = 0; i < count; i++)
	{
		LedgerFile	file = {0};

		CHECK_FOR_INTERRUPTS();
		SPI_tuptable = table;	/* for history_column() */
		file.database = DatumGetObjectId(history_column(table->vals[i], 1));
		file.tablespace = DatumGetObjectId(history_column(table->vals[i], 2));
		file.number = DatumGetObjectId(history_column(table->vals[i], 3));
		if (is_gone(&file))
			delete_cut_off(run, &file, 0);
	}
	SPI_freetuptable(table);
}

static void
delete_vanished(LedgerRun *run)
{
	delete_vanished_here(run);
	delete_vanished_elsewhere(run);
}

int64
ledger_prune(const History *history, TimestampTz limit)
{
	Oid			types[] = {TIMESTAMPTZOID};
	Datum		values[] = {TimestampTzGetDatum(limit)};

	history_execute(history, LEDGER_TABLE_NAME, SPI_OK_DELETE, NULL,
					"SELECT t.ctid FROM " HISTORY_SCHEMA ".internal_page_digests t"
					" WHERE t.recorded_at < $1 FOR UPDATE",
					lengthof(types), types, values, NULL);
	return SPI_processed;
}

static bytea *
make_bytea(const uint8 *bytes, Size size)
{
	bytea	   *value = palloc(VARHDRSZ + size);

	SET_VARSIZE(value, VARHDRSZ + size);
	memcpy(VARDATA(value), bytes, size);
	return value;
}

static void
fill_arrays(const LedgerPage *known, Datum *values)
{
	LedgerArrays arrays;

	ledger_pack(known, &arrays);
	values[ROW_LSNS] =
		PointerGetDatum(make_bytea(arrays.lsns, arrays.lsn_bytes));
	values[ROW_DIGESTS] =
		PointerGetDatum(make_bytea(arrays.digests, arrays.digest_bytes));
}

/* Inserts a row, or puts it in the place of the one that is there. */
static void
write_row(LedgerRun *run, const LedgerFile *file, const LedgerBatch *batch,
		  int64 first, const LedgerPage *known, bool exists)
{
	static const char insert[] = "SELECT " ROW_PARAMETERS;
	static const char update[] =
		"SELECT t.ctid, " ROW_PARAMETERS
		" FROM " HISTORY_SCHEMA ".internal_page_digests t"
		" WHERE t.datid = $1 AND t.tablespace = $2 AND t.filenode = $3"
		" AND t.relid = $4 AND t.first_block = $5 FOR UPDATE";
	Oid			types[] = {ROW_TYPES};
	Datum		values[ROW_COLUMNS];

	values[ROW_DATID] = ObjectIdGetDatum(file->database);
	values[ROW_TABLESPACE] = ObjectIdGetDatum(file->tablespace);
	values[ROW_FILENODE] = ObjectIdGetDatum(file->number);
	values[ROW_RELID] = ObjectIdGetDatum(file->relid);
	values[ROW_FIRST_BLOCK] = Int64GetDatum(first);
	values[ROW_RECORDED_AT] = TimestampTzGetDatum(GetCurrentTimestamp());
	values[ROW_TAKEN_LSN] = LSNGetDatum(batch->taken);
	values[ROW_SYSTEM_IDENTIFIER] = Int64GetDatum((int64) run->server.origin.system);
	values[ROW_TIMELINE_ID] = Int64GetDatum(run->server.origin.timeline);
	values[ROW_MASK_VERSION] = Int32GetDatum((int32) run->server.origin.mask);
	values[ROW_CHECKSUMS] = BoolGetDatum(DataChecksumsEnabled());
	values[ROW_WAL_LOG_HINTS] = BoolGetDatum(wal_log_hints);
	values[ROW_FULL_PAGE_WRITES] = BoolGetDatum(fullPageWrites);
	fill_arrays(known, values);
	history_execute(run->history, LEDGER_TABLE_NAME,
					exists ? SPI_OK_UPDATE : SPI_OK_INSERT,
					exists ? &run->update : &run->insert,
					exists ? update : insert,
					lengthof(types), types, values, NULL);
	pfree(DatumGetPointer(values[ROW_LSNS]));
	pfree(DatumGetPointer(values[ROW_DIGESTS]));
}

/* Of the blocks from "first" on, what the batch has read. */
static void
read_of_batch(const LedgerBatch *batch, int64 first, LedgerPage *read)
{
	memset(read, 0, LEDGER_BLOCKS * sizeof(LedgerPage));
	for (int i = 0; i < LEDGER_BLOCKS; i++)
		if (first + i >= batch->next)
			read[i].disk = batch->whole ? LEDGER_NOTHING : LEDGER_UNREAD;
		else if (first + i >= batch->first)
			read[i] = batch->pages[first + i - batch->first];
}

/* Would pruning take the row before long?  It is still what is known. */
static bool
is_old(const LedgerRow *row)
{
	int64		keep = history_keep_minutes * USECS_PER_MINUTE;

	return keep >= 0 && row->recorded_at < GetCurrentTimestamp() - keep / 2;
}

static bool
knows_nothing(const LedgerPage *known)
{
	for (int i = 0; i < LEDGER_BLOCKS; i++)
		if (known[i].lsn >= LEDGER_FIRST_LSN)
			return false;
	return true;
}

/* "tuple" is the row that is there, or NULL. */
static void
write_group(LedgerRun *run, const LedgerFile *file, const LedgerBatch *batch,
			int64 first, HeapTuple tuple)
{
	LedgerPage	known[LEDGER_BLOCKS] = {{0}};
	LedgerPage	read[LEDGER_BLOCKS];
	LedgerRow	row = {0};
	bool		old = false;

	if (tuple != NULL)
	{
		ledger_read(tuple, file, &run->server, &row, known);
		old = row.refused != LEDGER_NO_REASON || is_old(&row);
		if (row.refused != LEDGER_NO_REASON)
			memset(known, 0, sizeof(known));
	}
	read_of_batch(batch, first, read);
	if (!ledger_merge(known, read, file->kind) && !old)
		return;
	if (tuple != NULL || !knows_nothing(known))
		write_row(run, file, batch, first, known, tuple != NULL);
}

static void
write_groups(LedgerRun *run, const LedgerFile *file, const LedgerBatch *batch)
{
	int64		first = batch->first - batch->first % LEDGER_BLOCKS;
	uint64		rows = ledger_select(run->history, &run->select, file, first,
									 batch->next);
	SPITupleTable *table = SPI_tuptable;
	uint64		at = 0;

	for (; first < batch->next; first += LEDGER_BLOCKS)
	{
		HeapTuple	tuple = NULL;

		CHECK_FOR_INTERRUPTS();
		for (; at < rows && tuple == NULL; at++)
		{
			bool		isnull;
			Datum		block = SPI_getbinval(table->vals[at], table->tupdesc,
											  ROW_FIRST_BLOCK + 1, &isnull);

			if (DatumGetInt64(block) > first)
				break;
			if (DatumGetInt64(block) == first)
				tuple = table->vals[at];
		}
		SPI_tuptable = table;	/* for history_column() */
		write_group(run, file, batch, first, tuple);
	}
	SPI_freetuptable(table);
}

void
ledger_write(LedgerRun *run, const LedgerFile *file, const LedgerBatch *batch)
{
	int64		end = (batch->next + LEDGER_BLOCKS - 1) / LEDGER_BLOCKS * LEDGER_BLOCKS;

	if (batch->taken == 0)
		return;
	run->server.origin.taken = GetXLogInsertRecPtr();	/* rows of this run, too */
	if (!run->begun)
		delete_vanished(run);
	run->begun = true;
	if (batch->next > batch->first)
		write_groups(run, file, batch);
	if (batch->whole && file->kind == LEDGER_TABLE)
		delete_cut_off(run, file, end);
}

void
ledger_end(LedgerRun *run)
{
	SPIPlanPtr	plans[] = {run->select, run->insert, run->update, run->cut_off};

	for (int i = 0; i < (int) lengthof(plans); i++)
		if (plans[i] != NULL)
			SPI_freeplan(plans[i]);
	run->select = run->insert = run->update = run->cut_off = NULL;
}
