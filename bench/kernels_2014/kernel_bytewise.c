/*
 * kernel_bytewise.c
 *	  CRC-32C by one table look-up per byte: what servers did up to 9.4.
 *
 * For bench/wal.sh only, which builds it into its copy of the extension.
 *
 * Algorithm: D. V. Sarwate, "Computation of Cyclic Redundancy Checks via Table
 * Look-Up", Communications of the ACM 31 (1988).
 */
#define WANT_CRC32C_SLICING
#include "kernel.h"
#include "constants.auto.h"

uint32_t
crc32c_bytewise(uint32_t reg, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (; len > 0; len--, p++)
		reg = crc32c_slicing[0][(reg ^ *p) & 0xFF] ^ (reg >> 8);
	return reg;
}
