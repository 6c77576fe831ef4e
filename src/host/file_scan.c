/*
 * file_scan.c
 *	  Opens files so that nothing blocks, and reads them whole.
 *
 * The order matters.  The path is looked at (stat) before it is opened, since
 * opening alone can rewind a tape or wake a writer of a FIFO.  The open itself
 * cannot block (O_NONBLOCK), should the file be swapped in between, and what
 * was opened is looked at again.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "host/direct.h"
#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"

#define PIECE_BYTES		((size_t) 1024 * 1024)

#define WINDOW_BYTES	DIRECT_PIECE

static FileScanResult result_of_errno(void);
static ssize_t read_window(FileScan *scan, void *buffer, size_t length,
						   off_t offset);

FileWindow *
file_window_new(struct Throttle *throttle)
{
	FileWindow *window = host_alloc(sizeof(FileWindow));

	memset(window, 0, sizeof(*window));
	window->allocated = host_alloc(WINDOW_BYTES + DIRECT_LARGE);
	window->bytes = (unsigned char *) DIRECT_ROUND_UP_LARGE((uintptr_t) window->allocated);
	window->throttle = throttle;
	return window;
}

void
file_window_free(FileWindow *window)
{
	if (window == NULL)
		return;
	host_free(window->allocated);
	host_free(window);
}

bool
file_scan_exists(const char *folder, const char *name)
{
	char	   *path = host_print("%s/%s", folder, name);
	struct stat status;
	bool		there = stat(path, &status) == 0;

	host_free(path);
	return there;
}

FileScanResult
file_scan_open(FileScan *scan, const char *path)
{
	return file_scan_open_direct(scan, path, NULL);
}

FileScanResult
file_scan_open_direct(FileScan *scan, const char *path, FileWindow *window)
{
	struct stat status;

	memset(scan, 0, sizeof(*scan));
	scan->path = path;
	scan->fd = -1;
	if (stat(path, &status) != 0)
		return result_of_errno();
	if (!S_ISREG(status.st_mode))
		return FILE_SCAN_IRREGULAR;
	scan->window = window;
	if (window != NULL)
		window->held = 0;
	scan->fd = window != NULL ? host_open_direct(path) : host_open(path);
	if (scan->fd < 0)
		return result_of_errno();
	if (fstat(scan->fd, &status) != 0)
	{
		int			save_errno = errno;

		file_scan_close(scan);
		errno = save_errno;
		return FILE_SCAN_FAILED;
	}
	if (!S_ISREG(status.st_mode))
	{
		file_scan_close(scan);
		return FILE_SCAN_IRREGULAR;
	}
	scan->size = status.st_size;
	scan->device = status.st_dev;
	scan->inode = status.st_ino;
	return FILE_SCAN_OK;
}

ssize_t
file_scan_read(FileScan *scan, void *buffer, size_t length, off_t offset)
{
	size_t		done = 0;

	if (scan->window != NULL)
		return read_window(scan, buffer, length, offset);
	while (done < length)
	{
		size_t		left = length - done;
		ssize_t		got;

		host_interrupts();
		got = host_read(scan->fd, (char *) buffer + done,
						left < PIECE_BYTES ? left : PIECE_BYTES,
						offset + (off_t) done);
		if (got == 0)
			break;
		if (got > 0)
			done += (size_t) got;
		else if (errno != EINTR)
			return -1;
	}
	return (ssize_t) done;
}

/*
 * Fills the window from an offset on, as far as the file goes, and no further
 * than a turn.  A write-back that failed is told to one read, and what the
 * device has is judged all the same.  So a read that fails is tried once more.
 * Returns false with errno.
 */
static bool
fill_window(FileScan *scan, off_t offset)
{
	FileWindow *window = scan->window;
	off_t		from = DIRECT_ROUND_DOWN(offset);
	off_t		left = scan->size > from ? scan->size - from : 1;
	size_t		wanted = left < (off_t) WINDOW_BYTES ?
		DIRECT_ROUND_UP((size_t) left) : WINDOW_BYTES;
	int			error;

	if (window->until > offset && window->until - from < (off_t) wanted)
		wanted = DIRECT_ROUND_UP((size_t) (window->until - from));
	host_interrupts();
	wanted = host_turn(window->throttle, wanted);
	window->at = from;
	if (wanted >= DIRECT_LARGE && !window->ready)
		direct_ready(window->bytes, WINDOW_BYTES);
	window->ready |= wanted >= DIRECT_LARGE;
	for (int i = 0; i < 2; i++)
	{
		window->held = direct_read(scan->fd, window->bytes, wanted, from, &error);
		if (error == 0)
			break;
	}
	errno = error;
	return error == 0 || from + (off_t) window->held > offset;
}

/* Does the window hold the byte at an offset, or can it be filled so? */
static bool
reach(FileScan *scan, off_t offset)
{
	const FileWindow *window = scan->window;

	return (offset >= window->at && offset < window->at + (off_t) window->held) ||
		fill_window(scan, offset);
}

static ssize_t
read_window(FileScan *scan, void *buffer, size_t length, off_t offset)
{
	FileWindow *window = scan->window;
	size_t		done = 0;

	while (done < length)
	{
		off_t		at = offset + (off_t) done;
		size_t		skip;
		size_t		some;

		if (!reach(scan, at))
			return -1;
		if (at >= window->at + (off_t) window->held)
			break;				/* the end of the file */
		skip = (size_t) (at - window->at);
		some = window->held - skip;
		if (some > length - done)
			some = length - done;
		memcpy((char *) buffer + done, window->bytes + skip, some);
		done += some;
	}
	return (ssize_t) done;
}

const void *
file_scan_piece(FileScan *scan, void *buffer, size_t length, off_t offset,
				ssize_t *got)
{
	const FileWindow *window = scan->window;

	if (window != NULL && reach(scan, offset) &&
		offset + (off_t) length <= window->at + (off_t) window->held)
	{
		*got = (ssize_t) length;
		return window->bytes + (offset - window->at);
	}
	*got = file_scan_read(scan, buffer, length, offset);
	return buffer;
}

void
file_scan_resize(FileScan *scan)
{
	struct stat status;

	if (scan->window != NULL)
		scan->window->held = 0; /* it may have changed */
	if (fstat(scan->fd, &status) == 0)
		scan->size = status.st_size;
}

bool
file_scan_still_there(const FileScan *scan)
{
	struct stat status;

	return stat(scan->path, &status) == 0 &&
		status.st_dev == scan->device && status.st_ino == scan->inode;
}

void
file_scan_close(FileScan *scan)
{
	if (scan->fd >= 0)
		host_close(scan->fd);
	scan->fd = -1;
}

static FileScanResult
result_of_errno(void)
{
	return errno == ENOENT || errno == ENOTDIR ?
		FILE_SCAN_MISSING : FILE_SCAN_FAILED;
}
