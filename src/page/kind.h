/*
 * kind.h
 *	  Is a page one of the kind that its fork holds?
 *
 * A checksum knows the block number of a page, not its relation, so a page of
 * another relation at the same block number passes it.  What the access
 * methods put at the end of each page tells them apart.
 *
 * Pure.  Bytes go in, an answer comes out, and no server is needed.
 */
#ifndef ACCEL_PAGE_KIND_H
#define ACCEL_PAGE_KIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A row has the kind, its words and the bytes of the special area.  Of that
 * area's last two bytes it has the least and the greatest value, 0 and 0 if
 * they mean nothing.  Then comes what tells the metapage, which is block 0 and
 * no other.  That is where its flags are, in bytes from the page's end, which
 * bits of them, and their value, 0 if there is none.
 */
#define PAGE_KIND_LIST \
	PAGE_KIND(PAGE_KIND_ANY, "any relation", 0, 0, 0, 0, 0, 0) \
	PAGE_KIND(PAGE_KIND_HEAP, "a table", 0, 0, 0, 0, 0, 0) \
	PAGE_KIND(PAGE_KIND_VM, "a visibility map", 0, 0, 0, 0, 0, 0) \
	PAGE_KIND(PAGE_KIND_FSM, "a free space map", 0, 0, 0, 0, 0, 0) \
	PAGE_KIND(PAGE_KIND_SEQUENCE, "a sequence", 8, 0, 0, 0, 0, 0) \
	PAGE_KIND(PAGE_KIND_BTREE, "a B-tree index", 16, 0, 0xFF7F, 4, 0x08, 0x08) \
	PAGE_KIND(PAGE_KIND_HASH, "a hash index", 16, 0xFF80, 0xFF80, 4, 0x08, 0x08) \
	PAGE_KIND(PAGE_KIND_GIST, "a GiST index", 16, 0xFF81, 0xFF81, 0, 0, 0) \
	PAGE_KIND(PAGE_KIND_GIN, "a GIN index", 8, 0, 0x00FF, 2, 0x08, 0x08) \
	PAGE_KIND(PAGE_KIND_SPGIST, "an SP-GiST index", 8, 0xFF82, 0xFF82, 8, 0x01, 0x01) \
	PAGE_KIND(PAGE_KIND_BRIN, "a BRIN index", 8, 0xF091, 0xF093, 2, 0xFFFF, 0xF091)

typedef enum PageKind
{
#define PAGE_KIND(id, ...) id,
	PAGE_KIND_LIST
#undef PAGE_KIND
} PageKind;

/* Kinds of main forks that have a block 0 from the beginning. */
#define PAGE_KIND_HAS_FIRST(kind)	((kind) >= PAGE_KIND_SEQUENCE)

typedef struct PageKindRule
{
	const char *words;
	uint16_t	special;		/* bytes of the special area */
	uint16_t	min;			/* of its last two bytes */
	uint16_t	max;
	uint16_t	flags;			/* of the metapage, in bytes from the end */
	uint16_t	meta_bits;		/* 0 if there is none */
	uint16_t	meta;
} PageKindRule;

/* The first word of the special area of a sequence's page. */
#define PAGE_KIND_SEQUENCE_MAGIC	0x1717

extern const PageKindRule *page_kind_rule(PageKind kind);

/*
 * Is this a page of the kind?  It is not new, its header is sane, and its
 * alignment is any.
 */
extern bool page_kind_fits(PageKind kind, const char *page);

/* Is one of the kind a metapage where one must be, and nowhere else? */
extern bool page_kind_fits_block(PageKind kind, const char *page,
								 uint32_t blkno);

/* The last two bytes of a page. */
extern uint16_t page_kind_mark(const char *page);

#endif							/* ACCEL_PAGE_KIND_H */
