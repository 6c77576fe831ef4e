/*
 * verdict.h
 *	  The verdict on one backup of many.
 */
#ifndef ACCEL_BACKUP_VERDICT_H
#define ACCEL_BACKUP_VERDICT_H

#include "backup/plan.h"

/* What is noted while a backup is read. */
typedef struct BackupNote
{
	BackupSink	sink;			/* to be read with */
	char		path[4096];		/* of the first finding, as bytes */
	char	   *(*text) (const char *bytes);	/* the caller's */
} BackupNote;

extern void backup_note_begin(BackupNote *note,
							  char *(*text) (const char *bytes));

/* Begins a verdict with what is known before the backup is read. */
extern void backup_verdict_begin(const BackupPlan *plan,
								 const PlannedBackup *backup, int64_t now,
								 BackupVerdict *verdict);

/* Gives the verdict by what was found, unless the backup has changed meanwhile. */
extern void backup_verdict_give(const BackupPlan *plan,
								const PlannedBackup *backup, int64_t now,
								const BackupNote *note,
								const BackupSummary *summary,
								BackupVerdict *verdict);

/* There is none, and why. */
extern void backup_verdict_none(BackupVerdict *verdict, const char *why);
extern void backup_verdict_unfinished(BackupVerdict *verdict);

/* Returns plain, tar, incremental or pgbackrest. */
extern const char *backup_format(const BackupSummary *summary);

/*
 * Returns the first finding, or what else there is to say of the verdict, or
 * NULL if nothing is.
 */
extern const char *backup_message(const BackupSummary *summary,
								  const BackupSink *sink);

#endif							/* ACCEL_BACKUP_VERDICT_H */
