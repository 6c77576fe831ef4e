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
 * Memory of reads past the page cache, for any number of files in turn.  It
 * holds a piece of the one that was opened last.  Whole pieces are read ahead,
 * so each of them takes its turn, and what is asked of the file takes none.
 */
typedef struct FileWindow
{
	void	   *allocated;
	unsigned char *bytes;		/* aligned */
	off_t		at;				/* its place in the file */
	size_t		held;			/* bytes of it */
	off_t		until;			/* nothing after that is read ahead, 0 if no
								 * bound */
	bool		ready;			/* for the largest pieces */
	struct Throttle *throttle;	/* bounds what is read, NULL if nothing does */
} FileWindow;

/* The window is of the memory that is allocated now, and is freed with it. */
extern FileWindow *file_window_new(struct Throttle *throttle);
extern void file_window_free(FileWindow *window);	/* may be NULL */

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
	FileWindow *window;			/* of reads past the page cache, else NULL */
} FileScan;

/* Is there anything of this name below a folder? */
extern bool file_scan_exists(const char *folder, const char *name);

/*
 * Opens a regular file for reading (close-on-exec, never blocking).  Raises no
 * error but for a lack of descriptors.  path is taken as it is, so user input
 * of a server goes through file_path_parse() first.
 */
extern FileScanResult file_scan_open(FileScan *scan, const char *path);

/*
 * The same for reads past the page cache, if the window is not NULL.  No other
 * open file uses it.  Ends the work where the file system does not read so.
 */
extern FileScanResult file_scan_open_direct(FileScan *scan, const char *path,
											FileWindow *window);

/*
 * Reads length bytes at offset.  Short reads and EINTR are retried.  Returns
 * the bytes read, fewer than length only at the end of the file, or -1 with
 * errno.  Checks for interrupts between pieces of a megabyte, so hold no lock.
 */
extern ssize_t file_scan_read(FileScan *scan, void *buffer, size_t length,
							  off_t offset);

/*
 * The same, but returns where the bytes are.  That is the buffer, or the window
 * until the next read, where it holds them all.  So they are not copied.
 */
extern const void *file_scan_piece(FileScan *scan, void *buffer,
								   size_t length, off_t offset, ssize_t *got);

/* Takes the size of the open file again, which may have grown. */
extern void file_scan_resize(FileScan *scan);

/* Does the name still lead to the file that was opened? */
extern bool file_scan_still_there(const FileScan *scan);

extern void file_scan_close(FileScan *scan);

#endif							/* ACCEL_HOST_FILE_SCAN_H */
