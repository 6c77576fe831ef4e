/*
 * task.h
 *	  How processes share numbered tasks, and the messages that carry the
 *	  results.
 */
#ifndef ACCEL_HOST_TASK_H
#define ACCEL_HOST_TASK_H

#include "compat.h"

#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/shm_mq.h"

/* Jobs have the upper half of a number that counts tasks. */
#define TASK_BITS	32

/* What a sender says beside its message. */
typedef enum TaskMessageKind
{
	TASK_RESULT,
	TASK_DONE,					/* the task ends, without a body */
	TASK_FAILED					/* of a crew, with its error for a body */
} TaskMessageKind;

typedef struct TaskMessage
{
	uint64		job;			/* 0 if it is the only one */
	uint64		task;
	uint64		kind;			/* TaskMessageKind */
	char		body[FLEXIBLE_ARRAY_MEMBER];
} TaskMessage;

#define TASK_HEADER_BYTES	offsetof(TaskMessage, body)

StaticAssertDecl(TASK_HEADER_BYTES == MAXALIGN(TASK_HEADER_BYTES),
				 "bodies of messages are aligned");

/*
 * Takes the next of a job's tasks from the counter, whose upper half is the
 * job's number.  Returns false if none is left, or another job has begun.
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

/* Takes all that are left, and returns how many were taken before. */
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

/* What a queue takes of shared memory. */
#define TASK_QUEUE_BYTES	((Size) 64 * 1024)

/*
 * The leader makes a queue there.  A worker joins the one that its leader
 * made.
 */
extern shm_mq_handle *task_queue_create(void *place, dsm_segment *segment);
extern shm_mq_handle *task_queue_join(void *place, dsm_segment *segment);

/*
 * Returns the next message and its size, or NULL if none is there yet.  A queue
 * becomes NULL when its worker has gone and all that it sent has been read.
 */
extern const TaskMessage *task_receive(shm_mq_handle **queue, Size *bytes);

/*
 * Sends a message, at once or when others have come together.  A cancel waits
 * meanwhile, since half a message would spoil the queue.  An order to end does
 * not.  A worker whose leader has gone ends here, without an error.
 */
extern void task_send(shm_mq_handle *queue, const TaskMessage *header,
					  const void *body, Size bytes, bool at_once);

/* Waits until somebody sets the latch, or for a tenth of a second. */
extern void task_doze(void);

#endif							/* ACCEL_HOST_TASK_H */
