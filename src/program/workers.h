/*
 * workers.h
 *	  Forked processes that share work.
 */
#ifndef ACCEL_PROGRAM_WORKERS_H
#define ACCEL_PROGRAM_WORKERS_H

#include <sys/types.h>

typedef struct Workers
{
	void		(*work) (void *arg);	/* of each, which ends when it returns */
	void	   *arg;

	pid_t		parent;
	pid_t	   *pids;			/* 0 if it has ended */
	int			count;
} Workers;

/*
 * Starts so many, or fewer if the system gives no more.  They end with the
 * program, whatever ends it.
 */
extern void workers_start(Workers *workers, int wanted);

/* In a worker, ends it if its parent was killed, who wants nothing any more. */
extern void workers_check_parent(const Workers *workers);

/*
 * Ends the program if one has ended for another reason than that all is done.
 */
extern void workers_look(Workers *workers);

/* Ends those that are left. */
extern void workers_end(Workers *workers);

#endif							/* ACCEL_PROGRAM_WORKERS_H */
