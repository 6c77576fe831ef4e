/*
 * kernel_slicing8.c
 *	  CRCs by eight table look-ups for eight bytes, for any machine and byte
 *	  order.
 *
 * The algorithm is that of M. E. Kounavis and F. L. Berry, "A Systematic
 * Approach to Building High Performance Software-Based CRC Generators" (ISCC
 * 2005), section 4.
 */
#define WANT_CRC32C_SLICING
#define WANT_CRC32_SLICING
#include "kernel.h"
#include "constants.auto.h"

static inline uint32_t
slice(uint32_t reg, const void *data, size_t len, const uint32_t t[8][256])
{
	const unsigned char *p = data;

	for (; len >= 8; len -= 8, p += 8)
	{
		uint32_t	lo = load_le32(p) ^ reg;
		uint32_t	hi = load_le32(p + 4);

		reg = t[7][lo & 0xFF] ^ t[6][(lo >> 8) & 0xFF] ^
			t[5][(lo >> 16) & 0xFF] ^ t[4][lo >> 24] ^
			t[3][hi & 0xFF] ^ t[2][(hi >> 8) & 0xFF] ^
			t[1][(hi >> 16) & 0xFF] ^ t[0][hi >> 24];
	}
	for (; len > 0; len--, p++)
		reg = t[0][(reg ^ *p) & 0xFF] ^ (reg >> 8);
	return reg;
}

uint32_t
crc32c_slicing8(uint32_t reg, const void *data, size_t len)
{
	return slice(reg, data, len, crc32c_slicing);
}

uint32_t
crc32_slicing8(uint32_t reg, const void *data, size_t len)
{
	return slice(reg, data, len, crc32_slicing);
}
