/*
 * rows.h
 *	  The rows of a mapped catalog, by the files of a data directory or plain
 *	  backup.
 */
#ifndef ACCEL_CLUSTER_ROWS_H
#define ACCEL_CLUSTER_ROWS_H

#include "cluster/control.h"

/*
 * Takes the columns of a row that may count, from the first one on.  It is
 * certain if it was committed, and nothing deletes it.  Returns false for what
 * is no row of this catalog.
 */
typedef bool (*ClusterTakeRow) (void *arg, const uint8_t *columns,
								uint32_t bytes, bool certain);

typedef enum ClusterRows
{
	CLUSTER_ROWS_KNOWN,
	CLUSTER_ROWS_UNKNOWN,		/* not all could be read, but some may have
								 * been taken */
	CLUSTER_ROWS_INCREMENTAL	/* some of its pages are in an earlier backup */
} ClusterRows;

/*
 * Reads the catalog with an OID of a folder that has a map, as "global".  The
 * directory has this pg_control.
 */
extern ClusterRows cluster_rows_read(const char *directory,
									 const ClusterControl *control,
									 const char *folder, uint32_t catalog,
									 ClusterTakeRow take, void *arg);

#endif							/* ACCEL_CLUSTER_ROWS_H */
