/*
 * oracle.h
 *	  The right answers, from the definitions and nothing else.
 *
 * Shares no code and no constants with src/kernel, save the polynomials' and
 * the page format's published values.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include "kernel/checksum.h"

static inline uint32_t
oracle_poly(ChecksumAlgorithm algorithm)
{
	/* RFC 3720, appendix B.4; RFC 1952, section 8; bit-reversed */
	return algorithm == CHECKSUM_crc32c ? 0x82F63B78u : 0xEDB88320u;
}

/* One byte through the register, bit by bit. */
static inline uint32_t
oracle_byte(ChecksumAlgorithm algorithm, uint32_t reg, unsigned char byte)
{
	uint32_t	poly = oracle_poly(algorithm);

	reg ^= byte;
	for (int bit = 0; bit < 8; bit++)
		reg = reg & 1 ? (reg >> 1) ^ poly : reg >> 1;
	return reg;
}

static inline uint32_t
oracle_crc(ChecksumAlgorithm algorithm, uint32_t reg,
		   const unsigned char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		reg = oracle_byte(algorithm, reg, data[i]);
	return reg;
}

/* prefix[n]: the register after the first n bytes, 0 <= n <= len. */
static inline void
oracle_prefixes(ChecksumAlgorithm algorithm, uint32_t reg,
				const unsigned char *data, size_t len, uint32_t *prefix)
{
	prefix[0] = reg;
	for (size_t i = 0; i < len; i++)
		prefix[i + 1] = reg = oracle_byte(algorithm, reg, data[i]);
}

/*
 * suffix[n]: the register after the last n bytes.  A CRC is linear: prepending
 * a byte adds, for each of its bits, what that bit and n zero bytes give, and
 * the incoming register moves on by one zero byte.
 */
static inline void
oracle_suffixes(ChecksumAlgorithm algorithm, uint32_t reg,
				const unsigned char *data, size_t len, uint32_t *suffix)
{
	uint32_t	bits[8];
	uint32_t	sum = 0;		/* of the suffix with a zero register */

	for (int b = 0; b < 8; b++)
		bits[b] = oracle_byte(algorithm, 0, (unsigned char) (1 << b));
	suffix[0] = reg;
	for (size_t n = 1; n <= len; n++)
	{
		unsigned char byte = data[len - n];

		for (int b = 0; b < 8; b++)
		{
			if ((byte >> b) & 1)
				sum ^= bits[b];
			bits[b] = oracle_byte(algorithm, bits[b], 0);
		}
		reg = oracle_byte(algorithm, reg, 0);
		suffix[n] = sum ^ reg;
	}
}

/*
 * The page checksum before the block number is mixed in: PostgreSQL's
 * description of the format (README of storage/page), lane by lane.  Words are
 * native, the two bytes at offset 8 count as zero.
 */
static inline uint32_t
oracle_page_fold(const unsigned char *page, size_t page_size)
{
	static const uint32_t start[32] = {
		0x5B1F36E9, 0xB8525960, 0x02AB50AA, 0x1DE66D2A,
		0x79FF467A, 0x9BB9F8A3, 0x217E7CD2, 0x83E13D2C,
		0xF8D4474F, 0xE39EB970, 0x42C6AE16, 0x993216FA,
		0x7B093B5D, 0x98DAFF3C, 0xF718902A, 0x0B1C9CDB,
		0xE58F764B, 0x187636BC, 0x5D7B3BB1, 0xE73DE7DE,
		0x92BEC979, 0xCCA6C0B2, 0x304A0979, 0x85AA43D4,
		0x783125BB, 0x6CA8EAA2, 0xE407EAC6, 0x4B5CFC3E,
		0x9FBF8C76, 0x15CA20BE, 0xF2CA9FD3, 0x959BD756
	};
	uint32_t	folded = 0;

	for (size_t lane = 0; lane < 32; lane++)
	{
		uint32_t	sum = start[lane];

		for (size_t at = 4 * lane; at < page_size + 2 * 128; at += 128)
		{
			unsigned char word[4] = {0, 0, 0, 0};
			uint32_t	value;

			for (size_t i = 0; i < 4 && at < page_size; i++)
				if (at + i != 8 && at + i != 9)
					word[i] = page[at + i];
			__builtin_memcpy(&value, word, 4);
			value ^= sum;
			sum = (value * 16777619u) ^ (value >> 17);
		}
		folded ^= sum;
	}
	return folded;
}

static inline uint16_t
oracle_page_sum(uint32_t folded, uint32_t blkno)
{
	return (uint16_t) (1 + (folded ^ blkno) % 65535);
}

#endif							/* ORACLE_H */
