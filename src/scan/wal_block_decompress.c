/*
 * wal_block_decompress.c
 *	  The decompressors of full-page images that this build has.
 *
 * pglz is the server's own.  lz4 and zstd come with the libraries that
 * decompress archives, see the Makefile: an image is one LZ4 block without a
 * frame, or one frame of Zstandard.
 */
#include "compat.h"

#include "common/pg_lzcompress.h"

#ifdef DECODE_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef DECODE_HAVE_ZSTD
#include <zstd.h>
#endif

#include "scan/wal_block_decompress.h"

static bool
decompress_pglz(const uint8_t *data, uint32_t len, uint8_t *out, uint32_t raw)
{
	return pglz_decompress((const char *) data, (int32) len, (char *) out,
						   (int32) raw, true) == (int32) raw;
}

#ifdef DECODE_HAVE_LZ4
static bool
decompress_lz4(const uint8_t *data, uint32_t len, uint8_t *out, uint32_t raw)
{
	return LZ4_decompress_safe((const char *) data, (char *) out, (int) len,
							   (int) raw) == (int) raw;
}
#else
#define decompress_lz4	NULL
#endif

#ifdef DECODE_HAVE_ZSTD
static bool
decompress_zstd(const uint8_t *data, uint32_t len, uint8_t *out, uint32_t raw)
{
	return ZSTD_decompress(out, raw, data, len) == raw;
}
#else
#define decompress_zstd	NULL
#endif

const WalDecompressors wal_block_decompressors = {
	{
		[WAL_METHOD_PGLZ] = decompress_pglz,
		[WAL_METHOD_LZ4] = decompress_lz4,
		[WAL_METHOD_ZSTD] = decompress_zstd,
	}
};
