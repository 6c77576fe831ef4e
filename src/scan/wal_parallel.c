/*
 * wal_parallel.c
 *	  The segments of a list shared by parallel workers, results in order.
 *
 * A worker takes the next segment that nobody has, judges it, and sends the
 * result through its own queue.  Every queue carries rising numbers, so the
 * leader delivers in order by taking each result from the queue that has it at
 * its head.  Queues are bounded, so a worker that is far ahead waits.  As for
 * relations (parallel_scan.c), workers are the server's parallel workers: an
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

#include "scan/parallel_scan.h"
#include "scan/wal_parallel.h"

#define QUEUE_BYTES		((Size) 16 * 1024)

#define KEY_SHARED		UINT64CONST(1)
#define KEY_ENTRIES		UINT64CONST(2)
#define KEY_QUEUES		UINT64CONST(3)

/* worker/wal_worker.c */
#define WORKER_FUNCTION "accel_wal_worker_main"

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

static ParallelContext *launch(const WalScan *scan, const WalList *list,
							   int workers, WorkerStream *streams);
static void deliver_all(ParallelContext *context, WorkerStream *streams,
						uint64 count, WalResultFn result, void *arg);

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
	WorkerStream *streams;
	ParallelContext *context;
	int			launched;

	workers = (int) Min((Size) workers, list->count);
	if (workers == 0 || list->count < 2 || IsInParallelMode())
	{
		scan_here(scan, list, result, arg);
		return;
	}
	streams = palloc0(workers * sizeof(WorkerStream));
	EnterParallelMode();
	context = launch(scan, list, workers, streams);
	launched = context->nworkers_launched;
	if (launched > 0)
		deliver_all(context, streams, list->count, result, arg);
	WaitForParallelWorkersToFinish(context);
	DestroyParallelContext(context);
	ExitParallelMode();
	if (launched == 0)
		scan_here(scan, list, result, arg);
}

static void
share_list(ParallelContext *context, const WalScan *scan, const WalList *list)
{
	SharedList *shared = shm_toc_allocate(context->toc, sizeof(SharedList));
	Size		bytes = list->count * sizeof(WalEntry);
	WalEntry   *entries = shm_toc_allocate(context->toc, bytes);

	memset(shared, 0, sizeof(*shared));
	shared->scan = *scan;
	strlcpy(shared->directory, scan->directory, sizeof(shared->directory));
	shared->count = list->count;
	pg_atomic_init_u64(&shared->next, 0);
	memcpy(entries, list->entries, bytes);
	shm_toc_insert(context->toc, KEY_SHARED, shared);
	shm_toc_insert(context->toc, KEY_ENTRIES, entries);
}

static ParallelContext *
launch(const WalScan *scan, const WalList *list, int workers,
	   WorkerStream *streams)
{
	ParallelContext *context = CreateParallelContext(parallel_scan_library(),
													 WORKER_FUNCTION, workers);
	char	   *queues;

	shm_toc_estimate_chunk(&context->estimator, sizeof(SharedList));
	shm_toc_estimate_chunk(&context->estimator,
						   mul_size(list->count, sizeof(WalEntry)));
	shm_toc_estimate_chunk(&context->estimator,
						   mul_size(QUEUE_BYTES, workers));
	shm_toc_estimate_keys(&context->estimator, 3);
	InitializeParallelDSM(context);
	share_list(context, scan, list);
	queues = shm_toc_allocate(context->toc, mul_size(QUEUE_BYTES, workers));
	shm_toc_insert(context->toc, KEY_QUEUES, queues);
	for (int i = 0; i < context->nworkers; i++)
	{
		shm_mq	   *queue = shm_mq_create(queues + i * QUEUE_BYTES,
										  QUEUE_BYTES);

		shm_mq_set_receiver(queue, MyProc);
		streams[i].queue = shm_mq_attach(queue, context->seg, NULL);
	}
	LaunchParallelWorkers(context);
	for (int i = 0; i < context->nworkers_launched; i++)
		shm_mq_set_handle(streams[i].queue, context->worker[i].bgwhandle);
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

/*
 * Ends when every result has been delivered, or by an error: no segment is
 * left out silently, whatever happens to a worker.
 */
static void
deliver_all(ParallelContext *context, WorkerStream *streams, uint64 count,
			WalResultFn result, void *arg)
{
	MemoryContext per_segment = segment_context();
	uint64		number = 0;

	while (number < count)
	{
		uint64		before = number;
		bool		attached = false;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < context->nworkers_launched; i++)
		{
			const ResultMessage *head;

			while ((head = stream_head(&streams[i])) != NULL &&
				   head->number == number)
			{
				MemoryContext outer = MemoryContextSwitchTo(per_segment);

				result(arg, &head->result);
				MemoryContextSwitchTo(outer);
				MemoryContextReset(per_segment);
				streams[i].head = NULL;
				number++;
			}
			attached |= streams[i].queue != NULL;
		}
		if (number > before || number == count)
			continue;
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
	MemoryContextDelete(per_segment);
}

/* A worker begins as its leader did, and judges by the leader's limits. */
static void
begin_as_leader(WalScan *scan, const SharedList *shared)
{
	wal_scan_begin(scan, shared->directory);
	scan->live = shared->scan.live;
	scan->pg_wal = shared->scan.pg_wal;
	scan->from = shared->scan.from;
	scan->to = shared->scan.to;
	scan->segment_size = shared->scan.segment_size;
	scan->nlimits = shared->scan.nlimits;
	memcpy(scan->limits, shared->scan.limits, sizeof(scan->limits));
}

void
wal_parallel_work(dsm_segment *segment, shm_toc *toc)
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
	begin_as_leader(&scan, shared);
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
