/*
 * policy.h
 *	  How a scan of relations may use the machine.
 */
#ifndef ACCEL_PAGE_POLICY_H
#define ACCEL_PAGE_POLICY_H

#include "host/throttle.h"

/* Blocks read or judged at once, which stay in a core's own cache. */
#define SCAN_PIECE_BLOCKS	16

typedef struct ScanPolicy
{
	int			workers;		/* parallel workers for each fork, 0 if none */
	uint32		piece_blocks;	/* most to read at once, 1 to
								 * SCAN_PIECE_BLOCKS, and more past the page
								 * cache */
	Throttle   *throttle;		/* NULL for no bound */
	struct Crew *crew;			/* workers that are there already, NULL for
								 * new ones for each fork */
	bool		direct;			/* read past the page cache */
} ScanPolicy;

#define SCAN_POLICY_ALONE	{0, SCAN_PIECE_BLOCKS, NULL, NULL, false}

#endif							/* ACCEL_PAGE_POLICY_H */
