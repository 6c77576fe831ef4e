/*
 * format.h
 *	  A page of a relation as it lies in files, for readers without a server.
 *
 * The facts are those of PostgreSQL's bufpage.h, valid from 15 to 19.  Rooms
 * that know the server compare them with its headers when they are compiled
 * (page/decide.c).
 */
#ifndef ACCEL_PAGE_FORMAT_H
#define ACCEL_PAGE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a page.  make takes them from the server that it builds for. */
#ifndef PAGE_BYTES
#define PAGE_BYTES		8192
#endif

/* The header, in the byte order of the machine that wrote it. */
typedef struct PageHead
{
	uint32_t	pd_lsn_high;
	uint32_t	pd_lsn_low;
	uint16_t	pd_checksum;
	uint16_t	pd_flags;
	uint16_t	pd_lower;
	uint16_t	pd_upper;
	uint16_t	pd_special;
	uint16_t	pd_pagesize_version;
	uint32_t	pd_prune_xid;
} PageHead;

#define PAGE_HEAD_BYTES		24	/* SizeOfPageHeaderData */

#define PAGE_FLAG_ALL_VISIBLE	0x0004	/* PD_ALL_VISIBLE */
#define PAGE_FLAGS_VALID		0x0007	/* PD_VALID_FLAG_BITS */

/* What the special area is aligned to, MAXIMUM_ALIGNOF. */
typedef struct PageAlignment
{
	char		before;
	int64_t		aligned;
} PageAlignment;

#define PAGE_ALIGN		offsetof(PageAlignment, aligned)

/* The highest number of a block, MaxBlockNumber. */
#define PAGE_BLOCK_MAX	UINT32_C(0xFFFFFFFE)

static inline uint64_t
page_head_lsn(const PageHead *head)
{
	return (uint64_t) head->pd_lsn_high << 32 | head->pd_lsn_low;
}

#endif							/* ACCEL_PAGE_FORMAT_H */
