/*
 * history.h
 *	  What a procedure remembers in the tables of the extension.
 */
#ifndef ACCEL_RUN_HISTORY_H
#define ACCEL_RUN_HISTORY_H

#include "compat.h"

#include "executor/spi.h"

/* This is crc32c_accel.history_keep_time, in minutes, or -1 for ever. */
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
 * Sets search_path to pg_catalog alone, up to AtEOXact_GUC(true, level) or the
 * rollback.  Returns that level.
 */
extern int	history_safe_path(void);

/*
 * Prepares a statement with HISTORY_SCHEMA in it, whose tables are those of
 * the extension or catalogs.  Raises an error if its names stand for others by
 * now.  To be executed at once, with the caller's rights and the same safe path.
 */
extern SPIPlanPtr history_prepare(const History *history,
								  const char *statement, int nargs,
								  Oid *types);

/*
 * Executes a SELECT with the rights of the owner of a table of the extension,
 * and changes that table by its rows.  With SPI_OK_SELECT nothing changes, and
 * with SPI_OK_INSERT the rows are inserted.  With SPI_OK_DELETE each is the
 * ctid of a row to delete.  With SPI_OK_UPDATE it is a ctid, then the row that
 * replaces it.  Logical decoding sees nothing of it.  kept, if not NULL, is
 * where the plan is kept, for the caller to free.  Wants an active snapshot.
 */
extern void history_execute(const History *history, const char *table,
							int change, SPIPlanPtr *kept,
							const char *statement, int nargs, Oid *types,
							Datum *values, const char *nulls);

/*
 * Calls a function that writes, and commits.  Returns NULL if that is done.
 * Otherwise it was rolled back for the error that is returned.  What ends a
 * run is raised.
 */
extern ErrorData *history_write(const History *history,
								void (*write) (void *arg), void *arg);

/* Warns that a run is recorded no further, for the error that is given. */
extern void history_warn_loss(const ErrorData *error);

/* A column of a row of SPI_tuptable, which is not NULL or 0 for NULL. */
extern Datum history_column(HeapTuple row, int number);

/* A text as the value of a statement, with its mark for NULL. */
extern Datum history_text(const char *text, char *null);

/*
 * Locks a key in this database for the session, up to history_unlock(), or for
 * the transaction.  Users' advisory locks have 1 and 2 for the kind.
 */
typedef enum HistoryLock
{
	HISTORY_LOCK_RUN = 3,
	HISTORY_LOCK_ARCHIVE,
	HISTORY_LOCK_BACKUPS
} HistoryLock;

extern bool history_lock(HistoryLock kind, uint64 key, bool session, bool wait);
extern void history_unlock(HistoryLock kind, uint64 key);

/*
 * Tells, for ereport(), what to do about a damaged table, or a full disk.
 * That is not TRUNCATE, which is decoded and stops a subscriber that lacks the
 * table.
 */
extern int	history_hint(const ErrorData *error);

#endif							/* ACCEL_RUN_HISTORY_H */
