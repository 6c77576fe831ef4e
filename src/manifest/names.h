/*
 * names.h
 *	  Tells which paths within a backup are possible, and which are files of
 *	  relations.
 *
 * Pure.  Facts of PostgreSQL's relpath.h and md.c, valid from 15 to 19.
 */
#ifndef ACCEL_BACKUP_NAMES_H
#define ACCEL_BACKUP_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BACKUP_PATH_MAX	1024	/* with terminator */

/* The tablespaces with folders of their own are pg_default and pg_global. */
#define BACKUP_SPC_DEFAULT	1663
#define BACKUP_SPC_GLOBAL	1664

typedef enum BackupFork
{
	BACKUP_FORK_MAIN,
	BACKUP_FORK_FSM,
	BACKUP_FORK_VM,
	BACKUP_FORK_INIT
} BackupFork;

typedef struct BackupRelationFile
{
	uint32_t	tablespace;
	uint32_t	database;		/* 0 if global */
	uint32_t	number;
	BackupFork	fork;
	uint32_t	segment;		/* of the fork's files */
} BackupRelationFile;

/*
 * May a file of a backup have this path?  It is relative, in canonical form,
 * does not leave the backup by "..", and is shorter than BACKUP_PATH_MAX.
 */
extern bool backup_path_possible(const char *path);

/* Returns what follows the prefix, or NULL. */
extern const char *backup_skip_prefix(const char *path, const char *prefix);

/* Is it a tablespace, which is a name right below pg_tblspc? */
extern bool backup_path_is_tablespace(const char *path);

/* Is it a file with pages of a relation?  Sets *file. */
extern bool backup_relation_file(const char *path, BackupRelationFile *file);

/* Is it an incremental file of one, INCREMENTAL.name?  Sets *file. */
extern bool backup_incremental_file(const char *path,
									BackupRelationFile *file);

/*
 * Computes the path of the file that an incremental file is part of, which is
 * without its prefix.  The array full has BACKUP_PATH_MAX bytes.
 */
extern void backup_full_path(const char *path, char *full);

/* Does the reverse.  Returns false if it would be too long. */
extern bool backup_incremental_path(const char *full, char *path);

/* Is it a relation map?  Sets *file, which has no number. */
extern bool backup_map_file(const char *path, BackupRelationFile *file);

/* Is it the PG_VERSION of a database?  The same. */
extern bool backup_version_file(const char *path, BackupRelationFile *file);

/*
 * Returns a folder of a data directory that the server does not make, number n
 * in order, or NULL if there are no more.  Without one of them it does not
 * start, or fails later.  They do not include pg_wal, since WAL may be
 * elsewhere.
 */
extern const char *backup_folder_needed(size_t n);

/* Is a path that of the folder, or of something in it? */
extern bool backup_folder_has(const char *folder, const char *path);

/*
 * Does the server change a file of this path without the manifest's knowledge,
 * or does somebody else write it?  These are neither missing nor extra.
 */
extern bool backup_path_ignored(const char *path);

#endif							/* ACCEL_BACKUP_NAMES_H */
