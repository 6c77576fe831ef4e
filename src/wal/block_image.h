/*
 * block_image.h
 *	  Pages from the full-page images of WAL records.
 *
 * Pure: decompressors are the caller's, see wal/block_decompress.h.
 */
#ifndef ACCEL_WAL_BLOCK_IMAGE_H
#define ACCEL_WAL_BLOCK_IMAGE_H

#include "wal/blocks.h"

/* Decompresses len bytes into exactly raw ones; false: they do not give that. */
typedef bool (*WalDecompressFn) (const uint8_t *data, uint32_t len,
								 uint8_t *out, uint32_t raw);

/* By WalImageMethod; NULL: not in this build (of none: always NULL). */
typedef struct WalDecompressors
{
	WalDecompressFn by[WAL_METHOD_ZSTD + 1];
} WalDecompressors;

typedef enum WalImageResult
{
	WAL_IMAGE_RESTORED,
	WAL_IMAGE_UNAVAILABLE,		/* no decompressor */
	WAL_IMAGE_DAMAGED			/* the decompressor failed */
} WalImageResult;

/*
 * The page (block_size bytes, with its hole) from an image that
 * wal_blocks_decode() found, with the same block size.  As after redo but for
 * pd_lsn, which is the end of the record then, and the checksum, which is
 * computed when the page is written.
 */
extern WalImageResult wal_block_image_restore(const WalImage *image,
											  uint32_t block_size,
											  const WalDecompressors *decompressors,
											  uint8_t *page);

/* "none", "pglz", "lz4", "zstd" */
extern const char *wal_image_method_name(WalImageMethod compression);

#endif							/* ACCEL_WAL_BLOCK_IMAGE_H */
