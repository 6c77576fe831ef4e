/*
 * crew.h
 *	  Workers of a whole run, which outlive its transactions.
 *
 * They do the tasks of a job that the leader has opened, or items, which they
 * take in order, ahead of the leader.
 */
#ifndef ACCEL_HOST_CREW_H
#define ACCEL_HOST_CREW_H

#include "datatype/timestamp.h"
#include "host/task.h"
#include "host/throttle.h"
#include "postmaster/bgworker.h"
#include "storage/shm_mq.h"

/* A job is described by so many bytes at most. */
#define CREW_JOB_BYTES	64

typedef struct Crew Crew;		/* the leader's end */
typedef struct CrewMember CrewMember;	/* a worker's end */

/*
 * The leader starts workers, which call library's function worker_main.
 * Returns NULL if there is no room for any.  Items are OIDs, and InvalidOid is
 * one that the leader keeps to itself.  The bound is theirs and the leader's
 * from now on, see crew_throttle().  Direct ones read past the page cache.
 * The crew and what it keeps live in the current memory context.
 */
extern Crew *crew_start(int workers, const char *library,
						const char *worker_main, const Throttle *throttle,
						bool direct, const Oid *items, uint64 nitems);

/*
 * The leader dismisses the workers.  If at_once, they may be at work, and are
 * not waited for.  Otherwise they are waited for, for a moment, and then told
 * to end.
 */
extern void crew_stop(Crew *crew, bool at_once);

extern Throttle *crew_throttle(Crew *crew);

/*
 * A worker of this session that connects to a database and finds its shared
 * memory in the segment.  The caller adds what else its flags say.
 */
extern void crew_describe_worker(BackgroundWorker *worker, const char *library,
								 const char *worker_main, dsm_segment *segment);

/*
 * The leader says that the turn of an item has come.  Turns rise.  Returns the
 * result, valid up to the next turn.  NULL means that the leader has to do it,
 * or that the deadline, unless it is 0, has passed.  While the leader waits it
 * does items to come by ahead(), which gives its result, if any, to
 * crew_keep().
 */
typedef void (*CrewAhead) (void *arg, Oid item, uint64 number);
extern const void *crew_turn(Crew *crew, uint64 number, TimestampTz deadline,
							 CrewAhead ahead, void *arg);
extern void crew_keep(Crew *crew, uint64 number, const void *result,
					  Size bytes);

/*
 * The leader opens a job, described by a few bytes.  Returns its number and
 * the counter of its tasks.
 */
extern uint64 crew_open_job(Crew *crew, uint64 ntasks, const void *description,
							Size bytes, pg_atomic_uint64 **counter);

/*
 * The leader receives the next message of a worker about the present job, or
 * NULL if there is none yet.  An error of a worker is raised here, as is its
 * end.
 */
extern int	crew_size(const Crew *crew);
extern const TaskMessage *crew_receive(Crew *crew, int worker);

/*
 * A worker joins, and works until the run is over, in a transaction for each
 * item and each job.  An item's result is given to crew_send_result(), and
 * sent after the commit.  An item without one is done by the leader.
 */
typedef struct CrewDuties
{
	void		(*item) (CrewMember *member, Oid item);
	void		(*job) (CrewMember *member, const void *description);
} CrewDuties;

/* The worker ends if library is not what the leader gave. */
extern void crew_serve(Datum segment, const char *library,
					   const CrewDuties *duties);
extern void crew_send_result(CrewMember *member, const void *result,
							 Size bytes);

/* Tells parallel.c what it needs of a worker in duties->job(). */
extern uint64 crew_job(CrewMember *member, uint64 *ntasks,
					   pg_atomic_uint64 **counter, shm_mq_handle **queue);

/* Returns the bound that all share, to a worker, or NULL if there is none. */
extern Throttle *crew_member_throttle(CrewMember *member);

/* Does a worker read past the page cache? */
extern bool crew_member_direct(const CrewMember *member);

#endif							/* ACCEL_HOST_CREW_H */
