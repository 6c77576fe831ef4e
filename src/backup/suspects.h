/*
 * suspects.h
 *	  Pages of a backup that are not in order, until the WAL has decided.
 */
#ifndef ACCEL_BACKUP_SUSPECTS_H
#define ACCEL_BACKUP_SUSPECTS_H

#include "backup/files.h"
#include "backup/wal.h"
#include "manifest/names.h"

/* More are counted, but not decided, since each takes 80 bytes of memory. */
#define BACKUP_SUSPECTS_MAX	(1024 * 1024)

/* What was found, without the digest of a file. */
typedef struct BackupBadPage
{
	uint32_t	entry;			/* of the list */
	BackupStatus status;
	int32_t		size;			/* of a partial block */
	PageVerdict page;
} BackupBadPage;

/* A file that is missing, or contradicts the rest of the backup. */
typedef struct BackupBadFile
{
	char	   *path;
	const char *status;
	char	   *message;
} BackupBadFile;

#define BACKUP_BAD_FILES_MAX	1000

/* They are kept in the memory that is allocated when they are added. */
typedef struct BackupSuspects
{
	size_t		count;
	size_t		room;
	BackupBadPage *pages;
	BackupSuspect *suspects;
	int			nfiles;
	BackupBadFile *files;
	int64_t		beyond;			/* too many to be kept */
	bool		include_healed; /* healed ones are told, too */
	int64_t		healed;			/* pages */

	/*
	 * Is this page another one in the restored cluster, and why?  May be
	 * NULL.
	 */
	BackupFate	(*replaced) (void *arg, const char *path, uint32_t block);
	void	   *arg;
} BackupSuspects;

/* Keeps a page of the file with this path. */
extern void backup_suspects_add(BackupSuspects *ctx, const char *path,
								const BackupFileFinding *found);

/* None of those so far counts. */
extern void backup_suspects_forget(BackupSuspects *ctx);

/* Keeps a file as a whole. */
extern void backup_suspects_add_file(BackupSuspects *ctx, const char *path,
									 const BackupRelationFile *file,
									 BackupSuspectKind kind,
									 BackupStatus status, const char *message);

/*
 * Does the same for a relation map, which is wrong itself (mapped 0) or lacks
 * the file with a number, which a record may make, too.  Returns false if it is
 * none, or one too many.
 */
extern bool backup_suspects_add_map(BackupSuspects *ctx, const char *path,
									uint32_t mapped, const char *status,
									const char *message);

/* Decides all of them, and tells. */
extern void backup_suspects_decide(BackupSuspects *ctx, BackupWal *wal,
								   const BackupList *list, BackupSink *sink);

#endif							/* ACCEL_BACKUP_SUSPECTS_H */
