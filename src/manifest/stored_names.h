/*
 * stored_names.h
 *	  Which files belong into the folder of a backup, where pgBackRest stores it.
 */
#ifndef ACCEL_BACKUP_STORED_NAMES_H
#define ACCEL_BACKUP_STORED_NAMES_H

#include "manifest/list.h"
#include "manifest/walk.h"

typedef struct StoredNames StoredNames;

/* Of a list that has ended, and outlives it. */
extern StoredNames *stored_names_new(const BackupList *list);

/* Does the manifest know what a walk through the folder came to? */
extern bool stored_names_has(const StoredNames *names, const char *path,
							 BackupWalkKind kind);

#endif							/* ACCEL_BACKUP_STORED_NAMES_H */
