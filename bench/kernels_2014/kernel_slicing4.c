/*
 * kernel_slicing4.c
 *	  CRC-32C by four table look-ups for four bytes.
 *
 * For bench/wal.sh only, which builds it into its copy of the extension.
 *
 * Algorithm: M. E. Kounavis and F. L. Berry, "A Systematic Approach to Building
 * High Performance Software-Based CRC Generators" (ISCC 2005), section 4.
 */
#define WANT_CRC32C_SLICING
#include "kernel.h"
#include "constants.auto.h"

uint32_t
crc32c_slicing4(uint32_t reg, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (; len >= 4; len -= 4, p += 4)
	{
		uint32_t	word = load_le32(p) ^ reg;

		reg = crc32c_slicing[3][word & 0xFF] ^
			crc32c_slicing[2][(word >> 8) & 0xFF] ^
			crc32c_slicing[1][(word >> 16) & 0xFF] ^
			crc32c_slicing[0][word >> 24];
	}
	for (; len > 0; len--, p++)
		reg = crc32c_slicing[0][(reg ^ *p) & 0xFF] ^ (reg >> 8);
	return reg;
}
