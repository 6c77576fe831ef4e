/*
 * lock.c
 *	  Locks that are asked for again and again, outside of the queue.
 */
#include "compat.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/timestamp.h"

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
run_lock_relation(Oid relid, int patience, bool (*must_end) (void *arg), void *arg)
{
	int			most = LockTimeout > 0 ? LockTimeout : INT_MAX;
	TimestampTz start = GetCurrentTimestamp();

	if (patience > 0)
		most = Min(most, patience);
	while (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		if (must_end(arg) ||
			TimestampDifferenceExceeds(start, GetCurrentTimestamp(), most))
			run_lock_fail(relid);
		run_lock_pause();
	}
}

void
run_lock_fail(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not obtain lock on relation with OID %u", relid)));
}
