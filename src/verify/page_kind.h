/*
 * page_kind.h
 *	  Is a page one of the kind that its fork holds?
 *
 * A checksum knows the block number of a page, not its relation: a page of
 * another relation at the same block number passes it.  What the access methods
 * put at the end of each page tells them apart.
 *
 * Pure: bytes in, answer out; needs no server.
 */
#ifndef ACCEL_PAGE_KIND_H
#define ACCEL_PAGE_KIND_H

#pragma GCC visibility push(hidden)

/*
 * kind, in words, bytes of the special area, and of its last two bytes the
 * least and the greatest value (0, 0: they mean nothing)
 */
#define PAGE_KIND_LIST \
	PAGE_KIND(PAGE_KIND_ANY, "any relation", 0, 0, 0) \
	PAGE_KIND(PAGE_KIND_HEAP, "a table", 0, 0, 0) \
	PAGE_KIND(PAGE_KIND_MAP, "a free space or visibility map", 0, 0, 0) \
	PAGE_KIND(PAGE_KIND_SEQUENCE, "a sequence", 8, 0, 0) \
	PAGE_KIND(PAGE_KIND_BTREE, "a B-tree index", 16, 0, 0xFF7F) \
	PAGE_KIND(PAGE_KIND_HASH, "a hash index", 16, 0xFF80, 0xFF80) \
	PAGE_KIND(PAGE_KIND_GIST, "a GiST index", 16, 0xFF81, 0xFF81) \
	PAGE_KIND(PAGE_KIND_GIN, "a GIN index", 8, 0, 0x00FF) \
	PAGE_KIND(PAGE_KIND_SPGIST, "an SP-GiST index", 8, 0xFF82, 0xFF82) \
	PAGE_KIND(PAGE_KIND_BRIN, "a BRIN index", 8, 0xF091, 0xF093)

typedef enum PageKind
{
#define PAGE_KIND(id, words, special, min, max) id,
	PAGE_KIND_LIST
#undef PAGE_KIND
} PageKind;

typedef struct PageKindRule
{
	const char *words;
	uint16		special;		/* bytes of the special area */
	uint16		min;			/* of its last two bytes */
	uint16		max;
} PageKindRule;

/* The first word of the special area of a sequence's page. */
#define PAGE_KIND_SEQUENCE_MAGIC	0x1717

extern const PageKindRule *page_kind_rule(PageKind kind);

/*
 * Is this a page of the kind?  It is not new, its header is sane, and its
 * alignment is any.
 */
extern bool page_kind_fits(PageKind kind, const char *page);

/* The last two bytes of a page. */
extern uint16 page_kind_mark(const char *page);

#pragma GCC visibility pop

#endif							/* ACCEL_PAGE_KIND_H */
