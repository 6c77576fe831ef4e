/*
 * spool.c
 *	  A temporary directory with those files of archives that are read again.
 */
#include "compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/pg_tablespace_d.h"
#include "commands/tablespace.h"
#include "common/file_perm.h"
#include "common/file_utils.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "backup/spool.h"
#include "host/host.h"

/* Interrupts would leave a part of it. */
static void
remove_directory(void *arg)
{
	BackupSpool *spool = arg;

	if (spool->path[0] == '\0')
		return;
	HOLD_INTERRUPTS();
	PathNameDeleteTemporaryDir(spool->path);
	RESUME_INTERRUPTS();
	spool->path[0] = '\0';
}

/* Where temporary files of this session go. */
static void
temporary_place(char place[MAXPGPATH])
{
	Oid			tablespace;

	PrepareTempTablespaces();
	tablespace = GetNextTempTableSpace();
	if (!OidIsValid(tablespace))
		tablespace = OidIsValid(MyDatabaseTableSpace) ?
			MyDatabaseTableSpace : DEFAULTTABLESPACE_OID;
	TempTablespacePath(place, tablespace);
}

BackupSpool *
backup_spool_begin(void)
{
	BackupSpool *spool = palloc0(sizeof(BackupSpool));
	char		place[MAXPGPATH];

	temporary_place(place);
	spool->fd = -1;
	host_at_end(remove_directory, spool);
	/* with the server's prefix, so that it removes it after a crash */
	snprintf(spool->path, sizeof(spool->path),
			 "%s/%s%d.backup." INT64_FORMAT, place, PG_TEMP_FILE_PREFIX,
			 MyProcPid, (int64) GetCurrentTimestamp());
	PathNameCreateTemporaryDir(place, spool->path);
	return spool;
}

void
backup_spool_end(BackupSpool *spool)
{
	remove_directory(spool);
}

/* ---- files ---- */

_Noreturn static void
cannot_write(const BackupSpool *spool)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not write to temporary directory \"%s\": %m",
					spool->path)));
}

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
		cannot_write(spool);
	return false;
}

static bool
make_folder(const BackupSpool *spool, const char *path)
{
	struct stat status;

	if (MakePGDirectory(path) == 0)
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
	for (char *slash = path + strlen(spool->path) + 1;
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
	char	   *whole = psprintf("%s/%s", spool->path, path);
	bool		made = make_folders(spool, whole) && make_folder(spool, whole);

	pfree(whole);
	return made;
}

bool
backup_spool_create(BackupSpool *spool, const char *path)
{
	char	   *whole = psprintf("%s/%s", spool->path, path);
	bool		made = make_folders(spool, whole);

	if (made)
	{
		spool->fd = OpenTransientFile(whole, O_WRONLY | O_CREAT | O_EXCL |
									  PG_BINARY);
		made = spool->fd >= 0 || failed(spool);
	}
	pfree(whole);
	return made;
}

static void
check_limit(const BackupSpool *spool)
{
	if (temp_file_limit >= 0 &&
		spool->bytes > (uint64) temp_file_limit * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("temporary file size exceeds \"temp_file_limit\" (%dkB)",
						temp_file_limit),
				 errhint("WAL in archives is written to temporary files: extract the archives first.")));
}

void
backup_spool_write(BackupSpool *spool, const void *data, size_t len)
{
	const char *at = data;

	spool->bytes += len;
	check_limit(spool);
	while (len > 0)
	{
		ssize_t		done;

		errno = 0;
		done = write(spool->fd, at, len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
		{
			/* as the server does, since the device says no more than that */
			if (errno == 0)
				errno = ENOSPC;
			cannot_write(spool);
		}
		at += done;
		len -= (size_t) done;
	}
}

void
backup_spool_close(BackupSpool *spool)
{
	if (CloseTransientFile(spool->fd) != 0)
		cannot_write(spool);
	spool->fd = -1;
}
