/*
 * foreign.h
 *	  What sessions in other databases need, and what they say.
 */
#ifndef ACCEL_RUN_FOREIGN_H
#define ACCEL_RUN_FOREIGN_H

#include "compat.h"

/*
 * In a worker: its messages go to the leader alone, in the encoding of the
 * database, and nothing that the owner of the database has set counts.  The
 * timeouts are in milliseconds.
 */
extern void foreign_set_options(int statement_timeout, int lock_timeout);

/* What is not valid here, in the encoding of this database, is shown as "?". */
extern void foreign_clean_text(char *text, int encoding);

/*
 * Reports a message of a worker, as it came by the queue, with the name of the
 * database before it.  An error is copied instead.
 */
extern void foreign_report(const char *database, int encoding,
						   const char *message, Size bytes,
						   char *said, Size size);

#endif							/* ACCEL_RUN_FOREIGN_H */
