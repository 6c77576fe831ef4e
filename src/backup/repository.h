/*
 * repository.h
 *	  A backup in the repository of another program, as what it would restore.
 */
#ifndef ACCEL_BACKUP_REPOSITORY_H
#define ACCEL_BACKUP_REPOSITORY_H

#include "backup/sink.h"
#include "backup/spool.h"
#include "manifest/pgbackrest.h"

typedef struct BackupRepository
{
	/* the caller's */
	const char *root;
	struct Throttle *throttle;
	bool		direct;
	bool		keep_wal;		/* in the spool, if the backup has it */
	BackupManifest *manifest;
	BackupSink *sink;

	/* found */
	PgBackRest	backup;
	char	   *archive;		/* of its WAL, NULL if there is none */
	BackupSpool *spool;			/* with what is read again by its name */
	uint32_t	folders;		/* needed ones that it has, by bits */
} BackupRepository;

/*
 * Reads the manifest, which is reported if it does not count.  Returns whether
 * it does.
 */
extern bool backup_repository_read(BackupRepository *repository);

/* Puts into the spool what is read again. */
extern void backup_repository_keep(BackupRepository *repository);

#endif							/* ACCEL_BACKUP_REPOSITORY_H */
