/* needs: kernel sha1 */
/*
 * test_sha1.c
 *	  SHA-1 of the program, beside the answers of the standard.
 */
#include "unit.h"
#include "program/sha1.h"

static void
digest_of(const uint8_t *data, size_t len, size_t cut, char hex[2 * SHA1_BYTES + 1])
{
	uint8_t		digest[SHA1_BYTES];
	Sha1		sha1;

	sha1_begin(&sha1);
	sha1_add(&sha1, data, cut);
	sha1_add(&sha1, data + cut, len - cut);
	sha1_end(&sha1, digest);
	for (int i = 0; i < SHA1_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void
test_answers(void)
{
	static const struct
	{
		const char *data;
		const char *digest;
	}			answers[] = {
		{"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
		{"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
	};
	char		hex[2 * SHA1_BYTES + 1];

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
	{
		digest_of((const uint8_t *) answers[i].data, strlen(answers[i].data), 0, hex);
		check(strcmp(hex, answers[i].digest) == 0, "answer %zu is %s", i, hex);
	}
}

/* A million times "a", in all ways to begin it. */
static void
test_cuts(void)
{
	static uint8_t data[1000000];
	char		hex[2 * SHA1_BYTES + 1];

	memset(data, 'a', sizeof(data));
	for (size_t cut = 0; cut <= 3 * SHA1_BLOCK; cut++)
	{
		digest_of(data, sizeof(data), cut, hex);
		check(strcmp(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f") == 0,
			  "cut at %zu: %s", cut, hex);
	}
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t) (i * 7 + i / 256);
	for (size_t len = 0; len <= 3 * SHA1_BLOCK; len++)
	{
		char		whole[2 * SHA1_BYTES + 1];

		digest_of(data, len, 0, whole);
		for (size_t cut = 0; cut <= len; cut++)
		{
			digest_of(data, len, cut, hex);
			check(strcmp(hex, whole) == 0, "%zu bytes cut at %zu", len, cut);
		}
	}
}

int
main(int argc, char **argv)
{
	unit_begin("sha1", argc, argv);
	test_answers();
	test_cuts();
	return unit_finish();
}
