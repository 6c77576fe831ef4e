/*
 * block_library.h
 *	  The decompressors of full-page images that are libraries.
 *
 * Whoever includes it says by WAL_LINKS_LZ4 and WAL_LINKS_ZSTD what it links,
 * and has declared the one function that is wanted of each.  An image is one
 * LZ4 block without a frame, or one frame of Zstandard.
 */
#ifndef ACCEL_WAL_BLOCK_LIBRARY_H
#define ACCEL_WAL_BLOCK_LIBRARY_H

#include "wal/block_image.h"

#ifdef WAL_LINKS_LZ4
static bool
wal_block_lz4(const uint8_t *data, uint32_t len, uint8_t *out, uint32_t raw)
{
	return LZ4_decompress_safe((const char *) data, (char *) out, (int) len,
							   (int) raw) == (int) raw;
}
#else
#define wal_block_lz4	NULL
#endif

#ifdef WAL_LINKS_ZSTD
static bool
wal_block_zstd(const uint8_t *data, uint32_t len, uint8_t *out, uint32_t raw)
{
	return ZSTD_decompress(out, raw, data, len) == raw;
}
#else
#define wal_block_zstd	NULL
#endif

#endif							/* ACCEL_WAL_BLOCK_LIBRARY_H */
