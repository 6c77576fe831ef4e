/*
 * wal_parallel.c
 *	  The segments of a list shared with parallel workers.
 *
 * A task of parallel.c is a run of segments in succession, so that a record over
 * many of them is walked once per run (see wal_neighbour.c); its messages are
 * their results.
 */
#include "compat.h"

#include "pgstat.h"

#include "scan/parallel.h"
#include "scan/wal_parallel.h"

/* of a task, at most; each process shall have several */
#define RUN_SEGMENTS	128
#define RUN_BYTES		(UINT64CONST(256) * 1024 * 1024)
#define RUNS_WANTED		4

/* The list's names follow. */
typedef struct SharedList
{
	char		directory[MAXPGPATH];
	WalLimits	limits;
	WalRange	range;
	Throttle	throttle;
	uint64		count;
	uint64		run;
	WalName		names[FLEXIBLE_ARRAY_MEMBER];
} SharedList;

typedef struct ListTasks
{
	ParallelTasks tasks;		/* first */
	const WalDirectory *dir;
	WalSession	session;
	const WalName *names;
	uint64		count;
	uint64		run;			/* segments in each task but the last */

	/* the leader's */
	Throttle   *throttle;		/* the caller's; NULL: no bound */
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
	uint64		end = Min((task + 1) * list->run, list->count);
	WalSegmentResult result;

	for (uint64 i = task * list->run; i < end; i++)
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
	shared->count = list->count;
	shared->run = list->run;
	memcpy(shared->names, list->names, list->count * sizeof(WalName));
	if (list->throttle == NULL)
		return;
	throttle_copy(&shared->throttle, list->throttle);
	list->pace = &shared->throttle;
	wal_files_throttle(list->session.files, list->pace);
}

/* How many segments make a task: one if nobody shares them. */
static uint64
run_length(const WalDirectory *dir, uint64 count, int workers)
{
	uint64		run = count / (RUNS_WANTED * ((uint64) workers + 1));

	if (workers == 0)
		return 1;
	run = Min(run, RUN_BYTES / dir->limits.segment_size);
	return Max(Min(run, RUN_SEGMENTS), 1);
}

void
wal_parallel_judge(const WalDirectory *dir, WalRange range,
				   const WalNames *list, int workers, Throttle *throttle,
				   WalResultFn result, void *arg)
{
	ListTasks	tasks = {{0}};

	tasks.dir = dir;
	tasks.names = list->names;
	tasks.count = list->count;
	tasks.run = run_length(dir, list->count, workers);
	tasks.throttle = tasks.pace = throttle;
	tasks.result = result;
	tasks.arg = arg;
	wal_session_begin(&tasks.session, dir, range);
	wal_files_throttle(tasks.session.files, throttle);
	tasks.tasks.ntasks = (list->count + tasks.run - 1) / tasks.run;
	tasks.tasks.work = judge_run;
	tasks.tasks.deliver = deliver_result;
	tasks.tasks.worker_main = "accel_wal_worker_main";
	tasks.tasks.shared_bytes = add_size(offsetof(SharedList, names),
										mul_size(list->count, sizeof(WalName)));
	tasks.tasks.share = share_list;
	parallel_run(&tasks.tasks, strlen(dir->path) < MAXPGPATH ? workers : 0);
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
	tasks.count = shared->count;
	tasks.run = shared->run;
	tasks.tasks.work = judge_run;
	wal_session_begin(&tasks.session, &dir, shared->range);
	if (shared->throttle.rate > 0)
		wal_files_throttle(tasks.session.files, &shared->throttle);
	parallel_work(&tasks.tasks, segment, toc);
	wal_session_end(&tasks.session);
}
