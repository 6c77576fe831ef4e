/*
 * combine_x86.c
 *	  The CRC of a concatenation, by carry-less products.
 *
 * README.md, "Combining".  Only the last product and reduction wait for crc1.
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

static INLINE __m128i
power(const uint32_t digit_powers[4][256], uint32_t n)
{
	return _mm_clmulepi64_si128(product(digit_powers[0][n & 0xFF],
										digit_powers[1][n >> 8 & 0xFF]),
								product(digit_powers[2][n >> 16 & 0xFF],
										digit_powers[3][n >> 24]), 0);
}

TARGET uint32_t
crc32c_combine_pclmul(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	uint32_t	n = combine_exponent(len2, CRC32C_ORDER_BITS);
	__m128i		zero = _mm_setzero_si128();
	uint32_t	shift = reduce_crc32c(power(crc32c_digit_powers, n), zero);

	return (uint32_t) _mm_crc32_u64(0, (uint64_t) _mm_cvtsi128_si64(product(crc1,
																			shift))) ^
		crc2;
}

TARGET uint32_t
crc32_combine_pclmul(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	uint32_t	n = combine_exponent(len2, CRC32_ORDER_BITS);
	__m128i		zero = _mm_setzero_si128();
	uint32_t	shift = reduce_crc32(power(crc32_digit_powers, n), zero);

	return barrett_crc32(product(crc1, shift)) ^ crc2;
}
#endif
