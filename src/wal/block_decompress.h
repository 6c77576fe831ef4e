/*
 * block_decompress.h
 *	  The decompressors of full-page images that this build has.
 */
#ifndef ACCEL_WAL_BLOCK_DECOMPRESS_H
#define ACCEL_WAL_BLOCK_DECOMPRESS_H

#include "wal/block_image.h"

#pragma GCC visibility push(hidden)

extern const WalDecompressors wal_block_decompressors;

#pragma GCC visibility pop

#endif							/* ACCEL_WAL_BLOCK_DECOMPRESS_H */
