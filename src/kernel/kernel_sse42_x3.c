/*
 * kernel_sse42_x3.c
 *	  CRC-32C with three chains of the SSE4.2 crc32 instruction.
 *
 * The instruction has a latency of three cycles and one can start each cycle.
 * So three independent chains over thirds of the data fill it.  A third that
 * is followed by n bytes is shifted by them with one or two carry-less
 * multiplications.
 */
#include "kernel.h"

#if defined(__x86_64__)
#include "kernel_x86.h"

#define X3_FROM 192
/* Two thirds are shifted over, and shift_far takes fewer than 65536 bytes. */
#define MOST_THIRD (20 * 1024)

/* The registers a, followed by two thirds, and b, by one, at the end of c. */
__attribute__((target("sse4.2,pclmul"), always_inline))
static inline uint32_t
join_near(uint32_t a, uint32_t b, size_t third)
{
	__m128i		s = _mm_xor_si128(shift_near(a, crc32c_powers, 2 * third),
								  shift_near(b, crc32c_powers, third));

	return (uint32_t) _mm_crc32_u64(0, (uint64_t) _mm_cvtsi128_si64(s));
}

__attribute__((target("sse4.2,pclmul"), always_inline))
static inline uint32_t
join_far(uint32_t a, uint32_t b, size_t third)
{
	__m128i		w = _mm_xor_si128(shift_far(a, crc32c_powers,
											crc32c_block_powers, 2 * third),
								  shift_far(b, crc32c_powers,
											crc32c_block_powers, third));

	return reduce_crc32c(w, _mm_setzero_si128());
}

__attribute__((target("sse4.2,pclmul")))
uint32_t
crc32c_sse42_x3(uint32_t reg, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len >= X3_FROM)
	{
		size_t		third = len / 3 < MOST_THIRD ? len / 3 & ~(size_t) 7 :
			MOST_THIRD;
		uint64_t	a = reg;
		uint64_t	b = 0;
		uint64_t	c = 0;

		for (const unsigned char *end = p + third; p < end; p += 8)
		{
			a = _mm_crc32_u64(a, load_native64(p));
			b = _mm_crc32_u64(b, load_native64(p + third));
			c = _mm_crc32_u64(c, load_native64(p + 2 * third));
		}
		reg = (uint32_t) c ^ (third < 256 ?
							  join_near((uint32_t) a, (uint32_t) b, third) :
							  join_far((uint32_t) a, (uint32_t) b, third));
		p += 2 * third;
		len -= 3 * third;
	}
	return crc32c_instructions(reg, p, len);
}
#endif
