/*
 * transform.c
 *	  Storage that transforms pages, below the server's storage manager.
 *
 * Preloaded into the server (LD_PRELOAD), it stands before what reads and writes
 * at an offset.  Where the path of the file holds TRANSFORM_PATH, what is written
 * through a descriptor that is open for reading and writing, as those of the
 * storage manager are, goes to the file with all bits of 0xA5 turned, and comes
 * back as it was.  Who opens the file for reading alone sees what it holds.
 * Pages of zeros stay zeros, for the server extends files past write().
 * Compile it with -DPAGE=n, the bytes of a page.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* The server moves its environment about to make room for its title. */
static const char *
pattern(void)
{
	static char copy[256];
	static int	known;

	if (!known)
	{
		const char *value = getenv("TRANSFORM_PATH");

		snprintf(copy, sizeof(copy), "%s", value ? value : "");
		known = 1;
	}
	return copy;
}

static int
is_transformed(int fd)
{
	char		link[64];
	char		path[4096];
	ssize_t		len;

	if (pattern()[0] == '\0' ||
		(fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return 0;
	path[len] = '\0';
	return strstr(path, pattern()) != NULL;
}

static void
turn(char *bytes, size_t len)
{
	static const char zeros[PAGE];

	for (size_t at = 0; at < len; at += PAGE)
	{
		size_t		part = len - at < PAGE ? len - at : PAGE;

		if (memcmp(bytes + at, zeros, part) == 0)
			continue;
		for (size_t i = 0; i < part; i++)
			bytes[at + i] ^= 0xA5;
	}
}

static void
turn_pieces(const struct iovec *iov, int count, ssize_t len)
{
	for (int i = 0; i < count && len > 0; i++)
	{
		size_t		part = (size_t) len < iov[i].iov_len ?
			(size_t) len : iov[i].iov_len;

		turn(iov[i].iov_base, part);
		len -= (ssize_t) part;
	}
}

#define NEXT(result, name, args) \
	static result (*next) args; \
	if (next == NULL) \
		next = (result (*) args) dlsym(RTLD_NEXT, #name)

#define DEFINE_PREAD(name) \
ssize_t name(int fd, void *buf, size_t len, off_t offset); \
ssize_t name(int fd, void *buf, size_t len, off_t offset) \
{ \
	NEXT(ssize_t, name, (int, void *, size_t, off_t)); \
	ssize_t		got = next(fd, buf, len, offset); \
	if (got > 0 && is_transformed(fd)) \
		turn(buf, (size_t) got); \
	return got; \
}

#define DEFINE_PREADV(name) \
ssize_t name(int fd, const struct iovec *iov, int count, off_t offset); \
ssize_t name(int fd, const struct iovec *iov, int count, off_t offset) \
{ \
	NEXT(ssize_t, name, (int, const struct iovec *, int, off_t)); \
	ssize_t		got = next(fd, iov, count, offset); \
	if (got > 0 && is_transformed(fd)) \
		turn_pieces(iov, count, got); \
	return got; \
}

#define DEFINE_PWRITE(name) \
ssize_t name(int fd, const void *buf, size_t len, off_t offset); \
ssize_t name(int fd, const void *buf, size_t len, off_t offset) \
{ \
	NEXT(ssize_t, name, (int, const void *, size_t, off_t)); \
	char	   *copy; \
	ssize_t		written; \
	if (!is_transformed(fd)) \
		return next(fd, buf, len, offset); \
	copy = malloc(len); \
	memcpy(copy, buf, len); \
	turn(copy, len); \
	written = next(fd, copy, len, offset); \
	free(copy); \
	return written; \
}

/* The first piece alone: the server asks again for the rest. */
#define DEFINE_PWRITEV(name, one) \
ssize_t name(int fd, const struct iovec *iov, int count, off_t offset); \
ssize_t name(int fd, const struct iovec *iov, int count, off_t offset) \
{ \
	NEXT(ssize_t, name, (int, const struct iovec *, int, off_t)); \
	return is_transformed(fd) ? \
		one(fd, iov->iov_base, iov->iov_len, offset) : \
		next(fd, iov, count, offset); \
}

#undef pread
#undef pread64
#undef preadv
#undef preadv64
#undef pwrite
#undef pwrite64
#undef pwritev
#undef pwritev64
DEFINE_PREAD(pread)
DEFINE_PREAD(pread64)
DEFINE_PREADV(preadv)
DEFINE_PREADV(preadv64)
DEFINE_PWRITE(pwrite)
DEFINE_PWRITE(pwrite64)
DEFINE_PWRITEV(pwritev, pwrite)
DEFINE_PWRITEV(pwritev64, pwrite64)
