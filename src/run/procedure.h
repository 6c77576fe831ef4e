/*
 * procedure.h
 *	  Transactions of a procedure that commits on its way.
 *
 * They are READ COMMITTED and, where that is possible, read-write, whatever the
 * session's defaults are.
 */
#ifndef ACCEL_RUN_PROCEDURE_H
#define ACCEL_RUN_PROCEDURE_H

#include "compat.h"

/*
 * Connects to SPI.  Raises an error with SQLSTATE 2D000 where the procedure
 * cannot commit.  The current memory context is then one that lives as long as
 * the procedure.
 */
extern void procedure_begin(FunctionCallInfo fcinfo, const char *name,
							const char *when);

/* Ends the transaction and with it every lock and snapshot. */
extern void procedure_commit(void);

/*
 * To be called for an error that was caught.  Rolls back and returns it,
 * unless it ends the run.  The copy is made in the current memory context.
 * caller is the context in which procedure_begin() was called.
 */
extern ErrorData *procedure_rollback(MemoryContext caller);

/*
 * Does the same for the error that ends the run, which is to be raised again.
 */
extern ErrorData *procedure_fail(MemoryContext caller);

#endif							/* ACCEL_RUN_PROCEDURE_H */
