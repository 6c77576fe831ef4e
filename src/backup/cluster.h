/*
 * cluster.h
 *	  The files of a backup that carry a CRC of their own.
 */
#ifndef ACCEL_BACKUP_CLUSTER_H
#define ACCEL_BACKUP_CLUSTER_H

#include "backup/suspects.h"

/*
 * Judges them by cluster/files.h.  Relation maps go to the suspects, since WAL
 * may restore them, and others go to the sink.  "whole" says that all files
 * are there, not only some of an archive's.  "known" tells whether something
 * has been found of this path before.  Then that is enough.
 */
extern void backup_cluster_verify(const char *root, bool whole, bool direct,
								  bool (*known) (void *arg, const char *path),
								  void *arg, BackupSuspects *suspects,
								  BackupSink *sink);

#endif							/* ACCEL_BACKUP_CLUSTER_H */
