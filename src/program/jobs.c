/*
 * jobs.c
 *	  Judges the segments of a list, in forked processes or here.
 *
 * Workers claim runs of segments (see wal/runs.c) and write results to memory
 * that all share.  The parent gives them in order, as they come.
 */
#include <sys/mman.h>
#include <time.h>

#include "program/host.h"
#include "program/jobs.h"
#include "program/workers.h"
#include "wal/runs.h"

/* between two looks at workers, in nanoseconds */
#define PAUSE	2000000

typedef struct Entry
{
	int			done;			/* atomic, set after the result */
	WalSegmentResult result;
} Entry;

typedef struct Jobs
{
	const WalDirectory *dir;
	WalRange	range;
	const WalNames *list;
	struct Throttle *throttle;
	WalRuns		runs;

	/* shared */
	uint64_t   *next;			/* atomic, the run to claim */
	Entry	   *entries;

	Workers		workers;
} Jobs;

static void
begin_session(const Jobs *jobs, WalSession *session)
{
	wal_session_begin(session, jobs->dir, jobs->range);
	wal_files_throttle(session->files, jobs->throttle);
}

/* ---- here ---- */

static void
judge_here(const Jobs *jobs, JobsResultFn result, void *arg)
{
	WalSession	session;

	begin_session(jobs, &session);
	for (size_t i = 0; i < jobs->list->count; i++)
	{
		uint64_t	mark = program_mark();
		WalSegmentResult judged;

		host_interrupts();
		wal_segment_judge_entry(&session, &jobs->list->names[i], &judged);
		result(arg, i, &judged);
		program_release(mark);
	}
	wal_session_end(&session);
}

/* ---- in workers ---- */

static void
judge_run(const Jobs *jobs, WalSession *session, WalRun run)
{
	for (uint64_t i = run.begin; i < run.end; i++)
	{
		uint64_t	mark = program_mark();

		host_interrupts();
		workers_check_parent(&jobs->workers);
		wal_segment_judge_entry(session, &jobs->list->names[i],
								&jobs->entries[i].result);
		__atomic_store_n(&jobs->entries[i].done, 1, __ATOMIC_RELEASE);
		program_release(mark);
	}
}

static void
work(void *arg)
{
	const Jobs *jobs = arg;
	WalSession	session;
	uint64_t	run;

	begin_session(jobs, &session);
	while ((run = __atomic_fetch_add(jobs->next, 1, __ATOMIC_SEQ_CST)) < wal_runs_count(&jobs->runs))
		judge_run(jobs, &session, wal_runs_find(&jobs->runs, run));
}

static void
wait_for(Jobs *jobs, size_t i)
{
	static const struct timespec pause = {0, PAUSE};

	while (__atomic_load_n(&jobs->entries[i].done, __ATOMIC_ACQUIRE) == 0)
	{
		host_interrupts();
		workers_look(&jobs->workers);
		nanosleep(&pause, NULL);
	}
}

static void
judge_in_workers(Jobs *jobs, int wanted, JobsResultFn result, void *arg)
{
	size_t		bytes = jobs->list->count * sizeof(Entry);

	jobs->next = program_share(sizeof(uint64_t));
	jobs->entries = program_share(bytes);
	jobs->workers.work = work;
	jobs->workers.arg = jobs;
	workers_start(&jobs->workers, wanted);
	for (size_t i = 0; i < jobs->list->count; i++)
	{
		uint64_t	mark = program_mark();

		wait_for(jobs, i);
		result(arg, i, &jobs->entries[i].result);
		program_release(mark);
	}
	workers_end(&jobs->workers);
	munmap(jobs->entries, bytes);
	munmap(jobs->next, sizeof(uint64_t));
}

static WalRuns
runs_of(const Jobs *jobs, int processes)
{
	WalRuns		runs = {0};
	WalSession	session;

	begin_session(jobs, &session);
	runs.count = jobs->list->count;
	runs.processes = (uint32_t) processes;
	runs.segment_size = jobs->dir->limits.segment_size;
	runs.compressed = wal_files_compressed(session.files, jobs->list);
	wal_session_end(&session);
	return runs;
}

void
jobs_judge(const WalDirectory *dir, WalRange range, const WalNames *list,
		   int wanted, struct Throttle *throttle, JobsResultFn result,
		   void *arg)
{
	Jobs		jobs = {0};

	jobs.dir = dir;
	jobs.range = range;
	jobs.list = list;
	jobs.throttle = throttle;
	if (list->count == 0)
		return;
	if (wanted > 1)
	{
		jobs.runs = runs_of(&jobs, wanted);
		judge_in_workers(&jobs, wanted, result, arg);
	}
	else
		judge_here(&jobs, result, arg);
}
