/*
 * lock.h
 *	  Locks that are asked for again and again, outside of the queue.
 */
#ifndef ACCEL_RUN_LOCK_H
#define ACCEL_RUN_LOCK_H

/* Between two tries: a few milliseconds, and what interrupts does. */
extern void run_lock_pause(void);

/*
 * Locks a relation (AccessShareLock) within lock_timeout, and within so many
 * milliseconds if there is patience for that only.  Gives up if must_end() says
 * so between two tries.
 */
extern void run_lock_relation(Oid relid, int patience,
							  bool (*must_end) (void *arg), void *arg);

/* Gives up, with the server's own words. */
extern void run_lock_fail(Oid relid);

#endif							/* ACCEL_RUN_LOCK_H */
