/*
 * names.c
 *	  Paths within a backup.
 */
#include <stddef.h>
#include <string.h>

#include "host/digits.h"
#include "manifest/names.h"

#define INCREMENTAL	"INCREMENTAL."	/* before the name of a file, from 17 */

/* The length of the path's first component. */
static size_t
component(const char *path)
{
	return strcspn(path, "/");
}

bool
backup_path_possible(const char *path)
{
	size_t		len = strlen(path);

	if (len == 0 || len >= BACKUP_PATH_MAX)
		return false;
	for (;; path++)
	{
		size_t		part = component(path);

		if (part == 0 || (part == 1 && path[0] == '.') ||
			(part == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += part;
		if (*path == '\0')
			return true;
	}
}

/*
 * Reads a decimal number without leading zeros, as the server prints it.
 * Returns the end, or NULL.
 */
static const char *
number(const char *digits, uint32_t *value)
{
	uint64_t	n = 0;
	const char *end = *digits == '0' ? NULL : digits_read(digits, UINT32_MAX, &n);

	if (end != NULL)
		*value = (uint32_t) n;
	return end;
}

/*
 * Reads a folder's name that is a number.  Returns what follows the slash, or
 * NULL.
 */
static const char *
number_folder(const char *path, uint32_t *value)
{
	const char *end = number(path, value);

	return end != NULL && *end == '/' ? end + 1 : NULL;
}

const char *
backup_skip_prefix(const char *path, const char *prefix)
{
	size_t		len = strlen(prefix);

	return strncmp(path, prefix, len) == 0 ? path + len : NULL;
}

bool
backup_path_is_tablespace(const char *path)
{
	const char *name = backup_skip_prefix(path, "pg_tblspc/");

	return name != NULL && strchr(name, '/') == NULL;
}

/*
 * Reads the folder of a database.  Returns the file's name, or NULL.  All else
 * of *file is zero.
 */
static const char *
relation_folder(const char *path, BackupRelationFile *file)
{
	const char *rest = backup_skip_prefix(path, "global/");

	memset(file, 0, sizeof(*file));
	file->tablespace = BACKUP_SPC_GLOBAL;
	if (rest != NULL)
		return rest;
	file->tablespace = BACKUP_SPC_DEFAULT;
	rest = backup_skip_prefix(path, "base/");
	if (rest != NULL)
		return number_folder(rest, &file->database);
	rest = backup_skip_prefix(path, "pg_tblspc/");
	if (rest == NULL)
		return NULL;
	rest = number_folder(rest, &file->tablespace);
	if (rest == NULL || backup_skip_prefix(rest, "PG_") == NULL)
		return NULL;
	rest += component(rest);
	return *rest == '/' ? number_folder(rest + 1, &file->database) : NULL;
}

/* Reads "_fsm", "_vm", "_init" or nothing.  Returns what follows. */
static const char *
fork_suffix(const char *name, BackupFork *fork)
{
	static const struct
	{
		const char *suffix;
		BackupFork	fork;
	}			forks[] = {
		{"_fsm", BACKUP_FORK_FSM}, {"_vm", BACKUP_FORK_VM},
		{"_init", BACKUP_FORK_INIT}
	};

	*fork = BACKUP_FORK_MAIN;
	for (size_t i = 0; i < sizeof(forks) / sizeof(forks[0]); i++)
	{
		const char *rest = backup_skip_prefix(name, forks[i].suffix);

		if (rest != NULL)
		{
			*fork = forks[i].fork;
			return rest;
		}
	}
	return name;
}

/* Is it the name of a relation's file, all of it? */
static bool
relation_name(const char *name, BackupRelationFile *file)
{
	name = name == NULL ? NULL : number(name, &file->number);
	if (name == NULL)
		return false;
	name = fork_suffix(name, &file->fork);
	file->segment = 0;
	if (*name == '.')
		name = number(name + 1, &file->segment);
	return name != NULL && *name == '\0';
}

bool
backup_relation_file(const char *path, BackupRelationFile *file)
{
	return relation_name(relation_folder(path, file), file);
}

/* ---- incremental files ---- */

bool
backup_incremental_file(const char *path, BackupRelationFile *file)
{
	const char *name = relation_folder(path, file);

	name = name == NULL ? NULL : backup_skip_prefix(name, INCREMENTAL);
	return relation_name(name, file);
}

/* Where the name after the last folder begins. */
static size_t
name_at(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (size_t) (slash + 1 - path);
}

void
backup_full_path(const char *path, char *full)
{
	size_t		at = name_at(path);

	memcpy(full, path, at);
	strcpy(full + at, path + at + strlen(INCREMENTAL));
}

bool
backup_incremental_path(const char *full, char *path)
{
	size_t		at = name_at(full);

	if (strlen(full) + strlen(INCREMENTAL) >= BACKUP_PATH_MAX)
		return false;
	memcpy(path, full, at);
	strcpy(path + at, INCREMENTAL);
	strcat(path + at, full + at);
	return true;
}

bool
backup_map_file(const char *path, BackupRelationFile *file)
{
	const char *name = relation_folder(path, file);

	return name != NULL && strcmp(name, "pg_filenode.map") == 0;
}

bool
backup_version_file(const char *path, BackupRelationFile *file)
{
	const char *name = relation_folder(path, file);

	return name != NULL && file->database != 0 &&
		strcmp(name, "PG_VERSION") == 0;
}

/* ---- folders ---- */

const char *
backup_folder_needed(size_t n)
{
	/* the server starts without the last two, and fails when it needs them */
	static const char *const folders[] = {
		"base", "global", "pg_commit_ts", "pg_logical/mappings",
		"pg_logical/snapshots", "pg_multixact/members", "pg_multixact/offsets",
		"pg_notify", "pg_replslot", "pg_subtrans", "pg_tblspc", "pg_twophase",
		"pg_xact", "pg_serial", "pg_snapshots"
	};

	return n < sizeof(folders) / sizeof(folders[0]) ? folders[n] : NULL;
}

bool
backup_folder_has(const char *folder, const char *path)
{
	const char *rest = backup_skip_prefix(path, folder);

	return rest != NULL && (*rest == '\0' || *rest == '/');
}

/* ---- what is passed over ---- */

bool
backup_path_ignored(const char *path)
{
	static const char *const names[] = {
		"backup_manifest", "postgresql.auto.conf", "recovery.signal",
		"standby.signal"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(path, names[i]) == 0)
			return true;
	return backup_folder_has("pg_wal", path);
}
