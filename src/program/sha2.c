/*
 * sha2.c
 *	  SHA-224, SHA-256, SHA-384 and SHA-512 (FIPS 180-4), of backup manifests.
 *
 * The algorithms with words of 32 bits and those of 64 bits have the same steps,
 * with other rotations and numbers of rounds.  gen_sha2.py derives the
 * constants.  test/unit/test_sha2.c compares them with the standard's answers,
 * and with themselves over all ways to cut the same bytes.
 */
#include <string.h>

#include "program/sha2.auto.h"
#include "program/sha2.h"

#define ROUNDS_32	64
#define ROUNDS_64	80

static uint32_t
rotate32(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static uint64_t
rotate64(uint64_t x, int n)
{
	return x >> n | x << (64 - n);
}

static uint32_t
load_big32(const uint8_t *p)
{
	return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

static void
store_big(uint8_t *p, uint64_t x, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t) (x >> (8 * (bytes - 1 - i)));
}

/* ---- words of 32 bits ---- */

/*
 * Round n of eight.  The names of the words move on by one in each, so that a is
 * where h was.
 */
static inline void
round32(uint32_t v[8], int n, uint32_t word)
{
	uint32_t	a = v[-n & 7];
	uint32_t	b = v[(1 - n) & 7];
	uint32_t	c = v[(2 - n) & 7];
	uint32_t	e = v[(4 - n) & 7];
	uint32_t	choice = (e & v[(5 - n) & 7]) ^ (~e & v[(6 - n) & 7]);
	uint32_t	sum = v[(7 - n) & 7] + word + choice +
		(rotate32(e, 6) ^ rotate32(e, 11) ^ rotate32(e, 25));

	v[(3 - n) & 7] += sum;
	v[(7 - n) & 7] = sum + ((a & b) ^ (a & c) ^ (b & c)) +
		(rotate32(a, 2) ^ rotate32(a, 13) ^ rotate32(a, 22));
}

static void
add_block32(uint64_t state[8], const uint8_t *block)
{
	uint32_t	w[ROUNDS_32];
	uint32_t	v[8];

	for (int t = 0; t < 16; t++)
		w[t] = load_big32(block + 4 * t);
	for (int t = 16; t < ROUNDS_32; t++)
	{
		uint32_t	x = w[t - 2];
		uint32_t	y = w[t - 15];

		w[t] = (rotate32(x, 17) ^ rotate32(x, 19) ^ x >> 10) + w[t - 7] +
			(rotate32(y, 7) ^ rotate32(y, 18) ^ y >> 3) + w[t - 16];
	}
	for (int i = 0; i < 8; i++)
		v[i] = (uint32_t) state[i];
	for (int t = 0; t < ROUNDS_32; t++)
		w[t] += (uint32_t) (sha2_rounds[t] >> 32);
	for (int t = 0; t < ROUNDS_32; t += 8)
	{
		round32(v, 0, w[t]);
		round32(v, 1, w[t + 1]);
		round32(v, 2, w[t + 2]);
		round32(v, 3, w[t + 3]);
		round32(v, 4, w[t + 4]);
		round32(v, 5, w[t + 5]);
		round32(v, 6, w[t + 6]);
		round32(v, 7, w[t + 7]);
	}
	for (int i = 0; i < 8; i++)
		state[i] = (uint32_t) state[i] + v[i];
}

/* ---- words of 64 bits ---- */

static inline void
round64(uint64_t v[8], int n, uint64_t word)
{
	uint64_t	a = v[-n & 7];
	uint64_t	b = v[(1 - n) & 7];
	uint64_t	c = v[(2 - n) & 7];
	uint64_t	e = v[(4 - n) & 7];
	uint64_t	choice = (e & v[(5 - n) & 7]) ^ (~e & v[(6 - n) & 7]);
	uint64_t	sum = v[(7 - n) & 7] + word + choice +
		(rotate64(e, 14) ^ rotate64(e, 18) ^ rotate64(e, 41));

	v[(3 - n) & 7] += sum;
	v[(7 - n) & 7] = sum + ((a & b) ^ (a & c) ^ (b & c)) +
		(rotate64(a, 28) ^ rotate64(a, 34) ^ rotate64(a, 39));
}

static void
add_block64(uint64_t state[8], const uint8_t *block)
{
	uint64_t	w[ROUNDS_64];
	uint64_t	v[8];

	for (int t = 0; t < 16; t++)
		w[t] = (uint64_t) load_big32(block + 8 * t) << 32 | load_big32(block + 8 * t + 4);
	for (int t = 16; t < ROUNDS_64; t++)
	{
		uint64_t	x = w[t - 2];
		uint64_t	y = w[t - 15];

		w[t] = (rotate64(x, 19) ^ rotate64(x, 61) ^ x >> 6) + w[t - 7] +
			(rotate64(y, 1) ^ rotate64(y, 8) ^ y >> 7) + w[t - 16];
	}
	memcpy(v, state, sizeof(v));
	for (int t = 0; t < ROUNDS_64; t++)
		w[t] += sha2_rounds[t];
	for (int t = 0; t < ROUNDS_64; t += 8)
	{
		round64(v, 0, w[t]);
		round64(v, 1, w[t + 1]);
		round64(v, 2, w[t + 2]);
		round64(v, 3, w[t + 3]);
		round64(v, 4, w[t + 4]);
		round64(v, 5, w[t + 5]);
		round64(v, 6, w[t + 6]);
		round64(v, 7, w[t + 7]);
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

/* ---- bytes ---- */

static size_t
block_bytes(const Sha2 *sha2)
{
	return sha2->wide ? SHA2_BLOCK_MAX : SHA2_BLOCK_MAX / 2;
}

static void
add_block(Sha2 *sha2, const uint8_t *block)
{
	if (sha2->wide)
		add_block64(sha2->state, block);
	else
		add_block32(sha2->state, block);
}

/*
 * SHA-512 and SHA-256 begin with the roots of the first eight primes, SHA-384
 * and SHA-224 with those of the next eight.  The last takes their second halves.
 */
void
sha2_begin(Sha2 *sha2, uint32_t bytes)
{
	const uint64_t *initial = sha2_initial + (bytes == 28 || bytes == 48 ? 8 : 0);

	sha2->bytes = bytes;
	sha2->wide = bytes > 32;
	sha2->len = 0;
	for (int i = 0; i < 8; i++)
		sha2->state[i] = bytes == 28 ? (uint32_t) initial[i] :
			bytes == 32 ? initial[i] >> 32 : initial[i];
}

void
sha2_add(Sha2 *sha2, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t		block = block_bytes(sha2);
	size_t		held = (size_t) (sha2->len % block);

	sha2->len += len;
	if (held + len < block)
	{
		if (len > 0)
			memcpy(sha2->block + held, p, len);
		return;
	}
	if (held > 0)
	{
		memcpy(sha2->block + held, p, block - held);
		add_block(sha2, sha2->block);
		p += block - held;
		len -= block - held;
	}
	for (; len >= block; p += block, len -= block)
		add_block(sha2, p);
	memcpy(sha2->block, p, len);
}

/*
 * One bit of 1 follows, then zeros, then the number of bits in two words.  It
 * has 64 bits here, so that the first word of 64 is zero.
 */
void
sha2_end(Sha2 *sha2, uint8_t *digest)
{
	static const uint8_t padding[SHA2_BLOCK_MAX] = {0x80};
	uint64_t	bits = sha2->len * 8;
	size_t		block = block_bytes(sha2);
	size_t		end = block - (sha2->wide ? 16 : 8);
	size_t		held = (size_t) (sha2->len % block);
	uint8_t		count[16] = {0};
	int			word = sha2->wide ? 8 : 4;
	uint8_t		words[SHA2_BYTES_MAX];

	store_big(count + 8, bits, 8);
	sha2_add(sha2, padding, (held < end ? end : end + block) - held);
	sha2_add(sha2, sha2->wide ? count : count + 8, sha2->wide ? 16 : 8);
	for (int i = 0; i < 8; i++)
		store_big(words + i * word, sha2->state[i], word);
	memcpy(digest, words, sha2->bytes);
}
