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
 * need.  The leader has one, and each worker makes its own.
 */
typedef struct ParallelTasks ParallelTasks;
struct ParallelTasks
{
	uint64		ntasks;

	/* does a task in leader or worker, sends its results by parallel_send() */
	void		(*work) (ParallelTasks *tasks, uint64 task);

	/*
	 * May be NULL. Called in a worker only, before its first task, which the
	 * leader then waits for, and not at all when none is left.
	 */
	void		(*begin) (ParallelTasks *tasks);

	/*
	 * Takes a message, in the leader only.  Those of a task come in the order
	 * in which they were sent, after all of the task before it.  They are
	 * aligned to 8 bytes.  The memory context is reset afterwards, as it is
	 * after work().
	 */
	void		(*deliver) (ParallelTasks *tasks, const void *message);

	/*
	 * May be NULL.  Asks in the leader only whether no more tasks shall be
	 * begun. ntasks is then how many were.  It is asked while workers are
	 * waited for, too, and an error ends that.
	 */
	bool		(*enough) (ParallelTasks *tasks);

	/*
	 * Fills shared_bytes of shared memory (zeroed), in the leader only,
	 * before any worker starts.  Workers find it by parallel_shared().
	 * worker_main names an exported function of this library, of the type
	 * parallel_worker_main_type, that calls parallel_work().
	 */
	const char *worker_main;
	Size		shared_bytes;
	void		(*share) (ParallelTasks *tasks, void *shared);

	/*
	 * The leader may name workers that are there already, instead of new
	 * ones.  What share() fills (at most CREW_JOB_BYTES) describes the job to
	 * them.
	 */
	Crew	   *crew;

	struct ParallelState *state;	/* of parallel.c */
};

/*
 * Checks a number of workers, or raises ERROR 22023.  Returns how many of them
 * the server may have at all, since each that is asked for takes 64 kB of
 * shared memory.
 */
extern int	parallel_workers(int workers);

/*
 * Does all tasks, here and in up to workers parallel workers.  All are done
 * here if there are fewer than two, no worker is free, or parallel mode is on
 * already.
 */
extern void parallel_run(ParallelTasks *tasks, int workers);

/* Sends a result of the task at work.  A task's results fit into memory. */
extern void parallel_send(ParallelTasks *tasks, const void *message,
						  Size bytes);

/*
 * In a worker, the first returns what share() filled, and the second does the
 * tasks that fall to this worker.
 */
extern void *parallel_shared(shm_toc *toc);
extern void parallel_work(ParallelTasks *tasks, dsm_segment *segment,
						  shm_toc *toc);

/* In a worker of a crew, does those of the present job that fall to it. */
extern void parallel_work_job(ParallelTasks *tasks, CrewMember *member);

/*
 * Returns the file that this code was loaded from, for workers to load.  The
 * name in SQL may have been found by a search path.
 */
extern const char *parallel_library(void);

#endif							/* ACCEL_HOST_PARALLEL_H */
