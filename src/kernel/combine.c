/*
 * combine.c
 *	  The CRC of a concatenation from the CRCs of its parts.
 *
 * crc(a||b) = crc(a) * x^(8 len(b)) + crc(b) mod P (README.md, "Combining").
 */
#include "kernel.h"
#include "constants.auto.h"

/* a * b mod P, both reflected: Horner's scheme over the bits of a. */
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
combine(uint32_t crc1, uint32_t crc2, uint64_t len2, uint32_t poly)
{
	uint32_t	square = UINT32_C(1) << 23; /* x^8, reflected */

	for (; len2 > 0; len2 >>= 1)
	{
		if (len2 & 1)
			crc1 = multiply(crc1, square, poly);
		square = multiply(square, square, poly);
	}
	return crc1 ^ crc2;
}

uint32_t
checksum_crc32c_combine(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	return combine(crc1, crc2, len2, CRC32C_POLY_REFLECTED);
}

uint32_t
checksum_crc32_combine(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	return combine(crc1, crc2, len2, CRC32_POLY_REFLECTED);
}
