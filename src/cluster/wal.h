/*
 * wal.h
 *	  What the pg_wal of a stopped cluster says of its other files.
 */
#ifndef ACCEL_CLUSTER_WAL_H
#define ACCEL_CLUSTER_WAL_H

#include "cluster/control.h"
#include "cluster/past.h"

struct Throttle;

/*
 * Judges a pg_control that is ok by itself, in the directory of a cluster that
 * is not this server's.  A verdict other than ok may be of a server that was
 * at work there meanwhile.  Then pg_control has changed.  What the throttle
 * bounds is the WAL that is read, if it is not NULL.
 */
extern void cluster_wal_judge(const char *directory,
							  const ClusterControl *control,
							  struct Throttle *throttle,
							  ClusterVerdict *verdict);

/*
 * What the WAL before a shutdown says of the files that it left, allocated.
 * It is NULL if that is nothing, as after a crash.  The throttle is as above.
 */
extern ClusterPast *cluster_wal_past(const char *directory,
									 const ClusterControl *control,
									 struct Throttle *throttle);

#endif							/* ACCEL_CLUSTER_WAL_H */
