/*
 * judge.c
 *	  Judges the image of one block of a relation.
 *
 * The order of the rules is the server's (PageIsVerified in bufpage.c).  A
 * page whose pd_upper is 0 is new, which only an all-zero page may be.  Then
 * come the checksum, the header's bounds, and at last the kind.  The LSN is
 * looked at before the checksum.  Garbage tends to carry a huge one, and that
 * it lies in the future holds whatever the checksum says.
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "access/xlogdefs.h"
#include "storage/bufpage.h"

#include "kernel/checksum.h"
#include "page/judge.h"

static void judge(const char *page, BlockNumber blkno, uint16 computed,
				  const PageRules *rules, PageVerdict *verdict);

void
page_judge_batch(const char *pages, uint32 npages, BlockNumber blkno,
				 const PageRules *rules, PageVerdict *verdicts)
{
	uint32		blknos[PAGE_BATCH_MAX];
	uint16		sums[PAGE_BATCH_MAX] = {0};

	for (uint32 i = 0; i < npages; i++)
		blknos[i] = blkno + i;
	if (rules->checksums)
		checksum_page(pages, BLCKSZ, npages, blknos, sums);
	for (uint32 i = 0; i < npages; i++)
		judge(pages + (size_t) i * BLCKSZ, blknos[i], sums[i], rules,
			  &verdicts[i]);
}

void
page_judge(const char *page, BlockNumber blkno, const PageRules *rules,
		   PageVerdict *verdict)
{
	PGAlignedBlock copy;

	memcpy(copy.data, page, BLCKSZ);
	page_judge_batch(copy.data, 1, blkno, rules, verdict);
}

/* A page of a table, as most are, is told without a call. */
static inline bool
fits_kind(const PageHeaderData *header, PageKind kind, BlockNumber blkno)
{
	if (kind == PAGE_KIND_HEAP && header->pd_special == BLCKSZ &&
		header->pd_lower != SizeOfPageHeaderData)
		return true;
	return page_kind_fits(kind, (const char *) header) &&
		page_kind_fits_block(kind, (const char *) header, blkno);
}

static void
judge(const char *page, BlockNumber blkno, uint16 computed,
	  const PageRules *rules, PageVerdict *verdict)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	verdict->stored = header->pd_checksum;
	verdict->computed = computed;
	verdict->lsn = PageGetLSN((Page) page);
	if (header->pd_upper == 0)
	{
		verdict->status = page_is_zero(page) ? PAGE_NEW : PAGE_ZERO_HEADER;
		if (verdict->status == PAGE_NEW)
			verdict->computed = 0;
	}
	else if (rules->horizon != InvalidXLogRecPtr &&
			 verdict->lsn > rules->horizon)
		verdict->status = PAGE_LSN_IN_FUTURE;
	else if (rules->checksums && verdict->stored != computed)
		verdict->status = PAGE_CHECKSUM_MISMATCH;
	else if (!page_header_sane(page))
		verdict->status = PAGE_BAD_HEADER;
	else if (!fits_kind(header, rules->kind, blkno))
		verdict->status = PAGE_WRONG_KIND;
	else
		verdict->status = PAGE_OK;
}

bool
page_is_zero(const char *page)
{
	const uint64 *words = (const uint64 *) page;

	for (size_t i = 0; i < BLCKSZ / sizeof(uint64); i++)
		if (words[i] != 0)
			return false;
	return true;
}

bool
page_header_sane(const char *page)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	return (header->pd_flags & ~PD_VALID_FLAG_BITS) == 0 &&
		header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special &&
		header->pd_special <= BLCKSZ &&
		header->pd_special == MAXALIGN(header->pd_special);
}

bool
page_unmarked_since(const char *page, XLogRecPtr lsn)
{
	return !PageIsAllVisible((Page) page) && PageGetLSN((Page) page) == lsn;
}
