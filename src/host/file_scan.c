/*
 * file_scan.c
 *	  Reads files that a user names, with path rules, safe open and whole
 *	  reads.
 *
 * The order matters.  Privileges are judged on the letters of the path before
 * the file system is touched.  So nobody learns whether a file exists that
 * they may not read.  Then the path is looked at (stat) before it is opened,
 * since opening alone can rewind a tape or wake a writer of a FIFO.  The open
 * itself cannot block (O_NONBLOCK), should the file be swapped in between, and
 * what was opened is looked at again.
 */
#include "compat.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/syslogger.h"
#include "storage/fd.h"
#include "utils/acl.h"
#include "utils/wait_event.h"

#include "host/file_scan.h"

#define PIECE_BYTES		((size_t) 1024 * 1024)

static FileScanResult result_of_errno(void);
static void confine_letters(const char *path);
static void confine_links(const char *path);
static bool resolve(const char *path, char real[PATH_MAX]);
static bool below_real_path(const char *folder, const char *real);
static bool below_tablespace(const char *path, const char *real);

char *
file_scan_path(const char *filename)
{
	char	   *path = pstrdup(filename);

	if (path[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("file name is empty")));
	canonicalize_path(path);
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
	{
		confine_letters(path);
		confine_links(path);
	}
	return path;
}

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
	scan->fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC |
								 PG_BINARY);
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

void
file_scan_error(FileScanResult result, const char *path)
{
	if (result == FILE_SCAN_IRREGULAR)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", path)));
	if (result == FILE_SCAN_MISSING)
		errno = ENOENT;
	if (errno == ELOOP || errno == ENAMETOOLONG)	/* XX000 to the server */
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("could not open file \"%s\" for reading: %m", path)));
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not open file \"%s\" for reading: %m", path)));
}

ssize_t
file_scan_read(FileScan *scan, void *buffer, size_t length, off_t offset)
{
	size_t		done = 0;

	while (done < length)
	{
		ssize_t		got;

		CHECK_FOR_INTERRUPTS();
		pgstat_report_wait_start(WAIT_EVENT_COPY_FILE_READ);
		got = pread(scan->fd, (char *) buffer + done,
					Min(length - done, PIECE_BYTES), offset + (off_t) done);
		pgstat_report_wait_end();
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
		CloseTransientFile(scan->fd);
	scan->fd = -1;
}

static FileScanResult
result_of_errno(void)
{
	return errno == ENOENT || errno == ENOTDIR ?
		FILE_SCAN_MISSING : FILE_SCAN_FAILED;
}

/* Refuses what the letters of a path may not say without the role. */
static void
confine_letters(const char *path)
{
	if (!is_absolute_path(path))
	{
		if (!path_is_relative_and_below_cwd(path))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("path must be in or below the data directory")));
		return;
	}
	if (path_contains_parent_reference(path) ||
		(!path_is_prefix_of_path(DataDir, path) &&
		 !(is_absolute_path(Log_directory) &&
		   path_is_prefix_of_path(Log_directory, path))))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("absolute path not allowed")));
}

/*
 * Refuses symbolic links that lead a path where it may not without the role.
 * The server makes such links itself.  Both pg_wal and the tablespaces belong
 * to the cluster wherever they are.
 */
static void
confine_links(const char *path)
{
	char		real[PATH_MAX];

	if (!resolve(path, real) ||
		below_real_path(".", real) ||
		below_real_path("pg_wal", real) ||
		below_tablespace(path, real) ||
		(is_absolute_path(Log_directory) &&
		 below_real_path(Log_directory, real)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("path leads out of the data directory by a symbolic link")));
}

/* Resolves a path or, where it does not exist, its nearest existing folder. */
static bool
resolve(const char *path, char real[PATH_MAX])
{
	char	   *folder = pstrdup(path);

	while (folder[0] != '\0')
	{
		if (realpath(folder, real) != NULL)
			return true;
		get_parent_directory(folder);
	}
	return false;
}

static bool
below_real_path(const char *folder, const char *real)
{
	char		real_folder[PATH_MAX];

	return realpath(folder, real_folder) != NULL &&
		path_is_prefix_of_path(real_folder, real);
}

static bool
below_tablespace(const char *path, const char *real)
{
	char		folder[64];
	unsigned int oid;

	if (path_is_prefix_of_path(DataDir, path))
	{
		path += strlen(DataDir);
		while (IS_DIR_SEP(*path))
			path++;
	}
	if (sscanf(path, "pg_tblspc/%u", &oid) != 1)
		return false;
	snprintf(folder, sizeof(folder), "pg_tblspc/%u", oid);
	return below_real_path(folder, real);
}
