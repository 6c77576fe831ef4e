/*
 * task.h
 *	  Numbered tasks as processes share them: who takes which, and the messages
 *	  that carry their results.
 */
#ifndef ACCEL_HOST_TASK_H
#define ACCEL_HOST_TASK_H

#include "compat.h"

#include "port/atomics.h"

/* Jobs have the upper half of a number that counts tasks. */
#define TASK_BITS	32

/* What a sender says beside its message. */
typedef enum TaskMessageKind
{
	TASK_RESULT,
	TASK_DONE,					/* no body: the task ends */
	TASK_FAILED					/* of a crew: the body is its error */
} TaskMessageKind;

typedef struct TaskMessage
{
	uint64		job;			/* 0: the only one */
	uint64		task;
	uint64		kind;			/* TaskMessageKind */
	char		body[FLEXIBLE_ARRAY_MEMBER];
} TaskMessage;

#define TASK_HEADER_BYTES	offsetof(TaskMessage, body)

StaticAssertDecl(TASK_HEADER_BYTES == MAXALIGN(TASK_HEADER_BYTES),
				 "bodies of messages are aligned");

/*
 * Takes the next of a job's tasks from the counter, whose upper half is the
 * job's number.  False: none is left, or another job has begun.
 */
static inline bool
task_claim(pg_atomic_uint64 *counter, uint64 job, uint64 ntasks, uint64 *task)
{
	uint64		next = pg_atomic_read_u64(counter);

	do
	{
		if (next >> TASK_BITS != job ||
			(next & (((uint64) 1 << TASK_BITS) - 1)) >= ntasks)
			return false;
	} while (!pg_atomic_compare_exchange_u64(counter, &next, next + 1));
	*task = next & (((uint64) 1 << TASK_BITS) - 1);
	return true;
}

/* Takes all that are left; returns how many were taken before. */
static inline uint64
task_claim_rest(pg_atomic_uint64 *counter, uint64 job, uint64 ntasks)
{
	uint64		next = pg_atomic_read_u64(counter);

	while ((next & (((uint64) 1 << TASK_BITS) - 1)) < ntasks &&
		   !pg_atomic_compare_exchange_u64(counter, &next,
										   (job << TASK_BITS) | ntasks))
		;
	return Min(next & (((uint64) 1 << TASK_BITS) - 1), ntasks);
}

#endif							/* ACCEL_HOST_TASK_H */
