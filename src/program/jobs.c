/*
 * jobs.c
 *	  Judges the segments of a list, in forked processes or here.
 *
 * Workers claim runs of segments (see wal/runs.c) and write results to memory
 * that all share.  The parent gives them in order, as they come.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "program/host.h"
#include "program/jobs.h"
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

	pid_t		parent;
	pid_t	   *workers;		/* 0 if it has ended */
	int			nworkers;
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

/* A parent that was killed wants nothing any more. */
static void
judge_run(const Jobs *jobs, WalSession *session, WalRun run)
{
	for (uint64_t i = run.begin; i < run.end; i++)
	{
		uint64_t	mark = program_mark();

		host_interrupts();
		if (getppid() != jobs->parent)
			_exit(EXIT_FAILED);
		wal_segment_judge_entry(session, &jobs->list->names[i],
								&jobs->entries[i].result);
		__atomic_store_n(&jobs->entries[i].done, 1, __ATOMIC_RELEASE);
		program_release(mark);
	}
}

_Noreturn static void
work(const Jobs *jobs)
{
	WalSession	session;
	uint64_t	run;

	program_become_worker();
	begin_session(jobs, &session);
	while ((run = __atomic_fetch_add(jobs->next, 1, __ATOMIC_SEQ_CST)) < wal_runs_count(&jobs->runs))
		judge_run(jobs, &session, wal_runs_find(&jobs->runs, run));
	_exit(EXIT_SOUND);
}

static void
end_workers(void *arg)
{
	Jobs	   *jobs = arg;

	for (int i = 0; i < jobs->nworkers; i++)
		if (jobs->workers[i] != 0)
			kill(jobs->workers[i], SIGKILL);
	for (int i = 0; i < jobs->nworkers; i++)
		if (jobs->workers[i] != 0)
			waitpid(jobs->workers[i], NULL, 0);
	jobs->nworkers = 0;
}

/* A worker that ends for another reason than that all is done ends us, too. */
static void
look_at_workers(Jobs *jobs)
{
	for (int i = 0; i < jobs->nworkers; i++)
	{
		int			status;

		if (jobs->workers[i] == 0 ||
			waitpid(jobs->workers[i], &status, WNOHANG) != jobs->workers[i])
			continue;
		jobs->workers[i] = 0;
		if (status == 0)
			continue;
		host_interrupts();		/* it may be for the signal that we got */
		program_fail("a process that reads ended with %s %d",
					 WIFSIGNALED(status) ? "signal" : "status",
					 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
}

/* Fewer than wanted do it, too, if the system gives no more. */
static void
start_workers(Jobs *jobs, int wanted)
{
	jobs->parent = getpid();
	jobs->workers = host_alloc((size_t) wanted * sizeof(pid_t));
	program_at_end(end_workers, jobs);
	fflush(NULL);
	for (int i = 0; i < wanted; i++)
	{
		pid_t		worker = fork();

		if (worker == 0)
			work(jobs);
		if (worker < 0 && i == 0)
			program_fail("could not start a process: %s", strerror(errno));
		if (worker < 0)
			break;
		jobs->workers[jobs->nworkers++] = worker;
	}
}

static void
wait_for(Jobs *jobs, size_t i)
{
	static const struct timespec pause = {0, PAUSE};

	while (__atomic_load_n(&jobs->entries[i].done, __ATOMIC_ACQUIRE) == 0)
	{
		host_interrupts();
		look_at_workers(jobs);
		nanosleep(&pause, NULL);
	}
}

static void
judge_in_workers(Jobs *jobs, int wanted, JobsResultFn result, void *arg)
{
	size_t		bytes = jobs->list->count * sizeof(Entry);

	jobs->next = program_share(sizeof(uint64_t));
	jobs->entries = program_share(bytes);
	start_workers(jobs, wanted);
	for (size_t i = 0; i < jobs->list->count; i++)
	{
		uint64_t	mark = program_mark();

		wait_for(jobs, i);
		result(arg, i, &jobs->entries[i].result);
		program_release(mark);
	}
	end_workers(jobs);
	program_forget_end();
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
