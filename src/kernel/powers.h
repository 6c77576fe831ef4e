/*
 * powers.h
 *	  Tables of the multipliers x^(8j-33) mod P, reflected (README.md,
 *	  "Multipliers").
 */
#ifndef POWERS_H
#define POWERS_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* [r][i] is that for j = 504 + r - 8 i: consecutive ones are 8 bytes apart. */
extern const uint32_t crc32c_powers[8][72];
extern const uint32_t crc32_powers[8][72];

/* [i] is that for j = 256 i. */
extern const uint32_t crc32c_block_powers[256];
extern const uint32_t crc32_block_powers[256];

/* [i] is that for j = 248 - 8 i, and from i = 32 on zero. */
extern const uint64_t crc32c_straight_powers[64];
extern const uint64_t crc32_straight_powers[64];

/* 32 bytes 0x00, 32 bytes 0xFF, 32 bytes 0x00: slide a load to make a mask. */
extern const unsigned char kernel_bytes_mask[96];

#pragma GCC visibility pop

#endif							/* POWERS_H */
