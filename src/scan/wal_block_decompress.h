/*
 * wal_block_decompress.h
 *	  The decompressors of full-page images that this build has.
 */
#ifndef WAL_BLOCK_DECOMPRESS_H
#define WAL_BLOCK_DECOMPRESS_H

#include "verify/wal_block_image.h"

#pragma GCC visibility push(hidden)

extern const WalDecompressors wal_block_decompressors;

#pragma GCC visibility pop

#endif							/* WAL_BLOCK_DECOMPRESS_H */
