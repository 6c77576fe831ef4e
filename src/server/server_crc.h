/*
 * server_crc.h
 *	  The server's CRC-32C function pointer: finding it, comparing with it.
 *
 * Needs no PostgreSQL header, so that test/unit can link both files into
 * programs that play servers of every kind.
 */
#ifndef SERVER_CRC_H
#define SERVER_CRC_H

#include "kernel/checksum.h"

#pragma GCC visibility push(hidden)

/*
 * pg_comp_crc32c of the running program.  On little-endian machines, the only
 * ones accepted, its register convention is that of our kernels (raw, native
 * byte order), so the function types agree.
 */
typedef struct ServerCrc
{
	ChecksumCrcFn *pointer;		/* NULL: none that can be replaced */
	ChecksumCrcFn own;			/* the server's choice */
	const char *own_name;		/* its symbol; NULL: not exported */
	const char *reason;			/* why pointer is NULL */
} ServerCrc;

/*
 * server_crc.c: looks the pointer up in the main program and makes the server
 * choose its function (one call), since before that the pointer holds a
 * chooser that would overwrite ours when called later.  Writes nothing else.
 */
extern void server_crc_find(ServerCrc *server);

/*
 * server_compare.c: a kernel beside the server's function: every length to
 * 1100 bytes at all or 16 of the 64 alignments within a cache line, across a
 * page border too, longer ones to 2 MB, all with an incoming CRC, in a few
 * milliseconds.  buffer holds SERVER_COMPARE_SIZE bytes and is overwritten.
 */
#define SERVER_COMPARE_SIZE		(2 * 1024 * 1024 + 8192)
extern void server_compare(ChecksumCrcFn ours, ChecksumCrcFn theirs,
						   void *buffer, ChecksumSelfTest *result);

#pragma GCC visibility pop

#endif							/* SERVER_CRC_H */
