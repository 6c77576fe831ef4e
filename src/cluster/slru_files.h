/*
 * slru_files.h
 *	  Are the files of pg_xact and pg_multixact there, and long enough?
 */
#ifndef ACCEL_CLUSTER_SLRU_FILES_H
#define ACCEL_CLUSTER_SLRU_FILES_H

#include "cluster/files.h"

/*
 * Calls row for each that is missing or too short, at most 100 of a folder.
 * "directory" is that of this server, or if that is NULL, of a cluster that is
 * stopped.  A stopped one with a backup_label is passed over, since its pg_control may
 * be younger than its files.
 */
extern void slru_files_scan(const char *directory, const ClusterServer *server,
							ClusterRowFn row, void *arg);

#endif							/* ACCEL_CLUSTER_SLRU_FILES_H */
