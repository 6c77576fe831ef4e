/* needs: kernel sha2 */
/*
 * test_sha2.c
 *	  SHA-2 of the program, beside the answers of the standard.
 */
#include "unit.h"
#include "program/sha2.h"

#define TWO_BLOCKS_32 \
	"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
#define TWO_BLOCKS_64 \
	"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"

static const uint32_t algorithms[] = {28, 32, 48, 64};

#define ALGORITHMS	(sizeof(algorithms) / sizeof(algorithms[0]))

static void
digest_of(uint32_t bytes, const uint8_t *data, size_t len, size_t cut,
		  char hex[2 * SHA2_BYTES_MAX + 1])
{
	uint8_t		digest[SHA2_BYTES_MAX];
	Sha2		sha2;

	sha2_begin(&sha2, bytes);
	sha2_add(&sha2, data, cut);
	sha2_add(&sha2, data + cut, len - cut);
	sha2_end(&sha2, digest);
	for (uint32_t i = 0; i < bytes; i++)
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
		{"", "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f"},
		{"abc", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"},
		{TWO_BLOCKS_32, "75388b16512776cc5dba5da1fd890150b0c6455cb4f58b1952522525"},
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{TWO_BLOCKS_32, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"", "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b"},
		{"abc", "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"},
		{TWO_BLOCKS_64, "09330c33f71147e83d192fc782cd1b4753111b173b3b05d22fa08086e3b0f712fcc7c71a557e2db966c3e9fa91746039"},
		{"", "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"},
		{"abc", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
		{TWO_BLOCKS_64, "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909"},
	};
	char		hex[2 * SHA2_BYTES_MAX + 1];

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
	{
		const char *data = answers[i].data;

		digest_of((uint32_t) strlen(answers[i].digest) / 2,
				  (const uint8_t *) data, strlen(data), 0, hex);
		check(strcmp(hex, answers[i].digest) == 0, "answer %zu is %s", i, hex);
	}
}

/* A million times "a". */
static void
test_million(void)
{
	static const char *const answers[ALGORITHMS] = {
		"20794655980c91d8bbb4c1ea97618a4bf03f42581948b2ee4ee7ad67",
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
		"9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b07b8b3dc38ecc4ebae97ddd87f3d8985",
		"e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
	};
	static uint8_t data[1000000];
	char		hex[2 * SHA2_BYTES_MAX + 1];

	memset(data, 'a', sizeof(data));
	for (size_t i = 0; i < ALGORITHMS; i++)
	{
		digest_of(algorithms[i], data, sizeof(data), 1, hex);
		check(strcmp(hex, answers[i]) == 0, "%u bytes: %s", algorithms[i], hex);
	}
}

/* The same bytes in two pieces, in all ways to cut them. */
static void
test_cuts(uint32_t bytes)
{
	uint8_t		data[3 * SHA2_BLOCK_MAX];
	char		whole[2 * SHA2_BYTES_MAX + 1];
	char		hex[2 * SHA2_BYTES_MAX + 1];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t) (i * 7 + i / 256);
	for (size_t len = 0; len <= sizeof(data); len++)
	{
		digest_of(bytes, data, len, 0, whole);
		for (size_t cut = 0; cut <= len; cut++)
		{
			digest_of(bytes, data, len, cut, hex);
			check(strcmp(hex, whole) == 0, "%u: %zu bytes cut at %zu", bytes, len, cut);
		}
	}
}

int
main(int argc, char **argv)
{
	unit_begin("sha2", argc, argv);
	test_answers();
	test_million();
	for (size_t i = 0; i < ALGORITHMS; i++)
		test_cuts(algorithms[i]);
	return unit_finish();
}
