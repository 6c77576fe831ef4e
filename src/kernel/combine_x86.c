/*
 * combine_x86.c
 *	  The CRC of a concatenation, by carry-less multiplications.
 *
 * See README.md, "Combining".
 */
#include "kernel.h"

#if defined(__x86_64__)
#include "kernel_x86.h"

#define TARGET __attribute__((target("sse4.2,pclmul")))
#define INLINE TARGET inline __attribute__((always_inline))

static INLINE __m128i
product(uint32_t a, uint32_t b)
{
	return _mm_clmulepi64_si128(_mm_cvtsi32_si128((int) a),
								_mm_cvtsi32_si128((int) b), 0);
}

/* 95 bits, short of x^2 at the end of a quadword and a half */
static INLINE __m128i
power(const uint32_t *digit_powers, uint32_t n)
{
	__m128i		last = _mm_cvtsi32_si128((int) digit_power(digit_powers, n, 2));

	return _mm_clmulepi64_si128(product(digit_power(digit_powers, n, 0),
										digit_power(digit_powers, n, 1)),
								last, 0);
}

TARGET uint32_t
crc32c_combine_pclmul(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	uint32_t	n = combine_exponent(len2, CRC32C_ORDER_BITS);
	__m128i		zero = _mm_setzero_si128();
	uint32_t	shift = reduce_crc32c(power(crc32c_digit_powers, n), zero);
	__m128i		crc = product(crc1, shift);

	return (uint32_t) _mm_crc32_u64(0, (uint64_t) _mm_cvtsi128_si64(crc)) ^ crc2;
}

/*
 * The first 32 of 96 bits become a multiple of x^63 in the 64 after them.  The
 * quotient by P of what these 64 are worth is known before crc1 is.  So
 * Barrett's method has one multiplication less to wait for.
 */
TARGET uint32_t
crc32_combine_pclmul(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	const __m128i k = _mm_set_epi64x((int64_t) CRC32_P,
									 (int64_t) CRC32_X96_DIV_P);
	const __m128i x63 = _mm_cvtsi32_si128((int) CRC32_X63);
	__m128i		crc = _mm_cvtsi32_si128((int) crc1);
	uint32_t	n = combine_exponent(len2, CRC32_ORDER_BITS);
	__m128i		shift = power(crc32_digit_powers, n);
	__m128i		first = _mm_slli_epi64(shift, 32);
	__m128i		quotient;

	shift = _mm_xor_si128(shift, _mm_clmulepi64_si128(first, x63, 0));
	shift = _mm_srli_si128(shift, 4);
	quotient = _mm_clmulepi64_si128(shift, k, 0);
	shift = _mm_clmulepi64_si128(crc, shift, 0);
	quotient = _mm_clmulepi64_si128(crc, quotient, 0);
	shift = _mm_xor_si128(shift, _mm_clmulepi64_si128(quotient, k, 0x10));
	return (uint32_t) _mm_extract_epi32(shift, 2) ^ crc2;
}
#endif
