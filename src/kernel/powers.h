/*
 * powers.h
 *	  Tables of powers of x mod P, reflected, of which x^(8j-33) is the
 *	  multiplier for a distance of j bytes (README.md, "Multipliers").
 */
#ifndef POWERS_H
#define POWERS_H

#include <stdint.h>

#pragma GCC visibility push(hidden) /* see checksum.h */

/*
 * [r][i] is that for j = 504 + r - 8 i, so consecutive ones are 8 bytes apart.
 */
extern const uint32_t crc32c_powers[8][72];
extern const uint32_t crc32_powers[8][72];

/* [i] is that for j = 256 i. */
extern const uint32_t crc32c_block_powers[256];
extern const uint32_t crc32_block_powers[256];

/* [i] is that for j = 504 - 8 i. */
#define STRAIGHT_END 64
extern const uint64_t crc32c_straight_powers[STRAIGHT_END];
extern const uint64_t crc32_straight_powers[STRAIGHT_END];

/* [n] is that for j = n - 8, to move a register up by n bytes. */
extern const uint32_t crc32c_near_powers[320];

/*
 * x^(8 d) for the digits d of a length, which are bits 0 to 10, 11 to 21, 22
 * to 31, one after the other.  The first are divided by what combine_x86.c
 * multiplies in.
 */
extern const uint32_t crc32c_digit_powers[2048 + 2048 + 1024];
extern const uint32_t crc32_digit_powers[2048 + 2048 + 1024];

/* The entry of digit i (0 to 2) of a length. */
static inline uint32_t
digit_power(const uint32_t *digit_powers, uint32_t len, int i)
{
	return digit_powers[2048 * i + (len >> 11 * i & 2047)];
}

/*
 * A number of bytes modulo 2^order_bits - 1, or that modulus added to it where
 * the sum has 32 bits.
 */
static inline uint32_t
combine_exponent(uint64_t n, int order_bits)
{
	uint64_t	mask = (UINT64_C(1) << order_bits) - 1;

	n = (n & mask) + (n >> order_bits);
	n = (n & mask) + (n >> order_bits);
	return (uint32_t) n;
}

/*
 * 64 bytes 0x00, 64 bytes 0xFF, 64 bytes 0x00.  A load slid over them makes a
 * mask.
 */
extern const unsigned char kernel_bytes_mask[192];

/*
 * 0 to 127.  A vector of 64 from n on moves the first n bytes of 64 to the
 * end.
 */
extern const unsigned char kernel_byte_places[128];

#pragma GCC visibility pop

#endif							/* POWERS_H */
