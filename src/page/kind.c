/*
 * kind.c
 *	  Is a page one of the kind that its fork holds?
 *
 * Every access method of the server initializes a page with a special area of
 * one size, and never changes that.  All but the heap keep something at its
 * end, for tools like this one.  (See nbtree.h, hash.h, gist.h, ginblock.h,
 * spgist_private.h and brin_page.h, the same from 15 to 19.)
 *
 *	special area	last two bytes
 *	 0				-				heap, maps
 *	 8				0xFF82			SP-GiST, page ID
 *	 8				0xF091..0xF093	BRIN, page type
 *	 8				0..0xFF			GIN, eight flags
 *	 8				0 after magic	sequences
 *	16				0xFF80			hash, page ID
 *	16				0xFF81			GiST, page ID
 *	16				0..0xFF7F		btree, vacuum cycle ID, bounded for this
 *
 * Pages of the maps are initialized without line pointers and never get any,
 * and their contents lie in what the header calls free space.  A page of a
 * table has none before its first row and, since 17, after its last one.  The
 * first two line pointers are zeros then, as unused ones are, and rows begin
 * only after them.  (The second may be what a server built with
 * CLOBBER_FREED_MEMORY writes over it.)  A map with a bit of its first 32
 * blocks, or with free space, has something there.  A page of a free space map
 * begins with the number of one of its leaves (fsmpage.c), so one of a
 * visibility map with bits among its first is none.  The other way round
 * nothing is certain.
 *
 * A sequence has one page, with a magic number.  Block 0 of an index is a
 * metapage by its flags, and no other block is.  GiST has none.
 *
 * These are what is certain, since a mismatch is no page of that kind.  A
 * match may be a page of another relation of the same kind.
 */
#include <stddef.h>
#include <string.h>

#include "page/format.h"
#include "page/kind.h"

static const PageKindRule rules[] = {
#define PAGE_KIND(id, ...) {__VA_ARGS__},
	PAGE_KIND_LIST
#undef PAGE_KIND
};

static bool has_sequence_magic(const char *page);
static bool has_map_header(const char *page);
static bool has_no_pointers(const char *page);
static bool has_fsm_slot(const char *page);

/* Leaves of a page of a free space map (SlotsPerFSMPage), at least. */
#define FSM_LEAVES	(PAGE_BYTES / 2)

const PageKindRule *
page_kind_rule(PageKind kind)
{
	return &rules[kind];
}

/* Loads it in the byte order of the server. */
static inline uint16_t
load_half(const char *page, size_t at)
{
	uint16_t	half;

	memcpy(&half, page + at, sizeof(half));
	return half;
}

uint16_t
page_kind_mark(const char *page)
{
	return load_half(page, PAGE_BYTES - sizeof(uint16_t));
}

/*
 * It is called for each page that is read, so no more is loaded than is
 * compared.
 */
bool
page_kind_fits(PageKind kind, const char *page)
{
	const PageKindRule *rule = &rules[kind];

	if (kind == PAGE_KIND_ANY)
		return true;
	if (load_half(page, offsetof(PageHead, pd_special)) !=
		PAGE_BYTES - rule->special)
		return false;
	if (rule->max > 0)
		return page_kind_mark(page) >= rule->min &&
			page_kind_mark(page) <= rule->max;
	if (kind == PAGE_KIND_HEAP)
		return !has_map_header(page) || has_no_pointers(page);
	if (kind == PAGE_KIND_VM || kind == PAGE_KIND_FSM)
		return has_map_header(page) &&
			(kind == PAGE_KIND_VM || has_fsm_slot(page));
	return kind != PAGE_KIND_SEQUENCE || has_sequence_magic(page);
}

bool
page_kind_fits_block(PageKind kind, const char *page, uint32_t blkno)
{
	const PageKindRule *rule = &rules[kind];

	if (rule->meta_bits == 0)
		return true;
	return ((load_half(page, PAGE_BYTES - rule->flags) & rule->meta_bits) ==
			rule->meta) == (blkno == 0);
}

/* What is left of a table's first line pointers when there are none. */
static bool
has_no_pointers(const char *page)
{
	uint32_t	items[2];

	memcpy(items, page + PAGE_HEAD_BYTES, sizeof(items));
	return items[0] == 0 && (items[1] == 0 || items[1] == 0x7F7F7F7F);
}

/* Is fp_next_slot a leaf, or the number after the last one? */
static bool
has_fsm_slot(const char *page)
{
	uint32_t	slot;

	memcpy(&slot, page + PAGE_HEAD_BYTES, sizeof(slot));
	return slot <= FSM_LEAVES;
}

/* The first word of a special area that has the size of a sequence's. */
static bool
has_sequence_magic(const char *page)
{
	uint32_t	word;

	memcpy(&word, page + PAGE_BYTES - rules[PAGE_KIND_SEQUENCE].special,
		   sizeof(word));
	return word == PAGE_KIND_SEQUENCE_MAGIC;
}

static bool
has_map_header(const char *page)
{
	return load_half(page, offsetof(PageHead, pd_lower)) ==
		PAGE_HEAD_BYTES &&
		load_half(page, offsetof(PageHead, pd_upper)) == PAGE_BYTES;
}
