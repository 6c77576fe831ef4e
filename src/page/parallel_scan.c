/*
 * parallel_scan.c
 *	  The blocks of a range shared with parallel workers.
 *
 * A task of parallel.c is a chunk of blocks.  Its messages are its findings,
 * the digests of its pages if they are asked for, and, last, its totals.
 */
#include "compat.h"

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "host/parallel.h"
#include "page/parallel_scan.h"
#include "page/range_scan.h"

#define CHUNK_BLOCKS	1024	/* 8 MB, about two milliseconds */

/*
 * One worker more for each 128 MB.  To start and end one takes some 10 ms, as
 * long as verifying 50 MB from the page cache.
 */
#define WORKER_BLOCKS	(16 * CHUNK_BLOCKS)

/* Rows of digests that go in one message. */
#define PARTS_PER_MESSAGE	64

typedef struct SharedRange
{
	Oid			relid;
	ForkNumber	fork;
	BlockNumber first;
	BlockNumber end;
	BlockNumber chunk_blocks;
	uint32		piece_blocks;
	bool		direct;
	PageDigestOptions digest;
	Throttle	throttle;
} SharedRange;

StaticAssertDecl(sizeof(SharedRange) <= CREW_JOB_BYTES,
				 "a range can be described to a crew");

typedef enum ChunkMessageKind
{
	CHUNK_FINDING,
	CHUNK_PARTS,
	CHUNK_TOTALS				/* the last message of a chunk */
} ChunkMessageKind;

typedef struct ChunkMessage
{
	ChunkMessageKind kind;
	int64		count;			/* of parts, or of blocks in the chunk */
	union
	{
		PageFinding finding;
		ForkSummary summary;
		DigestRow	parts[PARTS_PER_MESSAGE];
	}			body;
} ChunkMessage;

typedef struct RangeTasks
{
	ParallelTasks tasks;		/* first */
	const Fork *fork;
	BlockNumber first;
	BlockNumber end;
	BlockNumber chunk_blocks;
	ScanPolicy	policy;			/* its throttle is the shared one, with
								 * workers */
	PageDigests digests;		/* of the chunk at work, if asked for */

	/* a worker's, of what is at work in fork */
	Oid			relid;
	ForkNumber	number;
	Relation	rel;			/* NULL if no task was left */
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
	RangeTasks *range;
	ChunkMessage parts;			/* that are not sent yet */
} ChunkSink;

extern PGDLLEXPORT void accel_verify_worker_main(dsm_segment *segment,
												 shm_toc *toc);

static void scan_shared(const SharedRange *shared, Throttle *throttle,
						dsm_segment *segment, shm_toc *toc,
						CrewMember *member);
static bool enough_read(ParallelTasks *tasks);
static void init_digests(RangeTasks *range, const PageDigestOptions *options);
static int	workers_that_pay(const RangeTasks *range);
static void share_range(ParallelTasks *tasks, void *shared);
static void open_range(ParallelTasks *tasks);
static void scan_chunk(ParallelTasks *tasks, uint64 chunk);
static void send_finding(ScanSink *sink, const PageFinding *finding);
static void digest_page(ScanSink *sink, BlockNumber blkno, const char *page);
static void note_part(PageDigests *digests, const DigestRow *part);
static void send_parts(ChunkSink *sink);
static Size message_bytes(Size body);
static void deliver_message(ParallelTasks *tasks, const void *data);
static void deliver_totals(RangeTasks *range, const ChunkMessage *message);

BlockNumber
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
	if (policy->throttle)		/* a quarter of a second, with all at work */
		range.chunk_blocks = Max(Min(CHUNK_BLOCKS, policy->throttle->pace.paid / BLCKSZ /
									 (4 * (policy->workers + 1))), 1);
	range.sink = sink;
	range.summary = summary;
	workers = workers_that_pay(&range);
	if (workers == 0)
		return range_scan(fork, first, end, policy, sink, summary);
	range.tasks.ntasks = (end - first + range.chunk_blocks - 1) /
		range.chunk_blocks;
	range.tasks.work = scan_chunk;
	range.tasks.deliver = deliver_message;
	range.tasks.worker_main = "accel_verify_worker_main";
	range.tasks.shared_bytes = sizeof(SharedRange);
	range.tasks.share = share_range;
	range.tasks.crew = policy->crew;
	range.tasks.enough = sink->enough ? enough_read : NULL;
	init_digests(&range, &sink->digest);
	parallel_run(&range.tasks, workers);
	return (BlockNumber) Min(first + range.tasks.ntasks * range.chunk_blocks, end);
}

static bool
enough_read(ParallelTasks *tasks)
{
	ScanSink   *sink = ((RangeTasks *) tasks)->sink;

	return sink->enough(sink);
}

static void
init_digests(RangeTasks *range, const PageDigestOptions *options)
{
	if (!PAGE_DIGESTS_WANTED(options, range->fork->rel, range->fork->fork))
		return;
	page_digests_init(&range->digests, options, range->fork->rel,
					  range->fork->fork, range->first);
	range->digests.emit = note_part;
}

/*
 * Below a bound on the rate, what it takes to start a worker is nothing.
 * Those of a crew need not be started.
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
	shared->direct = range->policy.direct;
	shared->digest = range->sink->digest;
	if (range->throttle == NULL || range->policy.crew != NULL)
		return;
	throttle_copy(&shared->throttle, range->throttle);
	range->policy.throttle = &shared->throttle;
}

void
accel_verify_worker_main(dsm_segment *segment, shm_toc *toc)
{
	SharedRange *shared = parallel_shared(toc);

	scan_shared(shared, shared->throttle.pace.paid > 0 ? &shared->throttle : NULL,
				segment, toc, NULL);
}

void
parallel_scan_job(CrewMember *member, const void *description)
{
	SharedRange shared;

	memcpy(&shared, description, sizeof(shared));
	scan_shared(&shared, crew_member_throttle(member), NULL, NULL, member);
}

/* "member" is that of a crew, or NULL. */
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
	range.policy.direct = shared->direct;
	range.policy.throttle = throttle;
	range.digests.options = shared->digest;
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
 * A worker locks the relation itself.  That cannot wait.  Its leader holds the
 * lock up to the end of all tasks, one of which is the worker's, and they are
 * of one lock group.
 */
static void
open_range(ParallelTasks *tasks)
{
	RangeTasks *range = (RangeTasks *) tasks;

	range->rel = relation_open(range->relid, AccessShareLock);
	fork_describe(&range->opened, range->rel, range->number);
	range->fork = &range->opened;
	init_digests(range, &range->digests.options);
	InvalidateCatalogSnapshot();	/* would hold back vacuum */
}

static void
scan_chunk(ParallelTasks *tasks, uint64 chunk)
{
	RangeTasks *range = (RangeTasks *) tasks;
	uint64		first = range->first + chunk * range->chunk_blocks;
	uint64		end = Min(first + range->chunk_blocks, range->end);
	ChunkSink	sink;
	ChunkMessage message;

	memset(&sink, 0, sizeof(sink));
	sink.sink.finding = send_finding;
	sink.sink.page = range->digests.emit ? digest_page : NULL;
	sink.sink.digest = range->digests.options;
	sink.range = range;
	sink.parts.kind = CHUNK_PARTS;
	range->digests.arg = &sink;
	range->digests.from = (int64) first;
	memset(&message, 0, sizeof(message));
	message.kind = CHUNK_TOTALS;
	message.count = (int64) (end - first);
	fork_summary_init(&message.body.summary, RelationGetRelid(range->fork->rel),
					  range->fork->fork);
	range_scan(range->fork, (BlockNumber) first, (BlockNumber) end,
			   &range->policy, &sink.sink, &message.body.summary);
	send_parts(&sink);
	parallel_send(tasks, &message, message_bytes(sizeof(ForkSummary)));
}

/* What a message takes whose body has so many bytes. */
static Size
message_bytes(Size body)
{
	return offsetof(ChunkMessage, body) + body;
}

static void
send_finding(ScanSink *sink, const PageFinding *finding)
{
	RangeTasks *range = ((ChunkSink *) sink)->range;
	ChunkMessage message;

	send_parts((ChunkSink *) sink);
	range->digests.from = finding->blkno + 1;
	memset(&message, 0, sizeof(message));
	message.kind = CHUNK_FINDING;
	message.body.finding = *finding;
	parallel_send(&range->tasks, &message, message_bytes(sizeof(PageFinding)));
}

static void
digest_page(ScanSink *sink, BlockNumber blkno, const char *page)
{
	page_digests_page(&((ChunkSink *) sink)->range->digests, blkno, page);
}

static void
note_part(PageDigests *digests, const DigestRow *part)
{
	ChunkSink  *sink = digests->arg;
	ChunkMessage *message = &sink->parts;

	message->body.parts[message->count++] = *part;
	if (message->count < PARTS_PER_MESSAGE)
		return;
	parallel_send(&sink->range->tasks, message, sizeof(ChunkMessage));
	message->count = 0;
}

/* Sends all of them, before a finding or at the chunk's end. */
static void
send_parts(ChunkSink *sink)
{
	ChunkMessage *message = &sink->parts;

	if (sink->range->digests.emit)
		page_digests_end(&sink->range->digests);
	if (message->count > 0)
		parallel_send(&sink->range->tasks, message,
					  message_bytes(message->count * sizeof(DigestRow)));
	message->count = 0;
}

static void
deliver_message(ParallelTasks *tasks, const void *data)
{
	RangeTasks *range = (RangeTasks *) tasks;
	const ChunkMessage *message = data;
	ScanSink   *sink = range->sink;

	switch (message->kind)
	{
		case CHUNK_FINDING:
			if (sink->finding)
				sink->finding(sink, &message->body.finding);
			break;
		case CHUNK_PARTS:
			for (int64 i = 0; i < message->count; i++)
				sink->part(sink, &message->body.parts[i]);
			break;
		case CHUNK_TOTALS:
			deliver_totals(range, message);
			break;
	}
}

static void
deliver_totals(RangeTasks *range, const ChunkMessage *message)
{
	ScanSink   *sink = range->sink;

	fork_summary_add(range->summary, &message->body.summary);
	if (range->throttle)		/* the shared one goes with the workers */
		throttle_copy(range->throttle, range->policy.throttle);
	if (sink->progress)
		sink->progress(sink, message->count);
}
