/*
 * backup_record.c
 *	  The table of the verdicts on backups.
 */
#include "compat.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "page/status.h"
#include "run/backup_record.h"
#include "run/memory.h"

#define TABLE	"verify_backup_verdicts"

/* From 1970 to 2000. */
#define EPOCH	INT64CONST(946684800000000)

int64
backup_record_now(void)
{
	return GetCurrentTimestamp() + EPOCH;
}

/* ---- reading ---- */

enum
{
	COLUMN_BACKUP = 1,
	COLUMN_VERIFIED_AT,
	COLUMN_STATUS,
	COLUMN_UNFINISHED,
	COLUMN_MESSAGE,
	COLUMN_DIGEST,
	COLUMN_GONE,
	COLUMN_SYSTEM,
	COLUMN_START,
	COLUMN_END
};

static BackupVerdict *
read_row(HeapTuple row, TupleDesc desc)
{
	BackupVerdict *verdict = palloc0(sizeof(BackupVerdict));
	bool		isnull;

	verdict->backup = SPI_getvalue(row, desc, COLUMN_BACKUP);
	verdict->verified_at = DatumGetTimestampTz(SPI_getbinval(row, desc, COLUMN_VERIFIED_AT, &isnull)) + EPOCH;
	verdict->status = SPI_getvalue(row, desc, COLUMN_STATUS);
	verdict->unfinished = DatumGetBool(SPI_getbinval(row, desc, COLUMN_UNFINISHED, &isnull));
	verdict->message = SPI_getvalue(row, desc, COLUMN_MESSAGE);
	verdict->digest = (uint64) DatumGetInt64(SPI_getbinval(row, desc, COLUMN_DIGEST, &isnull));
	verdict->has_digest = !isnull;
	verdict->gone = DatumGetBool(SPI_getbinval(row, desc, COLUMN_GONE, &isnull));
	verdict->system = (uint64) DatumGetInt64(SPI_getbinval(row, desc, COLUMN_SYSTEM, &isnull));
	verdict->has_system = !isnull;
	verdict->start = DatumGetLSN(SPI_getbinval(row, desc, COLUMN_START, &isnull));
	verdict->end = DatumGetLSN(SPI_getbinval(row, desc, COLUMN_END, &isnull));
	return verdict;
}

List *
backup_record_load(const History *history, const char *directory)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(directory)};
	List	   *verdicts = NIL;

	history_execute(history, TABLE, SPI_OK_SELECT, NULL,
					"SELECT backup, verified_at, status, unfinished, message,"
					" listing_digest, gone_at IS NOT NULL, system_identifier,"
					" start_lsn, end_lsn"
					" FROM " HISTORY_SCHEMA "." TABLE
					" WHERE directory = $1 ORDER BY backup",
					lengthof(types), types, values, NULL);
	MemoryContextSwitchTo(context);
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++)
		verdicts = lappend(verdicts, read_row(SPI_tuptable->vals[i],
											  SPI_tuptable->tupdesc));
	SPI_freetuptable(SPI_tuptable);
	return verdicts;
}

const BackupVerdict *
backup_record_find(const List *verdicts, const char *name)
{
	ListCell   *cell;

	foreach(cell, verdicts)
	{
		const BackupVerdict *verdict = lfirst(cell);

		if (strcmp(verdict->backup, name) == 0)
			return verdict;
	}
	return NULL;
}

/* ---- writing ---- */

static Datum
names_datum(const char *const *names, int count)
{
	Datum	   *elements = palloc((count + 1) * sizeof(Datum));

	for (int i = 0; i < count; i++)
		elements[i] = CStringGetTextDatum(names[i]);
	return PointerGetDatum(construct_array(elements, count, TEXTOID, -1, false,
										   TYPALIGN_INT));
}

static void
insert_row(const History *history, Datum directory,
		   const BackupVerdict *verdict)
{
	Oid			types[] = {TEXTOID, TEXTOID, INT8OID, TEXTOID, TEXTOID, PG_LSNOID,
		PG_LSNOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID, BOOLOID, BOOLOID,
	INT8OID, INT8OID, INT8OID, TEXTARRAYOID, TEXTOID, TEXTOID, INT8OID};
	char		nulls[] = "                   ";
	Datum		values[] = {directory,
		CStringGetTextDatum(verdict->backup),
		Int64GetDatum((int64) verdict->system),
		history_text(verdict->label, &nulls[3]),
		history_text(verdict->format, &nulls[4]),
		LSNGetDatum(verdict->start),
		LSNGetDatum(verdict->end),
		TimestampTzGetDatum(verdict->taken_at - EPOCH),
		TimestampTzGetDatum(verdict->verified_at - EPOCH),
		CStringGetTextDatum(verdict->status),
		BoolGetDatum(status_is_finding(verdict->status)),
		BoolGetDatum(verdict->unfinished),
		Int64GetDatum(verdict->findings),
		Int64GetDatum(verdict->files),
		Int64GetDatum(verdict->bytes),
		names_datum(verdict->priors, verdict->npriors),
		history_text(verdict->message, &nulls[16]),
		history_text(verdict->manifest, &nulls[17]),
	Int64GetDatum((int64) verdict->digest)};

	StaticAssertStmt(lengthof(values) == lengthof(types) &&
					 sizeof(nulls) == lengthof(types) + 1, "columns");
	if (!verdict->has_system)
		nulls[2] = 'n';
	if (verdict->start == InvalidXLogRecPtr)
		nulls[5] = 'n';
	if (verdict->end == InvalidXLogRecPtr)
		nulls[6] = 'n';
	if (verdict->taken_at == 0)
		nulls[7] = 'n';
	if (verdict->npriors == 0)
		nulls[15] = 'n';
	if (!verdict->has_digest)
		nulls[18] = 'n';
	history_execute(history, TABLE, SPI_OK_INSERT, NULL,
					"SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,"
					" $14, $15, $16, $17, $18, $19, NULL::timestamptz",
					lengthof(types), types, values, nulls);
}

void
backup_record_write(const History *history, const char *directory,
					const BackupVerdict *verdict)
{
	Datum text = CStringGetTextDatum(directory);

	memory_delete_row(history, TABLE, "backup", NULL, text,
					  CStringGetTextDatum(verdict->backup));
	insert_row(history, text, verdict);
}

void
backup_record_gone(const History *history, const char *directory,
				   const char *backup, TimestampTz at)
{
	Oid			types[] = {TEXTOID, TEXTOID, TIMESTAMPTZOID};
	Datum		values[] = {CStringGetTextDatum(directory),
		CStringGetTextDatum(backup),
	TimestampTzGetDatum(at)};

	history_execute(history, TABLE, SPI_OK_UPDATE, NULL,
					"SELECT t.ctid, directory, backup, system_identifier, label,"
					" format, start_lsn, end_lsn, taken_at, verified_at, status,"
					" is_finding, unfinished, findings, files, read_bytes,"
					" prior_backups, message, manifest_checksum, listing_digest, $3"
					" FROM " HISTORY_SCHEMA "." TABLE " t"
					" WHERE directory = $1"
					" AND backup = $2 FOR UPDATE",
					lengthof(types), types, values, NULL);
}

int64
backup_record_prune(const History *history, TimestampTz limit)
{
	return memory_prune(history, TABLE, "gone_at < $1", limit);
}
