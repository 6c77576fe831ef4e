/*
 * pace.h
 *	  How fast turns follow each other, so that no second has too many bytes.
 *
 * Turns lie on one time line.  A turn may start when those before it have been
 * paid for.  One that comes late makes up what it lost, a credit at most.
 *
 * Where the first turn of a window of one second is claimed at t, the time
 * line stands at t - credit or later.  Turns of the window but its last are
 * paid by its end.  So they move paid * (second + credit) bytes at most, and
 * the last one moves a piece.  The value of paid keeps all of it within the
 * rate.  A rate of few pieces has no credit.  That of less than two has one
 * piece per second.
 *
 * Pure, in bytes and microseconds.  Proved in test/unit/test_pace.c.
 */
#ifndef ACCEL_HOST_PACE_H
#define ACCEL_HOST_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_SECOND		UINT64_C(1000000)
#define PACE_PIECES		64		/* in a second, where the unit permits it */
#define PACE_CREDITS	64

typedef struct Pace
{
	uint64_t	paid;			/* bytes per second that are paid for, 0
								 * without a bound */
	uint32_t	credit;			/* microseconds that a late turn makes up */
	uint32_t	max_piece;		/* bytes, the most that one turn may read */
} Pace;

/*
 * rate is in bytes per second, 0 without a bound.  unit is the least that can
 * be read at once, wanted the most that the caller likes to.  The result's
 * max_piece is a multiple of unit.
 */
static inline Pace
pace_of(uint64_t rate, uint32_t unit, uint32_t wanted)
{
	uint64_t	piece = wanted > unit ? wanted : unit;
	uint64_t	kept;
	Pace		pace = {0};

	if (rate > 0 && piece > rate / PACE_PIECES)
		piece = rate / PACE_PIECES;
	piece = piece / unit * unit;
	pace.max_piece = piece > unit ? (uint32_t) piece : unit;
	kept = rate / PACE_CREDITS + pace.max_piece;
	if (rate >= 4 * kept)
	{
		pace.paid = rate - kept;
		pace.credit = PACE_SECOND / PACE_CREDITS;
	}
	else if (rate >= 2 * (uint64_t) pace.max_piece)
		pace.paid = rate - pace.max_piece;
	else
		pace.paid = rate > pace.max_piece ? pace.max_piece : rate;
	return pace;
}

/*
 * Returns whether a turn of bytes may start now, where turns are paid until
 * *next.  If so, *next becomes the time until which this one is.
 */
static inline bool
pace_turn(const Pace *pace, uint64_t now, uint32_t bytes, uint64_t *next)
{
	uint64_t	from = now > pace->credit ? now - pace->credit : 0;

	if (now < *next)
		return false;
	if (from < *next)
		from = *next;
	*next = from + ((uint64_t) bytes * PACE_SECOND + pace->paid - 1) / pace->paid;
	return true;
}

#endif							/* ACCEL_HOST_PACE_H */
