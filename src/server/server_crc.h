/*
 * server_crc.h
 *	  Finds the function pointer of the server's CRC-32C.
 *
 * Needs no PostgreSQL header, so that test/unit can link it into
 * programs that play servers of every kind.
 */
#ifndef SERVER_CRC_H
#define SERVER_CRC_H

#include "kernel/checksum.h"

/*
 * pg_comp_crc32c of the running program.  On little-endian machines, the only
 * ones accepted, its register convention is that of our kernels (raw, native
 * byte order), so the function types agree.
 */
typedef struct ServerCrc
{
	ChecksumCrcFn *pointer;		/* NULL if none can be replaced */
	ChecksumCrcFn own;			/* the server's choice */
	const char *own_name;		/* its symbol, NULL if not exported */
	const char *reason;			/* why pointer is NULL */
} ServerCrc;

/*
 * Looks the pointer up in the main program and makes the server choose its
 * function (one call).  Before that the pointer holds a chooser that would
 * overwrite ours when called later.  Writes nothing else.
 */
extern void server_crc_find(ServerCrc *server);

#endif							/* SERVER_CRC_H */
