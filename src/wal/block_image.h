/*
 * block_image.h
 *	  Pages from the full-page images of WAL records.
 *
 * Pure.  Decompressors are the caller's, see wal/block_decompress.h.
 */
#ifndef ACCEL_WAL_BLOCK_IMAGE_H
#define ACCEL_WAL_BLOCK_IMAGE_H

#include "wal/blocks.h"

/* Decompresses len bytes into exactly raw ones, or returns false. */
typedef bool (*WalDecompressFn) (const uint8_t *data, uint32_t len,
								 uint8_t *out, uint32_t raw);

/* By WalImageMethod, NULL for none and for those that this build lacks. */
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
 * Makes the page (block_size bytes, with its hole) from an image that
 * wal_blocks_decode() found, with the same block size.  It is as after redo but
 * for two fields.  Redo sets pd_lsn to the end of the record.  The checksum is
 * computed when the page is written.
 */
extern WalImageResult wal_block_image_restore(const WalImage *image,
											  uint32_t block_size,
											  const WalDecompressors *decompressors,
											  uint8_t *page);

/* "none", "pglz", "lz4", "zstd" */
extern const char *wal_image_method_name(WalImageMethod compression);

#endif							/* ACCEL_WAL_BLOCK_IMAGE_H */
