/*
 * restart.h
 *	  Where a server begins that recovers blocks without a backup.
 */
#ifndef ACCEL_RECOVER_RESTART_H
#define ACCEL_RECOVER_RESTART_H

#include "recover/context.h"

/*
 * Finds the oldest checkpoint from which on the WAL in a folder has no gap, up
 * to its end or the target.  Sets ctx->start and what else is known of it.
 */
extern bool recover_restart_find(Recover *ctx, const char *folder);

/* Makes pg_control of the data directory name that checkpoint. */
extern bool recover_restart_write(Recover *ctx);

#endif							/* ACCEL_RECOVER_RESTART_H */
