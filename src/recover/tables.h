/*
 * tables.h
 *	  Tables that are recovered as a whole, in a data directory of their own.
 */
#ifndef ACCEL_RECOVER_TABLES_H
#define ACCEL_RECOVER_TABLES_H

#include "recover/context.h"

/* Judges what is asked for, and tells the filter. */
extern bool recover_tables_check(Recover *ctx);

/* Copies the files of the backup that are needed to the data directory. */
extern bool recover_tables_copy(Recover *ctx);

/*
 * When the server has stopped, verifies all pages, and moves the data
 * directory to its place.
 */
extern bool recover_tables_finish(Recover *ctx);

#endif							/* ACCEL_RECOVER_TABLES_H */
