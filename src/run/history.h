/*
 * history.h
 *	  What a procedure remembers in the tables of the extension.
 */
#ifndef ACCEL_RUN_HISTORY_H
#define ACCEL_RUN_HISTORY_H

#include "compat.h"

#include "executor/spi.h"

/* crc32c_accel.history_keep_time, in minutes; -1: for ever. */
extern int	history_keep_minutes;

/* The schema in the text of a statement. */
#define HISTORY_SCHEMA	"%1$s"

typedef struct History
{
	Oid			namespace;		/* of the function that was called */
	const char *schema;			/* quoted */
	MemoryContext caller;		/* see procedure_rollback() */
} History;

extern History history_of(FunctionCallInfo fcinfo);

/*
 * Prepares a statement with HISTORY_SCHEMA in it, whose tables are those of the
 * extension or catalogs: ERROR if its names stand for others by now.  To be
 * executed at once, with the caller's rights.
 */
extern SPIPlanPtr history_prepare(const History *history,
								  const char *statement, int nargs,
								  Oid *types);

/*
 * Executes a SELECT with the rights of the owner of a table of the extension,
 * and changes that table by its rows: SPI_OK_SELECT: not at all; SPI_OK_INSERT:
 * they are inserted; SPI_OK_DELETE: each is the ctid of a row to delete;
 * SPI_OK_UPDATE: a ctid, then the row that replaces it.  Logical decoding sees
 * nothing of it.  kept, if not NULL, is where the plan is kept, for the caller
 * to free.  Wants an active snapshot.
 */
extern void history_execute(const History *history, const char *table,
							int change, SPIPlanPtr *kept,
							const char *statement, int nargs, Oid *types,
							Datum *values, const char *nulls);

/*
 * Calls a function that writes, and commits.  NULL: done; else it was rolled
 * back for that error.  What ends a run is raised.
 */
extern ErrorData *history_write(const History *history,
								void (*write) (void *arg), void *arg);

/*
 * For ereport(): what to do about a damaged table, or a full disk.  Not TRUNCATE,
 * which is decoded: it stops a subscriber that lacks the table.
 */
extern int	history_hint(const ErrorData *error);

#endif							/* ACCEL_RUN_HISTORY_H */
