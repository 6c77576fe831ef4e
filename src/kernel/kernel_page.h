/*
 * kernel_page.h
 *	  The steps of the page checksum that its kernels share.
 *
 * The includer defines WANT_PAGE_BASE_OFFSETS and has kernel.h and
 * constants.auto.h included before.
 */
#ifndef KERNEL_PAGE_H
#define KERNEL_PAGE_H

/* The lanes take so many bytes at once.  Pages are multiples of it. */
#define PAGE_ROW	(PAGE_LANES * 4)

/* Each lane's step is FNV-1a, plus a shift that carries high bits down. */
static inline uint32_t
page_mix(uint32_t lane, uint32_t word)
{
	uint32_t	t = lane ^ word;

	return t * PAGE_FNV_PRIME ^ (t >> 17);
}

/* Makes of the xor of all lanes the 16 bits of the header, never 0. */
static inline uint16_t
page_reduce(uint32_t folded, uint32_t blkno)
{
	return (uint16_t) ((folded ^ blkno) % 65535 + 1);
}

#endif							/* KERNEL_PAGE_H */
