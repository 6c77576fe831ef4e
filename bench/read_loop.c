/*
 * read_loop.c
 *	  Reads files with pread() in pieces and prints the seconds it took: the
 *	  bare cost that a verification cannot go below.
 *
 * usage: read_loop PIECE_BYTES FILE...	or	read_loop drop FILE...
 * drop asks the kernel to forget the files' cached pages instead.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	int			drop = argc > 1 && strcmp(argv[1], "drop") == 0;
	size_t		piece = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	void	   *buffer = NULL;
	double		start;

	if (argc < 3 || (!drop && (piece == 0 || posix_memalign(&buffer, 4096, piece) != 0)))
		return 2;
	start = now();
	for (int i = 2; i < argc; i++)
	{
		int			fd = open(argv[i], O_RDONLY);
		off_t		offset = 0;
		ssize_t		n = 0;

		if (fd < 0)
			return 1;
		if (drop && (fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0))
			return 1;
		while (!drop && (n = pread(fd, buffer, piece, offset)) > 0)
			offset += n;
		if (n < 0)
			return 1;
		close(fd);
	}
	printf("%.6f\n", now() - start);
	return 0;
}
