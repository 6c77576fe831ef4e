/*
 * kernel_x86.h
 *	  The steps that the x86-64 kernels share: multipliers, reduction, CRC-32C
 *	  of few bytes.
 */
#ifndef KERNEL_X86_H
#define KERNEL_X86_H

#include <nmmintrin.h>
#include <wmmintrin.h>

#include "powers.h"
#include "constants.auto.h"

/* The multiplier for 0 <= j < 512 of a table; that for j - 8 i is i behind. */
static inline const uint32_t *
powers_at(const uint32_t powers[8][72], size_t j)
{
	return &powers[j % 8][(CRC32C_POWERS_LAST - j) / 8];
}

/*
 * Shifts a register by n < 512 bytes: the joiner of a reduction.  As it does
 * not pass through the data, a chain of calls waits for this alone.
 */
__attribute__((target("sse4.2,pclmul"), always_inline))
static inline __m128i
shift_near(uint32_t reg, const uint32_t powers[8][72], size_t n)
{
	return _mm_clmulepi64_si128(_mm_cvtsi32_si128((int) reg),
								_mm_cvtsi32_si128((int) *powers_at(powers, n)),
								0);
}

/*
 * Shifts a register by n < 65536 bytes.  The product of two multipliers is the
 * right one for a summand of the 128 bits that are reduced.
 */
__attribute__((target("sse4.2,pclmul"), always_inline))
static inline __m128i
shift_far(uint32_t reg, const uint32_t powers[8][72],
		  const uint32_t block_powers[256], size_t n)
{
	__m128i		near = _mm_cvtsi32_si128((int) *powers_at(powers, n % 256));
	__m128i		far = _mm_cvtsi32_si128((int) block_powers[n / 256]);

	return _mm_clmulepi64_si128(_mm_cvtsi32_si128((int) reg),
								_mm_clmulepi64_si128(near, far, 0), 0);
}

/*
 * README.md, "Reduction": sum * x^32 mod P by two crc32 instructions.  The joiner (its low quadword) is
 * added to the second half of the sum, where it waits for one instruction only.
 */
__attribute__((target("sse4.2,pclmul"), always_inline))
static inline uint32_t
reduce_crc32c(__m128i sum, __m128i joiner)
{
	uint64_t	lo = (uint64_t) _mm_cvtsi128_si64(sum);
	uint64_t	hi = (uint64_t) _mm_extract_epi64(sum, 1);

	hi ^= (uint64_t) _mm_cvtsi128_si64(joiner);
	return (uint32_t) _mm_crc32_u64(_mm_crc32_u64(0, lo), hi);
}

/*
 * Barrett's method: 96 bits, of which the low quadword (the high powers) is
 * replaced by its remainder.
 */
__attribute__((target("sse4.2,pclmul"), always_inline))
static inline uint32_t
barrett_crc32(__m128i r)
{
	const __m128i k = _mm_set_epi64x((int64_t) CRC32_P,
									 (int64_t) CRC32_X96_DIV_P);
	__m128i		q = _mm_clmulepi64_si128(r, k, 0x00);

	q = _mm_clmulepi64_si128(q, k, 0x10);
	return (uint32_t) _mm_extract_epi32(_mm_xor_si128(r, q), 2);
}

/* sum * x^32 mod P for CRC-32: two quadwords become one, then Barrett. */
__attribute__((target("sse4.2,pclmul"), always_inline))
static inline uint32_t
reduce_crc32(__m128i sum, __m128i joiner)
{
	const __m128i x95 = _mm_cvtsi32_si128((int) CRC32_X95);
	__m128i		r = _mm_xor_si128(_mm_srli_si128(sum, 8), joiner);

	return barrett_crc32(_mm_xor_si128(r, _mm_clmulepi64_si128(sum, x95, 0x00)));
}

/*
 * CRC-32C of the k < 8 bytes in the high end of word, without a branch on k:
 * in front of them stand zeros, which leave a register of zero alone, and what
 * of the incoming register reaches beyond them is added behind.
 */
__attribute__((target("sse4.2"), always_inline))
static inline uint64_t
crc32c_tail(uint64_t crc, uint64_t word, size_t k)
{
	uint64_t	ones = UINT64_MAX << 1 << (63 - 8 * k);

	return _mm_crc32_u64(0, (word & ones) ^ (crc << 1 << (63 - 8 * k))) ^
		(crc >> (8 * k));
}

/* CRC-32C of 64 bytes. */
__attribute__((target("sse4.2"), always_inline))
static inline uint32_t
crc32c_64(uint32_t reg, const unsigned char *p)
{
	uint64_t	crc = reg;

	crc = _mm_crc32_u64(crc, load_native64(p));
	crc = _mm_crc32_u64(crc, load_native64(p + 8));
	crc = _mm_crc32_u64(crc, load_native64(p + 16));
	crc = _mm_crc32_u64(crc, load_native64(p + 24));
	crc = _mm_crc32_u64(crc, load_native64(p + 32));
	crc = _mm_crc32_u64(crc, load_native64(p + 40));
	crc = _mm_crc32_u64(crc, load_native64(p + 48));
	return (uint32_t) _mm_crc32_u64(crc, load_native64(p + 56));
}

/*
 * CRC-32C of len < 192 bytes, in one chain of instructions that is entered at
 * the right place: a loop takes a branch a word, and two cycles where it lies
 * across a boundary of 64 bytes.  The header of a WAL record has 20 bytes: a
 * tail of 4 is worth the branch.
 */
__attribute__((target("sse4.2"), always_inline))
static inline uint32_t
crc32c_instructions(uint32_t reg, const unsigned char *p, size_t len)
{
	uint64_t	crc = reg;

	if (len >= 8)
	{
		p += len & ~(size_t) 7;
#define WORD(i) \
		case i: \
			crc = _mm_crc32_u64(crc, load_native64(p - 8 * (i))); \
			__attribute__((fallthrough))
		switch (len / 8)
		{
				WORD(23);
				WORD(22);
				WORD(21);
				WORD(20);
				WORD(19);
				WORD(18);
				WORD(17);
				WORD(16);
				WORD(15);
				WORD(14);
				WORD(13);
				WORD(12);
				WORD(11);
				WORD(10);
				WORD(9);
				WORD(8);
				WORD(7);
				WORD(6);
				WORD(5);
				WORD(4);
				WORD(3);
				WORD(2);
				WORD(1);
			default:
				break;
		}
#undef WORD
		len %= 8;
		if (len == 4)
			crc = _mm_crc32_u32((uint32_t) crc, load_native32(p));
		else if (len > 0)
			crc = crc32c_tail(crc, load_native64(p + len - 8), len);
	}
	else if (len >= 4)
	{
		uint64_t	first = load_native32(p);
		uint64_t	last = load_native32(p + len - 4);

		crc = crc32c_tail(crc, last << 32 | first << (64 - 8 * len), len);
	}
	else
		for (; len > 0; len--, p++)
			crc = _mm_crc32_u8((uint32_t) crc, *p);
	return (uint32_t) crc;
}

#endif							/* KERNEL_X86_H */
