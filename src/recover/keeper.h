/*
 * keeper.h
 *	  A process that runs the server, and removes it and its folder at the end.
 */
#ifndef ACCEL_RECOVER_KEEPER_H
#define ACCEL_RECOVER_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct RecoverKeeper
{
	pid_t		pid;
	int			fd;				/* to it, which ends when this process does */
} RecoverKeeper;

/*
 * Starts the keeper, which makes a folder by a template as mkdtemp() does.  The
 * server's data directory is to be "data" in it, and its log is "log".  Returns
 * false with errno.
 */
extern bool recover_keeper_begin(RecoverKeeper *keeper, char *folder,
								 const char *postgres);

/*
 * Runs the server until it has recovered, and stops it.  Sets the status that
 * waitpid() gives.  Returns false if the keeper is gone.
 */
extern bool recover_keeper_run(RecoverKeeper *keeper, int *status);

/* Ends the keeper, which removes the folder. */
extern void recover_keeper_end(RecoverKeeper *keeper);

/*
 * Asks a program for its version.  Returns the major one, or 0 if it is not
 * PostgreSQL's server, or cannot be run.
 */
extern unsigned recover_server_major(const char *postgres);

#endif							/* ACCEL_RECOVER_KEEPER_H */
