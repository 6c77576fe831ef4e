/*
 * backup.h
 *	  What of a verified backup is said in rows and messages.
 */
#ifndef ACCEL_FUNC_BACKUP_H
#define ACCEL_FUNC_BACKUP_H

#include "compat.h"

#include "fmgr.h"

#include "backup/run.h"

/*
 * Sets how a backup is read.  max_rate is in kB/s, 0 for no limit.  A negative
 * one, or such a number of workers, is ERROR 22023.  The throttle, of the
 * memory that is allocated now, bounds all that is read with these options.
 */
extern void accel_backup_cost(BackupOptions *options, int workers,
							  int max_rate, bool direct);

/* Raises the errors of a directory that cannot be read. */
extern void accel_backup_check_directory(const char *path);

/*
 * Returns the real path of a directory of backups or WAL, an argument that may
 * be NULL, or raises its errors.
 */
extern char *accel_backup_directory(FunctionCallInfo fcinfo, int argument);

/* Warns that a folder below it could not be looked through, for errno. */
extern void accel_backup_unread(const char *directory, const char *path);

/* Warns that it has no backup. */
extern void accel_backup_none(const char *directory);

/* Does what backup_run() does, and raises these. */
extern void accel_backup_run(const BackupOptions *options, BackupSink *sink,
							 BackupSummary *summary);

/*
 * Returns bytes of a file's name or label as text.  Bytes that are no text of
 * this database are shown in hexadecimal digits.
 */
extern char *accel_text_of_bytes(const char *bytes);

#endif							/* ACCEL_FUNC_BACKUP_H */
