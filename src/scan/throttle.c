/*
 * throttle.c
 *	  A bound on the bytes read per second, shared by any number of processes.
 *
 * Every read takes a turn, and turns lie on one time line: a turn starts no
 * sooner than the one before it has been paid for.  No unused time is saved
 * up, so there are no bursts after a pause.  A turn is claimed when it starts,
 * never in advance: a process that wakes up late would otherwise use up the next
 * second's budget.
 *
 * The bound holds over any second, wherever it starts.  In a window of one
 * second lie the whole turns of that second and at most one more that started
 * at its edge, so turns are paid at rate - piece bytes per second and pieces are
 * kept small (a sixteenth of the rate) when the rate is.  Where even one unit
 * is more than half the rate, one unit per second or slower is all that can be
 * done.  What remains is the moment between a turn and its read: a process that
 * is stopped there by the scheduler moves one piece into a later second.
 * Proved in test/t/016_max_rate.pl.
 */
#include "compat.h"

#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/latch.h"

#include "scan/throttle.h"

#define PIECES_PER_SECOND	16
#define MAX_SLEEP				1000	/* milliseconds */
#define LATCH_SLEEP			2000	/* microseconds: a latch counts in ms */

static uint64 clock_now(void);
static uint64 cost(const Throttle *throttle, uint32 bytes);
static void sleep_until_turn(uint64 microseconds);

void
throttle_init(Throttle *throttle, int32 max_rate, uint32 unit, uint32 wanted)
{
	uint64		piece;

	if (max_rate < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d is outside the valid range for parameter \"%s\" (%d .. %d)",
						max_rate, "max_rate", 0, PG_INT32_MAX),
				 errhint("The unit is kB/s; 0 means no limit.")));
	throttle->rate = (uint64) max_rate * 1024;
	pg_atomic_init_u64(&throttle->next, 0);
	piece = Max(wanted, unit);
	if (max_rate > 0)
		piece = Min(piece, throttle->rate / PIECES_PER_SECOND);
	throttle->max_piece = (uint32) Max(piece / unit * unit, unit);
}

void
throttle_copy(Throttle *dst, const Throttle *src)
{
	uint64		next = pg_atomic_read_u64(unconstify(pg_atomic_uint64 *,
													 &src->next));

	if (dst == src)
		return;
	dst->rate = src->rate;
	dst->max_piece = src->max_piece;
	pg_atomic_init_u64(&dst->next, next);
}

void
throttle_wait(Throttle *throttle, uint32 bytes)
{
	uint64		price;

	if (throttle->rate == 0)
		return;
	price = cost(throttle, bytes);
	for (;;)
	{
		uint64		next = pg_atomic_read_u64(&throttle->next);
		uint64		now = clock_now();

		CHECK_FOR_INTERRUPTS();
		if (now < next)
			sleep_until_turn(next - now);
		else if (pg_atomic_compare_exchange_u64(&throttle->next, &next,
												now + price))
			return;
	}
}

/* Microseconds; monotonic, and the same clock in every process. */
static uint64
clock_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

/* Microseconds that a turn takes. */
static uint64
cost(const Throttle *throttle, uint32 bytes)
{
	uint64		rate = throttle->rate;

	if (rate >= 2 * (uint64) throttle->max_piece)
		rate -= throttle->max_piece;
	return ((uint64) bytes * USECS_PER_SEC + rate - 1) / rate;
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
