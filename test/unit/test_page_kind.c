/* needs: verify server native */
/*
 * test_page_kind.c
 *	  The kinds of pages (page/kind.c): a page of each, as its access
 *	  method initializes it, under the rule of each.
 *
 * What a rule cannot tell apart is listed here: an empty page of a table may be
 * one of a map and the other way round, one of a free space map one of a
 * visibility map, and the page of a sequence looks like one of GIN that is no
 * metapage.  The rest must be told apart, for every value that a page of its
 * kind may end with.
 */
#include "postgres_fe.h"
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

#define LAST	PAGE_KIND_BRIN

static void
make_page(PGAlignedBlock *page, int special, int mark)
{
	PageHeader	header = (PageHeader) page->data;
	uint16		last = (uint16) mark;

	memset(page->data, 0, BLCKSZ);
	header->pd_lower = SizeOfPageHeaderData + 40;
	header->pd_upper = 4000;
	header->pd_special = (LocationIndex) (BLCKSZ - special);
	header->pd_pagesize_version = BLCKSZ | PG_PAGE_LAYOUT_VERSION;
	if (mark >= 0)
		memcpy(page->data + BLCKSZ - 2, &last, 2);
}

/* The kinds that a page fits, as a set of bits. */
static unsigned
kinds_of(const PGAlignedBlock *page)
{
	unsigned	kinds = 0;

	for (int kind = PAGE_KIND_ANY + 1; kind <= LAST; kind++)
		if (page_kind_fits((PageKind) kind, page->data))
			kinds |= 1u << kind;
	check(page_kind_fits(PAGE_KIND_ANY, page->data), "any kind");
	return kinds;
}

#define ONLY(kind)	(1u << (kind))

/* Every value of the last two bytes, for every size of the special area. */
static void
test_marks(void)
{
	PGAlignedBlock page;

	for (int mark = 0; mark <= 0xFFFF; mark++)
	{
		unsigned	eight = mark <= 0xFF ? ONLY(PAGE_KIND_GIN) :
			mark == 0xFF82 ? ONLY(PAGE_KIND_SPGIST) :
			mark >= 0xF091 && mark <= 0xF093 ? ONLY(PAGE_KIND_BRIN) : 0;
		unsigned	sixteen = mark < 0xFF80 ? ONLY(PAGE_KIND_BTREE) :
			mark == 0xFF80 ? ONLY(PAGE_KIND_HASH) :
			mark == 0xFF81 ? ONLY(PAGE_KIND_GIST) : 0;

		make_page(&page, 8, mark);
		check(kinds_of(&page) == eight, "8 bytes, 0x%04X", mark);
		make_page(&page, 16, mark);
		check(kinds_of(&page) == sixteen, "16 bytes, 0x%04X", mark);
		make_page(&page, 0, mark);
		check(kinds_of(&page) == ONLY(PAGE_KIND_HEAP), "no special area");
		make_page(&page, 24, mark);
		check(kinds_of(&page) == 0, "24 bytes");
	}
}

static void
test_headers(void)
{
	PGAlignedBlock page;
	PageHeader	header = (PageHeader) page.data;
	uint32		magic = 0x1717;
	uint32		slot = BLCKSZ / 2;

	make_page(&page, 0, -1);
	header->pd_lower = SizeOfPageHeaderData;
	header->pd_upper = BLCKSZ;
	check(kinds_of(&page) == (ONLY(PAGE_KIND_HEAP) | ONLY(PAGE_KIND_VM) | ONLY(PAGE_KIND_FSM)),
		  "an empty page");
	memcpy(page.data + 24, &slot, 4);
	check(kinds_of(&page) == (ONLY(PAGE_KIND_VM) | ONLY(PAGE_KIND_FSM)), "a map's first leaf");
	page.data[24] = page.data[25] = 0x55;
	page.data[26] = page.data[27] = 0x55;
	check(kinds_of(&page) == ONLY(PAGE_KIND_VM), "bits of the first blocks");
	memset(page.data + 24, 0, 4);
	page.data[28] = 1;
	check(kinds_of(&page) == (ONLY(PAGE_KIND_VM) | ONLY(PAGE_KIND_FSM)), "a map with free space");
	memset(page.data + 28, 0x7F, 4);
	check((kinds_of(&page) & ONLY(PAGE_KIND_HEAP)) != 0, "a table whose line pointers were wiped");
	memset(page.data + 28, 0, 4);
	page.data[32] = 1;
	check((kinds_of(&page) & ONLY(PAGE_KIND_HEAP)) != 0, "a table that was emptied");
	page.data[32] = 0;
	header->pd_upper -= 8;
	check(kinds_of(&page) == ONLY(PAGE_KIND_HEAP), "pd_upper of a table");
	header->pd_upper = BLCKSZ;
	header->pd_lower += 4;
	check(kinds_of(&page) == ONLY(PAGE_KIND_HEAP), "a line pointer");

	make_page(&page, 8, -1);
	memcpy(page.data + BLCKSZ - 8, &magic, 4);
	check(kinds_of(&page) == (ONLY(PAGE_KIND_SEQUENCE) | ONLY(PAGE_KIND_GIN)),
		  "a sequence");
	page.data[BLCKSZ - 8] ^= 1;
	check(kinds_of(&page) == ONLY(PAGE_KIND_GIN), "another magic number");
}

/* Of each kind a metapage and another one, at block 0 and another one. */
static void
test_metapages(void)
{
	static const struct
	{
		PageKind	kind;
		int			special;
		int			mark;
		int			flags;		/* from the end */
		uint16		meta;
	}			kinds[] =

	{
		{PAGE_KIND_BTREE, 16, 0, 4, 8},
		{PAGE_KIND_HASH, 16, 0xFF80, 4, 8},
		{PAGE_KIND_GIN, 8, 0, 2, 8},
		{PAGE_KIND_SPGIST, 8, 0xFF82, 8, 1},
		{PAGE_KIND_BRIN, 8, 0xF092, 2, 0xF091},
	};
	PGAlignedBlock page;

	for (size_t i = 0; i < lengthof(kinds); i++)
	{
		make_page(&page, kinds[i].special, kinds[i].mark);
		check(!page_kind_fits_block(kinds[i].kind, page.data, 0) &&
			  page_kind_fits_block(kinds[i].kind, page.data, 1), "kind %d", (int) kinds[i].kind);
		memcpy(page.data + BLCKSZ - kinds[i].flags, &kinds[i].meta, 2);
		check(page_kind_fits(kinds[i].kind, page.data) &&
			  page_kind_fits_block(kinds[i].kind, page.data, 0) &&
			  !page_kind_fits_block(kinds[i].kind, page.data, 1), "metapage of kind %d", (int) kinds[i].kind);
	}
	make_page(&page, 16, 0xFF81);
	check(page_kind_fits_block(PAGE_KIND_GIST, page.data, 0) &&
		  page_kind_fits_block(PAGE_KIND_GIST, page.data, 1), "GiST has none");
}

/* Where it stands among the other rules. */
static void
test_verdicts(void)
{
	PGAlignedBlock page;
	PageHeader	header = (PageHeader) page.data;
	PageRules	rules = {true, InvalidXLogRecPtr, PAGE_KIND_HEAP};
	PageVerdict verdict;

#define CASE(change, expected) \
	make_page(&page, 16, 0xFF80); \
	header->pd_checksum = pg_checksum_page(page.data, 7); \
	change; \
	page_judge(page.data, 7, &rules, &verdict); \
	check(verdict.status == (expected), #change)
	CASE((void) 0, PAGE_WRONG_KIND);
	CASE(rules.kind = PAGE_KIND_HASH, PAGE_OK);
	CASE(rules.kind = PAGE_KIND_GIST, PAGE_WRONG_KIND);
	CASE(page.data[5000] ^= 1, PAGE_CHECKSUM_MISMATCH);
	CASE(memset(page.data, 0, BLCKSZ), PAGE_NEW);
	CASE(rules.checksums = false, PAGE_WRONG_KIND);
	CASE(header->pd_lower = 5000, PAGE_BAD_HEADER);
#undef CASE
}

int
main(int argc, char **argv)
{
	unit_begin("test_page_kind", argc, argv);
	checksum_init();
	test_marks();
	test_headers();
	test_metapages();
	test_verdicts();
	return unit_finish();
}
