/*
 * archive_names.h
 *	  Backups in tar format: names of archives, and paths of their members.
 *
 * Pure.  Facts of pg_basebackup, valid from 15 to 19: base.tar is the data
 * directory, OID.tar a tablespace, pg_wal.tar the WAL that was streamed.
 */
#ifndef ACCEL_BACKUP_ARCHIVE_NAMES_H
#define ACCEL_BACKUP_ARCHIVE_NAMES_H

#include "backup/names.h"
#include "decode/format.h"

typedef enum BackupArchiveKind
{
	BACKUP_ARCHIVE_BASE,
	BACKUP_ARCHIVE_TABLESPACE,
	BACKUP_ARCHIVE_WAL
} BackupArchiveKind;

typedef struct BackupArchive
{
	BackupArchiveKind kind;
	uint32_t	tablespace;		/* 0: it is none's */
	DecodeFormat format;		/* by its name */
} BackupArchive;

/* Is a file of this name an archive of a backup? */
extern bool backup_archive_read(const char *name, BackupArchive *archive);

/*
 * The path within the backup of a member.  false: it has no possible one, and
 * path is the name, cut off.
 */
extern bool backup_archive_path(const BackupArchive *archive,
								const char *member, char path[BACKUP_PATH_MAX]);

/*
 * Is the file of this path read again by its name: one that says what the
 * backup is, one with a CRC of its own, or WAL?  Of a bounded depth.
 */
extern bool backup_path_kept(const char *path);

/* Does it matter that the folder of this path is there? */
extern bool backup_folder_kept(const char *path);

#endif							/* ACCEL_BACKUP_ARCHIVE_NAMES_H */
