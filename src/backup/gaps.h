/*
 * gaps.h
 *	  Files that a backup must have, by those that it has.
 */
#ifndef ACCEL_BACKUP_GAPS_H
#define ACCEL_BACKUP_GAPS_H

#include "backup/suspects.h"
#include "manifest/list.h"

/*
 * The list has ended.  What is missing is added to the suspects, since WAL may
 * remove all of that relation or database.  So is a PG_VERSION of a database
 * that says something else than major, which is that of the backup.  The
 * backup is in root.
 */
extern void backup_gaps_find(const BackupList *list, const char *root,
							 const char *major, BackupSuspects *suspects);

/* The same of a folder that redo copies, with a manifest, too. */
extern void backup_gaps_in_source(const BackupList *list, const char *root,
								  const char *major,
								  const BackupFolder *source,
								  BackupSuspects *suspects);

#endif							/* ACCEL_BACKUP_GAPS_H */
