/*
 * kernel.h
 *	  What the kernel files share, such as prototypes of every row.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <string.h>

#include "checksum.h"
#include "load.h"

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

/* combine.c chooses between the following, combine_x86.c where it can. */
extern void combine_init(uint32_t features);
extern uint32_t crc32c_combine_portable(uint32_t crc1, uint32_t crc2,
										uint64_t len2);
extern uint32_t crc32_combine_portable(uint32_t crc1, uint32_t crc2,
									   uint64_t len2);
extern uint32_t crc32c_combine_pclmul(uint32_t crc1, uint32_t crc2,
									  uint64_t len2);
extern uint32_t crc32_combine_pclmul(uint32_t crc1, uint32_t crc2,
									 uint64_t len2);

#endif							/* KERNEL_H */
