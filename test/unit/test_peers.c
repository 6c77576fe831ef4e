/* needs: kernel native */
/*
 * test_peers.c
 *	  The CRC kernels against libraries that are packaged: zlib, ISA-L, libdeflate.
 *
 * Loaded at run time, so nothing has to be installed; what is not there is
 * printed as skipped.
 */
#include <dlfcn.h>

#include "rows.h"

#define LONGEST		(64 * 1024)

/* crc32(crc, data, len) of zlib 1.2 and later; finished values */
typedef unsigned long (*ZlibFn) (unsigned long, const unsigned char *,
								 unsigned int);

/* crc32_iscsi(data, len, init) of ISA-L: raw registers */
typedef unsigned int (*IsalFn) (unsigned char *, int, unsigned int);

/* libdeflate_crc32(crc, data, len): finished values */
typedef uint32_t (*DeflateFn) (uint32_t, const void *, size_t);

typedef struct Peer
{
	const char *library;
	const char *function;
	ChecksumAlgorithm algorithm;
	uint32_t	(*call) (void *symbol, uint32_t crc, unsigned char *data,
						 size_t len);
} Peer;

static unsigned char data[LONGEST + 64];

static uint32_t
call_zlib(void *symbol, uint32_t crc, unsigned char *p, size_t len)
{
	ZlibFn		fn;

	memcpy(&fn, &symbol, sizeof(fn));
	return (uint32_t) fn(crc, p, (unsigned int) len);
}

static uint32_t
call_isal(void *symbol, uint32_t crc, unsigned char *p, size_t len)
{
	IsalFn		fn;

	memcpy(&fn, &symbol, sizeof(fn));
	return ~fn(p, (int) len, ~crc);
}

static uint32_t
call_deflate(void *symbol, uint32_t crc, unsigned char *p, size_t len)
{
	DeflateFn	fn;

	memcpy(&fn, &symbol, sizeof(fn));
	return fn(crc, p, len);
}

static const Peer peers[] = {
	{"libz.so.1", "crc32", CHECKSUM_crc32, call_zlib},
	{"libdeflate.so.0", "libdeflate_crc32", CHECKSUM_crc32, call_deflate},
	{"libisal.so.2", "crc32_iscsi", CHECKSUM_crc32c, call_isal},
};

/* Random data, lengths, places and incoming CRCs, through every kernel. */
static void
test_peer(const Peer *peer, void *symbol)
{
	int			rounds = unit.scale == UNIT_FULL ? 20000 : 4000;

	for (int round = 0; round < rounds; round++)
	{
		size_t		at = unit_random() % 64;
		size_t		len = unit_random() % (round % 8 ? 400 : LONGEST) + 1;
		uint32_t	crc = round % 2 ? (uint32_t) unit_random() : 0;
		uint32_t	want = peer->call(symbol, crc, data + at, len);

		for (int i = 0; i < checksum_kernel_count; i++)
		{
			const ChecksumKernel *row = &checksum_kernel_table[i];

			if (row->algorithm == peer->algorithm && checksum_available(row))
				check(~row->crc(~crc, data + at, len) == want,
					  "%s %s differs from %s at length %zu",
					  checksum_algorithm_name(row->algorithm), row->name,
					  peer->function, len);
		}
	}
	printf("%s: %d random inputs through every kernel of %s\n", peer->function,
		   rounds, checksum_algorithm_name(peer->algorithm));
}

int
main(int argc, char **argv)
{
	unit_begin("test_peers", argc, argv);
	checksum_init();
	unit_fill(data, sizeof(data));
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
	{
		void	   *library = dlopen(peers[i].library, RTLD_NOW | RTLD_LOCAL);
		void	   *symbol = NULL;

		if (library != NULL)
			symbol = dlsym(library, peers[i].function);
		if (symbol != NULL)
			test_peer(&peers[i], symbol);
		else
			skip("%s of %s is not installed", peers[i].function,
				 peers[i].library);
	}
	return unit_finish();
}
