/*
 * lock.h
 *	  Locks that are asked for again and again, outside of the queue.
 */
#ifndef ACCEL_RUN_LOCK_H
#define ACCEL_RUN_LOCK_H

/* Between two tries: a few milliseconds, and what interrupts does. */
extern void run_lock_pause(void);

/* Gives up, with the server's own words. */
extern void run_lock_fail(Oid relid);

#endif							/* ACCEL_RUN_LOCK_H */
