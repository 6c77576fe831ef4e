/*
 * slru.h
 *	  Which files of pg_xact and pg_multixact a cluster must have.
 *
 * They have no checksum, but the server cannot do without any of them.  Names
 * and sizes follow from the identifiers of a checkpoint, see cluster/slru.c.
 */
#ifndef ACCEL_CLUSTER_SLRU_H
#define ACCEL_CLUSTER_SLRU_H

#include "cluster/control.h"

typedef enum ClusterSlru
{
	CLUSTER_SLRU_XACT,
	CLUSTER_SLRU_OFFSETS,
	CLUSTER_SLRU_MEMBERS,
	CLUSTER_SLRUS				/* how many */
} ClusterSlru;

#define CLUSTER_SLRU_PATH_SIZE	48

/* Segments first to last, where 0 comes after number end - 1. */
typedef struct ClusterSlruNeed
{
	ClusterSlru slru;
	bool		wide;			/* members, with numbers of 64 bits */
	uint64_t	first;			/* may have been cut off since */
	uint64_t	last;
	uint64_t	end;
	uint64_t	bytes;			/* of each but the last */
	uint64_t	last_bytes;		/* at least */
} ClusterSlruNeed;

/*
 * What a complete checkpoint has left on disk, with these identifiers and that
 * block size (both as in ClusterControl).  For the members, first_member is
 * what cluster_slru_first_member() names.  Returns false if nothing is needed.
 */
extern bool cluster_slru_need(ClusterSlru slru, const ClusterControl *control,
							  uint64_t first_member, ClusterSlruNeed *need);

/* Is it one of them?  Numbers go round. */
extern bool cluster_slru_needs(const ClusterSlruNeed *need, uint64_t segment);

/* The next number. */
extern uint64_t cluster_slru_next(const ClusterSlruNeed *need,
								  uint64_t segment);

/* Bytes that a needed segment has at least. */
extern uint64_t cluster_slru_bytes(const ClusterSlruNeed *need,
								   uint64_t segment);

/* Its file, from the data directory. */
extern void cluster_slru_path(const ClusterSlruNeed *need, uint64_t segment,
							  char path[CLUSTER_SLRU_PATH_SIZE]);

/*
 * Where the two bits of a transaction are.  Sets the file of pg_xact, and
 * returns the byte in it.
 */
extern uint64_t cluster_slru_of_xid(const ClusterControl *control, uint32_t xid,
									char path[CLUSTER_SLRU_PATH_SIZE]);

/*
 * Where the number of the oldest member is, as a segment of the offsets, the
 * byte in it, and how many bytes it has there.  A 0 there means that it is not
 * known yet.
 */
extern uint64_t cluster_slru_first_member(const ClusterControl *control,
										  uint64_t *offset, int *width);

#endif							/* ACCEL_CLUSTER_SLRU_H */
