/*
 * foreign.h
 *	  A worker in another database, which needs no extension there: how it is
 *	  started, what it says, and to whom it leaves the database.
 */
#ifndef ACCEL_RUN_FOREIGN_H
#define ACCEL_RUN_FOREIGN_H

#include "compat.h"

#include "postmaster/bgworker.h"

#include "host/build.h"
#include "host/task.h"
#include "host/throttle.h"

/* How often a worker looks who wants its database, in microseconds. */
#define FOREIGN_YIELD_INTERVAL	(USECS_PER_SEC / 20)

/* What the shared memory of such a worker begins with. */
typedef struct ForeignShared
{
	char		build[BUILD_BYTES]; /* first, as in crew.c */
	char		library[MAXPGPATH];
	Oid			database;
	int			page_kernel;
	int			statement_timeout;	/* milliseconds, 0 for none */
	int			lock_timeout;
	Throttle	throttle;		/* the worker's at its end */
} ForeignShared;

/* ---- the session ---- */

/* Fills it, but for what follows it. */
extern void foreign_share(ForeignShared *shared, Oid database,
						  int statement_timeout, const Throttle *throttle);

/* Returns false if there is no place for a worker now. */
extern bool foreign_launch(dsm_segment *segment, const char *entry,
						   BackgroundWorkerHandle **handle);

typedef struct ForeignListener
{
	void	   *arg;
	void		(*message) (void *arg, const char *message, Size bytes);
	void		(*idle) (void *arg);	/* nothing is there, may be NULL */
	void		(*gone) (void *arg);	/* all is read, the memory still there */
} ForeignListener;

/*
 * Listens to a worker up to its end, or ours, and detaches the memory.  Each
 * message has a memory context below the parent for itself.
 */
extern void foreign_follow(dsm_segment *segment, shm_mq_handle *queue,
						   BackgroundWorkerHandle *handle, MemoryContext parent,
						   const ForeignListener *listener);

/*
 * Returns a text in the encoding of this database.  Characters that it has not, and
 * bytes that are not valid, are shown as "?".
 */
extern char *foreign_text(const char *text, int encoding);

/* The same, as much of it as there is room for.  It may be the text itself. */
extern void foreign_copy_text(char *to, Size size, const char *text, int encoding);

/*
 * Reports a message of a worker, as it came by the queue, with the name of the
 * database before it.  An error is copied instead.
 */
extern void foreign_report(const char *database, int encoding,
						   const char *message, Size bytes,
						   char *said, Size size);

/* ---- the worker ---- */

/* Attaches the memory.  It ends here if the session has gone. */
extern dsm_segment *foreign_attach(Datum handle);

/*
 * Connects to the database, as the bootstrap superuser.  Messages go to the
 * queue alone, in the encoding of the database, and nothing that its owner has
 * set counts.
 */
extern void foreign_connect(dsm_segment *segment, shm_mq_handle *queue,
							const char *activity);

/* It ends here if the session has gone. */
extern void foreign_send(shm_mq_handle *queue, const void *message, Size bytes);

/* ---- both ---- */

/* Does another session want the database for itself? */
extern bool foreign_database_wanted(Oid database);

#endif							/* ACCEL_RUN_FOREIGN_H */
