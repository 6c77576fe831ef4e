/*
 * server_compare.h
 *	  Compares a kernel with the server's own CRC-32C function.
 *
 * It needs no PostgreSQL header, as server_crc.h.
 */
#ifndef SERVER_COMPARE_H
#define SERVER_COMPARE_H

#include "kernel/checksum.h"

/*
 * Compares a kernel with the server's function, in a few milliseconds.  Every
 * length to 1100 bytes is taken at all or 16 of the 64 alignments within a
 * cache line, across a page border too.  Longer ones go to 2 MB.  All have an
 * incoming CRC.  The buffer holds SERVER_COMPARE_SIZE bytes and is
 * overwritten.
 */
#define SERVER_COMPARE_SIZE		(2 * 1024 * 1024 + 8192)
extern void server_compare(ChecksumCrcFn ours, ChecksumCrcFn theirs,
						   void *buffer, ChecksumSelfTest *result);

#endif							/* SERVER_COMPARE_H */
