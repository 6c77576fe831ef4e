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
#include <string.h>

#include "host/file_scan.h"
#include "host/host.h"

#define PIECE_BYTES		((size_t) 1024 * 1024)

static FileScanResult result_of_errno(void);

FileScanResult
file_scan_open(FileScan *scan, const char *path)
{
	struct stat status;

	memset(scan, 0, sizeof(*scan));
	scan->path = path;
	scan->fd = -1;
	if (stat(path, &status) != 0)
		return result_of_errno();
	if (!S_ISREG(status.st_mode))
		return FILE_SCAN_IRREGULAR;
	scan->fd = host_open(path);
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

void
file_scan_resize(FileScan *scan)
{
	struct stat status;

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
