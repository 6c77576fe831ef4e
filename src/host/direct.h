/*
 * direct.h
 *	  Reads files past the page cache, as the device has them.
 *
 * A caller opens a file with DIRECT_OPEN, asks direct_probe() once whether the
 * file system means it, and reads aligned pieces.  Some file systems accept
 * the flag and read through their page cache all the same.  So the flag proves
 * nothing, and the probe decides.  Needs no server and raises no error.
 */
#ifndef ACCEL_HOST_DIRECT_H
#define ACCEL_HOST_DIRECT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The flag of open(), which is 0 where the system has none. */
#ifdef O_DIRECT
#define DIRECT_OPEN		O_DIRECT
#else
#define DIRECT_OPEN		0
#endif

/* What memory, offsets and lengths are multiples of, in bytes. */
#define DIRECT_ALIGN	4096

/*
 * The most to read at once, in bytes, without and with a bound on the rate.
 * Each piece waits for the device.  So small ones cost time and processor.
 */
#define DIRECT_PIECE		((size_t) 4 * 1024 * 1024)
#define DIRECT_PIECE_PACED	((size_t) 1024 * 1024)
#define DIRECT_PIECE_OF(max_rate) \
	((max_rate) > 0 ? DIRECT_PIECE_PACED : DIRECT_PIECE)

/* What memory for such pieces is a multiple of, in bytes: see direct_ready(). */
#define DIRECT_LARGE	((size_t) 2 * 1024 * 1024)

/* The next address or offset, or length, that is aligned, or this one. */
#define DIRECT_ROUND_UP_LARGE(at) \
	(((at) + (DIRECT_LARGE - 1)) / DIRECT_LARGE * DIRECT_LARGE)
#define DIRECT_ROUND_UP(at) \
	(((at) + (DIRECT_ALIGN - 1)) / DIRECT_ALIGN * DIRECT_ALIGN)
#define DIRECT_ROUND_DOWN(at)	((at) / DIRECT_ALIGN * DIRECT_ALIGN)

/*
 * Does the file system read the open file past its page cache?  A file without
 * data says yes, since there is nothing to read.  What is dirty is written back
 * first.  If that failed, *write_back is its errno, else it stays as it was.
 */
extern bool direct_probe(int fd, int *write_back);

/*
 * What an open with DIRECT_OPEN gave, and errno if that is no descriptor: does
 * the file system not read past its page cache?  A write-back that failed is
 * not told, since what the device has is judged all the same.
 */
extern bool direct_is_refused(int fd);

/*
 * Reads up to length bytes at offset, and returns how many came.  If these are
 * fewer, the file ends there and *error is 0, or *error says what failed.
 * Buffer, length and offset are aligned.
 */
extern size_t direct_read(int fd, void *buffer, size_t length, off_t offset,
						  int *error);

/*
 * Call once for memory, before DIRECT_LARGE bytes or more are first read into
 * it.  The system then puts large pages below it, if it has any.  What the
 * memory holds may change.
 */
extern void direct_ready(void *memory, size_t length);

/*
 * May the page cache have some of these bytes?  True if the system cannot
 * tell.
 */
extern bool direct_is_cached(int fd, off_t offset, size_t length);

/* Takes these bytes out of the page cache, unless they are to be written. */
extern void direct_forget(int fd, off_t offset, size_t length);

/* Returns the type of the file system, "tmpfs" say, in name if need be. */
#define DIRECT_NAME_SIZE	32
extern const char *direct_file_system(const char *path,
									  char name[DIRECT_NAME_SIZE]);

#endif							/* ACCEL_HOST_DIRECT_H */
