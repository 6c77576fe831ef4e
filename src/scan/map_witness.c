/*
 * map_witness.c
 *	  What the visibility map knows about pages of a table.
 *
 * An all-zero page carries no checksum: it may be new, which is legal (bulk
 * extension, a crash), or lost.  The visibility map can tell.  Claim: a block
 * whose map bit was set at t0, and that is all zeros at a later t1 with no
 * valid buffer that holds anything else, is damage, of the page or of the map.
 *
 * (1) A bit is set only for a page that is initialized.  VACUUM passes over new
 *	   pages and initializes an empty one before it sets the bit; COPY FREEZE
 *	   fills the page first; replay does both in the same order, because the
 *	   record of the page precedes the record of its bit.  A crash changes
 *	   nothing: both are in the WAL before the map reaches the disk, and where
 *	   WAL is skipped (wal_level minimal) both files are synced at commit.
 *	   Unlogged tables lose page and map together.
 *
 * (2) An initialized page becomes new only by truncation, which takes
 *	   AccessExclusiveLock (its replay on a standby, too) and clears the bits of
 *	   the blocks cut off, in the WAL before the file.  We hold AccessShareLock
 *	   from before t0 until after t1.
 *
 * (3) What was the bit at t0?  The map is read as any block is: what a valid
 *	   buffer holds, else what is on disk while none can hold it, see
 *	   block_decide.c.  An older map could name blocks that have been cut off
 *	   since.  A map page that is damaged on disk is no witness.
 *
 * (4) What was the page at t1?  block_decide() again, after t0.  No valid buffer
 *	   and zeros on disk: lost.  A valid buffer with zeros: lost in memory, too.
 *	   A dirty buffer with a page: its write is to come, no finding.  A clean
 *	   buffer with a page: its content was once on disk, so the disk lost it.
 *
 * Only pages of the heap access method have this map, so only they are judged.
 * Zero pages of indexes are legal after a crash: nothing is said about them, but
 * of the first, without which there is no index and no sequence.
 *
 * By the same argument a file that is sampled after t0 reaches every block that
 * had a bit at t0: a file that ends before was cut, or the map is damaged.
 * Proof by experiment: test/t/011_storm.pl, test/t/023_zeroed_pages.pl.
 */
#include "compat.h"

#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "scan/map_witness.h"

static void open_map(MapWitness *witness);
static void load(MapWitness *witness, BlockNumber block);
static const uint8 *map_bits(const MapWitness *witness);
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
	witness->block = InvalidBlockNumber;
}

bool
map_witness_must_read(const MapWitness *witness, BlockNumber blkno)
{
	return blkno >= witness->first && witness->possible &&
		witness->block != blkno / MAP_BLOCKS_PER_PAGE;
}

bool
map_witness_initialized(MapWitness *witness, BlockNumber blkno)
{
	BlockNumber within = blkno % MAP_BLOCKS_PER_PAGE;

	if (blkno < witness->first)
		return true;
	if (map_witness_must_read(witness, blkno))
		load(witness, blkno / MAP_BLOCKS_PER_PAGE);
	if (!witness->usable)
		return false;
	return ((map_bits(witness)[within / MAP_BLOCKS_PER_BYTE] >>
			 within % MAP_BLOCKS_PER_BYTE * BITS_PER_HEAPBLOCK) &
			VISIBILITYMAP_VALID_BITS) != 0;
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

/* Of the page that is loaded. */
static const uint8 *
map_bits(const MapWitness *witness)
{
	const BlockDecision *page = witness->page;
	const char *map = BLOCK_IS_CACHED(page) ? page->cached.data :
		page->image.data;

	return (const uint8 *) map + MAXALIGN(SizeOfPageHeaderData);
}

/* One past the last block of a page of the map that has a bit; 0: none has. */
static BlockNumber
last_bit(const uint8 *bits)
{
	BlockNumber end = MAP_BLOCKS_PER_PAGE;

	while (end > 0 &&
		   ((bits[(end - 1) / MAP_BLOCKS_PER_BYTE] >>
			 (end - 1) % MAP_BLOCKS_PER_BYTE * BITS_PER_HEAPBLOCK) &
			VISIBILITYMAP_VALID_BITS) == 0)
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
