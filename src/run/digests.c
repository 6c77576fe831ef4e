/*
 * digests.c
 *	  verify_page_digests(), which judges the disk of this server by the page
 *	  ledger.
 *
 * The session judges its own database.  Of what verify_cluster() has recorded
 * of another one, a worker there judges, see run/elsewhere.c.
 */
#include "compat.h"

#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "run/elsewhere.h"
#include "run/judge.h"

enum
{
	DIGESTS_RELATION,
	DIGESTS_BLKNO,
	DIGESTS_PATH,
	DIGESTS_STATUS,
	DIGESTS_DISK_LSN,
	DIGESTS_KNOWN_LSN,
	DIGESTS_RECORDED_AT,
	DIGESTS_MESSAGE,
	DIGESTS_DATABASE,
	DIGESTS_SCHEMA_NAME,
	DIGESTS_RELATION_NAME,
	DIGESTS_DATID,
	DIGESTS_COLUMNS
};

typedef struct DigestCall
{
	DigestJudge judge;			/* first */
	ReturnSetInfo *rsinfo;
	History		history;
	LedgerServer server;
	SPIPlanPtr	plan;			/* of the rows of a file */
	Oid			database;		/* which is judged now */
	const char *database_name;
	DigestReading reading;
	int64		findings;
	int64		of_indexes;
} DigestCall;

static void judge_own(DigestCall *call);
static void judge_others(DigestCall *call);
static bool ask_table(DigestJudge *judge, int64 from);
static void emit_finding(DigestJudge *judge, const DigestFinding *finding);
static void emit_words(DigestCall *call, const DigestFinding *finding, const char *words);
static void report_findings(const DigestCall *call);

static void
judge_all(DigestCall *call, Oid relation)
{
	if (OidIsValid(relation))
		judge_relation(&call->judge, relation, true);
	else
	{
		judge_own(call);
		judge_others(call);
	}
}

SQL_FUNCTION(accel_verify_page_digests)
{
	DigestCall *call = palloc0(sizeof(DigestCall));

	InitMaterializedSRF(fcinfo, 0);
	call->rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	call->judge.ask = ask_table;
	call->judge.emit = emit_finding;
	call->reading.workers = accel_integer(fcinfo, 1, 0);
	call->reading.max_rate = accel_integer(fcinfo, 2, 0);
	call->reading.direct = accel_boolean(fcinfo, 4, false);
	judge_begin(&call->judge, &call->reading);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	call->history = history_of(fcinfo);
	ledger_server(&call->server);
	call->server.upgraded = accel_boolean(fcinfo, 3, false);
	call->database = MyDatabaseId;
	call->database_name = get_database_name(MyDatabaseId);
	PG_TRY();
	{
		judge_all(call, PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0));
	}
	PG_FINALLY();
	{
		if (call->plan != NULL)
			SPI_freeplan(call->plan);
	}
	PG_END_TRY();
	SPI_finish();
	scan_run_end(&call->judge.scan);
	report_findings(call);
	return (Datum) 0;
}

/* ---------------------------------------------------------------- *
 *		What is recorded
 * ---------------------------------------------------------------- */

/* Asks for what the ledger has, and leaves the rows in SPI_tuptable. */
static uint64
ask(DigestCall *call, const char *statement, int nargs, Oid *types, Datum *values)
{
	history_execute(&call->history, "internal_page_digests", SPI_OK_SELECT,
					NULL, statement, nargs, types, values, NULL);
	return SPI_processed;
}

/* Returns OIDs that a statement selects for a database, count of them. */
static Oid *
ask_oids(DigestCall *call, const char *statement, Oid database, int64 *count)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(database)};
	Oid		   *oids;

	*count = (int64) ask(call, statement, lengthof(types), types, values);
	oids = palloc_extended(Max(*count, 1) * sizeof(Oid), MCXT_ALLOC_HUGE);
	for (int64 i = 0; i < *count; i++)
		oids[i] = DatumGetObjectId(history_column(SPI_tuptable->vals[i], 1));
	SPI_freetuptable(SPI_tuptable);
	return oids;
}

/*
 * Selects the rows of a range of blocks, which begins with the first one from
 * there on, and may select some beyond it.  Sets *more if there may be any.
 */
static uint64
select_range(DigestCall *call, const LedgerFile *file, int64 from, bool *more)
{
	uint64		count = ledger_select_some(&call->history, &call->plan, file, from,
										   RANGE_ROWS + 1);
	int64		end;

	*more = count > RANGE_ROWS;
	if (count == 0)
		return 0;
	end = ledger_first_block(SPI_tuptable->vals[0]) + RANGE_BLOCKS;
	if (ledger_first_block(SPI_tuptable->vals[count - 1]) >= end)
		*more = true;
	else if (*more)
	{
		/* the same blocks more than once */
		SPI_freetuptable(SPI_tuptable);
		count = ledger_select(&call->history, NULL, file, from, end);
	}
	return count;
}

/* Hands the rows of a range of blocks to a function. */
static bool
read_range(DigestCall *call, const LedgerFile *file, int64 from,
		   void (*row_read) (void *arg, const LedgerRow *row, const LedgerPage *known),
		   void *arg)
{
	bool		more;
	uint64		count = select_range(call, file, from, &more);
	int64		end = 0;

	for (uint64 i = 0; i < count; i++)
	{
		LedgerPage	known[LEDGER_BLOCKS];
		LedgerRow	row;

		ledger_read(SPI_tuptable->vals[i], file, &call->server, &row, known);
		if (i == 0)
			end = row.first + RANGE_BLOCKS;
		if (row.first >= end)
			break;
		row_read(arg, &row, known);
	}
	SPI_freetuptable(SPI_tuptable);
	return more;
}

/* ---------------------------------------------------------------- *
 *		This database
 * ---------------------------------------------------------------- */

static void
on_row(void *arg, const LedgerRow *row, const LedgerPage *known)
{
	judge_row(arg, row, known);
}

static bool
ask_table(DigestJudge *judge, int64 from)
{
	return read_range((DigestCall *) judge, &judge->file, from, on_row, judge);
}

static void
judge_own(DigestCall *call)
{
	int64		count;
	Oid		   *relids = ask_oids(call, "SELECT DISTINCT relid"
								  " FROM " HISTORY_SCHEMA ".internal_page_digests"
								  " WHERE datid = ANY (ARRAY[0::oid, $1])"
								  " ORDER BY relid", MyDatabaseId, &count);
	DigestFinding none = {0};

	for (int64 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		judge_relation(&call->judge, relids[i], false);
	}
	none.status = LEDGER_NOT_VERIFIABLE;
	none.reason = LEDGER_NONE_RECORDED;
	if (count == 0)
		emit_finding(&call->judge, &none);
}

/* ---------------------------------------------------------------- *
 *		Other databases
 * ---------------------------------------------------------------- */

static bool
ask_for_other(Elsewhere *elsewhere, const LedgerFile *file, int64 from)
{
	return read_range(elsewhere->arg, file, from, elsewhere_row, elsewhere);
}

static void
emit_of_other(Elsewhere *elsewhere, const DigestFinding *finding)
{
	emit_finding(&((DigestCall *) elsewhere->arg)->judge, finding);
}

/* Returns NULL, or why the database is not judged. */
static const char *
judge_other(DigestCall *call, Elsewhere *elsewhere)
{
	int64		count;

	if (!has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		return "permission denied: only members of pg_stat_scan_tables may judge other databases";
	elsewhere->relids = ask_oids(call, "SELECT DISTINCT relid"
								 " FROM " HISTORY_SCHEMA ".internal_page_digests"
								 " WHERE datid = $1 ORDER BY relid",
								 elsewhere->database, &count);
	elsewhere->nrelids = (Size) count;
	elsewhere->arg = call;
	elsewhere->reading = call->reading;
	elsewhere->throttle = &call->judge.scan.throttle;
	elsewhere->ask = ask_for_other;
	elsewhere->emit = emit_of_other;
	return elsewhere_judge(elsewhere);
}

/* Those that were dropped since are passed over. */
static void
judge_others(DigestCall *call)
{
	int64		count;
	Oid		   *databases = ask_oids(call, "SELECT DISTINCT datid"
									 " FROM " HISTORY_SCHEMA ".internal_page_digests"
									 " WHERE datid <> ALL (ARRAY[0::oid, $1])"
									 " ORDER BY datid", MyDatabaseId, &count);

	for (int64 i = 0; i < count; i++)
	{
		Elsewhere	elsewhere = {NULL, databases[i]};
		DigestFinding nothing = {0};
		const char *why;

		CHECK_FOR_INTERRUPTS();
		if (!elsewhere_find(&elsewhere))
			continue;
		call->database = databases[i];
		call->database_name = elsewhere.name;
		why = judge_other(call, &elsewhere);
		nothing.status = LEDGER_NOT_VERIFIABLE;
		if (why != NULL && why[0] != '\0')
			emit_words(call, &nothing, why);
	}
}

/* ---------------------------------------------------------------- *
 *		Rows
 * ---------------------------------------------------------------- */

static const char *
words_of(const DigestFinding *finding)
{
	const char *words = ledger_reason_words(finding->reason);

	switch (finding->status)
	{
		case LEDGER_STALE_PAGE:
			return "the page on disk is older than the one that was recorded: a write was lost";
		case LEDGER_DIVERGED:
			return "the page on disk has the LSN that was recorded, but other contents";
		case LEDGER_GONE:
			return "the block was recorded, and is not on disk any more, or all zeros";
		default:
			return finding->reason == LEDGER_NONE_RECORDED ? words :
				psprintf("%s: %s", accel_counted(finding->blocks, "block", "blocks"), words);
	}
}

/* A name of another database means nothing here, nor does its OID. */
static void
fill_names(const DigestCall *call, const DigestFinding *finding,
		   Datum *values, bool *nulls)
{
#define SET(column, value) \
	(values[DIGESTS_##column] = (value), nulls[DIGESTS_##column] = false)
	if (!OidIsValid(finding->relid) && call->database == MyDatabaseId)
		return;
	SET(DATID, ObjectIdGetDatum(finding->shared ? InvalidOid : call->database));
	SET(DATABASE, CStringGetTextDatum(call->database_name));
	nulls[DIGESTS_DATABASE] = finding->shared;
	if (!OidIsValid(finding->relid))
		return;
	if (call->database == MyDatabaseId)
		SET(RELATION, ObjectIdGetDatum(finding->relid));
	SET(SCHEMA_NAME, CStringGetTextDatum(finding->schema));
	SET(RELATION_NAME, CStringGetTextDatum(finding->name));
}

static void
emit_words(DigestCall *call, const DigestFinding *finding, const char *words)
{
	Datum		values[DIGESTS_COLUMNS] = {0};
	bool		nulls[DIGESTS_COLUMNS];

	memset(nulls, true, sizeof(nulls));
	fill_names(call, finding, values, nulls);
	SET(STATUS, CStringGetTextDatum(ledger_status_name(finding->status)));
	SET(MESSAGE, CStringGetTextDatum(words));
	if (finding->status != LEDGER_NOT_VERIFIABLE)
	{
		SET(BLKNO, Int64GetDatum((int64) finding->blkno));
		SET(PATH, CStringGetTextDatum(finding->path));
		SET(KNOWN_LSN, LSNGetDatum(finding->known_lsn));
		SET(RECORDED_AT, TimestampTzGetDatum(finding->recorded_at));
		if (finding->disk_lsn != 0)
			SET(DISK_LSN, LSNGetDatum(finding->disk_lsn));
		call->findings++;
		call->of_indexes += finding->of_index;
	}
#undef SET
	tuplestore_putvalues(call->rsinfo->setResult, call->rsinfo->setDesc, values, nulls);
}

static void
emit_finding(DigestJudge *judge, const DigestFinding *finding)
{
	emit_words((DigestCall *) judge, finding, words_of(finding));
}

/* What leads to a repair, which only a primary can write. */
static const char *
hint_of(const DigestCall *call)
{
	if (RecoveryInProgress())
		return "Only this standby lost them, if its primary has no such finding. Make it anew, or let the primary write each page whole. See " ACCEL_RUNBOOK ".";
	if (call->of_indexes == call->findings)
		return "REINDEX the indexes, and look for findings in their tables. See " ACCEL_RUNBOOK ".";
	return "Replace the storage. restore_block() writes a page of a standby, a backup or the WAL over one that was lost. See " ACCEL_RUNBOOK ".";
}

static void
report_findings(const DigestCall *call)
{
	if (call->findings == 0)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("%s not what the page ledger knows",
					accel_counted(call->findings, "block is", "blocks are")),
			 errhint("%s", hint_of(call))));
}
