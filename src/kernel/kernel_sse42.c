/*
 * kernel_sse42.c
 *	  CRC-32C with one chain of the SSE4.2 crc32 instruction.
 *
 * The instruction has a latency of three cycles, so a single chain reaches 8
 * bytes in 3 cycles.  This is what PostgreSQL up to 17 runs, and so the
 * yardstick.
 */
#include "kernel.h"

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2")))
uint32_t
crc32c_sse42(uint32_t reg, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t	crc = reg;

	for (; len >= 8; len -= 8, p += 8)
		crc = _mm_crc32_u64(crc, load_native64(p));
	if (len & 4)
	{
		crc = _mm_crc32_u32((uint32_t) crc, load_native32(p));
		p += 4;
	}
	for (len &= 3; len > 0; len--, p++)
		crc = _mm_crc32_u8((uint32_t) crc, *p);
	return (uint32_t) crc;
}
#endif
