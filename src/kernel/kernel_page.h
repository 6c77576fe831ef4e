/*
 * kernel_page.h
 *	  The steps of the page checksum that its kernels share.
 *
 * Includer defines WANT_PAGE_BASE_OFFSETS and has kernel.h and
 * constants.auto.h included before.
 */
#ifndef KERNEL_PAGE_H
#define KERNEL_PAGE_H

/* Bytes that the lanes take at once; pages are multiples of it. */
#define PAGE_ROW	(PAGE_LANES * 4)

/* One step of a lane: FNV-1a, plus a shift that carries high bits down. */
static inline uint32_t
page_mix(uint32_t lane, uint32_t word)
{
	uint32_t	t = lane ^ word;

	return t * PAGE_FNV_PRIME ^ (t >> 17);
}

/* From the xor of all lanes to the 16 bits of the header, never 0. */
static inline uint16_t
page_reduce(uint32_t folded, uint32_t blkno)
{
	return (uint16_t) ((folded ^ blkno) % 65535 + 1);
}

#endif							/* KERNEL_PAGE_H */
