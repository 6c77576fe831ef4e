/*
 * archive_names.h
 *	  The names of archives of a backup in tar format, and the paths of their
 *	  members.
 *
 * Pure.  The facts are those of pg_basebackup, valid from 15 to 19.  The data
 * directory is base.tar, a tablespace OID.tar, and the WAL that was streamed
 * pg_wal.tar.
 */
#ifndef ACCEL_BACKUP_ARCHIVE_NAMES_H
#define ACCEL_BACKUP_ARCHIVE_NAMES_H

#include "decode/format.h"
#include "manifest/names.h"

typedef enum BackupArchiveKind
{
	BACKUP_ARCHIVE_BASE,
	BACKUP_ARCHIVE_TABLESPACE,
	BACKUP_ARCHIVE_WAL
} BackupArchiveKind;

typedef struct BackupArchive
{
	BackupArchiveKind kind;
	uint32_t	tablespace;		/* 0 if it is none's */
	DecodeFormat format;		/* by its name */
} BackupArchive;

/* Is a file of this name an archive of a backup? */
extern bool backup_archive_read(const char *name, BackupArchive *archive);

/*
 * Computes the path of a member within the backup.  Returns false if it has no
 * possible one, and path is then the name, cut off.
 */
extern bool backup_archive_path(const BackupArchive *archive,
								const char *member, char path[BACKUP_PATH_MAX]);

/*
 * Is the file of this path read again by its name?  These are files that say
 * what the backup is, that have a CRC of their own, or that are WAL.  Their
 * depth is bounded.
 */
extern bool backup_path_kept(const char *path);

/* Does it matter that the folder of this path is there? */
extern bool backup_folder_kept(const char *path);

#endif							/* ACCEL_BACKUP_ARCHIVE_NAMES_H */
