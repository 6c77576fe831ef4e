/*
 * mapped.h
 *	  The places of files that relation maps name, in a spool.
 */
#ifndef ACCEL_BACKUP_MAPPED_H
#define ACCEL_BACKUP_MAPPED_H

#include "backup/spool.h"
#include "manifest/list.h"

/*
 * Maps that are in the spool are looked up there.  So each file that one of
 * them names, and that was found, gets its place: empty if it is, else with a
 * byte.
 */
extern void backup_mapped_place(const BackupList *list, BackupSpool *spool);

#endif							/* ACCEL_BACKUP_MAPPED_H */
