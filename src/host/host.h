/*
 * host.h
 *	  All that readers of files need of the program that they run in.
 *
 * Memory, files, interrupts, and what a server knows of itself.  Rooms that
 * know no server reach the back end through this header alone and raise no
 * error.  What goes wrong is a value.  So the same objects can serve a program
 * for hosts that hold archives and no server.
 */
#ifndef ACCEL_HOST_HOST_H
#define ACCEL_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Allocates memory of the caller's context, and never returns without it.
 * Sizes are not limited to 1 GB.
 */
extern void *host_alloc(size_t size);
extern void *host_grow(void *memory, size_t size);	/* memory may be NULL */
extern void host_free(void *memory);

/* Ends the work, since a library has no memory. */
_Noreturn extern void host_no_memory(void);

/* Makes room for one item more in an array, which starts with NULL and 0. */
#define HOST_MAKE_ROOM(items, count, room) \
	do { \
		if ((count) == (room)) \
		{ \
			(room) = (room) == 0 ? 16 : (room) * 2; \
			(items) = host_grow((items), (size_t) (room) * sizeof(*(items))); \
		} \
	} while (0)

/*
 * Calls fn when the memory that is allocated now will be freed, whatever ends
 * the work.  What libraries have allocated is given back there.  arg must live
 * as long, or until host_forget() is called with what is returned.
 */
typedef struct HostAtEnd HostAtEnd;

extern HostAtEnd *host_at_end(void (*fn) (void *arg), void *arg);
extern void host_forget(HostAtEnd *at_end);

/* Ends the work if the user wants that.  Every loop calls it. */
extern void host_interrupts(void);

/*
 * Waits until bytes of a file may be read, and returns how many of len.
 * Without a throttle these are all, at once.
 */
struct Throttle;
extern size_t host_turn(struct Throttle *throttle, size_t len);

/*
 * Calls entry for every file name of a directory, in no order.  Returns false
 * if the directory cannot be read, and errno says why.
 */
extern bool host_list(const char *directory,
					  void (*entry) (void *arg, const char *name),
					  void *arg);

/*
 * Opens a file for reading, close-on-exec and never blocking.  Returns -1 with
 * errno if it cannot be opened.
 */
extern int	host_open(const char *path);

/*
 * The same past the page cache, or ends the work by host_refuse_direct() where
 * the file system does not read so.
 */
extern int	host_open_direct(const char *path);

/* Ends the work.  The file system of path reads through its page cache. */
_Noreturn extern void host_refuse_direct(const char *path);

/* Reads as pread() does. */
extern ssize_t host_read(int fd, void *buffer, size_t length, off_t offset);
extern void host_close(int fd);

/*
 * SHA-1, by which pgBackRest names segments, and SHA-2, of manifests.
 * host_sha_end() writes as many bytes as the algorithm has and frees it.  It
 * returns false if it cannot be computed here, where the library must not,
 * say.
 */
typedef enum HostShaAlgorithm
{
	HOST_SHA1,
	HOST_SHA224,
	HOST_SHA256,
	HOST_SHA384,
	HOST_SHA512
} HostShaAlgorithm;

#define HOST_SHA1_BYTES		20
#define HOST_SHA224_BYTES	28
#define HOST_SHA256_BYTES	32
#define HOST_SHA384_BYTES	48
#define HOST_SHA512_BYTES	64

typedef struct HostSha HostSha;

extern HostSha *host_sha_begin(HostShaAlgorithm algorithm);
extern void host_sha_add(HostSha *sha, const void *data, size_t len);
extern bool host_sha_end(HostSha *sha, uint8_t *digest);

/* The server that we run in. */
typedef struct HostServer
{
	uint64_t	system;			/* identifier */
	uint16_t	magic;			/* of the pages that it writes */
	uint32_t	page_size;		/* bytes */
	uint32_t	segment_size;	/* bytes */
} HostServer;

extern HostServer host_server(void);

/* A place up to which a timeline was complete on disk. */
typedef struct WalLiveLimit
{
	uint32_t	timeline;
	uint64_t	limit;			/* LSN */
} WalLiveLimit;

#define WAL_LIVE_LIMITS_MAX	2

/*
 * Tells how far this server's own WAL is complete, oldest timeline first.
 * That is flushed or, on a standby, replayed and received.  Returns how many
 * there are.
 */
extern int	host_limits(WalLiveLimit limits[WAL_LIVE_LIMITS_MAX]);

/* Returns the last segment that this server has removed, 0 if unknown. */
extern uint64_t host_removed(void);

#endif							/* ACCEL_HOST_HOST_H */
