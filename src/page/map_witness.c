/*
 * map_witness.c
 *	  What the visibility map knows about pages of a table.
 *
 * An all-zero page carries no checksum.  It may be new, which is legal (bulk
 * extension, a crash), or lost.  The visibility map can tell.  Suppose that
 * the map bit of a block was set at t0, and that the block is all zeros at a
 * later t1, with no valid buffer that holds anything else.  The claim is that
 * this is damage, of the page or of the map.
 *
 * (1) A bit is set only for a page that is initialized.  VACUUM passes over
 *	   new pages and initializes an empty one before it sets the bit, and COPY
 *	   FREEZE fills the page first.  Replay does both in the same order,
 *	   because the record of the page precedes the record of its bit.  A crash
 *	   changes nothing, since both are in the WAL before the map reaches the
 *	   disk.  Where WAL is skipped (wal_level minimal) both files are synced at
 *	   commit.  Unlogged tables lose page and map together.
 *
 * (2) An initialized page becomes new only by truncation, which takes
 *	   AccessExclusiveLock (its replay on a standby, too) and clears the bits
 *	   of the blocks cut off, in the WAL before the file.  We hold
 *	   AccessShareLock from before t0 until after t1.
 *
 * (3) What was the bit at t0?  The map is read as any block is.  That is what
 *	   a valid buffer holds, else what is on disk while none can hold it, see
 *	   page/decide.c.  An older map could name blocks that have been cut off
 *	   since.  A map page that is damaged on disk is no witness.
 *
 * (4) What was the page at t1?  That is for block_decide() again, after t0.
 *	   Without a valid buffer and with zeros on disk, it is lost.  With a valid
 *	   buffer of zeros, it is lost in memory, too.  With a dirty buffer of a
 *	   page, it is not written yet, which is no finding.  With a clean buffer of
 *	   a page, its content was once on disk, so the disk lost it.
 *
 * Only pages of the heap access method have this map, so only they are judged.
 * Zero pages of indexes are legal after a crash, so nothing is said about them
 * but of the first, without which there is no index and no sequence.
 *
 * By the same argument a file that is sampled after t0 reaches every block
 * that had a bit at t0.  A file that ends before was cut, or the map is
 * damaged.
 *
 * The map and the page contradict each other
 *
 * A page that the map calls all-visible carries PD_ALL_VISIBLE.  Suppose that
 * a page lacks it at t1 and at t3, with the same LSN, and that its bit was set
 * at t2 between.  The claim is that storage has lost a write, of the page or
 * of the map.
 *
 * (5) Page and map are what valid buffers hold, else what is on disk while
 *	   none can hold it.  So it does not matter which of them is written first.
 *
 * (6) Both change while the page's content lock is held exclusively, and who
 *	   reads the page has that lock, or there is no buffer to change.  When
 *	   they are set, page and bit change under one lock (VACUUM, COPY FREEZE,
 *	   in 19 pruning by readers).  So they do when they are cleared (insert,
 *	   update, delete, pg_surgery).  Locking a row and freezing change another
 *	   bit of the map.
 *
 * (7) Replay sets the page first and then the bit, and clears the bit first
 *	   and then the page.  Of the new page of an update it clears the bit while
 *	   it holds that page's lock.  Bits are cleared however new the page is
 *	   already.  So from the point of consistency on, before which nobody is
 *	   let in, it holds on a standby at every moment, and after a crash.
 *
 * (8) A page can lack the mark at t1 and t3 and have it between only if it was
 *	   cleared again.  That is in the WAL, and gives the page a new LSN, by
 *	   replay, too.  (Setting may leave the LSN where checksums are off.)  So it
 *	   lacked it throughout, and at t2 the bit was wrong.  What VACUUM clears
 *	   without WAL is a contradiction that it has met itself.  Changes that
 *	   wal_level minimal skips are of the transaction that made the file, which
 *	   nobody else sees.
 *
 * (9) What cuts off pages or their bits takes AccessExclusiveLock, see (2).
 *	   That includes pg_truncate_visibility_map.  CREATE DATABASE, a move to
 *	   another tablespace and pg_upgrade copy both files while nobody changes
 *	   them.
 *
 * Unlogged tables have no LSN, so (8) does not hold, and they are not asked.
 * Versions before 17.11 and 18.6 clear bits without naming the map in the WAL,
 * so that an incremental backup misses that.  A server restored from such a
 * one has wrong bits, which are findings, and rightly.
 *
 * The facts are those of PostgreSQL's heapam.c, heapam_xlog.c, visibilitymap.c,
 * vacuumlazy.c, pruneheap.c and heap_surgery.c, 15 to 19.
 * It is proven by experiment in test/t/011_storm.pl, test/t/023_zeroed_pages.pl
 * and test/t/076_zeroed_storm.pl.
 */
#include "compat.h"

#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "page/map_witness.h"

static void open_map(MapWitness *witness);
static void load(MapWitness *witness, BlockNumber block);
static const uint8 *map_bits(const MapWitness *witness);
static uint8 bits_of(const MapWitness *witness, BlockNumber blkno);
static BlockNumber last_bit(const uint8 *bits);

void
map_witness_init(MapWitness *witness, const Fork *fork)
{
	char		kind = fork->rel->rd_rel->relkind;

	memset(witness, 0, sizeof(*witness));
	witness->first = fork_first_blocks(fork);
	witness->possible = fork->fork == MAIN_FORKNUM &&
		fork->rel->rd_rel->relam == HEAP_TABLE_AM_OID &&
		(kind == RELKIND_RELATION || kind == RELKIND_TOASTVALUE ||
		 kind == RELKIND_MATVIEW);
	witness->marks = witness->possible && fork->test_lsn;
	witness->block = InvalidBlockNumber;
	witness->fork.rel = fork->rel;
}

void
map_witness_close(MapWitness *witness)
{
	if (!witness->opened)
		return;
	fork_reader_close(&witness->reader);
	pfree(witness->page);
	witness->opened = false;
}

void
map_witness_forget(MapWitness *witness)
{
	witness->fresh = false;
}

bool
map_witness_must_read(const MapWitness *witness, BlockNumber blkno)
{
	return blkno >= witness->first && witness->possible &&
		(!witness->fresh || witness->block != blkno / MAP_BLOCKS_PER_PAGE);
}

bool
map_witness_initialized(MapWitness *witness, BlockNumber blkno)
{
	if (blkno < witness->first)
		return true;
	if (map_witness_must_read(witness, blkno))
		load(witness, blkno / MAP_BLOCKS_PER_PAGE);
	return bits_of(witness, blkno) != 0;
}

bool
map_witness_seems_marked(const MapWitness *witness, BlockNumber blkno)
{
	return witness->marks &&
		(witness->block != blkno / MAP_BLOCKS_PER_PAGE ||
		 (bits_of(witness, blkno) & VISIBILITYMAP_ALL_VISIBLE) != 0);
}

bool
map_witness_marked(MapWitness *witness, BlockNumber blkno)
{
	if (map_witness_must_read(witness, blkno))
		load(witness, blkno / MAP_BLOCKS_PER_PAGE);
	return map_witness_seems_marked(witness, blkno);
}

BlockNumber
map_witness_end(const Fork *fork, BlockNumber blkno)
{
	MapWitness	witness;
	uint64		end = 0;

	map_witness_init(&witness, fork);
	for (BlockNumber block = blkno / MAP_BLOCKS_PER_PAGE;
		 witness.possible && block <= MaxBlockNumber / MAP_BLOCKS_PER_PAGE;
		 block++)
	{
		BlockNumber last;

		CHECK_FOR_INTERRUPTS();
		open_map(&witness);
		if (!fork_reader_open(&witness.reader, block) ||
			block >= fork_reader_segment_end(&witness.reader))
			break;
		load(&witness, block);
		last = witness.usable ? last_bit(map_bits(&witness)) : 0;
		if (last > 0)
			end = (uint64) block * MAP_BLOCKS_PER_PAGE + last;
	}
	map_witness_close(&witness);
	return end > blkno ? (BlockNumber) Min(end, MaxBlockNumber) : 0;
}

/* The bits of the page that is loaded. */
static const uint8 *
map_bits(const MapWitness *witness)
{
	const BlockDecision *page = witness->page;
	const char *map = BLOCK_IS_CACHED(page) ? page->cached.data :
		page->image.data;

	return (const uint8 *) map + MAXALIGN(SizeOfPageHeaderData);
}

/* The bits of a block, by number within its page of the map. */
static uint8
bits_at(const uint8 *bits, BlockNumber within)
{
	return bits[within / MAP_BLOCKS_PER_BYTE] >>
		within % MAP_BLOCKS_PER_BYTE * BITS_PER_HEAPBLOCK &
		VISIBILITYMAP_VALID_BITS;
}

/* The bits of a block of the page that is loaded, 0 if that is no witness. */
static uint8
bits_of(const MapWitness *witness, BlockNumber blkno)
{
	return witness->usable ?
		bits_at(map_bits(witness), blkno % MAP_BLOCKS_PER_PAGE) : 0;
}

/*
 * One past the last block of a page of the map that has a bit, 0 if none has.
 */
static BlockNumber
last_bit(const uint8 *bits)
{
	BlockNumber end = MAP_BLOCKS_PER_PAGE;

	while (end > 0 && bits_at(bits, end - 1) == 0)
		end--;
	return end;
}

static void
open_map(MapWitness *witness)
{
	if (witness->opened)
		return;
	fork_describe(&witness->fork, witness->fork.rel, VISIBILITYMAP_FORKNUM);
	fork_reader_init(&witness->reader, &witness->fork);
	witness->reader.tidy = witness->tidy;
	witness->page = palloc(sizeof(BlockDecision));
	witness->opened = true;
}

static void
load(MapWitness *witness, BlockNumber block)
{
	BlockDecision *page;
	PageRules	rules;

	open_map(witness);
	page = witness->page;
	witness->block = block;
	witness->fresh = true;
	witness->usable = false;
	rules.checksums = witness->fork.checksums;
	rules.kind = witness->fork.kind;
	rules.horizon = InvalidXLogRecPtr;
	if (!fork_reader_open(&witness->reader, block))
		return;					/* no map, or none that can be read */
	block_decide(&witness->reader, block, &rules, page);
	if (page->fate == BLOCK_JUDGED)
		witness->usable = BLOCK_IS_CACHED(page) ?
			page_header_sane(page->cached.data) &&
			page_kind_fits(rules.kind, page->cached.data) :
			page->verdict.status == PAGE_OK;
}
