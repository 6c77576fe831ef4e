/*
 * neighbour.h
 *	  The records over the borders of a segment, with the segments around it.
 *
 * A record over n segments is walked once.  What is known of it at the end of
 * one segment is carried to the next, see WalCarry.
 */
#ifndef ACCEL_WAL_NEIGHBOUR_H
#define ACCEL_WAL_NEIGHBOUR_H

#include "wal/ahead.h"
#include "wal/directory.h"
#include "wal/files.h"
#include "wal/identity.h"
#include "wal/walk.h"

/*
 * This is carried from a segment to the next one of a run, if the same record
 * goes through both.  If it is zero, nothing is.
 */
typedef struct WalCarry
{
	/* what the walker of the last segment held at its end */
	bool		has_start;
	uint16_t	magic;			/* of that segment */
	uint64_t	system;
	WalWalker	walker;

	/* how the record that went over its end went on */
	bool		has_end;
	uint64_t	segno;			/* the segment whose end that was */
	uint32_t	timeline;
	WalNeighbour after;			/* why there are no more pages, if not ok */
	WalPath		path;			/* of the pages */
	WalPending	pending;		/* as it was before the page */
	WalLsn		page;
	WalAhead	ahead;			/* of the pages before that */

	/* these segments are within a record whose beginning cannot be found */
	bool		has_lost;
	uint64_t	lost_first;
	uint64_t	lost_last;
	uint32_t	lost_timeline;
	uint64_t	lost_system;
	WalNeighbour lost_before;
} WalCarry;

/* A segment between its neighbours. */
typedef struct WalBorders
{
	const WalDirectory *dir;	/* NULL if it stands alone */
	WalFiles   *files;			/* of that directory */
	const WalIdentity *id;
	uint32_t	timeline;
	uint64_t	segno;
	uint8_t    *buffer;			/* WAL_PIECE_BYTES, no page of the segment is
								 * in it meanwhile */
	const WalFile *file;		/* of the segment itself */
	bool		again;			/* not the first pass over it */
	bool		whole;			/* each of its bytes is wanted */
	WalCarry   *carry;

	/* of the segment, the bytes that were walked already */
	uint32_t	walked;
	uint32_t	crc;			/* raw register over them */
	WalNeighbour before;		/* what became of the records over them */
	WalNeighbour after;
} WalBorders;

/*
 * Begins the walk of the segment, with the record over its start if that can be
 * found.
 */
extern void wal_borders_enter(WalBorders *ctx, WalWalker *walker,
							  const WalWalkOptions *options);

/* Completes the record over the end of the segment. */
extern void wal_borders_leave(WalBorders *ctx, WalWalker *walker);

/* Does WAL go on in the next segment of the same timeline? */
extern bool wal_borders_next_is_written(WalBorders *ctx);

#endif							/* ACCEL_WAL_NEIGHBOUR_H */
