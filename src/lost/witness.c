/*
 * witness.c
 *	  Which block references of WAL prove what the disk must hold.
 *
 * A row below takes references of a record.  Let the record end at L, and let
 * a checkpoint complete whose redo point is L or later.  From then on the
 * block on disk has an LSN of L or more.  If the row is one of NOT_ZERO, the
 * block is only known not to be all zeros.  This holds unless a later record
 * truncates, drops or makes anew the block's storage, see lost/event.c.
 *
 * (1) A session that changes a page under WAL holds its buffer's content lock
 *	   exclusively, and marks it dirty before the record is inserted.  Only
 *	   heap_inplace_update of newer servers does so after it, with the
 *	   checkpoint's start held off.  The session sets the LSN to the end of the
 *	   record before the lock goes.  The redo point of a checkpoint is taken
 *	   while nobody inserts.  The checkpoint then writes all buffers that are
 *	   dirty, each under its content lock.  So it waits for the LSN and writes
 *	   the page with it.  Where somebody else wrote the page before, it was
 *	   with this LSN, too.
 *
 * (2) An LSN of a page never goes back, as each is the end of the newest
 *	   record.  In recovery an image sets it back to that image's record.  Such
 *	   a record lies after the redo point that recovery began at, so after all
 *	   records that are asked about.  Nobody is let in before all is replayed
 *	   again.  There is one exception.  An index may take a page that VACUUM
 *	   has recycled, and so dirtied, empty it with its LSN, and then leave it
 *	   without a record.  SP-GiST does so where it wants an inner page with
 *	   another block number (mod 3), btree and GiST where a split fails.  The
 *	   file lost/disk.c passes over such pages.  (It does not pass over the
 *	   zeros that a split of btree leaves in one when it has met a damaged
 *	   page.  No healthy index has them.)
 *
 * (3) Redo does the same.  What it restores from an image or initializes gets
 *	   the record's end as its LSN and is dirty.  So does what it changes
 *	   otherwise, in every redo routine of the rows with LOST_NEED_NOTHING.
 *
 * (4) Some pages bypass shared buffers (index builds, rewrites, moves between
 *	   tablespaces, XLOG_FPI from log_newpage).  They are written after their
 *	   record, and synced before their transaction commits.  Nobody else can
 *	   open the relation until then.  Exceptions make rows BUFFERED or none.  A
 *	   hash index that grows does so while all can open it.  A sorted build of
 *	   GiST wrote its pages with LSN 1 before 17.  An access method of an
 *	   extension may do what it likes.  Init forks were written before their
 *	   record in 15, and so without an LSN, so they have no row.  Neither has
 *	   the free space map.
 *
 * (5) Records about rows name a page of the visibility map if they change it.
 *	   Those that clear bits do so since 17.11, 18.6 and in 19, and in 19 those
 *	   that set bits, too.  So a bit was set in it.  That had made its buffer
 *	   dirty, or the page had come from the disk with it.  A server that
 *	   extends the map or finds a page of zeros in it changes nothing on disk
 *	   until a bit is set.  From the next checkpoint on the page is there, with
 *	   a header.  Clearing bits, replay with or without the image, and making
 *	   the page anew after damage (RBM_ZERO_ON_ERROR) leave no zeros.  So those
 *	   with an image prove NOT_ZERO.  They do not prove the LSN, although the
 *	   server that writes the record gives the page one.  A standby of an
 *	   earlier minor version replays the record and passes over the reference,
 *	   image and all.  It clears the bits and leaves the LSN as it was.  WAL
 *	   does not tell who replayed it.  In 19 a record may set bits that are
 *	   set, as after COPY FREEZE into an empty page.  It is not known whether
 *	   the buffer is dirty then.
 *
 * These have no row, for the reason given.
 *	   XLOG_FPI_FOR_HINT	the LSN is left as it was where the buffer was
 *							dirty already (hints are set under a shared lock)
 *	   XLOG_HEAP2_VISIBLE	the LSN of the table's block is set, yet the
 *							buffer may stay clean, so it may never be written
 *	   visibility map		cleared bits leave no LSN where the record does not
 *							name the map, as up to 16.  VISIBLE sets it, but
 *							redo only where the bits differ, so images alone
 *							count.  A page of zeros is then a lost write.  The
 *							server makes it anew when it reads it, but in
 *							memory, and what it sets there has an LSN
 *							(lost/disk.c has the exception).
 *	   prune records of 19	which may be about the visibility map alone.  Only
 *							those count that say what they changed in the table
 *	   hash, squeeze, move	the primary bucket, registered to be locked, and
 *							the page to write to, not always changed
 *	   hash, overflow page	its metapage is registered, but not always changed
 *	   generic, 15 and 16	the pages may be dirtied after the record only
 *	   records of custom resource managers
 *
 * These are facts of PostgreSQL's heapam.c, heapam_xlog.h, pruneheap.c,
 * visibilitymap.c, nbtxlog.h, hash_xlog.h, ginxlog.h, gistxlog.h, spgxlog.h,
 * brin_xlog.h, spgutils.c, sequence.c, generic_xlog.c, xloginsert.c, bufmgr.c,
 * bulk_write.c, 15 to 19.  They are proved by experiment in
 * test/t/072_lost_writes.pl and test/t/073_lost_none.pl.
 */
#include "lost/witness.h"

#define MAGIC_15	0xD110
#define MAGIC_16	0xD113
#define MAGIC_17	0xD116
#define MAGIC_18	0xD118
#define MAGIC_19	0xD122

#define IN_MAIN		(1 << WAL_FORK_MAIN)
#define IN_MAP		(1 << WAL_FORK_MAP)

/*
 * xl_heap_prune.flags of 19 for redirections, dead or unused items, frozen
 * ones
 */
#define PRUNE_19_CHANGES	0x00F0

/* page header */
#define PAGE_UPPER			14	/* pd_upper, 16 bits, 0 in a new page */

typedef struct LostWitnessRow
{
	uint8_t		rmgr;
	uint8_t		info;			/* without the bits below the mask */
	uint8_t		mask;			/* the bits of info that tell the records */
	uint64_t	ids;
	uint8_t		forks;
	LostNeed	need;
	LostProof	proof;
	uint16_t	least;			/* versions of WAL, by magic */
	uint16_t	most;
} LostWitnessRow;

#define ID(n)		(UINT64_C(1) << (n))
#define ALL_IDS		UINT64_MAX
#define EVERY		MAGIC_15, MAGIC_19
#define CHANGE		IN_MAIN, LOST_NEED_NOTHING, LOST_PROOF_LSN, EVERY
#define OF_MAP		IN_MAP, LOST_NEED_RESTORED, LOST_PROOF_NOT_ZERO

enum
{
	RM_XLOG = 0, RM_HEAP2 = 9, RM_HEAP = 10, RM_BTREE = 11, RM_HASH = 12,
	RM_GIN = 13, RM_GIST = 14, RM_SEQ = 15, RM_SPGIST = 16, RM_BRIN = 17,
	RM_GENERIC = 20
};

/* Names are those of the server, XLOG_ left out. */
static const LostWitnessRow table[] = {
	/* log_newpage and its like (FPI) set the LSN except of new pages */
	{RM_XLOG, 0xB0, 0xF0, ALL_IDS, IN_MAIN | IN_MAP, LOST_NEED_NOT_NEW,
	LOST_PROOF_LSN_BUFFERED, EVERY},

	/*
	 * records of heap have one page, or the new one and the old one of an
	 * update
	 */
	{RM_HEAP, 0x00, 0x70, ID(0), CHANGE},	/* INSERT */
	{RM_HEAP, 0x10, 0x70, ID(0), CHANGE},	/* DELETE */
	{RM_HEAP, 0x20, 0x70, ID(0) | ID(1), CHANGE},	/* UPDATE */
	{RM_HEAP, 0x40, 0x70, ID(0) | ID(1), CHANGE},	/* HOT_UPDATE */
	{RM_HEAP, 0x50, 0x70, ID(0), CHANGE},	/* CONFIRM */
	{RM_HEAP, 0x60, 0x70, ID(0), CHANGE},	/* LOCK (xmax changes) */
	{RM_HEAP, 0x70, 0x70, ID(0), CHANGE},	/* INPLACE */

	/* up to 18 they are written for changes of the table alone */
	{RM_HEAP2, 0x10, 0x70, ID(0), IN_MAIN, LOST_NEED_NOTHING, LOST_PROOF_LSN,
	MAGIC_15, MAGIC_18},		/* PRUNE, PRUNE_ON_ACCESS */
	{RM_HEAP2, 0x20, 0x70, ID(0), IN_MAIN, LOST_NEED_NOTHING, LOST_PROOF_LSN,
	MAGIC_15, MAGIC_18},		/* VACUUM, PRUNE_VACUUM_SCAN */
	{RM_HEAP2, 0x30, 0x70, ID(0), IN_MAIN, LOST_NEED_NOTHING, LOST_PROOF_LSN,
	MAGIC_15, MAGIC_18},		/* FREEZE_PAGE, PRUNE_VACUUM_CLEANUP */
	{RM_HEAP2, 0x10, 0x70, ID(0), IN_MAIN, LOST_NEED_CHANGED_19, LOST_PROOF_LSN,
	MAGIC_19, MAGIC_19},
	{RM_HEAP2, 0x20, 0x70, ID(0), IN_MAIN, LOST_NEED_CHANGED_19, LOST_PROOF_LSN,
	MAGIC_19, MAGIC_19},
	{RM_HEAP2, 0x30, 0x70, ID(0), IN_MAIN, LOST_NEED_CHANGED_19, LOST_PROOF_LSN,
	MAGIC_19, MAGIC_19},
	/* VISIBLE marks the map's page dirty and gives it the LSN */
	{RM_HEAP2, 0x40, 0x70, ID(0), IN_MAP, LOST_NEED_RESTORED, LOST_PROOF_LSN,
	MAGIC_15, MAGIC_18},
	{RM_HEAP2, 0x50, 0x70, ID(0), CHANGE},	/* MULTI_INSERT */
	{RM_HEAP2, 0x60, 0x70, ID(0), CHANGE},	/* LOCK_UPDATED */

	/* the map in records about rows, see (5) */
	{RM_HEAP, 0x00, 0x70, ID(1), OF_MAP, MAGIC_17, MAGIC_19},	/* INSERT */
	{RM_HEAP, 0x10, 0x70, ID(1), OF_MAP, MAGIC_17, MAGIC_19},	/* DELETE */
	{RM_HEAP, 0x20, 0x70, ID(2) | ID(3), OF_MAP, MAGIC_17, MAGIC_19},	/* UPDATE */
	{RM_HEAP, 0x40, 0x70, ID(2) | ID(3), OF_MAP, MAGIC_17, MAGIC_19},	/* HOT_UPDATE */
	{RM_HEAP, 0x60, 0x70, ID(1), OF_MAP, MAGIC_17, MAGIC_19},	/* LOCK */
	{RM_HEAP2, 0x50, 0x70, ID(1), OF_MAP, MAGIC_17, MAGIC_19},	/* MULTI_INSERT */
	{RM_HEAP2, 0x60, 0x70, ID(1), OF_MAP, MAGIC_17, MAGIC_19},	/* LOCK_UPDATED */
	{RM_HEAP2, 0x10, 0x70, ID(1), OF_MAP, MAGIC_19, MAGIC_19},	/* PRUNE_ON_ACCESS */
	{RM_HEAP2, 0x20, 0x70, ID(1), OF_MAP, MAGIC_19, MAGIC_19},	/* PRUNE_VACUUM_SCAN */
	{RM_HEAP2, 0x30, 0x70, ID(1), OF_MAP, MAGIC_19, MAGIC_19},	/* PRUNE_VACUUM_CLEANUP */

	/* every page that a record of btree names is changed */
	{RM_BTREE, 0x00, 0xF0, ALL_IDS, CHANGE},	/* INSERT_LEAF */
	{RM_BTREE, 0x10, 0xF0, ALL_IDS, CHANGE},	/* INSERT_UPPER */
	{RM_BTREE, 0x20, 0xF0, ALL_IDS, CHANGE},	/* INSERT_META */
	{RM_BTREE, 0x30, 0xF0, ALL_IDS, CHANGE},	/* SPLIT_L */
	{RM_BTREE, 0x40, 0xF0, ALL_IDS, CHANGE},	/* SPLIT_R */
	{RM_BTREE, 0x50, 0xF0, ALL_IDS, CHANGE},	/* INSERT_POST */
	{RM_BTREE, 0x60, 0xF0, ALL_IDS, CHANGE},	/* DEDUP */
	{RM_BTREE, 0x70, 0xF0, ALL_IDS, CHANGE},	/* DELETE */
	{RM_BTREE, 0x80, 0xF0, ALL_IDS, CHANGE},	/* UNLINK_PAGE */
	{RM_BTREE, 0x90, 0xF0, ALL_IDS, CHANGE},	/* UNLINK_PAGE_META */
	{RM_BTREE, 0xA0, 0xF0, ALL_IDS, CHANGE},	/* NEWROOT */
	{RM_BTREE, 0xB0, 0xF0, ALL_IDS, CHANGE},	/* MARK_PAGE_HALFDEAD */
	{RM_BTREE, 0xC0, 0xF0, ALL_IDS, CHANGE},	/* VACUUM */
	{RM_BTREE, 0xE0, 0xF0, ALL_IDS, CHANGE},	/* META_CLEANUP */

	/* of hash, the blocks that are changed for certain */
	{RM_HASH, 0x00, 0xF0, ID(0), CHANGE},	/* INIT_META_PAGE */
	{RM_HASH, 0x10, 0xF0, ID(0) | ID(1), CHANGE},	/* INIT_BITMAP_PAGE (it,
													 * metapage) */
	{RM_HASH, 0x20, 0xF0, ID(0) | ID(1), CHANGE},	/* INSERT (page, metapage) */
	{RM_HASH, 0x30, 0xF0, ID(0) | ID(1) | ID(2) | ID(3), CHANGE},	/* ADD_OVFL_PAGE (page,
																	 * the one before,
																	 * bitmaps) */
	{RM_HASH, 0x40, 0xF0, ID(0) | ID(1) | ID(2), CHANGE},	/* SPLIT_ALLOCATE_PAGE
															 * (buckets, metapage) */
	{RM_HASH, 0x50, 0xF0, ID(0), CHANGE},	/* SPLIT_PAGE (forced image) */
	{RM_HASH, 0x60, 0xF0, ID(0) | ID(1), CHANGE},	/* SPLIT_COMPLETE */
	{RM_HASH, 0x70, 0xF0, ID(1) | ID(2), CHANGE},	/* MOVE_PAGE_CONTENTS (to,
													 * from) */
	{RM_HASH, 0x80, 0xF0, ID(2) | ID(3) | ID(4) | ID(5) | ID(6), CHANGE},	/* SQUEEZE_PAGE (the
																			 * page, its neighbours,
																			 * bitmap, metapage) */
	{RM_HASH, 0x90, 0xF0, ID(1), CHANGE},	/* DELETE (0 is the bucket,
											 * locked) */
	{RM_HASH, 0xA0, 0xF0, ID(0), CHANGE},	/* SPLIT_CLEANUP */
	{RM_HASH, 0xB0, 0xF0, ID(0), CHANGE},	/* UPDATE_META_PAGE */
	{RM_HASH, 0xC0, 0xF0, ID(0) | ID(1), CHANGE},	/* VACUUM_ONE_PAGE (page,
													 * metapage) */

	/* of gin, pages of trees, lists, the metapage */
	{RM_GIN, 0x10, 0xF0, ID(0), CHANGE},	/* CREATE_PTREE */
	{RM_GIN, 0x20, 0xF0, ID(0) | ID(1), CHANGE},	/* INSERT (page, left
													 * child) */
	{RM_GIN, 0x30, 0xF0, ALL_IDS, CHANGE},	/* SPLIT (forced images) */
	{RM_GIN, 0x40, 0xF0, ID(0), CHANGE},	/* VACUUM_PAGE (forced image) */
	{RM_GIN, 0x50, 0xF0, ID(0) | ID(1) | ID(2), CHANGE},	/* DELETE_PAGE */
	{RM_GIN, 0x60, 0xF0, ID(0) | ID(1), CHANGE},	/* UPDATE_META_PAGE
													 * (metapage, tail) */
	{RM_GIN, 0x70, 0xF0, ID(0), CHANGE},	/* INSERT_LISTPAGE */
	{RM_GIN, 0x80, 0xF0, ALL_IDS, CHANGE},	/* DELETE_LISTPAGE */
	{RM_GIN, 0x90, 0xF0, ID(0), CHANGE},	/* VACUUM_DATA_LEAF_PAGE */

	/* gist gives one LSN to all pages of a split */
	{RM_GIST, 0x00, 0xF0, ID(0) | ID(1), CHANGE},	/* PAGE_UPDATE (page, left
													 * child) */
	{RM_GIST, 0x10, 0xF0, ID(0), CHANGE},	/* DELETE */
	{RM_GIST, 0x30, 0xF0, ALL_IDS, CHANGE}, /* PAGE_SPLIT */
	{RM_GIST, 0x60, 0xF0, ID(0) | ID(1), CHANGE},	/* PAGE_DELETE (leaf,
													 * parent) */

	{RM_SEQ, 0x00, 0xF0, ID(0), CHANGE},	/* LOG (the page anew) */

	/* each page that a record of spgist names is changed */
	{RM_SPGIST, 0x10, 0xF0, ALL_IDS, CHANGE},	/* ADD_LEAF */
	{RM_SPGIST, 0x20, 0xF0, ALL_IDS, CHANGE},	/* MOVE_LEAFS */
	{RM_SPGIST, 0x30, 0xF0, ALL_IDS, CHANGE},	/* ADD_NODE */
	{RM_SPGIST, 0x40, 0xF0, ALL_IDS, CHANGE},	/* SPLIT_TUPLE */
	{RM_SPGIST, 0x50, 0xF0, ALL_IDS, CHANGE},	/* PICKSPLIT */
	{RM_SPGIST, 0x60, 0xF0, ID(0), CHANGE}, /* VACUUM_LEAF */
	{RM_SPGIST, 0x70, 0xF0, ID(0), CHANGE}, /* VACUUM_ROOT */
	{RM_SPGIST, 0x80, 0xF0, ID(0), CHANGE}, /* VACUUM_REDIRECT */

	/* of brin, data pages and the range map */
	{RM_BRIN, 0x00, 0x70, ID(0), CHANGE},	/* CREATE_INDEX */
	{RM_BRIN, 0x10, 0x70, ID(0) | ID(1), CHANGE},	/* INSERT (page, map) */
	{RM_BRIN, 0x20, 0x70, ID(0) | ID(1) | ID(2), CHANGE},	/* UPDATE (and the old
															 * page) */
	{RM_BRIN, 0x30, 0x70, ID(0), CHANGE},	/* SAMEPAGE_UPDATE */
	{RM_BRIN, 0x40, 0x70, ID(0) | ID(1), CHANGE},	/* REVMAP_EXTEND
													 * (metapage, map) */
	{RM_BRIN, 0x50, 0x70, ID(0) | ID(1), CHANGE},	/* DESUMMARIZE (map, page) */

	/*
	 * GenericXLogFinish dirties all and gives all the LSN.  Before 15.5 and
	 * 16.1 it dirtied them only after the record.
	 */
	{RM_GENERIC, 0x00, 0x00, ALL_IDS, IN_MAIN, LOST_NEED_NOTHING, LOST_PROOF_LSN,
	MAGIC_17, MAGIC_19},
};

#define NROWS	(sizeof(table) / sizeof(table[0]))

static void
enter_row(LostWitnessRule *rule, const LostWitnessRow *row)
{
	LostForkRule of_fork = {row->ids, row->need, row->proof};

	if ((row->forks & IN_MAIN) != 0)
		rule->main = of_fork;
	if ((row->forks & IN_MAP) != 0)
		rule->map = of_fork;
}

void
lost_witnesses_begin(LostWitnesses *witnesses, uint16_t magic)
{
	memset(witnesses, 0, sizeof(*witnesses));
	for (size_t i = 0; i < NROWS; i++)
	{
		const LostWitnessRow *row = &table[i];

		if (magic < row->least || magic > row->most)
			continue;
		for (int info = 0; info < 16; info++)
			if (((info << 4) & row->mask) == row->info)
				enter_row(&witnesses->rules[row->rmgr][info], row);
	}
}

/*
 * A new page's image has no hole (pd_lower and pd_upper are 0), and may be
 * compressed.
 */
static bool
is_not_new(const WalBlockRef *ref)
{
	const WalImage *image = &ref->image;

	if (!ref->has_image || !ref->apply)
		return false;
	if (image->hole_length > 0)
		return true;
	return image->compression == WAL_METHOD_NONE &&
		wal_load16(image->data + PAGE_UPPER) != 0;
}

bool
lost_witness_met(LostNeed need, const WalBlocks *blocks,
				 const WalBlockRef *ref)
{
	switch (need)
	{
		case LOST_NEED_NOTHING:
			return true;
		case LOST_NEED_RESTORED:
			return wal_block_restores(ref);
		case LOST_NEED_NOT_NEW:
			return is_not_new(ref);
		case LOST_NEED_CHANGED_19:
			return blocks->main_present >= 2 &&
				(wal_load16(blocks->main) & PRUNE_19_CHANGES) != 0;
	}
	return false;
}

bool
lost_witness_row(size_t n, uint8_t *rmgr, uint8_t *info, uint64_t *ids)
{
	if (n >= NROWS)
		return false;
	*rmgr = table[n].rmgr;
	*info = table[n].info;
	*ids = table[n].ids;
	return true;
}
