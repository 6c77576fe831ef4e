/*
 * mask.c
 *	  Pages without what may differ between primary and standby.
 *
 * Replay does not reproduce a page bit by bit.  Hint bits, unused space and
 * the checksum itself may differ.  The server knows what may, since each
 * resource manager has a mask function for wal_consistency_checking, which we
 * call on a copy.
 *
 * Those functions trust the page.  One that carries a valid checksum may still
 * not be a page of this access method (a copied block, say), and its line
 * pointers may point anywhere.  Offset and length have 15 bits each, so writes
 * reach 64 kB and a little.  The copy therefore lies at the start of a larger
 * buffer, whose rest is zeros before each call so that equal pages give equal
 * copies.  Only a line pointer beyond the page can have written there.
 */
#include "compat.h"

#include "access/bufmask.h"
#include "access/htup_details.h"
#include "access/rmgr.h"
#include "access/spgist_private.h"
#include "access/xlog_internal.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "commands/sequence.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#include "page/mask.h"

#define COPY_BYTES		(2 * 32768 + 2 * BLCKSZ)

static const struct
{
	Oid			am;
	RmgrId		rmgr;
}			am_rmgrs[] =

{
	{HEAP_TABLE_AM_OID, RM_HEAP_ID},
	{BTREE_AM_OID, RM_BTREE_ID},
	{HASH_AM_OID, RM_HASH_ID},
	{GIST_AM_OID, RM_GIST_ID},
	{GIN_AM_OID, RM_GIN_ID},
	{SPGIST_AM_OID, RM_SPGIST_ID},
	{BRIN_AM_OID, RM_BRIN_ID},
};

static RmgrId relation_rmgr(Relation rel);
static void mask_sequence(char *page, BlockNumber blkno);
static void mask_spgist(char *page, BlockNumber blkno);
static void mask_lsn_and_checksum(char *page, BlockNumber blkno);

void
page_mask_init(PageMask *mask, Relation rel, ForkNumber fork)
{
	if (fork == FSM_FORKNUM)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("pages of the free space map have no masked digest"),
				 errdetail("The free space map is not written to the WAL, so it differs between primary and standby.")));
	mask->copy = palloc0(COPY_BYTES);
	mask->beyond = false;
	mask->mask = mask_lsn_and_checksum;
	mask->map = fork == VISIBILITYMAP_FORKNUM;
	if (!mask->map)
	{
		RmgrId		rmgr = relation_rmgr(rel);

		if (rmgr == RM_SEQ_ID)
			mask->mask = mask_sequence;
		else if (rmgr == RM_SPGIST_ID)
			mask->mask = mask_spgist;
		else if (rmgr != RM_XLOG_ID)
			mask->mask = GetRmgr(rmgr).rm_mask;
	}
}

/*
 * RM_XLOG_ID, which has no mask, stands for "none known", as of a table of
 * another access method, whose pages only it understands.  Indexes of
 * extensions are written with generic WAL records.
 */
static RmgrId
relation_rmgr(Relation rel)
{
	if (rel->rd_rel->relkind == RELKIND_SEQUENCE)
		return RM_SEQ_ID;
	for (int i = 0; i < (int) lengthof(am_rmgrs); i++)
		if (rel->rd_rel->relam == am_rmgrs[i].am)
			return am_rmgrs[i].rmgr;
	return rel->rd_rel->relkind == RELKIND_INDEX ? RM_GENERIC_ID : RM_XLOG_ID;
}

/*
 * The free space map is not in WAL.  Bits of the visibility map go without its
 * LSN before 17.11, 18.6 and 19.  What other access methods write past WAL
 * nobody knows.
 */
bool
page_mask_exact(Relation rel, ForkNumber fork)
{
	RmgrId		rmgr = relation_rmgr(rel);

	return fork == MAIN_FORKNUM &&
		rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		rmgr != RM_XLOG_ID && rmgr != RM_GENERIC_ID;
}

/*
 * nextval() writes a value to the WAL that lies 32 fetches ahead and none of
 * the fetches up to it.  So the values themselves differ on a standby, too.
 */
static void
mask_sequence(char *page, BlockNumber blkno)
{
	PageHeader	header = (PageHeader) page;

	GetRmgr(RM_SEQ_ID).rm_mask(page, blkno);
	if (header->pd_lower > SizeOfPageHeaderData)
	{
		ItemIdData	item = header->pd_linp[0];
		HeapTupleHeader tuple = (HeapTupleHeader) (page + item.lp_off);

		memset((char *) tuple + tuple->t_hoff, 0,
			   sizeof(FormData_pg_sequence_data));
	}
}

/*
 * The metapage of an SP-GiST index caches which pages were used last, a hint
 * that is never written to the WAL and that spg_mask does not know.
 */
static void
mask_spgist(char *page, BlockNumber blkno)
{
	GetRmgr(RM_SPGIST_ID).rm_mask(page, blkno);
	if (blkno == SPGIST_METAPAGE_BLKNO)
		memset(&SpGistPageGetMeta(page)->lastUsedPages, 0,
			   sizeof(SpGistLUPCache));
}

/*
 * Of a page of the visibility map heap_mask would leave nothing, since its
 * content lies where a heap page has its unused space.
 */
static void
mask_lsn_and_checksum(char *page, BlockNumber blkno)
{
	mask_page_lsn_and_checksum((Page) page);
}

bool
page_mask_empty(const PageMask *mask, const char *page)
{
	const char *content = PageGetContents((Page) page);

	if (PageIsNew((Page) page))
		return true;
	for (int i = 0; mask->map && content + i < page + BLCKSZ; i++)
		if (content[i] != 0)
			return false;
	return mask->map;
}

/*
 * Two line pointers at a time, each in 32 bits of a number.  No sum of theirs
 * is carried into the other one.  ItemIdData is a bit field, whose first 15
 * bits are the offset and whose last 15 are the length.
 */
#define BOTH(number)	(UINT64CONST(0x100000001) * (number))

#ifdef WORDS_BIGENDIAN
#define OFFSETS(items)	((items) >> 17 & BOTH(0x7fff))
#define LENGTHS(items)	((items) & BOTH(0x7fff))
#else
#define OFFSETS(items)	((items) & BOTH(0x7fff))
#define LENGTHS(items)	((items) >> 17 & BOTH(0x7fff))
#endif

/* Added to what is beyond the page, this gives the highest of 32 bits. */
#define TO_BEYOND		(UINT64CONST(0x80000000) - BLCKSZ - 1)
#define IS_BEYOND		BOTH(UINT64CONST(0x80000000))

/* The bits IS_BEYOND say whether the items end there, or tuple headers would. */
static inline uint64
ends_beyond(uint64 items)
{
	uint64		offsets = OFFSETS(items);
	uint64		bytes = (LENGTHS(items) + BOTH(MAXIMUM_ALIGNOF - 1)) &
		~BOTH(MAXIMUM_ALIGNOF - 1);

	return (offsets + bytes + BOTH(TO_BEYOND)) |
		(offsets + BOTH(TO_BEYOND + MAXALIGN(SizeofHeapTupleHeader)));
}

/* Does a line pointer lead beyond the page, by its item or a header there? */
static bool
points_beyond(const PageHeaderData *header)
{
	Size		left = header->pd_lower - SizeOfPageHeaderData;
	const char *next = (const char *) header->pd_linp;
	uint64		beyond = 0;
	uint64		items;

	StaticAssertStmt(2 * sizeof(ItemIdData) == sizeof(items),
					 "a line pointer does not have 32 bits");
	for (; left >= sizeof(items); left -= sizeof(items), next += sizeof(items))
	{
		memcpy(&items, next, sizeof(items));
		beyond |= ends_beyond(items);
	}
	items = 0;
	memcpy(&items, next, left - left % sizeof(ItemIdData));
	return ((beyond | ends_beyond(items)) & IS_BEYOND) != 0;
}

const char *
page_mask_apply(PageMask *mask, const char *page, BlockNumber blkno)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	/* the mask functions raise an error for these */
	if (header->pd_lower < SizeOfPageHeaderData ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special ||
		header->pd_special > BLCKSZ)
		return NULL;
	memcpy(mask->copy, page, BLCKSZ);
	if (mask->beyond)
		memset(mask->copy + BLCKSZ, 0, COPY_BYTES - BLCKSZ);
	mask->beyond = mask->mask == mask_sequence || points_beyond(header);
	mask->mask(mask->copy, blkno);
	return mask->copy;
}
