/* needs: verify server native */
/*
 * test_page_judge.c
 *	  The judge of pages (page/judge.c): the verdict of pg_checksums on every
 *	  single-bit flip of three pages, and each rule in its turn.
 *
 * pg_checksums passes a page whose pd_upper is 0, whatever else it holds
 * (PageIsNew); there we say zero_header or new.  Everywhere else the verdicts
 * must be the same.  A 16-bit checksum misses some flips: both must miss them.
 */
#include "postgres_fe.h"
#include "access/xlogdefs.h"
#include "storage/bufpage.h"
#include "storage/checksum_impl.h"

#undef printf
#undef fprintf
#undef vprintf
#undef snprintf
#undef vsnprintf
#undef strerror

#include "unit.h"
#include "kernel/checksum.h"
#include "page/judge.h"

#define PAGES	3

static const BlockNumber blknos[PAGES] = {0, 7, 4294967294};
static const PageRules checksums_on = {true, InvalidXLogRecPtr, PAGE_KIND_ANY};

/* A page as a server would write it: random body, sane header, sealed. */
static void
make_page(PGAlignedBlock *page, BlockNumber blkno)
{
	PageHeader	header = (PageHeader) page->data;

	for (int i = 0; i < BLCKSZ; i++)
		page->data[i] = (char) unit_random();
	PageXLogRecPtrSet(header->pd_lsn, UINT64CONST(0x123456789));
	header->pd_flags = 0;
	header->pd_lower = SizeOfPageHeaderData + 40;
	header->pd_upper = 400;
	header->pd_special = BLCKSZ - 16;
	header->pd_pagesize_version = BLCKSZ | PG_PAGE_LAYOUT_VERSION;
	header->pd_checksum = pg_checksum_page(page->data, blkno);
}

static PageStatus
judge(const PGAlignedBlock *page, BlockNumber blkno, const PageRules *rules)
{
	PageVerdict verdict;

	page_judge(page->data, blkno, rules, &verdict);
	return verdict.status;
}

/* What pg_checksums --check says of a page. */
static bool
pg_checksums_passes(const PGAlignedBlock *page, BlockNumber blkno)
{
	PGAlignedBlock copy;
	PageHeaderData header;

	memcpy(copy.data, page->data, BLCKSZ);
	memcpy(&header, page->data, SizeOfPageHeaderData);
	if (header.pd_upper == 0)
		return true;
	return pg_checksum_page(copy.data, blkno) == header.pd_checksum;
}

static void
test_flips(void)
{
	uint64_t	missed = 0;

	for (int p = 0; p < PAGES; p++)
	{
		PGAlignedBlock page;

		make_page(&page, blknos[p]);
		check(judge(&page, blknos[p], &checksums_on) == PAGE_OK, "intact");
		for (int bit = 0; bit < BLCKSZ * 8; bit++)
		{
			PageStatus	status;
			bool		passes;

			page.data[bit / 8] ^= 1 << (bit % 8);
			status = judge(&page, blknos[p], &checksums_on);
			passes = pg_checksums_passes(&page, blknos[p]);
			if (passes)
				missed++;
			check(passes == (status != PAGE_CHECKSUM_MISMATCH) ||
				  status == PAGE_ZERO_HEADER, "page %d, bit %d: %s", p, bit,
				  page_status_name(status));
			page.data[bit / 8] ^= 1 << (bit % 8);
		}
	}
	printf("# %llu of %d flips leave the checksum right\n",
		   (unsigned long long) missed, PAGES * BLCKSZ * 8);
}

static void
seal(PGAlignedBlock *page, BlockNumber blkno)
{
	((PageHeader) page->data)->pd_checksum = pg_checksum_page(page->data, blkno);
}

/* Every field of the header, right and wrong, under a right checksum. */
static void
test_header(void)
{
	PGAlignedBlock page;
	PageHeader	header = (PageHeader) page.data;

#define CASE(change, expected) \
	make_page(&page, 7); \
	change; \
	seal(&page, 7); \
	check(judge(&page, 7, &checksums_on) == (expected), #change)
	CASE((void) 0, PAGE_OK);
	CASE(header->pd_flags = PD_VALID_FLAG_BITS, PAGE_OK);
	CASE(header->pd_flags = PD_VALID_FLAG_BITS + 1, PAGE_BAD_HEADER);
	CASE(header->pd_lower = header->pd_upper, PAGE_OK);
	CASE(header->pd_lower = header->pd_upper + 1, PAGE_BAD_HEADER);
	CASE(header->pd_lower = 0, PAGE_OK);	/* the server is no stricter */
	CASE(header->pd_upper = header->pd_special, PAGE_OK);
	CASE(header->pd_upper = header->pd_special + 1, PAGE_BAD_HEADER);
	CASE(header->pd_special = BLCKSZ, PAGE_OK);
	CASE(header->pd_special = BLCKSZ + 8, PAGE_BAD_HEADER);
	CASE(header->pd_special = BLCKSZ - 12, PAGE_BAD_HEADER);
	CASE(header->pd_pagesize_version = 0, PAGE_OK);
	CASE(header->pd_upper = 0, PAGE_ZERO_HEADER);
#undef CASE
}

static void
test_order(void)
{
	PGAlignedBlock page;
	PageHeader	header = (PageHeader) page.data;
	PageRules	horizon = {true, UINT64CONST(0x123456788), PAGE_KIND_ANY};
	PageRules	off = {false, InvalidXLogRecPtr, PAGE_KIND_ANY};

	make_page(&page, 7);
	check(judge(&page, 7, &horizon) == PAGE_LSN_IN_FUTURE, "LSN beyond");
	horizon.horizon++;
	check(judge(&page, 7, &horizon) == PAGE_OK, "LSN at the horizon");
	check(judge(&page, 8, &horizon) == PAGE_CHECKSUM_MISMATCH, "moved");
	horizon.horizon--;
	check(judge(&page, 8, &horizon) == PAGE_LSN_IN_FUTURE,
		  "LSN beyond, whatever the checksum says");
	check(judge(&page, 8, &off) == PAGE_OK, "checksums off");
	header->pd_lower = 8000;
	check(judge(&page, 7, &checksums_on) == PAGE_CHECKSUM_MISMATCH,
		  "the checksum before the header");
	check(judge(&page, 7, &off) == PAGE_BAD_HEADER,
		  "checksums off: the header all the same");

	memset(page.data, 0, BLCKSZ);
	for (int i = 0; i < PAGES; i++)
		check(judge(&page, blknos[i], &horizon) == PAGE_NEW, "all zero");
	for (int i = 0; i < BLCKSZ; i++)
	{
		page.data[i] = 1;
		check(judge(&page, 7, &checksums_on) !=
			  (PageStatus) PAGE_NEW, "one byte, %d, is not zero", i);
		page.data[i] = 0;
	}
}

/* A batch gives what its pages give alone. */
static void
test_batch(void)
{
	static union
	{
		char		data[PAGE_BATCH_MAX * BLCKSZ];
		uint64		align;
	}			pages;
	PageVerdict verdicts[PAGE_BATCH_MAX];

	for (uint32 i = 0; i < PAGE_BATCH_MAX; i++)
	{
		PGAlignedBlock page;

		make_page(&page, 1000 + i);
		if (i % 5 == 1)
			page.data[unit_random() % BLCKSZ] ^= 4;
		if (i % 7 == 2)
			memset(page.data, 0, BLCKSZ);
		memcpy(pages.data + (size_t) i * BLCKSZ, page.data, BLCKSZ);
	}
	for (uint32 n = 0; n <= PAGE_BATCH_MAX; n++)
	{
		page_judge_batch(pages.data, n, 1000, &checksums_on, verdicts);
		for (uint32 i = 0; i < n; i++)
		{
			PageVerdict alone;

			page_judge(pages.data + (size_t) i * BLCKSZ, 1000 + i,
					   &checksums_on, &alone);
			check(alone.status == verdicts[i].status &&
				  alone.computed == verdicts[i].computed &&
				  alone.stored == verdicts[i].stored, "batch of %u, page %u",
				  n, i);
		}
	}
}

/* A mark that came and went between two looks leaves another LSN. */
static void
test_marks(void)
{
	static const struct
	{
		uint16		flags;
		XLogRecPtr	lsn;
		bool		unmarked;
	}			cases[] = {
		{0, 100, true}, {PD_ALL_VISIBLE, 100, false},
		{0, 101, false}, {0, 99, false}, {PD_ALL_VISIBLE, 101, false},
		{PD_PAGE_FULL | PD_HAS_FREE_LINES, 100, true},
	};
	PGAlignedBlock page;
	PageHeader	header = (PageHeader) page.data;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		make_page(&page, 7);
		header->pd_flags = cases[i].flags;
		PageXLogRecPtrSet(header->pd_lsn, cases[i].lsn);
		check(page_unmarked_since(page.data, 100) == cases[i].unmarked,
			  "mark, case %zu", i);
	}
}

int
main(int argc, char **argv)
{
	unit_begin("test_page_judge", argc, argv);
	checksum_init();
	test_flips();
	test_header();
	test_order();
	test_batch();
	test_marks();
	return unit_finish();
}
