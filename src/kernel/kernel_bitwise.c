/*
 * kernel_bitwise.c
 *	  CRCs by their definition, the division of polynomials, one bit at a time.
 *
 * Every other kernel is compared with it.  It is never selected automatically.
 */
#include "kernel.h"
#include "constants.auto.h"

static inline uint32_t
divide(uint32_t reg, const void *data, size_t len, uint32_t poly)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
	{
		reg ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			reg = (reg >> 1) ^ (reg & 1 ? poly : 0);
	}
	return reg;
}

uint32_t
crc32c_bitwise(uint32_t reg, const void *data, size_t len)
{
	return divide(reg, data, len, CRC32C_POLY_REFLECTED);
}

uint32_t
crc32_bitwise(uint32_t reg, const void *data, size_t len)
{
	return divide(reg, data, len, CRC32_POLY_REFLECTED);
}
