/* needs: kernel */
/*
 * test_direct.c
 *	  Reads past a page cache that comes short, fails and ends anywhere.
 *
 * The file is made here.  It refuses what is not aligned, as a device does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "unit.h"

static ssize_t file_read(int fd, void *buffer, size_t length, off_t offset);

#define pread file_read
#include "host/direct.c"
#undef pread

#define FILE_BYTES	(64 * 1024)

static unsigned char file[FILE_BYTES];
static size_t file_size;
static size_t most;				/* bytes of a read, which then comes short */
static int	fails_at;			/* the number of a read, 0 if none */
static int	failure;			/* its errno */
static int	reads;
static bool refuses;			/* what is not aligned */

static ssize_t
file_read(int fd, void *buffer, size_t length, off_t offset)
{
	size_t		left;

	(void) fd;
	if (++reads == fails_at)
	{
		errno = failure;
		return -1;
	}
	if (refuses && ((size_t) offset % DIRECT_ALIGN != 0 ||
					length % DIRECT_ALIGN != 0 ||
					(uintptr_t) buffer % DIRECT_ALIGN != 0))
	{
		errno = EINVAL;
		return -1;
	}
	left = (size_t) offset < file_size ? file_size - (size_t) offset : 0;
	if (length > left)
		length = left;
	if (length > most)
		length = most;
	memcpy(buffer, file + offset, length);
	return (ssize_t) length;
}

static void
reset(size_t size, size_t short_by)
{
	file_size = size;
	most = short_by;
	fails_at = failure = reads = 0;
	refuses = true;
}

static void
test_ends(unsigned char *buffer)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8192, 10000, FILE_BYTES};
	static const size_t shorts[] = {4096, 4608, 5000, 12288, FILE_BYTES};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t j = 0; j < sizeof(shorts) / sizeof(shorts[0]); j++)
		{
			int			error = -1;
			size_t		got;

			reset(sizes[i], shorts[j]);
			memset(buffer, 0, FILE_BYTES);
			got = direct_read(0, buffer, FILE_BYTES, 0, &error);
			check(got == sizes[i] && error == 0 &&
				  memcmp(buffer, file, got) == 0,
				  "a file of %zu bytes, %zu at once", sizes[i], shorts[j]);
			reset(sizes[i], shorts[j]);
			got = direct_read(0, buffer, 8192, 4096, &error);
			check(got == (sizes[i] < 4096 ? 0 : sizes[i] < 12288 ? sizes[i] - 4096 : 8192) &&
				  error == 0 && memcmp(buffer, file + 4096, got) == 0,
				  "from its second page on");
		}
}

static void
test_failures(unsigned char *buffer)
{
	int			error;
	size_t		got;

	reset(FILE_BYTES, 4608);
	fails_at = 2;
	failure = EINTR;
	got = direct_read(0, buffer, FILE_BYTES, 0, &error);
	check(got == FILE_BYTES && error == 0, "a signal is no end");
	reset(FILE_BYTES, 4608);
	fails_at = 3;
	failure = EIO;
	got = direct_read(0, buffer, FILE_BYTES, 0, &error);
	check(got == 4096 + 4608 && error == EIO, "an error is told, and what came before it counts");
	reset(FILE_BYTES, FILE_BYTES);
	fails_at = 1;
	failure = EIO;
	got = direct_read(0, buffer, FILE_BYTES, 0, &error);
	check(got == 0 && error == EIO, "an error at once");
	got = direct_read(0, buffer, FILE_BYTES, 0, &error);
	check(got == FILE_BYTES && error == 0, "which does not stay");
}

/* A real file, whose data and holes the system knows. */
static void
test_probe(void)
{
	char		name[] = "/tmp/test_direct.XXXXXX";
	int			fd = mkstemp(name);
	char		type[DIRECT_NAME_SIZE];
	int			write_back = 0;

	check(fd >= 0, "a file");
	reset(FILE_BYTES, FILE_BYTES);
	check(direct_probe(fd, &write_back) && reads == 0, "a file of nothing: there is nothing to read");
	check(write(fd, "data", 4) == 4, "written");
	reset(FILE_BYTES, FILE_BYTES);
	check(direct_probe(fd, &write_back) && reads == 1, "one that refuses a byte reads past the page cache");
	refuses = false;
	check(!direct_probe(fd, &write_back), "one that gives it does not");
	reset(FILE_BYTES, FILE_BYTES);
	fails_at = 1;
	failure = EIO;
	check(direct_probe(fd, &write_back) && reads == 2, "one that tells of a write-back first does, too");
	check(write_back == EIO, "and the error is told");
	reset(FILE_BYTES, FILE_BYTES);
	fails_at = 1;
	refuses = false;
	check(!direct_probe(fd, &write_back), "unless it gives a byte then");
	check(direct_is_cached(fd, 0, DIRECT_ALIGN), "what was written is cached");
	check(strlen(direct_file_system(name, type)) > 0, "a file system has a type");
	check(strcmp(direct_file_system("/nothing/at/all", type), "unknown") == 0, "none has none");
	close(fd);
	unlink(name);
}

int
main(int argc, char **argv)
{
	void	   *buffer = NULL;

	unit_begin("direct", argc, argv);
	check(posix_memalign(&buffer, DIRECT_ALIGN, FILE_BYTES) == 0, "memory");
	for (size_t i = 0; i < FILE_BYTES; i++)
		file[i] = (unsigned char) (i * 7 + i / 256 + 1);
	test_ends(buffer);
	test_failures(buffer);
	test_probe();
	free(buffer);
	return unit_finish();
}
