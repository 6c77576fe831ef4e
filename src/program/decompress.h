/*
 * decompress.h
 *	  The decompressors of full-page images that the program has.
 */
#ifndef ACCEL_PROGRAM_DECOMPRESS_H
#define ACCEL_PROGRAM_DECOMPRESS_H

#include "wal/block_image.h"

extern const WalDecompressors program_decompressors;

/* PostgreSQL's own method.  Returns whether it gives exactly raw bytes. */
extern bool pglz_restore(const uint8_t *data, uint32_t len, uint8_t *out,
						 uint32_t raw);

#endif							/* ACCEL_PROGRAM_DECOMPRESS_H */
