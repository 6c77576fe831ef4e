/*
 * path.c
 *	  Paths of files and folders, allocated by the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"
#include "recover/path.h"

#define PIECE_BYTES		65536
#define DESCRIPTORS		16		/* of a walk over folders */

/* ---- folders ---- */

static bool
make_one(const char *path)
{
	return mkdir(path, S_IRWXU) == 0 || errno == EEXIST;
}

bool
recover_make_above(const char *path)
{
	char	   *copy = host_print("%s", path);
	bool		made = true;

	for (char *slash = strchr(copy + 1, '/'); made && slash != NULL;
		 slash = strchr(slash + 1, '/'))
	{
		*slash = '\0';
		made = make_one(copy);
		*slash = '/';
	}
	host_free(copy);
	return made;
}

bool
recover_make_folder(const char *path)
{
	return recover_make_above(path) && make_one(path);
}

static int
on_removed(const char *path, const struct stat *status, int kind,
		   struct FTW *place)
{
	(void) status;
	(void) kind;
	(void) place;
	remove(path);
	return 0;
}

void
recover_remove(const char *path)
{
	nftw(path, on_removed, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

/* ---- files ---- */

bool
recover_read_text(const char *path, char *words, size_t size)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t		len = 0;
	ssize_t		got = 0;

	if (fd < 0)
		return false;
	while (len < size - 1 && (got = read(fd, words + len, size - 1 - len)) > 0)
		len += (size_t) got;
	close(fd);
	words[len] = '\0';
	return got >= 0;
}

/* Returns false with errno if not all could be copied. */
static bool
copy_bytes(FileScan *from, int to)
{
	static char piece[PIECE_BYTES];
	off_t		at = 0;
	ssize_t		got;

	while ((got = file_scan_read(from, piece, sizeof(piece), at)) > 0)
	{
		errno = ENOSPC;			/* of a write that is short */
		if (write(to, piece, (size_t) got) != got)
			return false;
		at += got;
	}
	return got == 0;
}

static bool
copy_open(FileScan *from, const char *to)
{
	int			target;
	bool		copied;
	int			why;

	target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	copied = target >= 0 && copy_bytes(from, target);
	why = errno;
	file_scan_close(from);
	if (target >= 0 && close(target) != 0 && copied)
	{
		copied = false;
		why = errno;
	}
	errno = why;
	return copied;
}

static bool
copy_file(const char *from, const char *to, bool direct)
{
	FileWindow *window = direct ? file_window_new(NULL) : NULL;
	FileScan	scan;
	FileScanResult opened = file_scan_open_direct(&scan, from, window);
	bool		copied = opened == FILE_SCAN_OK ? copy_open(&scan, to) :
		opened == FILE_SCAN_MISSING;
	int			why = opened == FILE_SCAN_IRREGULAR ? EINVAL : errno;

	file_window_free(window);
	errno = why;
	return copied;
}

/* The copying of a folder. */
typedef struct Copying
{
	const char *from;
	const char *to;
	bool		direct;
	bool		failed;
	int			why;
} Copying;

static void
on_entry(void *arg, const char *name)
{
	Copying    *ctx = arg;
	char	   *from;
	char	   *to;

	if (name[0] == '.' || ctx->failed)
		return;
	from = host_print("%s/%s", ctx->from, name);
	to = host_print("%s/%s", ctx->to, name);
	ctx->failed = !recover_copy(from, to, ctx->direct);
	ctx->why = errno;
	host_free(from);
	host_free(to);
}

bool
recover_copy(const char *from, const char *to, bool direct)
{
	Copying		copying = {from, to, direct, false, 0};
	struct stat status;

	if (stat(from, &status) != 0)
		return errno == ENOENT;
	if (!S_ISDIR(status.st_mode))
		return copy_file(from, to, direct);
	if (!recover_make_folder(to) || !host_list(from, on_entry, &copying))
		return false;
	errno = copying.why;
	return !copying.failed;
}
