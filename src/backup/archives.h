/*
 * archives.h
 *	  The archives of a backup in tar format, each read once.
 */
#ifndef ACCEL_BACKUP_ARCHIVES_H
#define ACCEL_BACKUP_ARCHIVES_H

#include "backup/judge.h"
#include "backup/parts.h"
#include "backup/progress.h"
#include "backup/sink.h"
#include "backup/spool.h"
#include "manifest/archive_names.h"

typedef struct BackupTar
{
	/* the caller's */
	const char *root;			/* the directory of the archives */
	BackupList *list;			/* ended, if it is the manifest's */
	bool		listed;			/* if it is not, members are added */
	BackupJudgeRules judge;		/* its checksums are set by the first page
								 * that tells, unless knows_checksums */
	bool		keep_wal;		/* in the spool, as other files that are */
	bool		pages_only;		/* nothing but pages, the rest is known */
	uint32_t	tablespace;		/* whose archive alone is read, 0 for all */
	const BackupWatch *watch;	/* nothing but its files and WAL, or NULL */
	struct Throttle *throttle;
	bool		direct;			/* read past the page cache */
	const BackupProgress *progress; /* NULL if nobody asks */
	BackupSpool *spool;
	BackupParts *parts;			/* of incremental files, NULL if nobody asks */
	BackupSink *sink;			/* of what is found of archives, and extra */
	void		(*finding) (void *arg, const BackupFileFinding *finding);
	void	   *arg;
	bool		knows_checksums;	/* or a page has told */
	bool		guessed;		/* blocks of an incremental file were judged
								 * before that */
	bool		too_many;		/* members without a list, was reported */
	bool		unread;			/* nothing was read of an archive */
	uint32_t	folders;		/* needed ones that were seen, by bits */

	/* found */
	BackupFileTotals totals;
} BackupTar;

/* Is a directory a backup in tar format? */
extern bool backup_tar_is(const char *root);

/*
 * Reads all archives.  Members are judged, and what is read again is put into
 * the spool.
 */
extern void backup_tar_read(BackupTar *tar);

/*
 * To be called after that.  Files of the list that no archive had are missing,
 * and files that relation maps name get their place in the spool.
 */
extern void backup_tar_end(BackupTar *tar);

#endif							/* ACCEL_BACKUP_ARCHIVES_H */
