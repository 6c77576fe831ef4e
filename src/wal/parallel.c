/*
 * parallel.c
 *	  Shares the segments of a list with parallel workers.
 *
 * A task of parallel.c is a run of segments in succession (see wal/runs.c).
 * So a record over many of them is walked once per run (see wal/neighbour.c).
 * Its messages are their results.
 */
#include "compat.h"

#include "pgstat.h"

#include "host/parallel.h"
#include "wal/parallel.h"
#include "wal/runs.h"

/* The list's names follow. */
typedef struct SharedList
{
	char		directory[MAXPGPATH];
	WalLimits	limits;
	WalRange	range;
	Throttle	throttle;
	WalRuns		runs;
	WalName		names[FLEXIBLE_ARRAY_MEMBER];
} SharedList;

typedef struct ListTasks
{
	ParallelTasks tasks;		/* first */
	const WalDirectory *dir;
	WalSession	session;
	const WalName *names;
	WalRuns		runs;

	/* the leader's */
	Throttle   *throttle;		/* the caller's, NULL if unbounded */
	Throttle   *pace;			/* the same, or the one shared with workers */
	WalResultFn result;
	void	   *arg;
} ListTasks;

extern PGDLLEXPORT void accel_wal_worker_main(dsm_segment *segment,
											  shm_toc *toc);

static void
judge_run(ParallelTasks *tasks, uint64 task)
{
	ListTasks  *list = (ListTasks *) tasks;
	WalRun		run = wal_runs_find(&list->runs, task);
	WalSegmentResult result;

	for (uint64 i = run.begin; i < run.end; i++)
	{
		CHECK_FOR_INTERRUPTS();
		wal_segment_judge_entry(&list->session, &list->names[i], &result);
		parallel_send(tasks, &result, sizeof(result));
	}
}

static void
deliver_result(ParallelTasks *tasks, const void *message)
{
	ListTasks  *list = (ListTasks *) tasks;

	list->result(list->arg, message);
	if (list->throttle != NULL) /* the shared one goes with the workers */
		throttle_copy(list->throttle, list->pace);
}

static void
share_list(ParallelTasks *tasks, void *shared_memory)
{
	ListTasks  *list = (ListTasks *) tasks;
	SharedList *shared = shared_memory;

	strlcpy(shared->directory, list->dir->path, sizeof(shared->directory));
	shared->limits = list->dir->limits;
	shared->range = list->session.range;
	shared->runs = list->runs;
	memcpy(shared->names, list->names, list->runs.count * sizeof(WalName));
	if (list->throttle == NULL)
		return;
	throttle_copy(&shared->throttle, list->throttle);
	list->pace = &shared->throttle;
	wal_files_throttle(list->session.files, list->pace);
}

static WalRuns
runs_of(const WalSession *session, const WalNames *list, int workers)
{
	WalRuns		runs = {0};

	runs.count = list->count;
	runs.processes = (uint32) workers + 1;
	runs.segment_size = session->dir->limits.segment_size;
	runs.compressed = workers > 0 && wal_files_compressed(session->files, list);
	return runs;
}

void
wal_parallel_judge(const WalDirectory *dir, WalRange range,
				   const WalNames *list, int workers, Throttle *throttle,
				   WalResultFn result, void *arg)
{
	ListTasks	tasks = {{0}};

	if (strlen(dir->path) >= MAXPGPATH)
		workers = 0;
	tasks.dir = dir;
	tasks.names = list->names;
	tasks.throttle = tasks.pace = throttle;
	tasks.result = result;
	tasks.arg = arg;
	wal_session_begin(&tasks.session, dir, range);
	wal_files_throttle(tasks.session.files, throttle);
	tasks.runs = runs_of(&tasks.session, list, workers);
	tasks.tasks.ntasks = wal_runs_count(&tasks.runs);
	tasks.tasks.work = judge_run;
	tasks.tasks.deliver = deliver_result;
	tasks.tasks.worker_main = "accel_wal_worker_main";
	tasks.tasks.shared_bytes = add_size(offsetof(SharedList, names),
										mul_size(list->count, sizeof(WalName)));
	tasks.tasks.share = share_list;
	parallel_run(&tasks.tasks, workers);
	wal_session_end(&tasks.session);
}

void
accel_wal_worker_main(dsm_segment *segment, shm_toc *toc)
{
	SharedList *shared = parallel_shared(toc);
	ListTasks	tasks = {{0}};
	WalDirectory dir;

	pgstat_report_activity(STATE_RUNNING,
						   psprintf("crc32c_accel: verifying WAL in \"%s\"",
									shared->directory));
	if (wal_directory_join(&dir, shared->directory, &shared->limits) != WAL_DIRECTORY_OK)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open directory \"%s\": %m",
						shared->directory)));
	tasks.dir = &dir;
	tasks.names = shared->names;
	tasks.runs = shared->runs;
	tasks.tasks.work = judge_run;
	wal_session_begin(&tasks.session, &dir, shared->range);
	if (shared->throttle.pace.paid > 0)
		wal_files_throttle(tasks.session.files, &shared->throttle);
	parallel_work(&tasks.tasks, segment, toc);
	wal_session_end(&tasks.session);
}
