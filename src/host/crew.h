/*
 * crew.h
 *	  Workers of a whole run, which outlive its transactions.
 *
 * They do what is there to be done: the tasks of a job that the leader has
 * opened, or items, which they take in order, ahead of the leader.
 */
#ifndef ACCEL_HOST_CREW_H
#define ACCEL_HOST_CREW_H

#include "datatype/timestamp.h"
#include "host/task.h"
#include "host/throttle.h"
#include "storage/shm_mq.h"

/* The most that a job is described by. */
#define CREW_JOB_BYTES	64

typedef struct Crew Crew;		/* the leader's end */
typedef struct CrewMember CrewMember;	/* a worker's end */

/*
 * Leader: starts workers, which call library's function worker_main, unless
 * there is no room for any: NULL.  Items are OIDs; InvalidOid is one that the
 * leader keeps to itself.  The bound is theirs and the leader's from now on,
 * see crew_throttle().  The crew and what it keeps live in the current memory
 * context.
 */
extern Crew *crew_start(int workers, const char *library,
						const char *worker_main, const Throttle *throttle,
						const Oid *items, uint64 nitems);

/*
 * Leader: dismisses the workers.  at_once: they may be at work, and are not
 * waited for; else they are for a moment, then told to end.
 */
extern void crew_stop(Crew *crew, bool at_once);

extern Throttle *crew_throttle(Crew *crew);

/*
 * Leader: the turn of an item has come; turns rise.  Returns the result, valid
 * up to the next turn, or NULL: the leader has to do it, or the deadline (0:
 * none) has passed.  While it waits it does
 * items to come by ahead(), which gives its result to crew_keep() or none.
 */
typedef void (*CrewAhead) (void *arg, Oid item, uint64 number);
extern const void *crew_turn(Crew *crew, uint64 number, TimestampTz deadline,
							 CrewAhead ahead, void *arg);
extern void crew_keep(Crew *crew, uint64 number, const void *result,
					  Size bytes);

/*
 * Leader: opens a job, described by a few bytes; returns its number and the
 * counter of its tasks.
 */
extern uint64 crew_open_job(Crew *crew, uint64 ntasks, const void *description,
							Size bytes, pg_atomic_uint64 **counter);

/*
 * Leader: the next message of a worker about the present job; NULL: none yet.
 * An error of a worker is raised here, as is its end.
 */
extern int	crew_size(const Crew *crew);
extern const TaskMessage *crew_receive(Crew *crew, int worker);

/*
 * Worker: joins, works until the run is over, in a transaction for each item
 * and each job.  An item's result is given to crew_send_result(), which sends
 * it after the commit, or none: then the leader does it.
 */
typedef struct CrewDuties
{
	void		(*item) (CrewMember *member, Oid item);
	void		(*job) (CrewMember *member, const void *description);
} CrewDuties;

/* library: as the leader gave it, or the worker ends */
extern void crew_serve(Datum segment, const char *library,
					   const CrewDuties *duties);
extern void crew_send_result(CrewMember *member, const void *result,
							 Size bytes);

/* Worker, in duties->job(): what parallel.c needs of it. */
extern uint64 crew_job(CrewMember *member, uint64 *ntasks,
					   pg_atomic_uint64 **counter, shm_mq_handle **queue);

/* Worker: the bound that all share; NULL: none. */
extern Throttle *crew_member_throttle(CrewMember *member);

#endif							/* ACCEL_HOST_CREW_H */
