/*
 * past.h
 *	  What WAL up to a shutdown proves of origins and prepared transactions.
 *
 * Pure.  Records go in, and what the files must hold comes out.
 */
#ifndef ACCEL_CLUSTER_PAST_H
#define ACCEL_CLUSTER_PAST_H

#include "cluster/verdict.h"
#include "wal/blocks.h"

#define CLUSTER_PAST_ORIGINS	65536	/* identifiers have 16 bits */
#define CLUSTER_PAST_PREPARED	1024	/* more are not looked for */

typedef struct ClusterPast
{
	/* by identifier, how far it is at least, and whether it is there */
	uint64_t	origins[CLUSTER_PAST_ORIGINS];
	bool		known[CLUSTER_PAST_ORIGINS];

	/* transactions that are prepared, and not ended */
	uint32_t	prepared[CLUSTER_PAST_PREPARED];
	int			nprepared;

	WalBlocks	blocks;
} ClusterPast;

/* Nothing is known at the beginning, and where records are missing. */
extern void cluster_past_forget(ClusterPast *past);

/*
 * Takes the next record in the order of the WAL.  Its first "present" bytes
 * are at hand.
 */
extern void cluster_past_record(ClusterPast *past, const uint8_t *record,
								uint32_t present);

/*
 * Judges the file of the origins, which is ok by itself, or NULL if there is
 * none.
 */
extern void cluster_past_judge(const ClusterPast *past,
							   const ClusterFile *origins,
							   ClusterVerdict *verdict);

#endif							/* ACCEL_CLUSTER_PAST_H */
