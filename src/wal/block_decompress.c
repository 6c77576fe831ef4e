/*
 * block_decompress.c
 *	  The decompressors of full-page images that the server has.
 *
 * pglz is the server's own.  lz4 and zstd are those of the libraries that the
 * server links if it can write such images (USE_LZ4, USE_ZSTD).  Of each one
 * function is wanted, whose interface is stable.  Declared here, it needs no
 * development package.
 */
#include "compat.h"

#include "common/pg_lzcompress.h"

#ifdef USE_LZ4
#define WAL_LINKS_LZ4

/*
 * of lz4.h, which returns the bytes decompressed, at most capacity, negative
 * if malformed
 */
extern int	LZ4_decompress_safe(const char *src, char *dst, int size,
								int capacity);
#endif

#ifdef USE_ZSTD
#define WAL_LINKS_ZSTD

/*
 * of zstd.h, which returns the bytes decompressed, at most capacity, huge if
 * malformed
 */
extern size_t ZSTD_decompress(void *dst, size_t capacity, const void *src,
							  size_t size);
#endif

#include "wal/block_decompress.h"
#include "wal/block_library.h"

static bool
decompress_pglz(const uint8_t *data, uint32_t len, uint8_t *out, uint32_t raw)
{
	return pglz_decompress((const char *) data, (int32) len, (char *) out,
						   (int32) raw, true) == (int32) raw;
}

const WalDecompressors wal_block_decompressors = {
	{
		[WAL_METHOD_PGLZ] = decompress_pglz,
		[WAL_METHOD_LZ4] = wal_block_lz4,
		[WAL_METHOD_ZSTD] = wal_block_zstd,
	}
};
