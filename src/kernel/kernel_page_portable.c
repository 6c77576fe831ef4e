/*
 * kernel_page_portable.c
 *	  PostgreSQL's page checksum in plain C, one page at a time.
 *
 * The algorithm is FNV-1a (Fowler, Noll, Vo) in 32 lanes with an additional
 * shift.  A page is an array of rows of 32 native 32-bit words, and two rows
 * of zeros follow.  The lanes are xor-ed with each other and with the block
 * number, and the result is reduced to 1..65535 (PostgreSQL, README of page
 * checksums).
 */
#define WANT_PAGE_BASE_OFFSETS
#include "kernel.h"
#include "constants.auto.h"
#include "kernel_page.h"

static inline void
step(uint32_t lanes[PAGE_LANES], const unsigned char *row)
{
	for (int i = 0; i < PAGE_LANES; i++)
		lanes[i] = page_mix(lanes[i], load_native32(row + 4 * i));
}

static uint16_t
checksum_one(const unsigned char *page, size_t page_size, uint32_t blkno)
{
	static const unsigned char zeros[PAGE_ROW];
	unsigned char first[PAGE_ROW];
	uint32_t	lanes[PAGE_LANES];
	uint32_t	folded = 0;

	memcpy(lanes, page_base_offsets, sizeof(lanes));
	memcpy(first, page, PAGE_ROW);
	memset(first + 8, 0, 2);	/* pd_checksum */
	step(lanes, first);
	for (size_t row = PAGE_ROW; row < page_size; row += PAGE_ROW)
		step(lanes, page + row);
	step(lanes, zeros);
	step(lanes, zeros);
	for (int i = 0; i < PAGE_LANES; i++)
		folded ^= lanes[i];
	return page_reduce(folded, blkno);
}

void
page_portable(const void *pages, size_t page_size, uint32_t npages,
			  const uint32_t *blknos, uint16_t *sums)
{
	const unsigned char *p = pages;

	for (uint32_t i = 0; i < npages; i++, p += page_size)
		sums[i] = checksum_one(p, page_size, blknos[i]);
}
