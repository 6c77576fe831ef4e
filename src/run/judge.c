/*
 * judge.c
 *	  Judges relations of the database at hand by rows of the page ledger,
 *	  wherever these come from.
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
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "lost/server.h"
#include "page/decide.h"
#include "page/map_witness.h"
#include "run/judge.h"

static void judge_file(DigestJudge *judge);
static void scan_range(DigestJudge *judge);
static void judge_range(DigestJudge *judge);
static void end_range(DigestJudge *judge);
static void note_digest(ScanSink *sink, const DigestRow *row);
static void emit_unjudged(DigestJudge *judge);

void
judge_begin(DigestJudge *judge, const DigestReading *how)
{
	judge->sink.digest = LEDGER_DIGESTS;
	judge->sink.part = note_digest;
	scan_run_begin(&judge->scan, &judge->sink, how->workers, how->max_rate,
				   how->direct);
	judge->known = palloc0(RANGE_BLOCKS * sizeof(LedgerPage));
	judge->read = palloc0(RANGE_BLOCKS * sizeof(LedgerPage));
	judge->context = AllocSetContextCreate(CurrentMemoryContext, "digests",
										   ALLOCSET_DEFAULT_SIZES);
}

/* The redo point comes before the lock, and the lock before the file. */
void
judge_relation(DigestJudge *judge, Oid relid, bool required)
{
	Fork		fork;

	memset(judge->unjudged, 0, sizeof(judge->unjudged));
	judge->same_file = false;
	judge->redo = lost_server_horizon();
	if (judge->lock != NULL)
		judge->lock(relid);
	judge->rel = required ? scan_open_relation(relid) :
		try_relation_open(relid, judge->lock ? NoLock : AccessShareLock);
	if (judge->rel == NULL)
		return;
	ledger_file_of(judge->rel, &judge->file);
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
	MemoryContext old = MemoryContextSwitchTo(judge->context);
	int64		from = 0;
	bool		more;

	do
	{
		judge->first = -1;
		more = judge->ask(judge, from);
		if (judge->first < 0)
			break;
		if (judge->blocks > 0)
		{
			scan_range(judge);
			judge_range(judge);
		}
		from = judge->first + RANGE_BLOCKS;
		end_range(judge);
	} while (more);
	if (from == 0)
		judge->unjudged[LEDGER_NONE_RECORDED] = 1;
	MemoryContextSwitchTo(old);
}

static int64
count_known(const LedgerPage *known)
{
	int64		count = 0;

	for (int i = 0; i < LEDGER_BLOCKS; i++)
		count += known[i].lsn >= LEDGER_FIRST_LSN;
	return count;
}

static void
begin_range(DigestJudge *judge, int64 first)
{
	judge->first = first;
	judge->blocks = 0;
	memset(judge->rows, 0, sizeof(judge->rows));
}

static void
end_range(DigestJudge *judge)
{
	memset(judge->known, 0, judge->blocks * sizeof(LedgerPage));
	memset(judge->read, 0, judge->blocks * sizeof(LedgerPage));
	MemoryContextReset(judge->context);
}

/* What is no evidence is not known. */
void
judge_row(DigestJudge *judge, const LedgerRow *row, const LedgerPage *known)
{
	int64		at;

	if (judge->first < 0)
		begin_range(judge, row->first);
	at = row->first - judge->first;
	if (row->refused != LEDGER_NO_REASON)
		judge->unjudged[row->refused] += count_known(known);
	else if (at % LEDGER_BLOCKS == 0 && at < RANGE_BLOCKS)
	{
		judge->rows[at / LEDGER_BLOCKS] = *row;
		memcpy(&judge->known[at], known, LEDGER_BLOCKS * sizeof(LedgerPage));
		judge->blocks = Max(judge->blocks, at + LEDGER_BLOCKS);
	}
}

static void
scan_range(DigestJudge *judge)
{
	RelationScanOptions options = SCAN_OPTIONS_ALL;
	int64		end = judge->first + judge->blocks;

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

	if (at < 0 || at >= judge->blocks || row->broken)
		return;
	page->disk = row->empty ? LEDGER_NOTHING : LEDGER_PAGE;
	page->lsn = row->lsn;
	page->digest = row->crc;
	judge->same_file = judge->same_file || is_of_row(judge, at);
}

/* ---------------------------------------------------------------- *
 *		Verdicts on blocks
 * ---------------------------------------------------------------- */

/* What is said of the relation at work, with nothing but its names yet. */
static DigestFinding
describe(const DigestJudge *judge, LedgerStatus status)
{
	DigestFinding finding;
	char	   *schema = get_namespace_name(RelationGetNamespace(judge->rel));

	memset(&finding, 0, sizeof(finding));
	finding.relid = judge->file.relid;
	finding.shared = judge->rel->rd_rel->relisshared;
	finding.of_index = judge->file.kind == LEDGER_INDEX;
	finding.status = status;
	strlcpy(finding.schema, schema ? schema : "", sizeof(finding.schema));
	strlcpy(finding.name, RelationGetRelationName(judge->rel), sizeof(finding.name));
	return finding;
}

static void
emit_block(DigestJudge *judge, const Fork *fork, int64 at,
		   const LedgerFacts *facts, LedgerStatus status)
{
	DigestFinding finding = describe(judge, status);

	finding.blkno = (BlockNumber) (judge->first + at);
	fork_segment_path(fork, finding.blkno / RELSEG_SIZE, finding.path);
	finding.disk_lsn = facts->read.disk == LEDGER_PAGE ? facts->read.lsn : 0;
	finding.known_lsn = facts->known.lsn;
	finding.recorded_at = judge->rows[at / LEDGER_BLOCKS].recorded_at;
	judge->emit(judge, &finding);
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
	/* a table that was cut off, and is not written yet since it grew again */
	if (decision->fate == BLOCK_JUDGED && decision->write_to_come)
		facts.initialized = false;
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
	if (judge->scan.policy.direct)
		fork_reader_init_direct(&reader, &fork, SCAN_PIECE_BLOCKS);
	else
		fork_reader_init(&reader, &fork);
	reader.throttle = judge->scan.policy.throttle;
	page_mask_init(&mask, judge->rel, MAIN_FORKNUM);
	map_witness_init(&witness, &fork);
	for (int64 at = 0; at < judge->blocks; at++)
	{
		if (!is_suspect(judge, at))
			continue;
		CHECK_FOR_INTERRUPTS();
		judge_suspect(judge, &reader, &mask, &witness, at);
	}
	map_witness_close(&witness);
	fork_reader_close(&reader);
}

/* One for each reason, with how many blocks it keeps from a verdict. */
static void
emit_unjudged(DigestJudge *judge)
{
	DigestFinding finding = describe(judge, LEDGER_NOT_VERIFIABLE);

	for (int reason = 0; reason < LEDGER_REASONS; reason++)
	{
		finding.reason = reason;
		finding.blocks = judge->unjudged[reason];
		if (finding.blocks > 0)
			judge->emit(judge, &finding);
	}
}
