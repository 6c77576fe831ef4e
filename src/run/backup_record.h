/*
 * backup_record.h
 *	  The table of the verdicts on backups.
 *
 * The functions want an active snapshot and raise what goes wrong.
 */
#ifndef ACCEL_RUN_BACKUP_RECORD_H
#define ACCEL_RUN_BACKUP_RECORD_H

#include "compat.h"

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "backup/plan.h"
#include "run/history.h"

/* Returns the time, as that of a verdict. */
extern int64 backup_record_now(void);

/*
 * Returns a list of BackupVerdict in the current memory context, of which a
 * name, a status, times, LSNs, a digest and a system are set.
 */
extern List *backup_record_load(const History *history, const char *directory);

/* Returns the one of a name, NULL for none. */
extern const BackupVerdict *backup_record_find(const List *verdicts,
											   const char *name);

extern void backup_record_write(const History *history, const char *directory,
								const BackupVerdict *verdict);

/* Notes that a backup was no longer there at that time. */
extern void backup_record_gone(const History *history, const char *directory,
							   const char *backup, TimestampTz at);

/*
 * Forgets backups that were gone by then, and directories that are gone and
 * were not verified since then.  Returns how many rows.
 */
extern int64 backup_record_prune(const History *history, TimestampTz limit);

#endif							/* ACCEL_RUN_BACKUP_RECORD_H */
