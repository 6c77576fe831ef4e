/*
 * judge.h
 *	  Judges the bytes of a file of a cluster.
 */
#ifndef ACCEL_CLUSTER_JUDGE_H
#define ACCEL_CLUSTER_JUDGE_H

#include "cluster/verdict.h"

/* Which bytes of a file its CRC covers, and where the CRC is. */
typedef struct ClusterExtent
{
	uint64_t	from;
	uint64_t	to;
	uint64_t	crc_at;
} ClusterExtent;

/*
 * Judges the size of a file, and says which of its bytes are to be summed.
 * Returns false if there is a verdict already, or if the head tells all, as
 * that of pg_control does.
 */
extern bool cluster_judge_extent(const ClusterFile *file,
								 ClusterExtent *extent,
								 ClusterVerdict *verdict);

/*
 * Judges a file by its head and the CRC of its extent.  "crc" is finished, and
 * "stored" is what the file has at crc_at.
 */
extern void cluster_judge(const ClusterFile *file, uint32_t stored,
						  uint32_t crc, ClusterVerdict *verdict);

#endif							/* ACCEL_CLUSTER_JUDGE_H */
