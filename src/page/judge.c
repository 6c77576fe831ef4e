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
#include <string.h>

#include "kernel/checksum.h"
#include "page/judge.h"

static void judge(const char *page, uint32_t blkno, uint16_t computed,
				  const PageRules *rules, PageVerdict *verdict);

void
page_judge_batch(const char *pages, uint32_t npages, uint32_t blkno,
				 const PageRules *rules, PageVerdict *verdicts)
{
	uint32_t	blknos[PAGE_BATCH_MAX];
	uint16_t	sums[PAGE_BATCH_MAX] = {0};

	for (uint32_t i = 0; i < npages; i++)
		blknos[i] = blkno + i;
	if (rules->checksums)
		checksum_page(pages, PAGE_BYTES, npages, blknos, sums);
	for (uint32_t i = 0; i < npages; i++)
		judge(pages + (size_t) i * PAGE_BYTES, blknos[i], sums[i], rules,
			  &verdicts[i]);
}

void
page_judge(const char *page, uint32_t blkno, const PageRules *rules,
		   PageVerdict *verdict)
{
	_Alignas(uint64_t) char copy[PAGE_BYTES];

	memcpy(copy, page, PAGE_BYTES);
	page_judge_batch(copy, 1, blkno, rules, verdict);
}

/* A page of a table, as most are, is told without a call. */
static inline bool
fits_kind(const PageHead *header, PageKind kind, uint32_t blkno)
{
	if (kind == PAGE_KIND_HEAP && header->pd_special == PAGE_BYTES &&
		header->pd_lower != PAGE_HEAD_BYTES)
		return true;
	return page_kind_fits(kind, (const char *) header) &&
		page_kind_fits_block(kind, (const char *) header, blkno);
}

static void
judge(const char *page, uint32_t blkno, uint16_t computed,
	  const PageRules *rules, PageVerdict *verdict)
{
	const PageHead *header = (const PageHead *) page;

	verdict->stored = header->pd_checksum;
	verdict->computed = computed;
	verdict->lsn = page_head_lsn(header);
	if (header->pd_upper == 0)
	{
		verdict->status = page_is_zero(page) ? PAGE_NEW : PAGE_ZERO_HEADER;
		if (verdict->status == PAGE_NEW)
			verdict->computed = 0;
	}
	else if (rules->horizon != 0 &&
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
	const uint64_t *words = (const uint64_t *) page;

	for (size_t i = 0; i < PAGE_BYTES / sizeof(uint64_t); i++)
		if (words[i] != 0)
			return false;
	return true;
}

bool
page_header_sane(const char *page)
{
	const PageHead *header = (const PageHead *) page;

	return (header->pd_flags & ~PAGE_FLAGS_VALID) == 0 &&
		header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special &&
		header->pd_special <= PAGE_BYTES &&
		header->pd_special % PAGE_ALIGN == 0;
}

bool
page_unmarked_since(const char *page, uint64_t lsn)
{
	const PageHead *header = (const PageHead *) page;

	return (header->pd_flags & PAGE_FLAG_ALL_VISIBLE) == 0 &&
		page_head_lsn(header) == lsn;
}
