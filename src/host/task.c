/*
 * task.c
 *	  Queues that carry the results of tasks from workers to their leader.
 */
#include "compat.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"

#include "host/task.h"

/* How long task_doze() waits at most, in milliseconds. */
#define DOZE			100

shm_mq_handle *
task_queue_create(void *place, dsm_segment *segment)
{
	shm_mq	   *queue = shm_mq_create(place, TASK_QUEUE_BYTES);

	shm_mq_set_receiver(queue, MyProc);
	return shm_mq_attach(queue, segment, NULL);
}

shm_mq_handle *
task_queue_join(void *place, dsm_segment *segment)
{
	shm_mq_set_sender(place, MyProc);
	return shm_mq_attach(place, segment, NULL);
}

const TaskMessage *
task_receive(shm_mq_handle **queue, Size *bytes)
{
	void	   *message;
	shm_mq_result received;

	if (*queue == NULL)
		return NULL;
	received = shm_mq_receive(*queue, bytes, &message, true);
	if (received == SHM_MQ_DETACHED)
		*queue = NULL;
	return received == SHM_MQ_SUCCESS ? message : NULL;
}

void
task_send(shm_mq_handle *queue, const TaskMessage *header, const void *body,
		  Size bytes, bool at_once)
{
	shm_mq_iovec parts[] = {{(const char *) header, TASK_HEADER_BYTES},
	{body, bytes}};
	shm_mq_result sent;

	HOLD_CANCEL_INTERRUPTS();
	sent = shm_mq_sendv(queue, parts, bytes > 0 ? 2 : 1, false, at_once);
	RESUME_CANCEL_INTERRUPTS();
	if (sent == SHM_MQ_DETACHED)
		proc_exit(0);
}

void
task_doze(void)
{
	(void) WaitLatch(MyLatch,
					 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT, DOZE,
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}
