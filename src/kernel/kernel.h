/*
 * kernel.h
 *	  What the kernel files share: prototypes of every row, load helpers.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <string.h>

#include "checksum.h"

#pragma GCC visibility push(hidden)

#define KERNEL_PROTOTYPE_crc32c(name) \
	extern uint32_t crc32c_##name(uint32_t reg, const void *data, size_t len);
#define KERNEL_PROTOTYPE_crc32(name) \
	extern uint32_t crc32_##name(uint32_t reg, const void *data, size_t len);
#define KERNEL_PROTOTYPE_page(name) \
	extern void page_##name(const void *pages, size_t page_size, \
							uint32_t npages, const uint32_t *blknos, \
							uint16_t *sums);
#define KERNEL(algorithm, arch, name, needs, preferred, summary) \
	KERNEL_PROTOTYPE_##algorithm(name)
#include "kernels.def"
#undef KERNEL

/* combine.c: chooses between the following, combine_x86.c where it can. */
extern void combine_init(uint32_t features);
extern uint32_t crc32c_combine_portable(uint32_t crc1, uint32_t crc2,
										uint64_t len2);
extern uint32_t crc32_combine_portable(uint32_t crc1, uint32_t crc2,
									   uint64_t len2);
extern uint32_t crc32c_combine_pclmul(uint32_t crc1, uint32_t crc2,
									  uint64_t len2);
extern uint32_t crc32_combine_pclmul(uint32_t crc1, uint32_t crc2,
									 uint64_t len2);

/* Unaligned loads; the compiler makes one instruction of each. */
static inline uint16_t
load_native16(const void *p)
{
	uint16_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
load_native32(const void *p)
{
	uint32_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t
load_native64(const void *p)
{
	uint64_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
load_le32(const void *p)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap32(load_native32(p));
#else
	return load_native32(p);
#endif
}

#pragma GCC visibility pop

#endif							/* KERNEL_H */
