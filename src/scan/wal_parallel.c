/*
 * wal_parallel.c
 *	  The segments of a list shared by parallel workers, results in order.
 *
 * A worker takes the next segment that nobody has, judges it, and sends the
 * result through its own queue.  Every queue carries rising numbers, so the
 * leader delivers in order by taking each result from the queue that has it at
 * its head.  Between deliveries the leader takes segments itself: to start a
 * worker takes the server as long as 30 MB of log do, and a worker may never
 * come.  Queues are bounded, and so is what the leader keeps for its turn: who
 * is far ahead waits.  The one that has the segment whose turn it is never
 * does, so all get on.  As for relations (parallel_scan.c), workers are the server's parallel workers: an
 * error of one is the leader's error, and the leader's end is theirs.
 */
#include "compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "scan/parallel.h"
#include "scan/wal_parallel.h"

#define QUEUE_BYTES		((Size) 16 * 1024)
#define KEPT_RESULTS	16

#define KEY_SHARED		UINT64CONST(1)
#define KEY_ENTRIES		UINT64CONST(2)
#define KEY_QUEUES		UINT64CONST(3)

#define WORKER_FUNCTION "accel_wal_worker_main"

extern PGDLLEXPORT void accel_wal_worker_main(dsm_segment *segment,
											  shm_toc *toc);

typedef struct SharedList
{
	WalScan		scan;			/* numbers only, the pointers are not shared */
	char		directory[MAXPGPATH];
	uint64		count;
	pg_atomic_uint64 next;
} SharedList;

typedef struct ResultMessage
{
	uint64		number;
	WalSegmentResult result;
} ResultMessage;

/* The leader's end of a worker's queue. */
typedef struct WorkerStream
{
	shm_mq_handle *queue;		/* NULL: the worker has detached */
	const ResultMessage *head;	/* NULL: none received */
} WorkerStream;

typedef struct Leader
{
	WalScan    *scan;
	SharedList *shared;
	const WalEntry *entries;
	int			nstreams;
	WorkerStream *streams;
	MemoryContext per_segment;

	WalResultFn result;
	void	   *arg;
	uint64		number;			/* whose turn it is */

	/* what the leader judged itself, waiting for its turn: a ring */
	ResultMessage *kept;		/* [KEPT_RESULTS] */
	uint32		first_kept;
	uint32		nkept;
	bool		all_taken;
} Leader;

static ParallelContext *launch(Leader *leader, const WalList *list,
							   int workers);
static void deliver_all(Leader *leader, ParallelContext *context);

static MemoryContext
segment_context(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "crc32c_accel segment",
								 ALLOCSET_DEFAULT_SIZES);
}

static void
scan_here(WalScan *scan, const WalList *list, WalResultFn result, void *arg)
{
	MemoryContext per_segment = segment_context();
	MemoryContext outer = MemoryContextSwitchTo(per_segment);

	for (Size i = 0; i < list->count; i++)
	{
		WalSegmentResult one;

		CHECK_FOR_INTERRUPTS();
		wal_scan_entry(scan, &list->entries[i], &one);
		result(arg, &one);
		MemoryContextReset(per_segment);
	}
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(per_segment);
}

void
wal_scan_entries(WalScan *scan, const WalList *list, int workers,
				 WalResultFn result, void *arg)
{
	Leader		leader = {0};
	ParallelContext *context;

	/* the leader takes one at least */
	workers = list->count == 0 ? 0 : (int) Min((Size) workers, list->count - 1);
	if (workers == 0 || IsInParallelMode())
	{
		scan_here(scan, list, result, arg);
		return;
	}
	leader.scan = scan;
	leader.result = result;
	leader.arg = arg;
	leader.per_segment = segment_context();
	leader.kept = palloc(KEPT_RESULTS * sizeof(ResultMessage));
	leader.streams = palloc0(workers * sizeof(WorkerStream));
	EnterParallelMode();
	context = launch(&leader, list, workers);
	deliver_all(&leader, context);
	WaitForParallelWorkersToFinish(context);
	DestroyParallelContext(context);
	ExitParallelMode();
	MemoryContextDelete(leader.per_segment);
}

static void
share_list(Leader *leader, ParallelContext *context, const WalList *list)
{
	SharedList *shared = shm_toc_allocate(context->toc, sizeof(SharedList));
	Size		bytes = list->count * sizeof(WalEntry);
	WalEntry   *entries = shm_toc_allocate(context->toc, bytes);

	memset(shared, 0, sizeof(*shared));
	shared->scan = *leader->scan;
	strlcpy(shared->directory, leader->scan->directory,
			sizeof(shared->directory));
	shared->count = list->count;
	pg_atomic_init_u64(&shared->next, 0);
	memcpy(entries, list->entries, bytes);
	shm_toc_insert(context->toc, KEY_SHARED, shared);
	shm_toc_insert(context->toc, KEY_ENTRIES, entries);
	leader->shared = shared;
	leader->entries = entries;
}

static ParallelContext *
launch(Leader *leader, const WalList *list, int workers)
{
	ParallelContext *context = CreateParallelContext(parallel_library(),
													 WORKER_FUNCTION, workers);
	char	   *queues;

	shm_toc_estimate_chunk(&context->estimator, sizeof(SharedList));
	shm_toc_estimate_chunk(&context->estimator,
						   mul_size(list->count, sizeof(WalEntry)));
	shm_toc_estimate_chunk(&context->estimator,
						   mul_size(QUEUE_BYTES, workers));
	shm_toc_estimate_keys(&context->estimator, 3);
	InitializeParallelDSM(context);
	share_list(leader, context, list);
	queues = shm_toc_allocate(context->toc, mul_size(QUEUE_BYTES, workers));
	shm_toc_insert(context->toc, KEY_QUEUES, queues);
	for (int i = 0; i < context->nworkers; i++)
	{
		shm_mq	   *queue = shm_mq_create(queues + i * QUEUE_BYTES,
										  QUEUE_BYTES);

		shm_mq_set_receiver(queue, MyProc);
		leader->streams[i].queue = shm_mq_attach(queue, context->seg, NULL);
	}
	LaunchParallelWorkers(context);
	leader->nstreams = context->nworkers_launched;
	for (int i = 0; i < leader->nstreams; i++)
		shm_mq_set_handle(leader->streams[i].queue,
						  context->worker[i].bgwhandle);
	return context;
}

/* The head of a stream, NULL when there is none yet or no more. */
static const ResultMessage *
stream_head(WorkerStream *stream)
{
	Size		length;
	void	   *data;
	shm_mq_result received;

	if (stream->head != NULL || stream->queue == NULL)
		return stream->head;
	received = shm_mq_receive(stream->queue, &length, &data, true);
	if (received == SHM_MQ_DETACHED)
		stream->queue = NULL;
	else if (received == SHM_MQ_SUCCESS)
	{
		Assert(length == sizeof(ResultMessage));
		stream->head = data;
	}
	return stream->head;
}

static void
deliver(Leader *leader, const WalSegmentResult *result)
{
	MemoryContext outer = MemoryContextSwitchTo(leader->per_segment);

	leader->result(leader->arg, result);
	MemoryContextSwitchTo(outer);
	MemoryContextReset(leader->per_segment);
	leader->number++;
}

/* Delivers all whose turn it is and that are there; false: there was none. */
static bool
deliver_ready(Leader *leader)
{
	uint64		before = leader->number;

	while (leader->nkept > 0 &&
		   leader->kept[leader->first_kept].number == leader->number)
	{
		deliver(leader, &leader->kept[leader->first_kept].result);
		leader->first_kept = (leader->first_kept + 1) % KEPT_RESULTS;
		leader->nkept--;
	}
	for (int i = 0; i < leader->nstreams; i++)
	{
		WorkerStream *stream = &leader->streams[i];
		const ResultMessage *head;

		while ((head = stream_head(stream)) != NULL &&
			   head->number == leader->number)
		{
			deliver(leader, &head->result);
			stream->head = NULL;
		}
	}
	return leader->number > before;
}

/* The leader judges a segment itself; false: none is left, or too much kept. */
static bool
judge_one(Leader *leader)
{
	ResultMessage *message;
	MemoryContext outer;
	uint64		number;

	if (leader->all_taken || leader->nkept == KEPT_RESULTS)
		return false;
	number = pg_atomic_fetch_add_u64(&leader->shared->next, 1);
	if (number >= leader->shared->count)
	{
		leader->all_taken = true;
		return false;
	}
	message = &leader->kept[(leader->first_kept + leader->nkept++) %
							KEPT_RESULTS];
	message->number = number;
	outer = MemoryContextSwitchTo(leader->per_segment);
	wal_scan_entry(leader->scan, &leader->entries[number], &message->result);
	MemoryContextSwitchTo(outer);
	MemoryContextReset(leader->per_segment);
	return true;
}

/*
 * Ends when every result has been delivered, or by an error: no segment is
 * left out silently, whatever happens to a worker.
 */
static void
deliver_all(Leader *leader, ParallelContext *context)
{
	while (leader->number < leader->shared->count)
	{
		bool		attached = false;

		CHECK_FOR_INTERRUPTS();
		if (deliver_ready(leader) || judge_one(leader))
			continue;
		for (int i = 0; i < leader->nstreams; i++)
			attached |= leader->streams[i].queue != NULL;
		if (!attached)
		{
			WaitForParallelWorkersToFinish(context);	/* raises its error */
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("parallel workers ended before their work was done")));
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

void
accel_wal_worker_main(dsm_segment *segment, shm_toc *toc)
{
	SharedList *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	const WalEntry *entries = shm_toc_lookup(toc, KEY_ENTRIES, false);
	char	   *queues = shm_toc_lookup(toc, KEY_QUEUES, false);
	shm_mq	   *mq = (shm_mq *) (queues + ParallelWorkerNumber * QUEUE_BYTES);
	MemoryContext per_segment = segment_context();
	shm_mq_handle *queue;
	ResultMessage message;
	WalScan		scan;

	pgstat_report_activity(STATE_RUNNING,
						   psprintf("crc32c_accel: verifying WAL in \"%s\"",
									shared->directory));
	shm_mq_set_sender(mq, MyProc);
	queue = shm_mq_attach(mq, segment, NULL);
	wal_scan_join(&scan, &shared->scan, shared->directory);
	memset(&message, 0, sizeof(message));
	while ((message.number = pg_atomic_fetch_add_u64(&shared->next, 1)) <
		   shared->count)
	{
		MemoryContext outer = MemoryContextSwitchTo(per_segment);

		CHECK_FOR_INTERRUPTS();
		wal_scan_entry(&scan, &entries[message.number], &message.result);
		MemoryContextSwitchTo(outer);
		MemoryContextReset(per_segment);
		/* a leader that has gone raised its own error */
		if (shm_mq_send(queue, sizeof(message), &message, false, true) ==
			SHM_MQ_DETACHED)
			break;
	}
	shm_mq_detach(queue);
}
