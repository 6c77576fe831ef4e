/*
 * cluster.h
 *	  Verifying files with a CRC-32C of their own, for other SQL functions.
 */
#ifndef ACCEL_FUNC_CLUSTER_H
#define ACCEL_FUNC_CLUSTER_H

#include "cluster/files.h"

/*
 * Calls row for every file.  If directory is NULL, it is this server's, else
 * it is a canonical path (file_path_parse()).  One that is no data directory is
 * an ERROR, as is a file system that does not read past its page cache, if
 * direct.
 */
extern void accel_cluster_files(const char *directory, bool direct,
								ClusterRowFn row, void *arg);

#endif							/* ACCEL_FUNC_CLUSTER_H */
