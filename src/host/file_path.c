/*
 * file_path.c
 *	  Judges the paths of files that a user of the server names.
 *
 * Privileges are judged on the letters of the path before the file system is
 * touched.  So nobody learns whether a file exists that they may not read.
 */
#include "compat.h"

#include <limits.h>

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "postmaster/syslogger.h"
#include "utils/acl.h"

#include "host/file_path.h"

static void confine_letters(const char *path);
static void confine_links(const char *path);
static bool resolve(const char *path, char real[PATH_MAX]);
static bool below_real_path(const char *folder, const char *real);
static bool below_tablespace(const char *path, const char *real);

char *
file_path_parse(const char *filename)
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

void
file_path_error(FileScanResult result, const char *path)
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
