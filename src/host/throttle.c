/*
 * throttle.c
 *	  A bound on the bytes read per second, shared by any number of processes.
 *
 * Every read takes a turn (pace.h).  A turn is claimed when it starts, never
 * in advance.  A process that wakes up late would otherwise use up the next
 * second's budget.  What remains is the moment between a turn and its read.  A
 * process that is stopped there by the scheduler moves one piece into a later
 * second.  Proved in test/t/016_max_rate.pl.
 */
#include "compat.h"

#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/latch.h"

#include "host/throttle.h"

#define MAX_SLEEP				1000	/* milliseconds */
#define LATCH_SLEEP			2000	/* microseconds, as a latch counts in ms */

static uint64 clock_now(void);
static void sleep_until_turn(uint64 microseconds);

void
throttle_init(Throttle *throttle, int32 max_rate, uint32 unit, uint32 wanted)
{
	if (max_rate < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d is outside the valid range for parameter \"%s\" (%d .. %d)",
						max_rate, "max_rate", 0, PG_INT32_MAX),
				 errhint("The unit is kB/s; 0 means no limit.")));
	pg_atomic_init_u64(&throttle->next, 0);
	throttle->pace = pace_of((uint64) max_rate * 1024, unit, wanted);
}

void
throttle_copy(Throttle *dst, const Throttle *src)
{
	uint64		next = pg_atomic_read_u64(unconstify(pg_atomic_uint64 *,
													 &src->next));

	if (dst == src)
		return;
	dst->pace = src->pace;
	pg_atomic_init_u64(&dst->next, next);
}

void
throttle_wait(Throttle *throttle, uint32 bytes)
{
	if (throttle->pace.paid == 0)
		return;
	for (;;)
	{
		uint64		paid = pg_atomic_read_u64(&throttle->next);
		uint64		next = paid;
		uint64		now = clock_now();

		CHECK_FOR_INTERRUPTS();
		if (!pace_turn(&throttle->pace, now, bytes, &next))
			sleep_until_turn(paid - now);
		else if (pg_atomic_compare_exchange_u64(&throttle->next, &paid, next))
			return;
	}
}

/* Returns microseconds of a monotonic clock, the same in every process. */
static uint64
clock_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

static void
sleep_until_turn(uint64 microseconds)
{
	if (microseconds < LATCH_SLEEP)
	{
		pg_usleep((long) microseconds);
		return;
	}
	(void) WaitLatch(MyLatch,
					 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 (long) Min(microseconds / 1000, MAX_SLEEP),
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}
