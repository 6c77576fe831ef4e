/*
 * barman_check.h
 *	  Is a backup in barman's repository what barman would restore?
 */
#ifndef ACCEL_BACKUP_BARMAN_CHECK_H
#define ACCEL_BACKUP_BARMAN_CHECK_H

#include "backup/sink.h"
#include "manifest/barman.h"

/*
 * Reads its backup.info and reports what that has against it.  Returns false
 * if the backup is not complete, so that nothing of it can be said.
 */
extern bool backup_barman_check(const char *root, Barman *backup,
								BackupSink *sink);

#endif							/* ACCEL_BACKUP_BARMAN_CHECK_H */
