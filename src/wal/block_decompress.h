/*
 * block_decompress.h
 *	  The decompressors of full-page images that this build has.
 */
#ifndef ACCEL_WAL_BLOCK_DECOMPRESS_H
#define ACCEL_WAL_BLOCK_DECOMPRESS_H

#include "wal/block_image.h"

extern const WalDecompressors wal_block_decompressors;

#endif							/* ACCEL_WAL_BLOCK_DECOMPRESS_H */
