/*
 * state.h
 *	  State files of prepared transactions, slots, origins and logical
 *	  snapshots.
 */
#ifndef ACCEL_CLUSTER_STATE_H
#define ACCEL_CLUSTER_STATE_H

#include "cluster/verdict.h"

/* What a sound two-phase file says of its transaction. */
typedef struct ClusterPrepared
{
	uint32_t	xid;
	uint32_t	database;
	uint32_t	owner;
	int64_t		prepared_at;	/* as the server counts, microseconds */
} ClusterPrepared;

extern ClusterPrepared cluster_state_prepared(const uint8_t *data);

/* The length that a file gives itself, 0 if it has none. */
extern uint64_t cluster_state_length(const ClusterFile *file);

/* Judges a file whose CRC is right, by its kind. */
extern void cluster_state_judge(const ClusterFile *file,
								ClusterVerdict *verdict);

#endif							/* ACCEL_CLUSTER_STATE_H */
