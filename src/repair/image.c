/*
 * image.c
 *	  The page that redo makes of a WAL record.
 *
 * Redo takes the image of a page and is done, with one exception.  The insert
 * of a downlink into a GiST index sets the NSN of the left child to the
 * record's own LSN and clears F_FOLLOW_RIGHT.  Nobody knows that LSN before
 * the image is made, so redo does both after the image was restored
 * (gistRedoClearFollowRight).
 */
#include "compat.h"

#include "access/gist.h"
#include "access/gistxlog.h"
#include "access/rmgr.h"
#include "access/xlog.h"
#include "storage/bufpage.h"

#include "kernel/checksum.h"
#include "repair/image.h"
#include "wal/block_decompress.h"

/* Finishes it as the server does, with its LSN and its checksum. */
static void
seal_page(char *page, XLogRecPtr lsn, BlockNumber blkno)
{
	uint16		checksum;

	if (PageIsNew((Page) page))
		return;
	PageSetLSN((Page) page, lsn);
	if (!DataChecksumsEnabled())
		return;
	checksum_page(page, BLCKSZ, 1, &blkno, &checksum);
	((PageHeader) page)->pd_checksum = checksum;
}

/* ---- images ---- */

/* Is it the left child of a page that gets the downlink of its sibling? */
static bool
is_left_child(const WalBlockRecord *record, const WalBlockRef *ref)
{
	if (record->bytes[WAL_REC_RMID] != RM_GIST_ID)
		return false;
	switch (record->bytes[WAL_REC_INFO] & WAL_INFO_MASK)
	{
		case XLOG_GIST_PAGE_UPDATE:
			return ref->id == 1;
		case XLOG_GIST_PAGE_SPLIT:
			return ref->id == 0;
		default:
			return false;
	}
}

WalImageResult
redo_image(const WalBlockRecord *record, const WalBlockRef *ref, char *page)
{
	WalImageResult result = wal_block_image_restore(&ref->image, BLCKSZ,
													&wal_block_decompressors,
													(uint8_t *) page);

	if (result != WAL_IMAGE_RESTORED)
		return result;
	if (is_left_child(record, ref) &&
		PageGetSpecialSize((Page) page) == MAXALIGN(sizeof(GISTPageOpaqueData)))
	{
		GistPageSetNSN((Page) page, record->end);
		GistClearFollowRight((Page) page);
	}
	seal_page(page, record->end, ref->tag.block);
	return result;
}

/* ---- sequences ---- */

/* As seq_redo() makes it.  The magic is that of the server's sequence.c. */
#define SEQUENCE_MAGIC	0x1717

/* A record is the locator of the sequence, then its tuple (xl_seq_rec). */
#define SEQUENCE_HEADER	sizeof(RelFileLocator)

bool
redo_sequence(const WalBlockRecord *record, const WalBlocks *blocks,
			  char *page)
{
	uint32		length = blocks->main_length - SEQUENCE_HEADER;
	PGAlignedBlock tuple;

	if (record->bytes[WAL_REC_RMID] != RM_SEQ_ID || blocks->count != 1 ||
		blocks->main_present < blocks->main_length ||
		blocks->main_length <= SEQUENCE_HEADER || length > BLCKSZ / 2)
		return false;
	PageInit((Page) page, BLCKSZ, sizeof(uint32));
	*(uint32 *) PageGetSpecialPointer((Page) page) = SEQUENCE_MAGIC;
	memcpy(tuple.data, blocks->main + SEQUENCE_HEADER, length);
	if (PageAddItem((Page) page, tuple.data, length, FirstOffsetNumber,
					false, false) == InvalidOffsetNumber)
		return false;
	seal_page(page, record->end, blocks->refs[0].tag.block);
	return true;
}
