/*
 * digests.c
 *	  verify_page_digests(), which judges the disk of this server by the page
 *	  ledger.
 *
 * The order of reading is part of the proof in page/ledger.c.  The redo point
 * comes first, then the lock (AccessShareLock), then the file of the relation
 * as it was opened, and then its blocks.  A redo point that is read after a
 * page may be that of a checkpoint that has put the page there since.  Without
 * the lock VACUUM may cut off what was recorded, or a rewrite may leave the old
 * file empty.
 *
 * Blocks are read as by verify_relation().  A block that does not agree with
 * the ledger is read again while nobody can be writing it, see page/decide.c.
 * What is then on disk is judged.
 *
 * A sequence may get another file in spite of the lock.  Then nothing is said.
 */
#include "compat.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "lost/server.h"
#include "page/decide.h"
#include "page/map_witness.h"
#include "page/scan_run.h"
#include "run/ledger.h"

/* So many blocks are judged at a time, with what is known of them in memory. */
#define RANGE_ROWS		128
#define RANGE_BLOCKS	((int64) RANGE_ROWS * LEDGER_BLOCKS)

#define COLUMNS			8

typedef struct DigestJudge
{
	ScanSink	sink;			/* first */
	ScanRun		scan;
	ReturnSetInfo *rsinfo;
	History		history;
	LedgerServer server;
	MemoryContext context;		/* of a range */

	int64		findings;		/* of all relations */
	int64		of_indexes;

	/* the relation at work */
	Relation	rel;
	LedgerFile	file;
	XLogRecPtr	redo;			/* before it was locked */
	bool		same_file;		/* some page is as old as a row, see ledger.c */
	int64		unjudged[LEDGER_REASONS];	/* blocks by reason */

	/* its range at work */
	int64		first;
	LedgerRow	rows[RANGE_ROWS];
	LedgerPage *known;
	LedgerPage *read;
} DigestJudge;

static void judge_all(DigestJudge *judge);
static void judge_relation(DigestJudge *judge, Oid relid, bool required);
static void judge_file(DigestJudge *judge);
static int64 next_range(DigestJudge *judge, int64 from);
static void load_range(DigestJudge *judge);
static void scan_range(DigestJudge *judge);
static void judge_range(DigestJudge *judge);
static void note_digest(ScanSink *sink, const DigestRow *row);
static void emit_unjudged(DigestJudge *judge);
static void report_findings(const DigestJudge *judge);

SQL_FUNCTION(accel_verify_page_digests)
{
	DigestJudge judge = {{0}};

	InitMaterializedSRF(fcinfo, 0);
	judge.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	judge.sink.digest = LEDGER_DIGESTS;
	judge.sink.part = note_digest;
	scan_run_begin(&judge.scan, &judge.sink, accel_integer(fcinfo, 1, 0),
				   accel_integer(fcinfo, 2, 0), false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	judge.history = history_of(fcinfo);
	judge.context = AllocSetContextCreate(CurrentMemoryContext, "digests",
										  ALLOCSET_DEFAULT_SIZES);
	ledger_server(&judge.server);
	if (PG_ARGISNULL(0))
		judge_all(&judge);
	else
		judge_relation(&judge, PG_GETARG_OID(0), true);
	SPI_finish();
	scan_run_end(&judge.scan);
	report_findings(&judge);
	return (Datum) 0;
}

/* Asks for what the ledger has, and leaves the rows in SPI_tuptable. */
static uint64
ask(DigestJudge *judge, const char *statement, int nargs, Oid *types,
	Datum *values)
{
	history_execute(&judge->history, "internal_page_digests", SPI_OK_SELECT,
					NULL, statement, nargs, types, values, NULL);
	return SPI_processed;
}

/* Judges the relations of this database that are recorded. */
static void
judge_all(DigestJudge *judge)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(MyDatabaseId)};
	uint64		count = ask(judge, "SELECT DISTINCT relid"
							" FROM " HISTORY_SCHEMA ".internal_page_digests"
							" WHERE datid = $1 OR datid = 0::oid"
							" ORDER BY relid", 1, types, values);
	SPITupleTable *table = SPI_tuptable;

	for (uint64 i = 0; i < count; i++)
	{
		bool		isnull;
		Datum		relid = SPI_getbinval(table->vals[i], table->tupdesc, 1,
										  &isnull);

		CHECK_FOR_INTERRUPTS();
		judge_relation(judge, DatumGetObjectId(relid), false);
	}
	if (count == 0)
	{
		judge->unjudged[LEDGER_NONE_RECORDED] = 1;
		emit_unjudged(judge);
	}
}

/* The redo point comes before the lock, and the lock before the file. */
static void
judge_relation(DigestJudge *judge, Oid relid, bool required)
{
	Fork		fork;

	memset(judge->unjudged, 0, sizeof(judge->unjudged));
	judge->same_file = false;
	judge->redo = lost_server_horizon();
	judge->rel = required ? scan_open_relation(relid) :
		try_relation_open(relid, AccessShareLock);
	if (judge->rel == NULL)
		return;
	judge->file.database = LOCATOR_DATABASE(judge->rel->rd_locator);
	judge->file.tablespace = LOCATOR_TABLESPACE(judge->rel->rd_locator);
	judge->file.number = LOCATOR_NUMBER(judge->rel->rd_locator);
	judge->file.relid = relid;
	judge->file.kind = judge->rel->rd_rel->relkind == RELKIND_SEQUENCE ?
		LEDGER_SEQUENCE : judge->rel->rd_rel->relkind == RELKIND_INDEX ?
		LEDGER_INDEX : LEDGER_TABLE;
	fork_describe(&fork, judge->rel, MAIN_FORKNUM);
	if (fork_why_not_verifiable(&fork) == NULL)
		judge_file(judge);
	emit_unjudged(judge);
	relation_close(judge->rel, AccessShareLock);
	judge->rel = NULL;
}

static void
judge_file(DigestJudge *judge)
{
	int64		first = next_range(judge, 0);
	MemoryContext old;

	if (first < 0)
		judge->unjudged[LEDGER_NONE_RECORDED] = 1;
	old = MemoryContextSwitchTo(judge->context);
	for (; first >= 0; first = next_range(judge, first + RANGE_BLOCKS))
	{
		MemoryContextSwitchTo(judge->context);
		judge->first = first;
		judge->known = palloc0(RANGE_BLOCKS * sizeof(LedgerPage));
		judge->read = palloc0(RANGE_BLOCKS * sizeof(LedgerPage));
		load_range(judge);
		scan_range(judge);
		judge_range(judge);
		MemoryContextSwitchTo(old);
		MemoryContextReset(judge->context);
	}
	MemoryContextSwitchTo(old);
}

/* Returns the first block from there on that has a row, or -1. */
static int64
next_range(DigestJudge *judge, int64 from)
{
	Oid			types[] = {OIDOID, OIDOID, OIDOID, OIDOID, INT8OID};
	Datum		values[] = {ObjectIdGetDatum(judge->file.database),
		ObjectIdGetDatum(judge->file.tablespace),
		ObjectIdGetDatum(judge->file.number),
	ObjectIdGetDatum(judge->file.relid), Int64GetDatum(from)};
	int64		first = -1;

	if (ask(judge, "SELECT t.first_block FROM " HISTORY_SCHEMA ".internal_page_digests t"
			" WHERE t.datid = $1 AND t.tablespace = $2 AND t.filenode = $3"
			" AND t.relid = $4 AND t.first_block >= $5"
			" ORDER BY t.first_block LIMIT 1", 5, types, values) > 0)
		first = DatumGetInt64(history_column(SPI_tuptable->vals[0], 1));
	SPI_freetuptable(SPI_tuptable);
	return first;
}

static int64
count_known(const LedgerPage *known)
{
	int64		count = 0;

	for (int i = 0; i < LEDGER_BLOCKS; i++)
		count += known[i].lsn >= LEDGER_FIRST_LSN;
	return count;
}

/* What is no evidence is not known. */
static void
load_range(DigestJudge *judge)
{
	uint64		count = ledger_select(&judge->history, NULL, &judge->file,
									  judge->first, judge->first + RANGE_BLOCKS);

	memset(judge->rows, 0, sizeof(judge->rows));
	for (uint64 i = 0; i < count; i++)
	{
		LedgerPage	known[LEDGER_BLOCKS];
		LedgerRow	row;
		int64		at;

		ledger_read(SPI_tuptable->vals[i], &judge->file, &judge->server, &row,
					known);
		at = row.first - judge->first;
		if (row.refused != LEDGER_NO_REASON)
			judge->unjudged[row.refused] += count_known(known);
		else if (at % LEDGER_BLOCKS == 0 && at < RANGE_BLOCKS)
		{
			judge->rows[at / LEDGER_BLOCKS] = row;
			memcpy(&judge->known[at], known, sizeof(known));
		}
	}
	SPI_freetuptable(SPI_tuptable);
}

static void
scan_range(DigestJudge *judge)
{
	RelationScanOptions options = SCAN_OPTIONS_ALL;
	int64		end = judge->first + RANGE_BLOCKS;

	options.fork = MAIN_FORKNUM;
	options.first = (BlockNumber) judge->first;
	options.end = (BlockNumber) Min(end, InvalidBlockNumber);
	scan_forks(judge->rel, &options, &judge->scan.policy, &judge->scan.sink);
}

/* A page on disk that is as old as the row of its block. */
static bool
is_of_row(const DigestJudge *judge, int64 at)
{
	return judge->read[at].disk == LEDGER_PAGE &&
		judge->read[at].lsn >= LEDGER_FIRST_LSN &&
		judge->read[at].lsn <= judge->rows[at / LEDGER_BLOCKS].origin.taken;
}

static void
note_digest(ScanSink *sink, const DigestRow *row)
{
	DigestJudge *judge = (DigestJudge *) sink;
	int64		at = row->first - judge->first;
	LedgerPage *page = &judge->read[at];

	if (at < 0 || at >= RANGE_BLOCKS || row->broken)
		return;
	page->disk = row->empty ? LEDGER_NOTHING : LEDGER_PAGE;
	page->lsn = row->lsn;
	page->digest = row->crc;
	judge->same_file = judge->same_file || is_of_row(judge, at);
}

/* ---------------------------------------------------------------- *
 *		Verdicts on blocks
 * ---------------------------------------------------------------- */

static const char *
words_of(LedgerStatus status)
{
	switch (status)
	{
		case LEDGER_STALE_PAGE:
			return "the page on disk is older than the one that was recorded: a write was lost";
		case LEDGER_DIVERGED:
			return "the page on disk has the LSN that was recorded, but other contents";
		case LEDGER_GONE:
			return "the block was recorded, and is not on disk any more, or all zeros";
		default:
			return "";
	}
}

static void
emit_block(DigestJudge *judge, const Fork *fork, int64 at,
		   const LedgerFacts *facts, LedgerStatus status)
{
	ReturnSetInfo *rsinfo = judge->rsinfo;
	BlockNumber blkno = (BlockNumber) (judge->first + at);
	char		path[SCAN_PATH_SIZE];
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};

	judge->findings++;
	judge->of_indexes += judge->file.kind == LEDGER_INDEX;
	fork_segment_path(fork, blkno / RELSEG_SIZE, path);
	values[0] = ObjectIdGetDatum(judge->file.relid);
	values[1] = Int64GetDatum(blkno);
	values[2] = CStringGetTextDatum(path);
	values[3] = CStringGetTextDatum(ledger_status_name(status));
	values[4] = LSNGetDatum(facts->read.lsn);
	nulls[4] = facts->read.disk != LEDGER_PAGE;
	values[5] = LSNGetDatum(facts->known.lsn);
	values[6] = TimestampTzGetDatum(judge->rows[at / LEDGER_BLOCKS].recorded_at);
	values[7] = CStringGetTextDatum(words_of(status));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* What lies on disk while nobody can be writing it. */
static void
read_settled(ForkReader *reader, PageMask *mask, BlockNumber blkno,
			 BlockDecision *decision, LedgerPage *page)
{
	PageRules	rules = {reader->fork->checksums, InvalidXLogRecPtr, reader->fork->kind};
	const char *masked;

	memset(page, 0, sizeof(*page));
	if (!fork_reader_open(reader, blkno))
	{
		page->disk = reader->error == ENOENT ? LEDGER_NOTHING : LEDGER_UNREAD;
		return;
	}
	decision->fate = BLOCK_GONE;
	if (blkno < fork_reader_segment_end(reader))
		block_decide(reader, blkno, &rules, decision);
	if (decision->fate == BLOCK_GONE || (decision->fate == BLOCK_JUDGED &&
										 decision->verdict.status == PAGE_NEW))
		page->disk = LEDGER_NOTHING;
	if (decision->fate != BLOCK_JUDGED || decision->verdict.status != PAGE_OK)
		return;
	masked = page_mask_apply(mask, decision->image.data, blkno);
	if (masked == NULL)
		return;
	page->disk = LEDGER_PAGE;
	page->lsn = decision->verdict.lsn;
	page->digest = page_digest(masked);
}

/* The map is asked before the block is read, see map_witness.c. */
static void
judge_suspect(DigestJudge *judge, ForkReader *reader, PageMask *mask,
			  MapWitness *witness, int64 at)
{
	BlockNumber blkno = (BlockNumber) (judge->first + at);
	BlockDecision *decision = palloc(sizeof(BlockDecision));
	LedgerFacts facts = {judge->file.kind, judge->known[at]};
	LedgerVerdict verdict;

	facts.redo = judge->redo;
	facts.same_file = judge->same_file;
	map_witness_forget(witness);
	facts.initialized = facts.kind == LEDGER_TABLE &&
		map_witness_initialized(witness, blkno);
	read_settled(reader, mask, blkno, decision, &facts.read);
	pfree(decision);
	verdict = ledger_judge(&facts);
	if (verdict.status == LEDGER_NOT_VERIFIABLE)
		judge->unjudged[verdict.reason]++;
	else if (verdict.status != LEDGER_OK)
		emit_block(judge, reader->fork, at, &facts, verdict.status);
}

/* Does what the scan has read of a block leave a doubt? */
static bool
is_suspect(const DigestJudge *judge, int64 at)
{
	LedgerFacts facts = {judge->file.kind, judge->known[at], judge->read[at]};

	facts.redo = judge->redo;
	return ledger_judge(&facts).status != LEDGER_OK;
}

static void
judge_range(DigestJudge *judge)
{
	Fork		fork;
	ForkReader	reader;
	PageMask	mask;
	MapWitness	witness;

	fork_describe(&fork, judge->rel, MAIN_FORKNUM);
	if (!page_mask_exact(judge->rel, MAIN_FORKNUM) ||
		(judge->file.kind == LEDGER_SEQUENCE && fork_moved(&fork)))
		return;
	fork_reader_init(&reader, &fork);
	reader.throttle = judge->scan.policy.throttle;
	page_mask_init(&mask, judge->rel, MAIN_FORKNUM);
	map_witness_init(&witness, &fork);
	for (int64 at = 0; at < RANGE_BLOCKS; at++)
	{
		if (!is_suspect(judge, at))
			continue;
		CHECK_FOR_INTERRUPTS();
		judge_suspect(judge, &reader, &mask, &witness, at);
	}
	map_witness_close(&witness);
	fork_reader_close(&reader);
}

/* A row for each reason, with how many blocks it keeps from a verdict. */
static void
emit_unjudged(DigestJudge *judge)
{
	ReturnSetInfo *rsinfo = judge->rsinfo;

	for (int reason = 0; reason < LEDGER_REASONS; reason++)
	{
		int64		blocks = judge->unjudged[reason];
		const char *words = ledger_reason_words(reason);
		Datum		values[COLUMNS] = {0};
		bool		nulls[COLUMNS] = {false, true, true, false, true, true, true, false};

		if (blocks == 0)
			continue;
		nulls[0] = !OidIsValid(judge->file.relid);
		values[0] = ObjectIdGetDatum(judge->file.relid);
		values[3] = CStringGetTextDatum(ledger_status_name(LEDGER_NOT_VERIFIABLE));
		values[7] = CStringGetTextDatum(reason == LEDGER_NONE_RECORDED ? words :
										psprintf("%s: %s", accel_counted(blocks, "block", "blocks"), words));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/* What leads to a repair, which only a primary can write. */
static const char *
hint_of(const DigestJudge *judge)
{
	if (RecoveryInProgress())
		return "Only this standby lost them, if its primary has no such finding. Make it anew, or let the primary write each page whole. See " ACCEL_RUNBOOK ".";
	if (judge->of_indexes == judge->findings)
		return "REINDEX the indexes, and look for findings in their tables. See " ACCEL_RUNBOOK ".";
	return "Replace the storage. restore_block() writes a page of a standby, a backup or the WAL over one that was lost. See " ACCEL_RUNBOOK ".";
}

static void
report_findings(const DigestJudge *judge)
{
	if (judge->findings == 0)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("%s not what the page ledger knows",
					accel_counted(judge->findings, "block is", "blocks are")),
			 errhint("%s", hint_of(judge))));
}
