/*
 * wal_source.h
 *	  Bytes of WAL: a file, or memory.  Each keeps its own error.
 */
#ifndef WAL_SOURCE_H
#define WAL_SOURCE_H

#include "scan/wal_host.h"
#include "verify/wal_reason.h"

#pragma GCC visibility push(hidden)

/* stays in the second-level cache; a multiple of every page size */
#define WAL_PIECE_BYTES		(128 * 1024)

typedef struct WalSource
{
	FileScan   *file;			/* NULL: data */
	const uint8_t *data;
	uint64_t	size;			/* bytes */
	uint8_t    *buffer;			/* WAL_PIECE_BYTES, for a file */
	WalVerdict	failed;			/* no reason: nothing has */
} WalSource;

extern WalSource wal_source_file(FileScan *file, uint8_t *buffer);
extern WalSource wal_source_bytes(const uint8_t *data, uint64_t size);

/*
 * At most WAL_PIECE_BYTES at an offset, in the buffer or in place; sets *len
 * (short at the end, 0 after it or when reading fails).
 */
extern const uint8_t *wal_source_piece(WalSource *source, uint64_t offset,
									   uint64_t wanted, size_t *len);

#pragma GCC visibility pop

#endif							/* WAL_SOURCE_H */
