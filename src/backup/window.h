/*
 * window.h
 *	  To which moments an archive of WAL lets recovery from backups go.
 *
 * Recovery can end between the end of a backup and the first segment that is
 * missing or damaged after it, or the end of the archive.
 */
#ifndef ACCEL_BACKUP_WINDOW_H
#define ACCEL_BACKUP_WINDOW_H

#include "backup/plan.h"

/* No window has to 0, and the message says why. */
typedef struct BackupWindow
{
	const BackupVerdict *verdict;	/* on the backup, NULL if there is none */
	const char *archive;		/* of its WAL, NULL if it is not known */
	uint32_t	timeline;		/* on which it was taken, 0 if unknown */
	WalLsn		from;			/* where the backup ends */
	WalLsn		to;				/* after the last record that is whole */
	uint32_t	to_timeline;	/* that a recovery up to there is along */
	bool		decided;
	bool		cut;			/* WAL is missing or damaged */
	char		message[WAL_RESULT_WORDS + WAL_NAME_SIZE];	/* what ends it, "" if
															 * the archive does */
} BackupWindow;

/*
 * Finds the windows of all backups of a plan, in its order, by the verdicts
 * that find gives, or NULL for none.  Segments are judged as the options say, each only once for
 * all backups on one path of timelines.
 */
extern BackupWindow *backup_windows_find(const BackupPlan *plan,
										 const BackupOptions *options,
										 const BackupVerdict *(*find) (void *arg, const PlannedBackup *backup),
										 void *arg);

#endif							/* ACCEL_BACKUP_WINDOW_H */
