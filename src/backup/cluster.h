/*
 * cluster.h
 *	  The files of a backup that carry a CRC of their own.
 */
#ifndef ACCEL_BACKUP_CLUSTER_H
#define ACCEL_BACKUP_CLUSTER_H

#include "backup/suspects.h"

/*
 * Judges them by cluster/files.h.  Relation maps go to the suspects, since
 * WAL may restore them; others to the sink.  whole: all files are there, not some
 * of an archive's.  known: has something been found of this path before?  Then
 * that is enough.
 */
extern void backup_cluster_verify(const char *root, bool whole,
								  bool (*known) (void *arg, const char *path),
								  void *arg, BackupSuspects *suspects,
								  BackupSink *sink);

#endif							/* ACCEL_BACKUP_CLUSTER_H */
