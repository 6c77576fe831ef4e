/*
 * combine.c
 *	  The CRC of a concatenation from the CRCs of its parts.
 *
 * crc(a||b) = crc(a) * x^(8 len(b)) + crc(b) mod P.  The power is a product of
 * three table entries, one for each digit to base 2048 of the length, whatever
 * the length.  As x^m = 1 for the order m of x, the length counts modulo m
 * only.  This m is 2^31 - 1 for CRC-32C and 2^32 - 1 for CRC-32 (README.md,
 * "Combining").
 */
#include "kernel.h"
#include "powers.h"
#include "constants.auto.h"

typedef uint32_t (*CombineFn) (uint32_t crc1, uint32_t crc2, uint64_t len2);

static CombineFn crc32c_combine = crc32c_combine_portable;
static CombineFn crc32_combine = crc32_combine_portable;

uint32_t
checksum_crc32c_combine(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	return crc32c_combine(crc1, crc2, len2);
}

uint32_t
checksum_crc32_combine(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	return crc32_combine(crc1, crc2, len2);
}

/*
 * Takes carry-less multiplications only where they agree with the portable
 * form.
 */
void
combine_init(uint32_t features)
{
	crc32c_combine = crc32c_combine_portable;
	crc32_combine = crc32_combine_portable;
#if defined(__x86_64__)
	if ((~features & (CHECKSUM_FEATURE_sse42 | CHECKSUM_FEATURE_pclmul)) != 0)
		return;
	for (uint64_t len = 1; len != 0; len <<= 1)
		if (crc32c_combine_pclmul(~0u, 1, len - 1) !=
			crc32c_combine_portable(~0u, 1, len - 1) ||
			crc32_combine_pclmul(~0u, 1, len - 1) !=
			crc32_combine_portable(~0u, 1, len - 1))
			return;
	crc32c_combine = crc32c_combine_pclmul;
	crc32_combine = crc32_combine_pclmul;
#else
	(void) features;
#endif
}

/*
 * Computes a * b mod P, both reflected, by Horner's scheme over the bits of a.
 */
static uint32_t
multiply(uint32_t a, uint32_t b, uint32_t poly)
{
	uint32_t	product = 0;

	for (int bit = 0; bit < 32; bit++)
	{
		product ^= b & (0u - (a >> 31));
		a <<= 1;
		b = (b >> 1) ^ (poly & (0u - (b & 1)));
	}
	return product;
}

static uint32_t
combine(uint32_t crc1, uint32_t crc2, uint32_t len2,
		const uint32_t *digit_powers, uint32_t surplus, uint32_t poly)
{
	crc1 = multiply(crc1, surplus, poly);
	for (int i = 0; i < 3; i++)
		crc1 = multiply(crc1, digit_power(digit_powers, len2, i), poly);
	return crc1 ^ crc2;
}

uint32_t
crc32c_combine_portable(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	return combine(crc1, crc2, combine_exponent(len2, CRC32C_ORDER_BITS),
				   crc32c_digit_powers, CRC32C_SURPLUS, CRC32C_POLY_REFLECTED);
}

uint32_t
crc32_combine_portable(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	return combine(crc1, crc2, combine_exponent(len2, CRC32_ORDER_BITS),
				   crc32_digit_powers, CRC32_SURPLUS, CRC32_POLY_REFLECTED);
}
