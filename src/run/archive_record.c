/*
 * archive_record.c
 *	  The table of the files of WAL archives.
 */
#include "compat.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "run/archive_record.h"
#include "run/memory.h"

#define TABLE	"verify_wal_files"

/* Rows at a time. */
#define FETCH_ROWS	1000

/* From 1970 to 2000. */
#define EPOCH_MICROSECONDS \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/* ---- reading ---- */

enum
{
	COLUMN_SEGMENT = 1,
	COLUMN_SIZE,
	COLUMN_MTIME,
	COLUMN_CRC,
	COLUMN_SOUND_AT,
	COLUMN_VERIFIED_AT,
	COLUMN_STATUS,
	COLUMN_START_OPEN,
	COLUMN_END_OPEN
};

static Datum
column(HeapTuple row, int number, bool *isnull)
{
	return SPI_getbinval(row, SPI_tuptable->tupdesc, number, isnull);
}

static bool
flag(HeapTuple row, int number)
{
	bool		isnull;

	return DatumGetBool(column(row, number, &isnull));
}

/* Returns false if it names no file of WAL. */
static bool
read_row(HeapTuple row, WalName *name, WalArchiveMemory *memory)
{
	Datum		value;
	bool		isnull;

	memset(memory, 0, sizeof(*memory));
	value = column(row, COLUMN_SIZE, &isnull);
	memory->stat.size = isnull ? 0 : (uint64) DatumGetInt64(value);
	value = column(row, COLUMN_MTIME, &isnull);
	memory->stat.mtime = isnull ? WAL_MTIME_UNKNOWN :
		DatumGetTimestampTz(value) + EPOCH_MICROSECONDS;
	value = column(row, COLUMN_CRC, &isnull);
	memory->has_crc = !isnull;
	memory->crc = isnull ? 0 : (uint32) DatumGetInt64(value);
	value = column(row, COLUMN_SOUND_AT, &isnull);
	memory->sound_at = isnull ? 0 : DatumGetTimestampTz(value);
	memory->verified_at = DatumGetTimestampTz(column(row, COLUMN_VERIFIED_AT, &isnull));
	memory->status = wal_status_of(SPI_getvalue(row, SPI_tuptable->tupdesc, COLUMN_STATUS));
	memory->start_open = flag(row, COLUMN_START_OPEN);
	memory->end_open = flag(row, COLUMN_END_OPEN);
	return wal_name_parse(SPI_getvalue(row, SPI_tuptable->tupdesc, COLUMN_SEGMENT),
						  name);
}

/*
 * Returns how many rows there were, and sets *last to the name in the last
 * one.
 */
static uint64
read_rows(WalArchive *archive, MemoryContext context, Datum *last)
{
	MemoryContext rows = CurrentMemoryContext;
	uint64		count = SPI_processed;

	for (uint64 i = 0; i < count; i++)
	{
		WalName		name;
		WalArchiveMemory memory;
		bool		named = read_row(SPI_tuptable->vals[i], &name, &memory);

		MemoryContextSwitchTo(context);
		if (named)
			wal_archive_remember(archive, &name, &memory);
		if (i == count - 1)
			*last = CStringGetTextDatum(SPI_getvalue(SPI_tuptable->vals[i],
													 SPI_tuptable->tupdesc,
													 COLUMN_SEGMENT));
		MemoryContextSwitchTo(rows);
	}
	SPI_freetuptable(SPI_tuptable);
	return count;
}

/*
 * What was verified as WAL of another cluster does not count.  By default that
 * is what another one has verified, before a dump was restored here.
 */
void
archive_record_load(const History *history, WalArchive *archive)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext rows = AllocSetContextCreate(context, "archive rows",
											   ALLOCSET_DEFAULT_SIZES);
	SPIPlanPtr	plan = NULL;
	Oid			types[] = {TEXTOID, TEXTOID, INT8OID, INT8OID};
	Datum		values[] = {CStringGetTextDatum(archive->dir->path),
		CStringGetTextDatum(""),
		Int64GetDatum((int64) archive->dir->limits.server.system),
	Int64GetDatum(FETCH_ROWS)};
	uint64		count;

	do
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(rows);
		MemoryContextSwitchTo(rows);
		history_execute(history, TABLE, SPI_OK_SELECT, &plan,
						"SELECT segment, size, modified_at, crc32c, sound_at, verified_at,"
						" status, start_open, end_open"
						" FROM " HISTORY_SCHEMA "." TABLE
						" WHERE directory = $1"
						" AND segment > $2"
						" AND system_identifier = $3"
						" ORDER BY segment LIMIT $4",
						lengthof(types), types, values, NULL);
		count = read_rows(archive, context, &values[1]);
		MemoryContextSwitchTo(context);
	} while (count == FETCH_ROWS);
	SPI_freeplan(plan);
	MemoryContextDelete(rows);
}

/* ---- writing ---- */

static void
insert_row(const History *history, SPIPlanPtr *plan, Datum directory,
		   Datum segment, uint64 system, const ArchiveRow *row)
{
	const WalArchiveMemory *memory = &row->memory;
	bool		unknown = memory->stat.mtime == WAL_MTIME_UNKNOWN;
	Oid			types[] = {TEXTOID, TEXTOID, INT8OID, INT8OID, TIMESTAMPTZOID,
		INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID, BOOLOID, BOOLOID,
	BOOLOID, TEXTOID, INT8OID};
	char		nulls[] = "              ";
	Datum		values[] = {directory, segment,
		Int64GetDatum((int64) row->name.timeline),
		Int64GetDatum((int64) memory->stat.size),
		TimestampTzGetDatum(unknown ? 0 : memory->stat.mtime - EPOCH_MICROSECONDS),
		Int64GetDatum((int64) memory->crc),
		TimestampTzGetDatum(memory->sound_at),
		TimestampTzGetDatum(memory->verified_at),
		CStringGetTextDatum(wal_status_name(memory->status)),
		BoolGetDatum(wal_status_is_finding(memory->status)),
		BoolGetDatum(memory->start_open),
		BoolGetDatum(memory->end_open),
		history_text(row->message, &nulls[12]),
	Int64GetDatum((int64) system)};

	StaticAssertStmt(lengthof(values) == lengthof(types) &&
					 sizeof(nulls) == lengthof(types) + 1, "columns");
	if (unknown && memory->stat.size == 0)
		nulls[3] = 'n';
	if (unknown)
		nulls[4] = 'n';
	if (!memory->has_crc)
		nulls[5] = 'n';
	if (memory->sound_at == 0)
		nulls[6] = 'n';
	history_execute(history, TABLE, SPI_OK_INSERT, plan,
					"SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14",
					lengthof(types), types, values, nulls);
}

void
archive_record_write(const History *history, const WalDirectory *dir,
					 const List *rows)
{
	Datum		directory_text = CStringGetTextDatum(dir->path);
	SPIPlanPtr	delete_plan = NULL;
	SPIPlanPtr	insert_plan = NULL;
	ListCell   *cell;

	foreach(cell, rows)
	{
		const ArchiveRow *row = lfirst(cell);
		char		name[WAL_NAME_SIZE];
		Datum		segment;

		wal_name_print(&row->name, name);
		segment = CStringGetTextDatum(name);
		memory_delete_row(history, TABLE, "segment", &delete_plan, directory_text,
						  segment);
		if (!row->forget)
			insert_row(history, &insert_plan, directory_text, segment,
					   dir->limits.server.system, row);
	}
	if (delete_plan != NULL)
		SPI_freeplan(delete_plan);
	if (insert_plan != NULL)
		SPI_freeplan(insert_plan);
}

void
archive_record_forget_beside(const History *history, const char *directory)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(directory)};

	history_execute(history, TABLE, SPI_OK_DELETE, NULL,
					"SELECT t.ctid FROM " HISTORY_SCHEMA "." TABLE " t"
					" WHERE directory = $1"
					" AND segment ~ '[.](history|backup)' FOR UPDATE",
					lengthof(types), types, values, NULL);
}

int64
archive_record_prune(const History *history, TimestampTz limit)
{
	return memory_prune(history, TABLE, "verified_at < $1 AND status = 'ok_expired'", limit);
}
