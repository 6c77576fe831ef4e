/*
 * page_kind.c
 *	  Is a page one of the kind that its fork holds?
 *
 * Every access method of the server initializes a page with a special area of
 * one size, and never changes that; all but the heap keep something at its
 * end, for tools like this one (nbtree.h, hash.h, gist.h, ginblock.h,
 * spgist_private.h, brin_page.h: the same from 15 to 19).
 *
 *	special area	last two bytes
 *	 0				-				heap, maps
 *	 8				0xFF82			SP-GiST: page ID
 *	 8				0xF091..0xF093	BRIN: page type
 *	 8				0..0xFF			GIN: flags, of which there are eight
 *	 8				0 after magic	sequences
 *	16				0xFF80			hash: page ID
 *	16				0xFF81			GiST: page ID
 *	16				0..0xFF7F		btree: vacuum cycle ID, bounded for this
 *
 * Pages of the maps are initialized without line pointers and never get any;
 * their contents lie in what the header calls free space.  A sequence has one
 * page, with a magic number.
 *
 * These are what is certain: a mismatch is no page of that kind.  A match may be
 * a page of another relation of the same kind.
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "storage/bufpage.h"

#include "verify/page_kind.h"

static const PageKindRule rules[] = {
#define PAGE_KIND(id, words, special, min, max) {words, special, min, max},
	PAGE_KIND_LIST
#undef PAGE_KIND
};

static void get_header(const char *page, PageHeaderData *header);
static uint32 first_word(const char *page, const PageHeaderData *header);
static bool has_map_header(const PageHeaderData *header);

const PageKindRule *
page_kind_rule(PageKind kind)
{
	return &rules[kind];
}

/* In the byte order of the server, as the header. */
uint16
page_kind_mark(const char *page)
{
	uint16		mark;

	memcpy(&mark, page + BLCKSZ - sizeof(mark), sizeof(mark));
	return mark;
}

bool
page_kind_fits(PageKind kind, const char *page)
{
	const PageKindRule *rule = &rules[kind];
	PageHeaderData header;

	if (kind == PAGE_KIND_ANY)
		return true;
	get_header(page, &header);
	if (header.pd_special != BLCKSZ - rule->special)
		return false;
	if (rule->max > 0)
		return page_kind_mark(page) >= rule->min &&
			page_kind_mark(page) <= rule->max;
	if (kind == PAGE_KIND_MAP)
		return has_map_header(&header);
	return kind != PAGE_KIND_SEQUENCE ||
		first_word(page, &header) == PAGE_KIND_SEQUENCE_MAGIC;
}

static void
get_header(const char *page, PageHeaderData *header)
{
	memcpy(header, page, SizeOfPageHeaderData);
}

static uint32
first_word(const char *page, const PageHeaderData *header)
{
	uint32		word;

	memcpy(&word, page + header->pd_special, sizeof(word));
	return word;
}

static bool
has_map_header(const PageHeaderData *header)
{
	return header->pd_lower == SizeOfPageHeaderData &&
		header->pd_upper == BLCKSZ;
}
