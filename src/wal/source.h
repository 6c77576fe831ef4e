/*
 * source.h
 *	  Reads bytes of WAL, of a file or of memory.  Each keeps its own error.
 */
#ifndef ACCEL_WAL_SOURCE_H
#define ACCEL_WAL_SOURCE_H

#include "wal/file.h"

typedef struct WalSource
{
	WalFile    *file;			/* NULL if it is data */
	const uint8_t *data;
	uint64_t	size;			/* bytes, or WAL_SIZE_UNKNOWN */
	uint8_t    *buffer;			/* WAL_PIECE_BYTES, for a file */
	WalVerdict	failed;			/* no reason if nothing has */
} WalSource;

extern WalSource wal_source_file(WalFile *file, uint8_t *buffer);
extern WalSource wal_source_bytes(const uint8_t *data, uint64_t size);

/* The next pass over the same source begins. */
extern void wal_source_restart(WalSource *source);

/*
 * Returns at most WAL_PIECE_BYTES at an offset, in the buffer or in place.
 * Sets *len, which is short at the end, and 0 after it or when reading fails.
 */
extern const uint8_t *wal_source_piece(WalSource *source, uint64_t offset,
									   uint64_t wanted, size_t *len);

/*
 * Returns from where on what was read last, up to its end, can be read again
 * without more work than that.
 */
extern uint64_t wal_source_kept(const WalSource *source);

/*
 * At the end of a segment of expected bytes, a size that was not known becomes
 * known, as expected + 1 if there are more.
 */
extern void wal_source_measure(WalSource *source, uint64_t expected);

#endif							/* ACCEL_WAL_SOURCE_H */
