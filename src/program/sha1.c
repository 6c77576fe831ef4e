/*
 * sha1.c
 *	  SHA-1 (FIPS 180-4), by which pgBackRest names segments.
 *
 * test/unit/test_sha1.c compares it with the standard's answers, and with itself
 * over all ways to cut the same bytes.
 */
#include <string.h>

#include "program/sha1.h"

static uint32_t
rotate(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

static uint32_t
load_big32(const uint8_t *p)
{
	return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

static void
store_big32(uint8_t *p, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t) (x >> (24 - 8 * i));
}

/* The function and the constant of a round are those of its quarter. */
static uint32_t
mix(int t, uint32_t b, uint32_t c, uint32_t d)
{
	switch (t / 20)
	{
		case 0:
			return ((b & c) | (~b & d)) + UINT32_C(0x5A827999);
		case 1:
			return (b ^ c ^ d) + UINT32_C(0x6ED9EBA1);
		case 2:
			return ((b & c) | (b & d) | (c & d)) + UINT32_C(0x8F1BBCDC);
		default:
			return (b ^ c ^ d) + UINT32_C(0xCA62C1D6);
	}
}

static void
add_block(uint32_t state[5], const uint8_t *block)
{
	uint32_t	w[80];
	uint32_t	v[5];

	for (int t = 0; t < 16; t++)
		w[t] = load_big32(block + 4 * t);
	for (int t = 16; t < 80; t++)
		w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
	memcpy(v, state, sizeof(v));
	for (int t = 0; t < 80; t++)
	{
		uint32_t	next = rotate(v[0], 5) + mix(t, v[1], v[2], v[3]) + v[4] + w[t];

		v[4] = v[3];
		v[3] = v[2];
		v[2] = rotate(v[1], 30);
		v[1] = v[0];
		v[0] = next;
	}
	for (int i = 0; i < 5; i++)
		state[i] += v[i];
}

void
sha1_begin(Sha1 *sha1)
{
	static const uint32_t initial[5] = {
		0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0
	};

	memcpy(sha1->state, initial, sizeof(initial));
	sha1->len = 0;
}

void
sha1_add(Sha1 *sha1, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t		held = (size_t) (sha1->len % SHA1_BLOCK);

	sha1->len += len;
	if (held + len < SHA1_BLOCK)
	{
		if (len > 0)
			memcpy(sha1->block + held, p, len);
		return;
	}
	if (held > 0)
	{
		memcpy(sha1->block + held, p, SHA1_BLOCK - held);
		add_block(sha1->state, sha1->block);
		p += SHA1_BLOCK - held;
		len -= SHA1_BLOCK - held;
	}
	for (; len >= SHA1_BLOCK; p += SHA1_BLOCK, len -= SHA1_BLOCK)
		add_block(sha1->state, p);
	memcpy(sha1->block, p, len);
}

/* One bit of 1 follows, then zeros, then the number of bits. */
void
sha1_end(Sha1 *sha1, uint8_t digest[SHA1_BYTES])
{
	static const uint8_t padding[SHA1_BLOCK] = {0x80};
	uint64_t	bits = sha1->len * 8;
	size_t		held = (size_t) (sha1->len % SHA1_BLOCK);
	uint8_t		count[8];

	store_big32(count, (uint32_t) (bits >> 32));
	store_big32(count + 4, (uint32_t) bits);
	sha1_add(sha1, padding, (held < 56 ? 56 : 56 + SHA1_BLOCK) - held);
	sha1_add(sha1, count, sizeof(count));
	for (int i = 0; i < 5; i++)
		store_big32(digest + 4 * i, sha1->state[i]);
}
