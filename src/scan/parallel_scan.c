/*
 * parallel_scan.c
 *	  The blocks of a range shared with parallel workers.
 *
 * A task of parallel.c is a chunk of blocks; its messages are its findings and,
 * last, its totals.
 */
#include "compat.h"

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "scan/parallel.h"
#include "scan/parallel_scan.h"
#include "scan/range_scan.h"

#define CHUNK_BLOCKS	1024	/* 8 MB: about two milliseconds */

/*
 * One worker more for each 128 MB.  To start and end one takes some 10 ms, as
 * long as verifying 50 MB from the page cache.
 */
#define WORKER_BLOCKS	(16 * CHUNK_BLOCKS)

typedef struct SharedRange
{
	Oid			relid;
	ForkNumber	fork;
	BlockNumber first;
	BlockNumber end;
	BlockNumber chunk_blocks;
	uint32		piece_blocks;
	Throttle	throttle;
} SharedRange;

typedef struct ChunkMessage
{
	bool		totals;			/* the last message of a chunk */
	int64		blocks;			/* if totals: in the chunk */
	union
	{
		PageFinding finding;
		ForkSummary summary;
	}			body;
} ChunkMessage;

typedef struct RangeTasks
{
	ParallelTasks tasks;		/* first */
	const Fork *fork;
	BlockNumber first;
	BlockNumber end;
	BlockNumber chunk_blocks;
	ScanPolicy	policy;			/* throttle: the shared one, with workers */

	/* a worker's: of what is at work in fork */
	Oid			relid;
	ForkNumber	number;
	Relation	rel;			/* NULL: no task was left */
	Fork		opened;

	/* the leader's */
	Throttle   *throttle;		/* the caller's */
	ScanSink   *sink;
	ForkSummary *summary;
} RangeTasks;

/* Sends what is found in a chunk. */
typedef struct ChunkSink
{
	ScanSink	sink;			/* first */
	ParallelTasks *tasks;
} ChunkSink;

extern PGDLLEXPORT void accel_verify_worker_main(dsm_segment *segment,
												 shm_toc *toc);

static void scan_shared(const SharedRange *shared, Throttle *throttle,
						dsm_segment *segment, shm_toc *toc,
						CrewMember *member);
static int	workers_that_pay(const RangeTasks *range);
static void share_range(ParallelTasks *tasks, void *shared);
static void open_range(ParallelTasks *tasks);
static void scan_chunk(ParallelTasks *tasks, uint64 chunk);
static void send_finding(ScanSink *sink, const PageFinding *finding);
static void deliver_message(ParallelTasks *tasks, const void *data);

void
parallel_scan(const Fork *fork, BlockNumber first, BlockNumber end,
			  const ScanPolicy *policy, ScanSink *sink, ForkSummary *summary)
{
	RangeTasks	range = {{0}};
	int			workers;

	range.fork = fork;
	range.first = first;
	range.end = end;
	range.policy = *policy;
	range.throttle = policy->throttle;
	range.chunk_blocks = CHUNK_BLOCKS;
	if (policy->throttle)		/* a second's worth at most */
		range.chunk_blocks = Max(Min(CHUNK_BLOCKS,
									 policy->throttle->rate / BLCKSZ), 1);
	range.sink = sink;
	range.summary = summary;
	workers = workers_that_pay(&range);
	if (workers == 0)
	{
		range_scan(fork, first, end, policy, sink, summary);
		return;
	}
	range.tasks.ntasks = (end - first + range.chunk_blocks - 1) /
		range.chunk_blocks;
	range.tasks.work = scan_chunk;
	range.tasks.deliver = deliver_message;
	range.tasks.worker_main = "accel_verify_worker_main";
	range.tasks.shared_bytes = sizeof(SharedRange);
	range.tasks.share = share_range;
	range.tasks.crew = policy->crew;
	parallel_run(&range.tasks, workers);
}

/*
 * Below a bound on the rate, what it takes to start a worker is nothing; those
 * of a crew need not be started.
 */
static int
workers_that_pay(const RangeTasks *range)
{
	BlockNumber share = range->throttle || range->policy.crew ?
		range->chunk_blocks : WORKER_BLOCKS;

	return IsInParallelMode() ? 0 :
		(int) Min((BlockNumber) range->policy.workers,
				  (range->end - range->first) / share);
}

static void
share_range(ParallelTasks *tasks, void *shared_memory)
{
	RangeTasks *range = (RangeTasks *) tasks;
	SharedRange *shared = shared_memory;

	shared->relid = RelationGetRelid(range->fork->rel);
	shared->fork = range->fork->fork;
	shared->first = range->first;
	shared->end = range->end;
	shared->chunk_blocks = range->chunk_blocks;
	shared->piece_blocks = range->policy.piece_blocks;
	if (range->throttle == NULL || range->policy.crew != NULL)
		return;
	throttle_copy(&shared->throttle, range->throttle);
	range->policy.throttle = &shared->throttle;
}

void
accel_verify_worker_main(dsm_segment *segment, shm_toc *toc)
{
	SharedRange *shared = parallel_shared(toc);

	scan_shared(shared, shared->throttle.rate > 0 ? &shared->throttle : NULL,
				segment, toc, NULL);
}

void
parallel_scan_job(CrewMember *member, const void *description)
{
	SharedRange shared;

	memcpy(&shared, description, sizeof(shared));
	scan_shared(&shared, crew_member_throttle(member), NULL, NULL, member);
}

/* member: of a crew, or NULL. */
static void
scan_shared(const SharedRange *shared, Throttle *throttle,
			dsm_segment *segment, shm_toc *toc, CrewMember *member)
{
	RangeTasks	range = {{0}};

	pgstat_report_activity(STATE_RUNNING,
						   psprintf("crc32c_accel: verifying relation %u",
									shared->relid));
	range.relid = shared->relid;
	range.number = shared->fork;
	range.first = shared->first;
	range.end = shared->end;
	range.chunk_blocks = shared->chunk_blocks;
	range.policy.piece_blocks = shared->piece_blocks;
	range.policy.throttle = throttle;
	range.tasks.work = scan_chunk;
	range.tasks.begin = open_range;
	if (member == NULL)
		parallel_work(&range.tasks, segment, toc);
	else
		parallel_work_job(&range.tasks, member);
	if (range.rel != NULL)
		relation_close(range.rel, AccessShareLock);
}

/*
 * A worker locks the relation itself.  That cannot wait: its leader holds the
 * lock up to the end of all tasks, one of which is the worker's, and they are of
 * one lock group.
 */
static void
open_range(ParallelTasks *tasks)
{
	RangeTasks *range = (RangeTasks *) tasks;

	range->rel = relation_open(range->relid, AccessShareLock);
	fork_describe(&range->opened, range->rel, range->number);
	range->fork = &range->opened;
	InvalidateCatalogSnapshot();	/* would hold back vacuum */
}

static void
scan_chunk(ParallelTasks *tasks, uint64 chunk)
{
	RangeTasks *range = (RangeTasks *) tasks;
	uint64		first = range->first + chunk * range->chunk_blocks;
	uint64		end = Min(first + range->chunk_blocks, range->end);
	ChunkSink	chunk_sink = {{0}};
	ChunkMessage message;

	chunk_sink.sink.finding = send_finding;
	chunk_sink.tasks = tasks;
	memset(&message, 0, sizeof(message));
	message.totals = true;
	message.blocks = (int64) (end - first);
	fork_summary_init(&message.body.summary, RelationGetRelid(range->fork->rel),
					  range->fork->fork);
	range_scan(range->fork, (BlockNumber) first, (BlockNumber) end,
			   &range->policy, &chunk_sink.sink, &message.body.summary);
	parallel_send(tasks, &message, sizeof(message));
}

static void
send_finding(ScanSink *sink, const PageFinding *finding)
{
	ChunkMessage message;

	memset(&message, 0, sizeof(message));
	message.body.finding = *finding;
	parallel_send(((ChunkSink *) sink)->tasks, &message, sizeof(message));
}

static void
deliver_message(ParallelTasks *tasks, const void *data)
{
	RangeTasks *range = (RangeTasks *) tasks;
	const ChunkMessage *message = data;
	ScanSink   *sink = range->sink;

	if (!message->totals)
	{
		if (sink->finding)
			sink->finding(sink, &message->body.finding);
		return;
	}
	fork_summary_add(range->summary, &message->body.summary);
	if (range->throttle)		/* the shared one goes with the workers */
		throttle_copy(range->throttle, range->policy.throttle);
	if (sink->progress)
		sink->progress(sink, message->blocks);
}
