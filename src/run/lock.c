/*
 * lock.c
 *	  Locks that are asked for again and again, outside of the queue.
 */
#include "compat.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/proc.h"

#include "run/lock.h"

#define LOCK_PAUSE	10			/* milliseconds */

void
run_lock_pause(void)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 LOCK_PAUSE, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

void
run_lock_fail(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not obtain lock on relation with OID %u", relid)));
}
