/*
 * digest.c
 *	  Digests of rows of blocks, put together from pages or from parts.
 *
 * A row is about the blocks k * n to k * n + n - 1, n being blocks_per_row.
 * So rows of two servers are about the same blocks wherever they were told to
 * begin.  Its digest is that of these blocks one after the other, as
 * crc32c_file() of this part of the file would have it.
 *
 * The mask leaves out pages that replay does not reproduce.  Inside a row they
 * count as zeros, so that pages at other places give another digest.  At its
 * end they count as nothing, as one server may have extended its file further.
 * A row of nothing else is not there.
 *
 * Parts of a row are put together by their lengths, so whoever shares the blocks
 * of a fork among processes gets the same rows.
 */
#include "compat.h"

#include "storage/bufpage.h"

#include "kernel/checksum.h"
#include "page/digest.h"

static void enter_block(PageDigests *digests, int64 blkno);
static void add_page(DigestRow *row, const char *page);
static void add_left_out(DigestRow *row);

uint32
page_digest(const char *page)
{
	return checksum_crc32c(CHECKSUM_CRC_INIT, page, BLCKSZ) ^ CHECKSUM_CRC_INIT;
}

void
page_digests_init(PageDigests *digests, const PageDigestOptions *options,
				  Relation rel, ForkNumber fork, int64 from)
{
	digests->options = *options;
	digests->from = from;
	digests->row.first = -1;
	if (options->masked)
		page_mask_init(&digests->mask, rel, fork);
}

void
page_digests_page(PageDigests *digests, BlockNumber blkno, const char *page)
{
	DigestRow  *row = &digests->row;
	XLogRecPtr	lsn = PageGetLSN((Page) page);

	enter_block(digests, blkno);
	row->next = (int64) blkno + 1;
	if (digests->options.masked && page_mask_empty(&digests->mask, page))
	{
		row->left_out++;
		return;
	}
	if (digests->options.masked)
		page = page_mask_apply(&digests->mask, page, blkno);
	row->lsn = Max(row->lsn, lsn);
	if (page == NULL)
		row->broken = true;
	else
		add_page(row, page);
}

void
page_digests_broken(PageDigests *digests, BlockNumber blkno)
{
	enter_block(digests, blkno);
	digests->row.next = (int64) blkno + 1;
	digests->row.broken = true;
}

void
page_digests_spoil(PageDigests *digests)
{
	digests->row.broken = true;
}

void
page_digests_part(PageDigests *digests, const DigestRow *part)
{
	DigestRow  *row = &digests->row;
	int64		blocks = part->next - part->start - part->left_out;

	enter_block(digests, part->start);
	row->next = part->next;
	row->lsn = Max(row->lsn, part->lsn);
	row->broken |= part->broken;
	if (part->empty)
	{
		row->left_out += part->left_out;
		return;
	}
	add_left_out(row);
	row->crc = row->empty ? part->crc :
		checksum_crc32c_combine(row->crc, part->crc, (uint64) blocks * BLCKSZ);
	row->left_out = part->left_out;
	row->empty = false;
}

void
page_digests_end(PageDigests *digests)
{
	if (digests->row.first >= 0)
		digests->emit(digests, &digests->row);
	digests->row.first = -1;
}

/* Begins the row of a block, or goes on with it.  A gap leaves no digest. */
static void
enter_block(PageDigests *digests, int64 blkno)
{
	DigestRow  *row = &digests->row;
	int64		n = digests->options.blocks_per_row;
	int64		first = blkno - blkno % n;

	if (row->first != first)
	{
		if (row->first >= 0 && row->next < row->first + n)
			row->broken = true;
		page_digests_end(digests);
		memset(row, 0, sizeof(*row));
		row->first = first;
		row->start = row->next = Max(first, digests->from);
		row->empty = true;
	}
	if (row->next != blkno)
		row->broken = true;
}

static void
add_page(DigestRow *row, const char *page)
{
	uint32		reg;

	add_left_out(row);
	reg = row->empty ? CHECKSUM_CRC_INIT : row->crc ^ CHECKSUM_CRC_INIT;
	row->crc = checksum_crc32c(reg, page, BLCKSZ) ^ CHECKSUM_CRC_INIT;
	row->empty = false;
}

static void
add_left_out(DigestRow *row)
{
	static const PGAlignedBlock zeros;

	for (; row->left_out > 0; row->left_out--)
	{
		uint32		reg = row->empty ? CHECKSUM_CRC_INIT :
			row->crc ^ CHECKSUM_CRC_INIT;

		row->crc = checksum_crc32c(reg, zeros.data, BLCKSZ) ^
			CHECKSUM_CRC_INIT;
		row->empty = false;
	}
}
