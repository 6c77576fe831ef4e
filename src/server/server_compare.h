/*
 * server_compare.h
 *	  Compares a kernel with the server's own CRC-32C function.
 *
 * Needs no PostgreSQL header, as server_crc.h.
 */
#ifndef SERVER_COMPARE_H
#define SERVER_COMPARE_H

#include "kernel/checksum.h"

/*
 * A kernel beside the server's function: every length to 1100 bytes at all
 * or 16 of the 64 alignments within a cache line, across a page border too,
 * longer ones to 2 MB, all with an incoming CRC, in a few milliseconds.
 * buffer holds SERVER_COMPARE_SIZE bytes and is overwritten.
 */
#define SERVER_COMPARE_SIZE		(2 * 1024 * 1024 + 8192)
extern void server_compare(ChecksumCrcFn ours, ChecksumCrcFn theirs,
						   void *buffer, ChecksumSelfTest *result);

#endif							/* SERVER_COMPARE_H */
