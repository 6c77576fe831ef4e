/*
 * parallel_scan.c
 *	  One fork shared by parallel workers, block ranges in order.
 *
 * The fork is cut into chunks.  A worker takes the next chunk that nobody has,
 * scans it, sends its findings and then its totals through its own queue, and
 * so on.  Every queue carries rising chunk numbers, so the leader gets block
 * order by delivering the chunks one after the other from whichever queue has
 * the present one at its head.  Queues are bounded: a worker that is far ahead
 * on a badly damaged relation waits.  The one that has the present chunk never
 * does, for the leader is emptying its queue.
 *
 * Workers are the server's parallel workers rather than background workers of
 * our own.  They join the leader's lock group: with independent processes, one
 * that asks for AccessShareLock would queue behind a stranger who waits for
 * AccessExclusiveLock behind the leader, who waits for the worker; a deadlock
 * that the server cannot see, since the leader's wait is no lock.  They see
 * what the leader's transaction sees, relations that it created included; its
 * GUCs hold; an error or the end of a worker becomes an error of the leader,
 * and the leader's end (a cancel, say) that of its workers.
 */
#include "compat.h"

#include <dlfcn.h>

#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "scan/parallel_scan.h"
#include "scan/range_scan.h"

#define CHUNK_BLOCKS	1024	/* 8 MB: about a millisecond and more */
#define QUEUE_BYTES		((Size) 64 * 1024)

#define KEY_SHARED		UINT64CONST(1)
#define KEY_QUEUES		UINT64CONST(2)

typedef struct SharedScan
{
	Oid			relid;
	ForkNumber	fork;
	BlockNumber first;
	BlockNumber end;
	pg_atomic_uint64 next_chunk;
	uint32		piece_blocks;	/* policy's */
	Throttle	throttle;
} SharedScan;

typedef struct ChunkMessage
{
	uint64		chunk;
	bool		done;			/* totals, the chunk's last message */
	union
	{
		PageFinding finding;
		ForkSummary summary;
	}			body;
} ChunkMessage;

/* The leader's end of a worker's queue. */
typedef struct WorkerStream
{
	shm_mq_handle *queue;		/* NULL: the worker has detached */
	const ChunkMessage *head;	/* NULL: none received */
} WorkerStream;

typedef struct LeaderScan
{
	ScanSink   *sink;
	ForkSummary *summary;
	uint64		chunk;			/* the one that is being delivered */
	uint64		nchunks;
	int			nstreams;
	WorkerStream *streams;
} LeaderScan;

typedef struct WorkerSink
{
	ScanSink	sink;
	SharedScan *shared;
	ScanPolicy	policy;
	Fork		fork;
	shm_mq_handle *queue;
	uint64		chunk;
} WorkerSink;

#define WORKER_FUNCTION	"accel_verify_worker_main"

extern PGDLLEXPORT void accel_verify_worker_main(dsm_segment *segment,
												 shm_toc *toc);

static uint64 count_chunks(BlockNumber first, BlockNumber end);
static ParallelContext *launch(const Fork *fork, BlockNumber first,
							   BlockNumber end, int workers,
							   const ScanPolicy *policy, SharedScan **shared,
							   LeaderScan *leader);
static void deliver_all(LeaderScan *leader, ParallelContext *context);
static bool deliver_some(LeaderScan *leader, WorkerStream *stream);
static void deliver(LeaderScan *leader, const ChunkMessage *message);
static void scan_chunk(WorkerSink *worker);
static void send_finding(ScanSink *sink, const PageFinding *finding);
static void send_message(WorkerSink *worker, const ChunkMessage *message);

int
parallel_scan_workers(int workers)
{
	if (workers < 0 || workers > PARALLEL_SCAN_MAX_WORKERS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of workers %d is out of range", workers),
				 errdetail("It lies between 0 and %d.",
						   PARALLEL_SCAN_MAX_WORKERS)));
	return Min(workers, max_parallel_workers);
}

void
parallel_scan(const Fork *fork, BlockNumber first, BlockNumber end,
			  const ScanPolicy *policy, ScanSink *sink, ForkSummary *summary)
{
	LeaderScan	leader = {sink, summary};
	ParallelContext *context;
	SharedScan *shared;
	bool		snapshot = !ActiveSnapshotSet();
	int			workers;

	leader.nchunks = count_chunks(first, end);
	workers = (int) Min((uint64) policy->workers, leader.nchunks);
	if (workers == 0 || leader.nchunks < 2 || IsParallelWorker())
	{
		range_scan(fork, first, end, policy, sink, summary);
		return;
	}
	if (snapshot)				/* workers inherit one */
		PushActiveSnapshot(GetTransactionSnapshot());
	EnterParallelMode();
	context = launch(fork, first, end, workers, policy, &shared, &leader);
	if (leader.nstreams > 0)
		deliver_all(&leader, context);
	if (policy->throttle)
		pg_atomic_write_u64(&policy->throttle->next,
							pg_atomic_read_u64(&shared->throttle.next));
	WaitForParallelWorkersToFinish(context);
	DestroyParallelContext(context);
	ExitParallelMode();
	if (snapshot)
		PopActiveSnapshot();
	if (leader.nstreams == 0)
		range_scan(fork, first, end, policy, sink, summary);
}

static uint64
count_chunks(BlockNumber first, BlockNumber end)
{
	return end <= first ? 0 :
		((uint64) end - first + CHUNK_BLOCKS - 1) / CHUNK_BLOCKS;
}

/* Sets leader->streams, as many as workers were to be had. */
static ParallelContext *
launch(const Fork *fork, BlockNumber first, BlockNumber end, int workers,
	   const ScanPolicy *policy, SharedScan **shared, LeaderScan *leader)
{
	ParallelContext *context = CreateParallelContext(parallel_scan_library(),
													 WORKER_FUNCTION, workers);
	char	   *queues;

	shm_toc_estimate_chunk(&context->estimator, sizeof(SharedScan));
	shm_toc_estimate_chunk(&context->estimator,
						   mul_size(QUEUE_BYTES, workers));
	shm_toc_estimate_keys(&context->estimator, 2);
	InitializeParallelDSM(context);

	*shared = shm_toc_allocate(context->toc, sizeof(SharedScan));
	memset(*shared, 0, sizeof(SharedScan));
	(*shared)->relid = RelationGetRelid(fork->rel);
	(*shared)->fork = fork->fork;
	(*shared)->first = first;
	(*shared)->end = end;
	pg_atomic_init_u64(&(*shared)->next_chunk, 0);
	(*shared)->piece_blocks = policy->piece_blocks;
	if (policy->throttle)
		(*shared)->throttle = *policy->throttle;
	shm_toc_insert(context->toc, KEY_SHARED, *shared);
	queues = shm_toc_allocate(context->toc, mul_size(QUEUE_BYTES, workers));
	shm_toc_insert(context->toc, KEY_QUEUES, queues);

	leader->streams = palloc0(workers * sizeof(WorkerStream));
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

const char *
parallel_scan_library(void)
{
	Dl_info		info;

	if (dladdr((const void *) accel_verify_worker_main, &info) != 0 &&
		is_absolute_path(info.dli_fname))
		return info.dli_fname;
	return "crc32c_accel";
}

/*
 * Ends when every chunk has been delivered whole, or by an error: whatever
 * happens to a worker, no chunk is left out silently.
 */
static void
deliver_all(LeaderScan *leader, ParallelContext *context)
{
	while (leader->chunk < leader->nchunks)
	{
		bool		progress = false;
		bool		attached = false;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < leader->nstreams; i++)
		{
			progress |= deliver_some(leader, &leader->streams[i]);
			attached |= leader->streams[i].queue != NULL;
		}
		if (progress)
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
}

/* Delivers what a stream has of the present chunk; true if it moved on. */
static bool
deliver_some(LeaderScan *leader, WorkerStream *stream)
{
	bool		progress = false;

	while (stream->queue != NULL)
	{
		if (stream->head == NULL)
		{
			Size		length;
			void	   *data;
			shm_mq_result result = shm_mq_receive(stream->queue, &length,
												  &data, true);

			if (result == SHM_MQ_DETACHED)
			{
				stream->queue = NULL;
				return true;
			}
			if (result != SHM_MQ_SUCCESS)
				return progress;
			Assert(length == sizeof(ChunkMessage));
			stream->head = data;
			progress = true;
		}
		if (stream->head->chunk != leader->chunk)
			return progress;
		deliver(leader, stream->head);
		stream->head = NULL;
		progress = true;
	}
	return progress;
}

static void
deliver(LeaderScan *leader, const ChunkMessage *message)
{
	ScanSink   *sink = leader->sink;

	if (!message->done)
	{
		if (sink->finding)
			sink->finding(sink, &message->body.finding);
		return;
	}
	fork_summary_add(leader->summary, &message->body.summary);
	leader->chunk++;
	if (sink->progress)
		sink->progress(sink, message->body.summary.blocks);
}

void
accel_verify_worker_main(dsm_segment *segment, shm_toc *toc)
{
	SharedScan *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	char	   *queues = shm_toc_lookup(toc, KEY_QUEUES, false);
	shm_mq	   *queue = (shm_mq *) (queues + ParallelWorkerNumber * QUEUE_BYTES);
	uint64		nchunks = count_chunks(shared->first, shared->end);
	WorkerSink	worker;
	Relation	rel;

	pgstat_report_activity(STATE_RUNNING,
						   psprintf("crc32c_accel: verifying relation %u",
									shared->relid));
	memset(&worker, 0, sizeof(worker));
	worker.sink.finding = send_finding;
	worker.shared = shared;
	worker.policy.piece_blocks = shared->piece_blocks;
	if (shared->throttle.rate > 0)
		worker.policy.throttle = &shared->throttle;
	rel = relation_open(shared->relid, AccessShareLock);
	fork_describe(&worker.fork, rel, shared->fork);
	shm_mq_set_sender(queue, MyProc);
	worker.queue = shm_mq_attach(queue, segment, NULL);
	while ((worker.chunk = pg_atomic_fetch_add_u64(&shared->next_chunk, 1)) <
		   nchunks)
		scan_chunk(&worker);
	shm_mq_detach(worker.queue);
	relation_close(rel, AccessShareLock);
}

static void
scan_chunk(WorkerSink *worker)
{
	SharedScan *shared = worker->shared;
	uint64		first = shared->first + worker->chunk * CHUNK_BLOCKS;
	uint64		end = Min(first + CHUNK_BLOCKS, shared->end);
	ChunkMessage message;

	memset(&message, 0, sizeof(message));
	message.chunk = worker->chunk;
	message.done = true;
	fork_summary_init(&message.body.summary, shared->relid, shared->fork);
	range_scan(&worker->fork, (BlockNumber) first, (BlockNumber) end,
			   &worker->policy, &worker->sink, &message.body.summary);
	message.body.summary.blocks = (int64) (end - first);	/* for progress */
	send_message(worker, &message);
}

static void
send_finding(ScanSink *sink, const PageFinding *finding)
{
	WorkerSink *worker = (WorkerSink *) sink;
	ChunkMessage message;

	memset(&message, 0, sizeof(message));
	message.chunk = worker->chunk;
	message.body.finding = *finding;
	send_message(worker, &message);
}

/* A leader that has gone is no error of ours: it has raised its own. */
static void
send_message(WorkerSink *worker, const ChunkMessage *message)
{
	if (shm_mq_send(worker->queue, sizeof(*message), message, false,
					message->done) == SHM_MQ_DETACHED)
		proc_exit(0);
}
