/*
 * wal_host.h
 *	  All that the readers of WAL need of the program that they run in.
 *
 * Memory, files, interrupts, and what a server knows of itself.  The rooms from
 * wal_timelines to wal_segment reach the back end through this header alone and
 * raise no error: what goes wrong is a value.  So the same objects can serve a
 * program for hosts that hold archives and no server.
 */
#ifndef WAL_HOST_H
#define WAL_HOST_H

#include "verify/wal_format.h"
#include "scan/file_scan.h"

#pragma GCC visibility push(hidden)

/*
 * Memory of the caller's context; there is no lack of it that returns.  Sizes
 * are not limited to 1 GB.
 */
extern void *wal_host_alloc(size_t size);
extern void *wal_host_grow(void *memory, size_t size);	/* NULL: new */
extern void wal_host_free(void *memory);

/*
 * Calls fn when the memory that is allocated now will be freed, whatever ends
 * the work: what libraries have allocated is given back there.  arg must live
 * as long.
 */
extern void wal_host_at_end(void (*fn) (void *arg), void *arg);

/* Ends the work if the user wants that: called in every loop. */
extern void wal_host_interrupts(void);

/*
 * Waits until bytes of a file may be read, and returns how many of len.  NULL:
 * all of them, at once.
 */
struct Throttle;
extern size_t wal_host_turn(struct Throttle *throttle, size_t len);

/*
 * Calls entry for every file name of a directory, in no order.  false: the
 * directory cannot be read, errno says why.
 */
extern bool wal_host_list(const char *directory,
						  void (*entry) (void *arg, const char *name),
						  void *arg);

/*
 * SHA-1, by which pgBackRest names segments.  wal_host_sha1_end() frees it; false:
 * it cannot be computed here, where the library must not, say.
 */
#define WAL_SHA1_BYTES	20

typedef struct WalSha1 WalSha1;

extern WalSha1 *wal_host_sha1_begin(void);
extern void wal_host_sha1_add(WalSha1 *sha1, const void *data, size_t len);
extern bool wal_host_sha1_end(WalSha1 *sha1, uint8_t digest[WAL_SHA1_BYTES]);

/* The server that we run in. */
typedef struct WalServer
{
	uint64_t	system;			/* identifier */
	uint16_t	magic;			/* of the pages that it writes */
	uint32_t	page_size;		/* bytes */
	uint32_t	segment_size;	/* bytes */
} WalServer;

extern WalServer wal_host_server(void);

/* A place up to which a timeline was complete on disk. */
typedef struct WalLiveLimit
{
	uint32_t	timeline;
	WalLsn		limit;
} WalLiveLimit;

#define WAL_LIVE_LIMITS_MAX	2

/*
 * How far this server's own WAL is complete, oldest timeline first: flushed or,
 * on a standby, replayed and received.  Returns how many there are.
 */
extern int	wal_host_limits(WalLiveLimit limits[WAL_LIVE_LIMITS_MAX]);

/* The last segment that this server has removed, 0: unknown. */
extern uint64_t wal_host_removed(void);

#pragma GCC visibility pop

#endif							/* WAL_HOST_H */
