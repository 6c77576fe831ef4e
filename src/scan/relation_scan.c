/*
 * relation_scan.c
 *	  Verifies the blocks of relations on disk while the server works.
 *
 * scan_relation() makes the list of relations, opens one after the other, and
 * of each fork samples the segments; what is there falls into extents (rows of
 * blocks without a gap), which are scanned in order, with what is wrong about
 * the segments reported in between.  Blocks are read in pieces and judged in
 * batches; the few that look broken are decided by block_decide.c.
 */
#include "compat.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "scan/block_decide.h"
#include "scan/fork_reader.h"
#include "scan/relation_scan.h"
#include "scan/segment_map.h"
#include "verify/page.h"

/* Empty reads below the end of a file before it is taken seriously. */
#define SHORT_READS		4

/* A row of blocks without a gap. */
typedef struct Extent
{
	BlockNumber first;
	BlockNumber end;
	BlockNumber count;
} Extent;

/* The scan of one row of blocks. */
typedef struct RangeScan
{
	const ForkScan *fork;
	ScanSink   *sink;
	ForkSummary *summary;
	ForkReader	reader;
	PageRules	rules;
	BlockDecision *decision;	/* 8 kB and more: not on the stack */
	int			short_reads;	/* in a row, at the same block */
} RangeScan;

/* What is done with one relation; returns those that come next. */
typedef List *(*RelationVisit) (void *arg, Oid relid, bool required);

/* The arguments of scan_relation(). */
typedef struct RelationScan
{
	const RelationScanOptions *options;
	ScanSink   *sink;
} RelationScan;

static void visit_relations(Oid relid, RelationVisit visit, void *arg);
static List *scan_one(void *arg, Oid relid, bool required);
static List *dependents_of(Relation rel, const RelationScanOptions *options);
static void scan_forks(Relation rel, const RelationScanOptions *options,
					   ScanSink *sink);
static bool follow_relation(ForkScan *fork);
static void sample_fork(ForkScan *fork, SegmentMap *map);
static const char *why_not_verifiable(const ForkScan *fork);
static void report_unverifiable(Oid relid, ForkNumber fork, const char *why,
								ScanSink *sink);
static void scan_fork(ForkScan *fork, const RelationScanOptions *options,
					  ScanSink *sink);
static void scan_map(const ForkScan *fork, const SegmentMap *map,
					 const RelationScanOptions *options, ScanSink *sink);
static Extent clip(BlockNumber first, BlockNumber end,
				   const RelationScanOptions *options);
static void scan_extents(const ForkScan *fork, const SegmentMap *map,
						 const RelationScanOptions *options, ScanSink *sink,
						 ForkSummary *summary);
static void report_segment(const ForkScan *fork, const SegmentMap *map,
						   BlockNumber segment, ScanSink *sink,
						   ForkSummary *summary);
static void scan_blocks(ScanSink *sink, const ForkScan *fork,
						BlockNumber first, BlockNumber end,
						ForkSummary *summary);
static BlockNumber scan_piece(RangeScan *scan, BlockNumber blkno,
							  BlockNumber end);
static void judge_piece(RangeScan *scan, BlockNumber blkno, uint32 nblocks);
static void suspect(RangeScan *scan, BlockNumber blkno);
static BlockNumber read_failed(RangeScan *scan, BlockNumber blkno,
							   BlockNumber limit);
static void count_healthy(RangeScan *scan, BlockNumber blkno,
						  const char *page, PageStatus status);
static void report_block(RangeScan *scan, BlockNumber blkno,
						 PageStatus status);

/* ---------------------------------------------------------------- *
 *		Relations and forks
 * ---------------------------------------------------------------- */

void
scan_relation(Oid relid, const RelationScanOptions *options, ScanSink *sink)
{
	RelationScan scan = {options, sink};

	visit_relations(relid, scan_one, &scan);
}

/*
 * Visits a relation, then what it returned and what those did, depth first.
 * There may be a hundred thousand partitions: what a visit allocates goes with
 * it, and the stack (next on top) is never copied.
 */
static void
visit_relations(Oid relid, RelationVisit visit, void *arg)
{
	List	   *stack = list_make1_oid(relid);
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext item = AllocSetContextCreate(outer, "relation being read",
											   ALLOCSET_DEFAULT_SIZES);

	while (stack != NIL)
	{
		Oid			next = llast_oid(stack);
		List	   *after;

		CHECK_FOR_INTERRUPTS();
		stack = list_delete_last(stack);
		MemoryContextSwitchTo(item);
		after = visit(arg, next, next == relid);
		MemoryContextSwitchTo(outer);
		for (int i = list_length(after) - 1; i >= 0; i--)
			stack = lappend_oid(stack, list_nth_oid(after, i));
		MemoryContextReset(item);
	}
	MemoryContextDelete(item);
}

/*
 * Opens a relation for verification; NULL when it is gone and nobody insists.
 */
static Relation
open_relation(Oid relid, bool required, LOCKMODE lockmode)
{
	Relation	rel = try_relation_open(relid, lockmode);

	if (rel == NULL && required)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return rel;
}

static void
raise_no_storage(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("relation \"%s\" does not have storage",
					RelationGetRelationName(rel)),
			 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
}

/* An argument must have storage, its own or that of partitions. */
static void
require_storage(Relation rel)
{
	char		kind = rel->rd_rel->relkind;

	if (!RELKIND_HAS_STORAGE(kind) && !RELKIND_HAS_PARTITIONS(kind))
		raise_no_storage(rel);
}

static List *
scan_one(void *arg, Oid relid, bool required)
{
	RelationScan *scan = arg;
	Relation	rel = open_relation(relid, required, AccessShareLock);
	List	   *dependents = NIL;
	char		kind;

	if (rel == NULL)
		return NIL;
	if (required)
		require_storage(rel);
	kind = rel->rd_rel->relkind;
	if (RELKIND_HAS_STORAGE(kind))
		scan_forks(rel, scan->options, scan->sink);
	else if (!RELKIND_HAS_PARTITIONS(kind))
		report_unverifiable(relid, InvalidForkNumber,
							"a foreign table has no storage here", scan->sink);
	if (RELKIND_HAS_STORAGE(kind) || RELKIND_HAS_PARTITIONS(kind))
		dependents = dependents_of(rel, scan->options);
	relation_close(rel, AccessShareLock);
	return dependents;
}

/*
 * What belongs to a relation: partitions (of a table or an index), or its TOAST
 * table and then its indexes.
 */
static List *
dependents_of(Relation rel, const RelationScanOptions *options)
{
	List	   *dependents = NIL;

	if (RELKIND_HAS_PARTITIONS(rel->rd_rel->relkind))
		return find_inheritance_children(RelationGetRelid(rel), NoLock);
	if (options->include_toast && OidIsValid(rel->rd_rel->reltoastrelid))
		dependents = lappend_oid(dependents, rel->rd_rel->reltoastrelid);
	if (options->include_indexes && rel->rd_rel->relhasindex)
		dependents = list_concat(dependents, RelationGetIndexList(rel));
	return dependents;
}

/*
 * What is known of a fork before its files are looked at.
 */
static void
describe_fork(ForkScan *scan, Relation rel, ForkNumber fork)
{
	memset(scan, 0, sizeof(*scan));
	scan->rel = rel;
	scan->fork = fork;
	scan->md = SMGR_IS_MD(RelationGetSmgr(rel));
	scan->checksums = DataChecksumsEnabled();
	scan->test_lsn = rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT ||
		fork == INIT_FORKNUM;
	RELATION_PATH(rel, fork, scan->path, SCAN_PATH_SIZE);
}

static void
scan_forks(Relation rel, const RelationScanOptions *options, ScanSink *sink)
{
	ForkScan	scan;

	for (ForkNumber fork = MAIN_FORKNUM; fork <= MAX_FORKNUM; fork++)
	{
		if (options->fork != InvalidForkNumber && options->fork != fork)
			continue;
		describe_fork(&scan, rel, fork);
		scan_fork(&scan, options, sink);
	}
}

/*
 * ALTER SEQUENCE gives its sequence a new file under a lock that lets us read;
 * the old one is emptied at its commit and goes with the next checkpoint.  (What
 * else changes files waits for our lock.)  The news is sent before the file is
 * touched.  True: described anew, the fork has another file.
 */
static bool
follow_relation(ForkScan *fork)
{
	char		path[SCAN_PATH_SIZE];

	strlcpy(path, fork->path, SCAN_PATH_SIZE);
	AcceptInvalidationMessages();
	describe_fork(fork, fork->rel, fork->fork);
	return strcmp(path, fork->path) != 0;
}

/* Samples the sizes of the files that the fork has now. */
static void
sample_fork(ForkScan *fork, SegmentMap *map)
{
	segment_map_sample(map, fork);
	while (map->bytes[0] <= 0 && follow_relation(fork))
	{
		segment_map_free(map);
		segment_map_sample(map, fork);
	}
}

/* NULL: it can be verified. */
static const char *
why_not_verifiable(const ForkScan *fork)
{
	Form_pg_class class = fork->rel->rd_rel;
	Form_pg_index index = fork->rel->rd_index;

	if (class->relpersistence == RELPERSISTENCE_TEMP)
		return "temporary relations live in their session's memory";
	if (class->relpersistence == RELPERSISTENCE_UNLOGGED &&
		fork->fork != INIT_FORKNUM && RecoveryInProgress())
		return "unlogged relations have no contents on a standby";
	if (index != NULL && !index->indislive)
		return "the index is being dropped concurrently, or that has failed";
	if (index != NULL && !index->indisready)
		return "the index is being built concurrently, past shared buffers, or such a build has failed";
	return NULL;
}

static void
report_unverifiable(Oid relid, ForkNumber fork, const char *why,
					ScanSink *sink)
{
	ForkSummary summary;
	PageFinding finding;

	fork_summary_init(&summary, relid, fork);
	page_finding_init(&finding, relid, fork, PAGE_NOT_VERIFIABLE);
	strlcpy(finding.message, why, sizeof(finding.message));
	fork_summary_note(&summary, &finding);
	if (sink->finding)
		sink->finding(sink, &finding);
	if (sink->fork_end)
		sink->fork_end(sink, &summary);
}

/* Must the fork exist, or is it made when it is needed? */
static bool
fork_required(const ForkScan *fork)
{
	return fork->fork == MAIN_FORKNUM ||
		(fork->fork == INIT_FORKNUM &&
		 fork->rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED);
}

static void
scan_fork(ForkScan *fork, const RelationScanOptions *options, ScanSink *sink)
{
	const char *why = why_not_verifiable(fork);
	SegmentMap	map;

	if (why != NULL)
	{
		/* said once a relation, unless this very fork was asked for */
		if (options->fork == fork->fork || fork->fork == MAIN_FORKNUM)
			report_unverifiable(RelationGetRelid(fork->rel), fork->fork, why,
								sink);
		return;
	}
	if (!fork->md && !smgrexists(RelationGetSmgr(fork->rel), fork->fork))
		return;
	sample_fork(fork, &map);
	if (segment_map_exists(&map) || fork_required(fork))
		scan_map(fork, &map, options, sink);
	segment_map_free(&map);
}

static void
scan_map(const ForkScan *fork, const SegmentMap *map,
		 const RelationScanOptions *options, ScanSink *sink)
{
	ForkSummary summary;
	instr_time	start;
	instr_time	elapsed;

	fork_summary_init(&summary, RelationGetRelid(fork->rel), fork->fork);
	for (BlockNumber i = 0; i < map->count; i++)
		summary.blocks += clip(i * RELSEG_SIZE,
							   i * RELSEG_SIZE + segment_map_blocks(map, i),
							   options).count;
	if (sink->fork_begin)
		sink->fork_begin(sink, &summary);
	INSTR_TIME_SET_CURRENT(start);
	scan_extents(fork, map, options, sink, &summary);
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	summary.elapsed = INSTR_TIME_GET_DOUBLE(elapsed);
	if (!fork->checksums && summary.status == PAGE_OK)
	{
		summary.status = PAGE_NOT_VERIFIABLE;
		strlcpy(summary.message,
				"data checksums are disabled: only page headers and segments were verified",
				sizeof(summary.message));
	}
	if (sink->fork_end)
		sink->fork_end(sink, &summary);
}

/* The part of [first, end) that was asked for. */
static Extent
clip(BlockNumber first, BlockNumber end, const RelationScanOptions *options)
{
	Extent		extent;

	extent.first = Max(first, options->first);
	extent.end = Min(end, options->end);
	extent.count = extent.end > extent.first ? extent.end - extent.first : 0;
	return extent;
}

/*
 * Scans what is there and reports what is wrong about segments, in the order
 * of blocks.  A segment behind one that is short or missing is scanned too: its
 * blocks are hidden from the server, not from whoever repairs it.
 */
static void
scan_extents(const ForkScan *fork, const SegmentMap *map,
			 const RelationScanOptions *options, ScanSink *sink,
			 ForkSummary *summary)
{
	BlockNumber first = 0;
	BlockNumber end = 0;

	for (BlockNumber i = 0; i < map->count; i++)
	{
		BlockNumber base = i * RELSEG_SIZE;

		if (end != base)
			first = base;
		end = base + segment_map_blocks(map, i);
		if (i + 1 < map->count &&
			segment_map_status(map, i) == PAGE_OK && end - base == RELSEG_SIZE)
			continue;			/* goes on in the next segment */
		if (clip(first, end, options).count > 0)
		{
			Extent		extent = clip(first, end, options);

			if (sink->range)
				sink->range(sink, fork, extent.first, extent.end, summary);
			else
				scan_blocks(sink, fork, extent.first, extent.end, summary);
		}
		if (segment_map_status(map, i) != PAGE_OK &&
			end >= options->first &&
			(end < options->end || options->end == InvalidBlockNumber))
			report_segment(fork, map, i, sink, summary);
		first = end;
	}
}

static void
report_segment(const ForkScan *fork, const SegmentMap *map,
			   BlockNumber segment, ScanSink *sink, ForkSummary *summary)
{
	PageFinding finding;
	PageStatus	status = segment_map_status(map, segment);
	int64		bytes = map->bytes[segment];
	BlockNumber blocks = segment_map_blocks(map, segment);

	page_finding_init(&finding, RelationGetRelid(fork->rel), fork->fork,
					  status);
	finding.blkno = (int64) segment * RELSEG_SIZE + blocks;
	if (bytes >= 0)
		finding.file_offset = (int64) blocks * BLCKSZ;
	fork_segment_path(fork, segment, finding.path);
	segment_map_explain(map, segment, finding.message,
						sizeof(finding.message));
	page_finding_note_fork(&finding);
	fork_summary_note(summary, &finding);
	if (sink->finding)
		sink->finding(sink, &finding);
}

/* ---------------------------------------------------------------- *
 *		Blocks
 * ---------------------------------------------------------------- */

bool
scan_relation_range(Oid relid, ForkNumber fork, BlockNumber first,
					BlockNumber end, LOCKMODE lockmode, ScanSink *sink,
					ForkSummary *summary)
{
	Relation	rel = open_relation(relid, false, lockmode);
	ForkScan	scan;

	if (rel == NULL)
		return false;
	describe_fork(&scan, rel, fork);
	scan_blocks(sink, &scan, first, end, summary);
	relation_close(rel, lockmode);
	return true;
}

static void
scan_blocks(ScanSink *sink, const ForkScan *fork, BlockNumber first,
			BlockNumber end, ForkSummary *summary)
{
	RangeScan	scan;
	BlockNumber blkno = first;

	memset(&scan, 0, sizeof(scan));
	scan.fork = fork;
	scan.sink = sink;
	scan.summary = summary;
	scan.decision = palloc(sizeof(BlockDecision));
	scan.rules.checksums = fork->checksums;
	scan.rules.horizon = fork->test_lsn ? block_horizon() :
		InvalidXLogRecPtr;
	fork_reader_init(&scan.reader, fork);
	while (blkno < end)
	{
		CHECK_FOR_INTERRUPTS();
		blkno = scan_piece(&scan, blkno, end);
	}
	fork_reader_close(&scan.reader);
	pfree(scan.decision);
}

/* The first block of the next segment, if it can hold one of the range. */
static BlockNumber
next_segment(const RangeScan *scan, BlockNumber blkno, BlockNumber end)
{
	uint64		next = ((uint64) blkno / RELSEG_SIZE + 1) * RELSEG_SIZE;

	return scan->fork->md ? (BlockNumber) Min(next, end) : end;
}

/* Reads and judges a piece; returns the block to go on with. */
static BlockNumber
scan_piece(RangeScan *scan, BlockNumber blkno, BlockNumber end)
{
	BlockNumber limit = next_segment(scan, blkno, end);
	uint32		most = scan->sink->piece_blocks;
	uint32		wanted;
	uint32		got;

	if (most == 0 || most > SCAN_PIECE_BLOCKS)
		most = SCAN_PIECE_BLOCKS;
	wanted = Min(most, limit - blkno);
	if (!fork_reader_open(&scan->reader, blkno))
	{
		if (scan->reader.error != ENOENT)
			report_block(scan, blkno, PAGE_IO_ERROR);
		return limit;			/* none of its blocks can be had */
	}
	if (scan->sink->before)
		scan->sink->before(scan->sink, (int64) wanted * BLCKSZ);
	got = fork_reader_read(&scan->reader, blkno, wanted, scan->reader.buffer);
	if (got > 0)
	{
		scan->short_reads = 0;
		scan->summary->bytes += (int64) got * BLCKSZ;
		judge_piece(scan, blkno, got);
	}
	if (scan->sink->batch)
		scan->sink->batch(scan->sink, scan->summary, got,
						  (int64) got * BLCKSZ);
	return got == wanted ? blkno + got :
		read_failed(scan, blkno + got, limit);
}

/*
 * The read of a block that was there when sizes were sampled failed or came
 * back empty.  Returns the block to go on with.
 */
static BlockNumber
read_failed(RangeScan *scan, BlockNumber blkno, BlockNumber limit)
{
	ForkReader *reader = &scan->reader;
	int			error = reader->error;

	if ((error == 0 || !scan->fork->md) &&
		blkno >= fork_reader_segment_end(reader))
		return limit;			/* truncated meanwhile, which is legal */
	if (error == 0 && ++scan->short_reads < SHORT_READS)
		return blkno;
	scan->short_reads = 0;

	/* the block alone: a piece fails for any of its blocks */
	if (scan->sink->before)
		scan->sink->before(scan->sink, BLCKSZ);
	if (fork_reader_read(reader, blkno, 1, reader->buffer) == 1)
		judge_piece(scan, blkno, 1);
	else
	{
		if (reader->error == 0)
			strlcpy(reader->message, "could not read the block: the file ends before it, although its size says otherwise",
					sizeof(reader->message));
		report_block(scan, blkno, PAGE_IO_ERROR);
	}
	return blkno + 1;
}

static void
judge_piece(RangeScan *scan, BlockNumber blkno, uint32 nblocks)
{
	PageVerdict verdicts[SCAN_PIECE_BLOCKS];

	page_judge_batch(scan->reader.buffer, nblocks, blkno, &scan->rules,
					 verdicts);
	for (uint32 i = 0; i < nblocks; i++)
	{
		const char *page = scan->reader.buffer + (size_t) i * BLCKSZ;

		block_judge_lsn(page, blkno + i, &scan->rules, &verdicts[i]);
		if (verdicts[i].status == PAGE_OK || verdicts[i].status == PAGE_NEW)
			count_healthy(scan, blkno + i, page, verdicts[i].status);
		else
			suspect(scan, blkno + i);
	}
}

static void
count_healthy(RangeScan *scan, BlockNumber blkno, const char *page,
			  PageStatus status)
{
	if (status == PAGE_NEW)
		scan->summary->new_pages++;
	else if (scan->fork->checksums)
		scan->summary->verified++;
	else
		scan->summary->unverifiable++;
	if (scan->sink->page)
		scan->sink->page(scan->sink, blkno, page);
}

/* A page that looked broken: is it? */
static void
suspect(RangeScan *scan, BlockNumber blkno)
{
	BlockDecision *decision = scan->decision;
	PageStatus	status;

	if (scan->sink->before)
		scan->sink->before(scan->sink, BLCKSZ);
	scan->summary->retried++;
	block_decide(&scan->reader, blkno, &scan->rules, decision);
	if (decision->fate == BLOCK_GONE)
		return;
	if (decision->fate == BLOCK_UNREADABLE)
	{
		report_block(scan, blkno, PAGE_IO_ERROR);
		return;
	}
	status = decision->verdict.status;
	if (status == PAGE_OK || status == PAGE_NEW)
		count_healthy(scan, blkno, decision->image.data, status);
	else
		report_block(scan, blkno, decision->copy == BLOCK_COPY_NONE ? status :
					 PAGE_BAD_ON_DISK_CACHED_OK);
}

static void
report_block(RangeScan *scan, BlockNumber blkno, PageStatus status)
{
	PageFinding finding;

	page_finding_init(&finding, RelationGetRelid(scan->fork->rel),
					  scan->fork->fork, status);
	finding.blkno = blkno;
	fork_segment_path(scan->fork, blkno / RELSEG_SIZE, finding.path);
	finding.file_offset = (int64) (blkno % RELSEG_SIZE) * BLCKSZ;
	if (status == PAGE_IO_ERROR)
		strlcpy(finding.message, scan->reader.message,
				sizeof(finding.message));
	else
		page_finding_describe(&finding, scan->decision, &scan->rules);
	page_finding_note_fork(&finding);
	scan->summary->bad++;
	fork_summary_note(scan->summary, &finding);
	if (scan->sink->finding)
		scan->sink->finding(scan->sink, &finding);
}

/* ---------------------------------------------------------------- *
 *		Segments, single blocks
 * ---------------------------------------------------------------- */

static void
list_segments(ForkScan *fork, SegmentCallback callback, void *arg)
{
	SegmentMap	map;
	SegmentInfo info;

	sample_fork(fork, &map);
	if (segment_map_exists(&map) || fork_required(fork))
		for (BlockNumber i = 0; i < map.count; i++)
		{
			CHECK_FOR_INTERRUPTS();
			memset(&info, 0, sizeof(info));
			info.fork = fork->fork;
			info.segment = i;
			info.bytes = Max(map.bytes[i], -1);
			info.status = segment_map_status(&map, i);
			fork_segment_path(fork, i, info.path);
			callback(arg, &info);
		}
	segment_map_free(&map);
}

/*
 * Other storage managers have no files that we know of; unlogged relations
 * none on a standby but that of the init fork.
 */
static void
list_relation_segments(Relation rel, SegmentCallback callback, void *arg)
{
	bool		only_init =
		rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		RecoveryInProgress();
	ForkScan	scan;

	for (ForkNumber fork = MAIN_FORKNUM; fork <= MAX_FORKNUM; fork++)
	{
		describe_fork(&scan, rel, fork);
		if (scan.md && (fork == INIT_FORKNUM || !only_init))
			list_segments(&scan, callback, arg);
	}
}

/* The arguments of scan_relation_segments(). */
typedef struct SegmentScan
{
	SegmentCallback callback;
	void	   *arg;
} SegmentScan;

static List *
list_one(void *arg, Oid relid, bool required)
{
	static const RelationScanOptions alone = SCAN_OPTIONS_ALL;
	SegmentScan *scan = arg;
	Relation	rel = open_relation(relid, required, AccessShareLock);
	List	   *partitions;

	if (rel == NULL)
		return NIL;
	if (required)
		require_storage(rel);
	if (RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		list_relation_segments(rel, scan->callback, scan->arg);
	partitions = dependents_of(rel, &alone);
	relation_close(rel, AccessShareLock);
	return partitions;
}

void
scan_relation_segments(Oid relid, SegmentCallback callback, void *arg)
{
	SegmentScan scan = {callback, arg};

	visit_relations(relid, list_one, &scan);
}

void
scan_read_block(Oid relid, ForkNumber fork, BlockNumber blkno, char *page)
{
	Relation	rel = open_relation(relid, true, AccessShareLock);
	PageRules	rules = {false, InvalidXLogRecPtr};
	BlockDecision *decision = palloc(sizeof(BlockDecision));
	ForkScan	scan;
	ForkReader	reader;
	bool		opened;

	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		raise_no_storage(rel);
	describe_fork(&scan, rel, fork);
	fork_reader_init(&reader, &scan);
	decision->fate = BLOCK_GONE;
	opened = fork_reader_open(&reader, blkno);
	if (!opened && reader.error == ENOENT && follow_relation(&scan))
		opened = fork_reader_open(&reader, blkno);
	if (!opened)
		decision->fate = reader.error == ENOENT ? BLOCK_GONE :
			BLOCK_UNREADABLE;
	else if (blkno < fork_reader_segment_end(&reader))
		block_decide(&reader, blkno, &rules, decision);
	if (decision->fate == BLOCK_GONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block %u is not in fork \"%s\" of relation \"%s\"",
						blkno, forkNames[fork],
						RelationGetRelationName(rel))));
	if (decision->fate == BLOCK_UNREADABLE)
		ereport(ERROR,
				(errcode(ERRCODE_IO_ERROR),
				 errmsg("block %u of fork \"%s\" of relation \"%s\": %s",
						blkno, forkNames[fork], RelationGetRelationName(rel),
						reader.message)));
	memcpy(page, decision->image.data, BLCKSZ);
	pfree(decision);
	fork_reader_close(&reader);
	relation_close(rel, AccessShareLock);
}
