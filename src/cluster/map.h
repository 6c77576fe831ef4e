/*
 * map.h
 *	  Which file a mapped catalog has, by pg_filenode.map.
 */
#ifndef ACCEL_CLUSTER_MAP_H
#define ACCEL_CLUSTER_MAP_H

#include "cluster/verdict.h"

typedef struct ClusterMapping
{
	uint32_t	relation;		/* OID */
	uint32_t	file;			/* file number */
} ClusterMapping;

/* Bytes of the file, by release, and of them those under the CRC. */
extern uint64_t cluster_map_size(int major);
extern uint64_t cluster_map_covered(uint64_t size);

/* Judges a map whose size and CRC are right. */
extern void cluster_map_judge(const ClusterFile *file, ClusterVerdict *verdict);

#define CLUSTER_PG_CLASS		1259	/* RelationRelationId, which maps of
										 * databases have alone */
#define CLUSTER_PG_DATABASE		1262	/* DatabaseRelationId */

/* These read a map that is ok. */
extern int	cluster_map_count(const uint8_t *data);
extern ClusterMapping cluster_map_entry(const uint8_t *data, int n);

/* Returns the file of a relation, by the first count entries, or 0. */
extern uint32_t cluster_map_find(const uint8_t *data, int count,
								 uint32_t relation);

/* Has this relation at least one block at any time? */
extern bool cluster_map_never_empty(uint32_t relation);

#endif							/* ACCEL_CLUSTER_MAP_H */
