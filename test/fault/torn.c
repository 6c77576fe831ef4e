/*
 * torn.c
 *	  Stands before the writes of a server: a block of a relation is written
 *	  in two halves, with a pause between them, as storage may do it.
 *
 * Who reads the file meanwhile gets a torn page.  Preload it with LD_PRELOAD.
 * TORN_PAUSE: milliseconds of the pause (5).
 * Compile it with -DBLOCK=n, the bytes of a page.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PAUSE	5L				/* milliseconds */

typedef ssize_t (*WriteFn) (int fd, const void *data, size_t size, off_t at);
typedef ssize_t (*WritevFn) (int fd, const struct iovec *parts, int count,
							 off_t at);

static int
is_relation(int fd)
{
	char		link[64];
	char		path[512];
	ssize_t		len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0)
		return 0;
	path[len] = '\0';
	return strstr(path, "/base/") != NULL || strstr(path, "/pg_tblspc/") != NULL;
}

/* A pause at the end of a file would only keep all others from it. */
static int
is_extension(int fd, off_t at)
{
	struct stat status;

	return fstat(fd, &status) == 0 && at >= status.st_size;
}

static ssize_t
write_torn(WriteFn next, int fd, const void *data, size_t size, off_t at)
{
	const char *wanted = getenv("TORN_PAUSE");
	long		milliseconds = wanted == NULL ? PAUSE : atol(wanted);
	struct timespec pause = {0, milliseconds * 1000000L};
	ssize_t		half;

	if (size != BLOCK || at % BLOCK != 0 || !is_relation(fd) ||
		is_extension(fd, at))
		return next(fd, data, size, at);
	half = next(fd, data, BLOCK / 2, at);
	if (half != BLOCK / 2)
		return half;
	nanosleep(&pause, NULL);
	half = next(fd, (const char *) data + BLOCK / 2, BLOCK / 2, at + BLOCK / 2);
	return half < 0 ? half : BLOCK / 2 + half;
}

ssize_t
pwrite(int fd, const void *data, size_t size, off_t at)
{
	static WriteFn next;

	if (next == NULL)
		next = (WriteFn) dlsym(RTLD_NEXT, "pwrite");
	return write_torn(next, fd, data, size, at);
}

ssize_t
pwrite64(int fd, const void *data, size_t size, off_t at)
{
	static WriteFn next;

	if (next == NULL)
		next = (WriteFn) dlsym(RTLD_NEXT, "pwrite64");
	return write_torn(next, fd, data, size, at);
}

/* One block at a time: a short write is repeated by the server. */
ssize_t
pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
	static WritevFn next;

	if (next == NULL)
		next = (WritevFn) dlsym(RTLD_NEXT, "pwritev");
	if (count > 0 && parts[0].iov_len == BLOCK)
		return pwrite(fd, parts[0].iov_base, BLOCK, at);
	return next(fd, parts, count, at);
}
