/*
 * parallel.h
 *	  Numbered tasks shared with parallel workers, results in order.
 */
#ifndef ACCEL_HOST_PARALLEL_H
#define ACCEL_HOST_PARALLEL_H

#include "storage/dsm.h"
#include "storage/shm_toc.h"

#include "host/crew.h"

/* The most workers that one scan may ask for. */
#define PARALLEL_MAX_WORKERS	1024

/*
 * Tasks 0 to ntasks - 1.  Embed this first in a struct with what the callbacks
 * need; the leader has one, and each worker makes its own.
 */
typedef struct ParallelTasks ParallelTasks;
struct ParallelTasks
{
	uint64		ntasks;

	/* leader and worker: does a task, sends its results by parallel_send() */
	void		(*work) (ParallelTasks *tasks, uint64 task);

	/*
	 * Worker only, may be NULL: called before its first task, which the
	 * leader then waits for, and not at all when none is left.
	 */
	void		(*begin) (ParallelTasks *tasks);

	/*
	 * Leader only: takes a message.  Those of a task come in the order in
	 * which they were sent, those of task n after all of task n - 1, aligned
	 * to 8 bytes.  The memory context is reset afterwards, as it is after
	 * work().
	 */
	void		(*deliver) (ParallelTasks *tasks, const void *message);

	/*
	 * Leader only, may be NULL: shall no more tasks be begun?  ntasks is then
	 * how many were.  Asked while workers are waited for, too: an error ends
	 * that.
	 */
	bool		(*enough) (ParallelTasks *tasks);

	/*
	 * Leader only: fills shared_bytes of shared memory (zeroed), which
	 * workers find by parallel_shared(), before any of them starts.
	 * worker_main: an exported function of this library, of the type
	 * parallel_worker_main_type, that calls parallel_work().
	 */
	const char *worker_main;
	Size		shared_bytes;
	void		(*share) (ParallelTasks *tasks, void *shared);

	/*
	 * Leader only: workers that are there already, instead of new ones; what
	 * share() fills (at most CREW_JOB_BYTES) describes the job to them.
	 */
	Crew	   *crew;

	struct ParallelState *state;	/* of parallel.c */
};

/*
 * Checks a number of workers: ERROR 22023.  Returns what of it the server may
 * have at all: each that is asked for takes 64 kB of shared memory.
 */
extern int	parallel_workers(int workers);

/*
 * Does all tasks, here and in up to workers parallel workers.  Few tasks, no
 * free worker, or parallel mode already: all here.
 */
extern void parallel_run(ParallelTasks *tasks, int workers);

/* Sends a result of the task at work; a task's results fit into memory. */
extern void parallel_send(ParallelTasks *tasks, const void *message,
						  Size bytes);

/* In a worker: what share() filled; the tasks that fall to this worker. */
extern void *parallel_shared(shm_toc *toc);
extern void parallel_work(ParallelTasks *tasks, dsm_segment *segment,
						  shm_toc *toc);

/* In a worker of a crew: those of the present job that fall to it. */
extern void parallel_work_job(ParallelTasks *tasks, CrewMember *member);

/*
 * The file that this code was loaded from, for workers to load: the name in
 * SQL may have been found by a search path.
 */
extern const char *parallel_library(void);

#endif							/* ACCEL_HOST_PARALLEL_H */
