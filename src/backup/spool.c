/*
 * spool.c
 *	  A temporary directory with those files of archives that are read again.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/spool.h"
#include "host/host.h"
#include "host/print.h"

BackupSpool *
backup_spool_begin(void)
{
	BackupSpool *spool = host_alloc(sizeof(BackupSpool));

	spool->bytes = 0;
	spool->fd = -1;
	host_folder_begin(&spool->folder);
	return spool;
}

void
backup_spool_end(BackupSpool *spool)
{
	host_folder_end(&spool->folder);
}

/* ---- files ---- */

/* Is it the name that is wrong? */
static bool
is_of_name(int error)
{
	return error == EEXIST || error == ENOTDIR || error == EISDIR ||
		error == ENAMETOOLONG || error == EINVAL || error == EILSEQ;
}

static bool
failed(const BackupSpool *spool)
{
	if (!is_of_name(errno))
		host_folder_failed(&spool->folder);
	return false;
}

static bool
make_folder(const BackupSpool *spool, const char *path)
{
	struct stat status;

	if (host_folder_add(path))
		return true;
	if (errno != EEXIST)
		return failed(spool);
	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return true;
	errno = ENOTDIR;
	return false;
}

/* The folders that a path below the spool is in. */
static bool
make_folders(const BackupSpool *spool, char *path)
{
	for (char *slash = path + strlen(spool->folder.path) + 1;
		 (slash = strchr(slash, '/')) != NULL; slash++)
	{
		bool		made;

		*slash = '\0';
		made = make_folder(spool, path);
		*slash = '/';
		if (!made)
			return false;
	}
	return true;
}

bool
backup_spool_folder(BackupSpool *spool, const char *path)
{
	char	   *whole = host_print("%s/%s", spool->folder.path, path);
	bool		made = make_folders(spool, whole) && make_folder(spool, whole);
	int			error = errno;

	host_free(whole);
	errno = error;
	return made;
}

bool
backup_spool_create(BackupSpool *spool, const char *path)
{
	char	   *whole = host_print("%s/%s", spool->folder.path, path);
	bool		made = make_folders(spool, whole);
	int			error;

	if (made)
	{
		spool->fd = host_folder_create(whole);
		made = spool->fd >= 0 || failed(spool);
	}
	error = errno;
	host_free(whole);
	errno = error;
	return made;
}

void
backup_spool_write(BackupSpool *spool, const void *data, size_t len)
{
	const char *at = data;

	spool->bytes += len;
	host_folder_check(spool->bytes);
	while (len > 0)
	{
		ssize_t		done;

		errno = 0;
		done = write(spool->fd, at, len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
		{
			/* as a server does, since the device says no more than that */
			if (errno == 0)
				errno = ENOSPC;
			host_folder_failed(&spool->folder);
		}
		at += done;
		len -= (size_t) done;
	}
}

void
backup_spool_close(BackupSpool *spool)
{
	if (!host_folder_close(spool->fd))
		host_folder_failed(&spool->folder);
	spool->fd = -1;
}
