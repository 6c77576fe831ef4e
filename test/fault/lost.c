/*
 * lost.c
 *	  Loses writes of relations, as storage does that lies.
 *
 * Preloaded into a server (LD_PRELOAD), it stands before pwrite and pwritev.
 * While the file fault_lose is in the data directory, one in so many writes of
 * a block below base/ and global/ that is there already says that it succeeded
 * and did not happen, or happened elsewhere in the file.  Catalogs as initdb made
 * them are spared: without them the server would not say what was lost.  The first line of
 * fault_lose says which:
 *
 *	drop N		one in N is lost
 *	zero N		one in N writes zeros
 *	redirect N	one in N goes to the block before
 *	swap N		the same, and the block before comes here
 *	cut N		one in N that is the last of its file ends the file before it
 *
 * Each is a line of fault_lost: path, block, LSN of the page, what was done.
 * Whether a write counts is drawn from its block and LSN: it does not depend on
 * which process makes it.
 * Compile it with -DBLOCK=n, the bytes of a page.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct Order
{
	char		what[16];
	unsigned	n;
} Order;

static bool
read_order(Order *order)
{
	char		line[64] = "";
	int			fd = open("fault_lose", O_RDONLY | O_CLOEXEC);
	bool		read_it;

	if (fd < 0)
		return false;
	read_it = read(fd, line, sizeof(line) - 1) > 0;
	close(fd);
	return read_it && sscanf(line, "%15s %u", order->what, &order->n) == 2 &&
		order->n > 0;
}

#define FIRST_OF_USERS	16384	/* FirstNormalObjectId */

/* Is it a file of a user's relation, other than the free space map? */
static bool
is_relation(int fd, char *path, size_t size)
{
	char		link[64];
	ssize_t		len;
	const char *name;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, size - 1);
	if (len < 0)
		return false;
	path[len] = '\0';
	if (strstr(path, "/base/") == NULL && strstr(path, "/global/") == NULL)
		return false;
	name = strrchr(path, '/') + 1;
	return atol(name) >= FIRST_OF_USERS && strstr(name, "_fsm") == NULL &&
		strstr(name, "_init") == NULL;
}

static uint64_t
lsn_of(const unsigned char *page)
{
	uint32_t	halves[2];

	memcpy(halves, page, sizeof(halves));
	return (uint64_t) halves[0] << 32 | halves[1];
}

static bool
is_drawn(const Order *order, off_t offset, uint64_t lsn)
{
	uint64_t	h = ((uint64_t) offset / BLOCK + 1) * UINT64_C(0x9E3779B97F4A7C15);

	h = (h ^ lsn) * UINT64_C(0xBF58476D1CE4E5B9);
	return (h >> 33) % order->n == 0;
}

static void
note(const char *path, off_t offset, uint64_t lsn, const char *what)
{
	char		line[4300];
	int			fd = open("fault_lost", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	int			len = snprintf(line, sizeof(line), "%s %lld %llX %s\n", path,
							   (long long) offset / BLOCK,
							   (unsigned long long) lsn, what);

	if (fd < 0 || write(fd, line, (size_t) len) != len)
		abort();
	close(fd);
}

static ssize_t
next_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	static ssize_t (*next) (int, const void *, size_t, off_t);

	if (next == NULL)
		next = (ssize_t (*) (int, const void *, size_t, off_t))
			dlsym(RTLD_NEXT, "pwrite");
	return next(fd, buf, len, offset);
}

static ssize_t
next_pwritev(int fd, const struct iovec *iov, int n, off_t offset)
{
	static ssize_t (*next) (int, const struct iovec *, int, off_t);

	if (next == NULL)
		next = (ssize_t (*) (int, const struct iovec *, int, off_t))
			dlsym(RTLD_NEXT, "pwritev");
	return next(fd, iov, n, offset);
}

/* One block, of a file that holds it already. */
static ssize_t
write_block(int fd, const Order *order, const char *path,
			const unsigned char *page, off_t offset)
{
	static const unsigned char zeros[BLOCK];
	unsigned char before[BLOCK];
	uint64_t	lsn = lsn_of(page);
	bool		cuts = strcmp(order->what, "cut") == 0;
	struct stat st;

	if (!is_drawn(order, offset, lsn) ||
		(cuts && (fstat(fd, &st) != 0 || offset + BLOCK != st.st_size)))
		return next_pwrite(fd, page, BLOCK, offset);
	note(path, offset, lsn, order->what);
	if (strcmp(order->what, "zero") == 0)
		return next_pwrite(fd, zeros, BLOCK, offset);
	if (cuts && ftruncate(fd, offset) != 0)
		return -1;
	if (strcmp(order->what, "swap") == 0 && offset >= BLOCK &&
		(pread(fd, before, BLOCK, offset - BLOCK) != BLOCK ||
		 next_pwrite(fd, before, BLOCK, offset) != BLOCK))
		return -1;
	if ((strcmp(order->what, "redirect") == 0 || strcmp(order->what, "swap") == 0) &&
		offset >= BLOCK)
		return next_pwrite(fd, page, BLOCK, offset - BLOCK);
	return BLOCK;
}

/* Is this a write that may be lost? */
static bool
is_ours(int fd, size_t len, off_t offset, Order *order, char *path,
		size_t size)
{
	struct stat st;

	return len > 0 && len % BLOCK == 0 && offset % BLOCK == 0 &&
		access("fault_lose", F_OK) == 0 && is_relation(fd, path, size) &&
		fstat(fd, &st) == 0 && offset + (off_t) len <= st.st_size &&
		read_order(order);
}

static ssize_t
write_blocks(int fd, const void *buf, size_t len, off_t offset)
{
	Order		order;
	char		path[4096];

	if (!is_ours(fd, len, offset, &order, path, sizeof(path)))
		return next_pwrite(fd, buf, len, offset);
	for (size_t at = 0; at < len; at += BLOCK)
		if (write_block(fd, &order, path, (const unsigned char *) buf + at,
						offset + (off_t) at) != BLOCK)
			return -1;
	return (ssize_t) len;
}

static ssize_t
write_vector(int fd, const struct iovec *iov, int n, off_t offset)
{
	off_t		at = offset;
	Order		order;
	char		path[4096];
	ssize_t		len = 0;

	for (int i = 0; i < n; i++)
	{
		if (!is_ours(fd, iov[i].iov_len, at, &order, path, sizeof(path)))
			return next_pwritev(fd, iov, n, offset);
		at += (off_t) iov[i].iov_len;
	}
	for (int i = 0; i < n; i++)
	{
		if (write_blocks(fd, iov[i].iov_base, iov[i].iov_len, offset) < 0)
			return -1;
		offset += (off_t) iov[i].iov_len;
		len += (ssize_t) iov[i].iov_len;
	}
	return len;
}

#undef pwrite
#undef pwrite64
#undef pwritev
#undef pwritev64

ssize_t
pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	return write_blocks(fd, buf, len, offset);
}

ssize_t
pwrite64(int fd, const void *buf, size_t len, off_t offset)
{
	return write_blocks(fd, buf, len, offset);
}

ssize_t
pwritev(int fd, const struct iovec *iov, int n, off_t offset)
{
	return write_vector(fd, iov, n, offset);
}

ssize_t
pwritev64(int fd, const struct iovec *iov, int n, off_t offset)
{
	return write_vector(fd, iov, n, offset);
}
