/*
 * memory.h
 *	  What a procedure remembers of a directory that it verifies again and
 *	  again.
 */
#ifndef ACCEL_RUN_MEMORY_H
#define ACCEL_RUN_MEMORY_H

#include "compat.h"

#include "datatype/timestamp.h"

#include "run/history.h"

typedef struct Memory
{
	History		history;
	MemoryContext context;		/* lives as long as the procedure */
	const char *what;			/* the directory is, in messages */
	const char *item;			/* what it has, and is read */
	HistoryLock kind;
	const char *directory;
	uint64		lock;			/* hash of its path */
	bool		recording;		/* not during recovery, nor after a failure */
	TimestampTz started;
} Memory;

/*
 * Begins in the context of procedure_begin(), whose caller's is given.  What,
 * item and kind are set.
 */
extern void memory_begin(Memory *memory, FunctionCallInfo fcinfo,
						 MemoryContext caller);

/* Keeps other sessions from the directory, up to the end of memory_run(). */
extern void memory_lock(Memory *memory, const char *directory);

/*
 * Calls verify, which returns false if time is up, and end with the state in
 * words.  After an error, which is raised again, that is called, too.
 */
extern void memory_run(Memory *memory, bool (*verify) (void *arg),
					   void (*end) (void *arg, const char *state), void *arg);

/*
 * Loads what is remembered.  Returns false if nothing is, since the table
 * cannot be read, or not be written.  All is read then.
 */
extern bool memory_recall(Memory *memory, void (*load) (void *), void *arg);

/* Writes and commits.  After a failure, which is reported, nothing is. */
extern void memory_record(Memory *memory, void (*write) (void *), void *arg);

/*
 * Returns when what is kept began, by history_keep_minutes, or PG_INT64_MIN if
 * all is.
 */
extern TimestampTz memory_limit(const Memory *memory);

/*
 * Forgets a row by its directory and the value of one more column.  The plan is
 * kept as history_execute() does.
 */
extern void memory_delete_row(const History *history, const char *table,
							  const char *column, SPIPlanPtr *plan,
							  Datum directory, Datum value);

/*
 * Forgets rows by a condition on the time $1, and directories that are gone and
 * in which nothing was verified since then.  Returns the number of rows.
 */
extern int64 memory_prune(const History *history, const char *table,
						  const char *which, TimestampTz limit);

#endif							/* ACCEL_RUN_MEMORY_H */
