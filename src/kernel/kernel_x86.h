/*
 * kernel_x86.h
 *	  The steps that the x86-64 kernels share, which are multipliers,
 *	  reduction, and CRC-32C of few bytes.
 */
#ifndef KERNEL_X86_H
#define KERNEL_X86_H

#include <nmmintrin.h>
#include <wmmintrin.h>

#include "powers.h"
#include "constants.auto.h"

/*
 * The multiplier for 0 <= j < 512 of a table.  That for j - 8 i is i after it.
 */
static inline const uint32_t *
powers_at(const uint32_t powers[8][72], size_t j)
{
	return &powers[j % 8][(CRC32C_POWERS_LAST - j) / 8];
}

/*
 * Shifts a register by n < 512 bytes, for the joiner of a reduction.  As it
 * does not pass through the data, a chain of calls waits for this alone.
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
 * Computes sum * x^32 mod P by two crc32 instructions (README.md,
 * "Reduction").  The joiner (its low quadword) is added to the second half of
 * the sum, where it waits for one instruction only.
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
 * Applies Barrett's method to 96 bits, of which the low quadword (the high
 * powers) is replaced by its remainder.
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

/*
 * Computes sum * x^32 mod P for CRC-32.  Two quadwords become one, then
 * Barrett's method follows.
 */
__attribute__((target("sse4.2,pclmul"), always_inline))
static inline uint32_t
reduce_crc32(__m128i sum, __m128i joiner)
{
	const __m128i x95 = _mm_cvtsi32_si128((int) CRC32_X95);
	__m128i		r = _mm_xor_si128(_mm_srli_si128(sum, 8), joiner);

	return barrett_crc32(_mm_xor_si128(r, _mm_clmulepi64_si128(sum, x95, 0x00)));
}

/*
 * CRC-32 of n <= 16 bytes, which stand at the end of one word or of two.  So
 * no multiplier depends on n, and Barrett's method alone is left of a word.
 * Fewer than 4 bytes take a table.
 */
__attribute__((target("sse4.2,pclmul"), always_inline))
static inline uint32_t
crc32_few(uint32_t reg, const unsigned char *p, size_t n)
{
	size_t		bits = 8 * n;
	uint64_t	first;
	uint64_t	last;

	if (n < 4)
		return crc32_slicing8(reg, p, n);
	if (n <= 8)
	{
		last = load_native32(p) |
			(uint64_t) load_native32(p + n - 4) << (bits - 32);
		return barrett_crc32(_mm_cvtsi64_si128((int64_t) ((last ^ reg) << (-bits & 63))));
	}
	/* The register reaches as far into the second word as the first is short. */
	first = (load_native64(p) ^ reg) << (-bits & 63);
	last = load_native64(p + n - 8) ^ (uint64_t) reg >> (bits / 2 - 32) >> (bits / 2 - 32);
	return reduce_crc32(_mm_cvtsi64_si128((int64_t) first),
						_mm_cvtsi64_si128((int64_t) last));
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
 * CRC-32C of len < 32 bytes, len being a constant, so that no branch is left.
 */
__attribute__((target("sse4.2"), always_inline))
static inline uint32_t
crc32c_exactly(uint64_t crc, const unsigned char *p, size_t len)
{
	size_t		words = len & ~(size_t) 7;
	size_t		halves = len & ~(size_t) 3;

	if (len >= 8)
		crc = _mm_crc32_u64(crc, load_native64(p));
	if (len >= 16)
		crc = _mm_crc32_u64(crc, load_native64(p + 8));
	if (len >= 24)
		crc = _mm_crc32_u64(crc, load_native64(p + 16));
	if (len & 4)
		crc = _mm_crc32_u32((uint32_t) crc, load_native32(p + words));
	if (len & 2)
		crc = _mm_crc32_u16((uint32_t) crc, load_native16(p + halves));
	if (len & 1)
		crc = _mm_crc32_u8((uint32_t) crc, p[len - 1]);
	return (uint32_t) crc;
}

/* The header of a WAL record is every second call of its reader. */
#define WAL_HEADER_BYTES 20
#define FEW_BYTES 32

/* CRC-32C of len < FEW_BYTES bytes, by straight code for each length. */
__attribute__((target("sse4.2"), always_inline))
static inline uint32_t
crc32c_few(uint64_t crc, const unsigned char *p, size_t len)
{
#define EXACTLY(n) \
	case (n): \
		return crc32c_exactly(crc, p, n)
#define EXACTLY_8(n) \
		EXACTLY(n); \
		EXACTLY((n) + 1); \
		EXACTLY((n) + 2); \
		EXACTLY((n) + 3); \
		EXACTLY((n) + 4); \
		EXACTLY((n) + 5); \
		EXACTLY((n) + 6); \
		EXACTLY((n) + 7)

	switch (len)
	{
			EXACTLY_8(0);
			EXACTLY_8(8);
			EXACTLY_8(16);
			EXACTLY_8(24);
		default:
			return (uint32_t) crc;
	}
#undef EXACTLY
#undef EXACTLY_8
}

/*
 * CRC-32C of the first len % 8 of len >= 8 bytes, without a branch on their
 * number.  In front of them stand zeros, which leave a register of zero alone.
 * The part of the incoming register that reaches beyond them is added
 * afterwards.
 */
__attribute__((target("sse4.2"), always_inline))
static inline uint64_t
crc32c_odd(uint64_t crc, const unsigned char *p, size_t len)
{
	uint32_t	bits = (uint32_t) len * 8;
	uint64_t	word = (load_native64(p) ^ crc) << 1 << (~bits & 63);

	return _mm_crc32_u64(0, word) ^ (crc >> (bits & 63));
}

/*
 * One step of a chain of crc32 instructions.  Case i takes the i-th last word
 * before end and falls through to i - 1.  It is straight code, entered at the
 * right place by one jump.  A loop would take a branch per word, and
 * mispredict its end.
 */
#define CRC32C_WORD(i) \
	case i: \
		crc = _mm_crc32_u64(crc, load_native64(end - 8 * (i))); \
		__attribute__((fallthrough))
#define CRC32C_7_WORDS(above) \
	CRC32C_WORD((above) + 7); \
	CRC32C_WORD((above) + 6); \
	CRC32C_WORD((above) + 5); \
	CRC32C_WORD((above) + 4); \
	CRC32C_WORD((above) + 3); \
	CRC32C_WORD((above) + 2); \
	CRC32C_WORD((above) + 1)

/* CRC-32C of len < 192 bytes, in one chain of instructions. */
__attribute__((target("sse4.2"), always_inline))
static inline uint32_t
crc32c_instructions(uint32_t reg, const unsigned char *p, size_t len)
{
	const unsigned char *end;
	uint64_t	crc = reg;

	if (len == WAL_HEADER_BYTES)
		return crc32c_exactly(crc, p, WAL_HEADER_BYTES);
	if (len < FEW_BYTES)
		return crc32c_few(crc, p, len);
	crc = crc32c_odd(crc, p, len);
	end = p + len;
	switch (len / 8)
	{
			CRC32C_7_WORDS(16);
			CRC32C_WORD(16);
			CRC32C_7_WORDS(8);
			CRC32C_WORD(8);
			CRC32C_7_WORDS(0);
		default:
			break;
	}
	return (uint32_t) crc;
}

#endif							/* KERNEL_X86_H */
