/*
 * archive_names.c
 *	  The names of archives of a backup in tar format, and the paths of their
 *	  members.
 */
#include <stdio.h>
#include <string.h>

#include "manifest/archive_names.h"

/* ---- archives ---- */

/* What is named like the file of a database's relation is named like an OID. */
static bool
is_tablespace(const char *name, size_t len, uint32_t *tablespace)
{
	char		path[64];
	BackupRelationFile file;

	if (len > 10)
		return false;
	snprintf(path, sizeof(path), "global/%.*s", (int) len, name);
	if (!backup_relation_file(path, &file) || strspn(name, "0123456789") < len)
		return false;
	*tablespace = file.number;
	return true;
}

bool
backup_archive_read(const char *name, BackupArchive *archive)
{
	size_t		len = strcspn(name, ".");
	bool		known = strncmp(name + len, ".tar", 4) == 0 &&
		decode_format_named(name + len + 4, &archive->format);

	archive->tablespace = 0;
	archive->kind = BACKUP_ARCHIVE_TABLESPACE;
	if (len == strlen("base") && strncmp(name, "base", len) == 0)
		archive->kind = BACKUP_ARCHIVE_BASE;
	else if (len == strlen("pg_wal") && strncmp(name, "pg_wal", len) == 0)
		archive->kind = BACKUP_ARCHIVE_WAL;
	else if (!is_tablespace(name, len, &archive->tablespace))
		return false;
	return known;
}

/* ---- members ---- */

bool
backup_archive_path(const BackupArchive *archive, const char *member,
					char path[BACKUP_PATH_MAX])
{
	int			len = 0;

	if (!backup_path_possible(member))
	{
		snprintf(path, BACKUP_PATH_MAX, "%s", member);
		return false;
	}
	switch (archive->kind)
	{
		case BACKUP_ARCHIVE_BASE:
			len = snprintf(path, BACKUP_PATH_MAX, "%s", member);
			break;
		case BACKUP_ARCHIVE_TABLESPACE:
			len = snprintf(path, BACKUP_PATH_MAX, "pg_tblspc/%u/%s",
						   archive->tablespace, member);
			break;
		case BACKUP_ARCHIVE_WAL:
			len = snprintf(path, BACKUP_PATH_MAX, "pg_wal/%s", member);
			break;
	}
	return len > 0 && len < BACKUP_PATH_MAX;
}

/* Does a path match a pattern, in which % is one name? */
static bool
matches(const char *path, const char *pattern)
{
	for (; *pattern != '\0'; pattern++)
	{
		if (*pattern == '%')
			path += strcspn(path, "/");
		else if (*path++ != *pattern)
			return false;
	}
	return *path == '\0';
}

static bool
matches_one(const char *path, const char *const *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (matches(path, patterns[i]))
			return true;
	return false;
}

bool
backup_path_kept(const char *path)
{
	static const char *const patterns[] = {
		"PG_VERSION", "backup_label", "tablespace_map", "global/pg_control",
		"global/1262",			/* pg_database, unless it was rewritten */
		"pg_wal/%", "pg_wal/summaries/%", "pg_twophase/%",
		"pg_replslot/%/state", "pg_logical/replorigin_checkpoint",
		"pg_logical/snapshots/%"
	};
	BackupRelationFile file;

	return matches_one(path, patterns, sizeof(patterns) / sizeof(patterns[0])) ||
		backup_map_file(path, &file) || backup_version_file(path, &file);
}

bool
backup_folder_kept(const char *path)
{
	static const char *const patterns[] = {
		"pg_wal", "pg_wal/archive_status", "pg_replslot/%"
	};

	return matches_one(path, patterns, sizeof(patterns) / sizeof(patterns[0]));
}
