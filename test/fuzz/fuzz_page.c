/* needs: verify server max_len:8300 */
/*
 * fuzz_page.c
 *	  libFuzzer target: the judge of pages (page/judge.c).
 *
 * An input is one byte of choices, a block number, a horizon and the page,
 * padded with zeroes or cut.  When a choice says so its checksum is repaired
 * first, else the checksum stops it at the door.  The verdict must agree with
 * the rules written down a second time, and must not depend on the page's
 * alignment.
 */
#include "postgres_fe.h"
#include "access/xlogdefs.h"
#include "storage/bufpage.h"
#include "storage/checksum_impl.h"

#undef printf
#undef fprintf

#include <stdlib.h>

#include "fuzz.h"
#include "page/judge.h"

#define HEADER	13

static bool
all_zero(const char *page)
{
	for (int i = 0; i < BLCKSZ; i++)
		if (page[i] != 0)
			return false;
	return true;
}

/* The end of a page, by its special area and its last two bytes. */
static bool
fits(const char *page, const PageHeaderData *h, PageKind kind, BlockNumber blkno)
{
	int			special = BLCKSZ - h->pd_special;
	bool		map = special == 0 && h->pd_lower == 24 && h->pd_upper == BLCKSZ;
	bool		first = blkno == 0;
	uint16		mark;
	uint16		flags;
	uint16		early;
	uint32		magic;
	uint32		slot;
	uint32		second;

	memcpy(&mark, page + BLCKSZ - 2, 2);
	memcpy(&flags, page + BLCKSZ - 4, 2);
	memcpy(&early, page + BLCKSZ - 8, 2);
	memcpy(&magic, page + BLCKSZ - 8, 4);
	memcpy(&slot, page + 24, 4);
	memcpy(&second, page + 28, 4);
	switch (kind)
	{
		case PAGE_KIND_ANY:
			return true;
		case PAGE_KIND_HEAP:
			return special == 0 && (!map || (slot == 0 && (second == 0 || second == 0x7F7F7F7F)));
		case PAGE_KIND_VM:
			return map;
		case PAGE_KIND_FSM:
			return map && slot <= BLCKSZ / 2;
		case PAGE_KIND_SEQUENCE:
			return special == 8 && magic == 0x1717;
		case PAGE_KIND_BTREE:
			return special == 16 && mark < 0xFF80 && first == ((flags & 8) != 0);
		case PAGE_KIND_HASH:
			return special == 16 && mark == 0xFF80 && first == ((flags & 8) != 0);
		case PAGE_KIND_GIST:
			return special == 16 && mark == 0xFF81;
		case PAGE_KIND_GIN:
			return special == 8 && mark < 0x100 && first == ((mark & 8) != 0);
		case PAGE_KIND_SPGIST:
			return special == 8 && mark == 0xFF82 && first == ((early & 1) != 0);
		case PAGE_KIND_BRIN:
			return special == 8 && mark >= 0xF091 && mark <= 0xF093 && first == (mark == 0xF091);
	}
	return false;
}

/* The rules again, written down a second time. */
static PageStatus
expected(char *page, BlockNumber blkno, const PageRules *rules)
{
	PageHeaderData h;
	XLogRecPtr	lsn;

	memcpy(&h, page, SizeOfPageHeaderData);
	lsn = PageXLogRecPtrGet(h.pd_lsn);
	if (all_zero(page))
		return PAGE_NEW;
	if (h.pd_upper == 0)
		return PAGE_ZERO_HEADER;
	if (rules->horizon != 0 && lsn > rules->horizon)
		return PAGE_LSN_IN_FUTURE;
	if (rules->checksums && pg_checksum_page(page, blkno) != h.pd_checksum)
		return PAGE_CHECKSUM_MISMATCH;
	if (h.pd_flags > PD_VALID_FLAG_BITS || h.pd_lower > h.pd_upper ||
		h.pd_upper > h.pd_special || h.pd_special > BLCKSZ ||
		h.pd_special % MAXIMUM_ALIGNOF != 0)
		return PAGE_BAD_HEADER;
	return fits(page, &h, rules->kind, blkno) ? PAGE_OK : PAGE_WRONG_KIND;
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	static union
	{
		char		data[BLCKSZ];
		uint64		align;
	}			page;
	static char shifted[BLCKSZ + 8];
	PageRules	rules = {true, InvalidXLogRecPtr, PAGE_KIND_ANY};
	PageVerdict verdict;
	BlockNumber blkno;
	uint8_t		choices;
	int			shift;

	if (size < HEADER)
		return 0;
	choices = input[0];
	memcpy(&blkno, input + 1, sizeof(blkno));
	memcpy(&rules.horizon, input + 5, sizeof(rules.horizon));
	memset(page.data, 0, BLCKSZ);
	memcpy(page.data, input + HEADER, Min(size - HEADER, BLCKSZ));
	rules.checksums = (choices & 1) == 0;
	rules.kind = (PageKind) ((choices >> 3) % (PAGE_KIND_BRIN + 1));
	if (choices & 2)
		rules.horizon = InvalidXLogRecPtr;
	if ((choices & 4) && ((PageHeader) page.data)->pd_upper != 0)
		((PageHeader) page.data)->pd_checksum =
			pg_checksum_page(page.data, blkno);
	shift = choices >> 5;
	memcpy(shifted + shift, page.data, BLCKSZ);

	page_judge(shifted + shift, blkno, &rules, &verdict);
	if (verdict.status != expected(page.data, blkno, &rules))
		abort();
	if (memcmp(shifted + shift, page.data, BLCKSZ) != 0)
		abort();				/* a judge writes nothing */
	return 0;
}
