/*
 * throttle.h
 *	  A bound on the bytes read per second, shared by any number of processes.
 */
#ifndef ACCEL_HOST_THROTTLE_H
#define ACCEL_HOST_THROTTLE_H

#include "port/atomics.h"

#include "host/pace.h"

/* May lie in shared memory.  The processes that share it need nothing else. */
typedef struct Throttle
{
	Pace		pace;			/* its paid is 0 without a bound */
	pg_atomic_uint64 next;		/* when the next turn may start, in
								 * microseconds */
} Throttle;

/*
 * max_rate is in kB/s.  0 is no bound, a negative one ERROR 22023.  unit is
 * the least that can be read at once, wanted the most that the caller likes
 * to, in bytes.  A turn may read throttle->pace.max_piece, which is a multiple
 * of unit.
 */
extern void throttle_init(Throttle *throttle, int32 max_rate, uint32 unit,
						  uint32 wanted);

/* The same bound with the same turns taken, in other memory. */
extern void throttle_copy(Throttle *dst, const Throttle *src);

/*
 * Waits for the turn to read bytes (at most max_piece).  Call it before each
 * read.  It checks for interrupts, so hold no lock.
 */
extern void throttle_wait(Throttle *throttle, uint32 bytes);

#endif							/* ACCEL_HOST_THROTTLE_H */
