/*
 * keep.c
 *	  Keeps files in the page cache, until its input ends.
 *
 * keep FILE...		says "kept", or why not
 *
 * Whoever is short of memory may take clean pages out of the page cache at any
 * time, but not locked ones.  A process may lock a few megabytes, so each that
 * has no room left starts another one, which goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES		((size_t) 1024 * 1024)
#define PAGE_BYTES		((size_t) 65536)	/* at most */

/* What this process may lock still, in bytes, of which whole pages count. */
static size_t room;

static size_t
find_room(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return 0;
	return limit.rlim_cur == RLIM_INFINITY ? (size_t) -1 : (size_t) limit.rlim_cur;
}

static void
wait_for_end(void)
{
	char		byte;

	exit(read(STDIN_FILENO, &byte, 1) < 0);
}

static int
keep_piece(int fd, off_t offset, size_t length)
{
	void	   *map;

	if (length + PAGE_BYTES > room)
	{
		pid_t		child = fork();

		if (child > 0)
			wait_for_end();
		if (child < 0)
			return -1;
		room = find_room();
	}
	map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, offset);
	if (map == MAP_FAILED || mlock(map, length) != 0)
		return -1;
	room -= length + PAGE_BYTES > room ? room : length + PAGE_BYTES;
	return 0;
}

static int
keep_file(const char *path)
{
	struct stat status;
	int			fd = open(path, O_RDONLY);
	int			result = fd < 0 ? -1 : fstat(fd, &status);

	for (off_t at = 0; result == 0 && at < status.st_size; at += PIECE_BYTES)
		result = keep_piece(fd, at, status.st_size - at < (off_t) PIECE_BYTES ?
							(size_t) (status.st_size - at) : PIECE_BYTES);
	if (fd >= 0)
		close(fd);
	return result;
}

int
main(int argc, char **argv)
{
	room = find_room();
	for (int i = 1; i < argc; i++)
	{
		if (keep_file(argv[i]) == 0)
			continue;
		printf("%s: %s\n", argv[i], strerror(errno));
		return 1;
	}
	puts("kept");
	fflush(stdout);
	wait_for_end();
}
