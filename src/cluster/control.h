/*
 * control.h
 *	  The fields of pg_control, its CRC and its verdict.
 */
#ifndef ACCEL_CLUSTER_CONTROL_H
#define ACCEL_CLUSTER_CONTROL_H

#include "cluster/verdict.h"

/* What others compare with.  It is valid where the CRC is. */
typedef struct ClusterControl
{
	uint64_t	system;
	uint32_t	version;		/* of pg_control */
	uint32_t	catalog;
	uint32_t	state;			/* CLUSTER_STATE_... */
	uint64_t	checkpoint;		/* LSN of the last checkpoint's record */
	uint64_t	redo;			/* LSN from which it replays */
	uint32_t	timeline;
	uint64_t	min_recovery;	/* LSN */
	uint32_t	min_recovery_timeline;
	uint32_t	block_size;
	uint32_t	relation_segment_blocks;
	uint32_t	wal_block_size;
	uint32_t	wal_segment_size;
	uint32_t	checksum_version;	/* of data pages, 0 if off */

	/* identifiers of the checkpoint */
	uint32_t	next_xid;
	uint32_t	epoch;			/* of next_xid */
	uint32_t	oldest_xid;
	uint32_t	next_multi;
	uint32_t	oldest_multi;
	uint64_t	next_offset;	/* of multixact members */
	bool		wide_offsets;	/* these have 64 bits */
} ClusterControl;

/* Judges a whole file of CLUSTER_CONTROL_SIZE bytes. */
extern void cluster_control_judge(const ClusterFile *file,
								  ClusterVerdict *verdict);

/*
 * Reads the fields of a file, whole or but for its zeros.  Returns false if
 * its version is not one of the table.
 */
extern bool cluster_control_read(const uint8_t *data, ClusterControl *control);

/* Where a cluster is to begin, and to be consistent. */
typedef struct ClusterRestart
{
	uint64_t	checkpoint;		/* LSN of its record */
	uint8_t		bytes[128];		/* CheckPoint, as in that record */
	uint32_t	len;
	uint64_t	end;			/* LSN */
	uint32_t	end_timeline;
} ClusterRestart;

/*
 * Makes a file that of a cluster in archive recovery.  Returns false if its
 * CRC is wrong, or the checkpoint is none of its version.
 */
extern bool cluster_control_restart(uint8_t *data,
									const ClusterRestart *restart);

#endif							/* ACCEL_CLUSTER_CONTROL_H */
