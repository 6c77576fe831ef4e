/*
 * file_scan.h
 *	  Opens files so that nothing blocks, and reads them whole.
 *
 * For files that the server does not read through its storage manager (WAL,
 * backups, configuration).  Only regular files are ever opened, and nothing
 * here can block on a FIFO or a device.
 */
#ifndef ACCEL_HOST_FILE_SCAN_H
#define ACCEL_HOST_FILE_SCAN_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

typedef enum FileScanResult
{
	FILE_SCAN_OK,
	FILE_SCAN_MISSING,			/* no such file */
	FILE_SCAN_IRREGULAR,		/* a directory, FIFO or device, left alone */
	FILE_SCAN_FAILED			/* errno says why */
} FileScanResult;

/*
 * An open file, which lives until file_scan_close() or the end of transaction.
 */
typedef struct FileScan
{
	const char *path;			/* the caller's, must outlive the scan */
	int			fd;
	off_t		size;			/* bytes, at open */
	dev_t		device;			/* identity, at open */
	ino_t		inode;
} FileScan;

/*
 * Opens a regular file for reading (close-on-exec, never blocking).  Raises no
 * error but for a lack of descriptors.  path is taken as it is, so user input
 * of a server goes through file_path_parse() first.
 */
extern FileScanResult file_scan_open(FileScan *scan, const char *path);

/*
 * Reads length bytes at offset.  Short reads and EINTR are retried.  Returns
 * the bytes read, fewer than length only at the end of the file, or -1 with
 * errno.  Checks for interrupts between pieces of a megabyte, so hold no lock.
 */
extern ssize_t file_scan_read(FileScan *scan, void *buffer, size_t length,
							  off_t offset);

/* Takes the size of the open file again, which may have grown. */
extern void file_scan_resize(FileScan *scan);

/* Does the name still lead to the file that was opened? */
extern bool file_scan_still_there(const FileScan *scan);

extern void file_scan_close(FileScan *scan);

#endif							/* ACCEL_HOST_FILE_SCAN_H */
