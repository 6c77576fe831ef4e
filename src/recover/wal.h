/*
 * wal.h
 *	  The WAL of a recovery, as it is found and as the server gets it.
 */
#ifndef ACCEL_RECOVER_WAL_H
#define ACCEL_RECOVER_WAL_H

#include "recover/context.h"

/*
 * Makes links to the files of WAL in all folders, from the start on.  The
 * first folder that has a file counts.
 */
extern bool recover_wal_link(Recover *ctx);

/*
 * Opens a folder of the cluster's WAL.  If direct, its files are read past the
 * page cache.
 */
extern bool recover_wal_open(Recover *ctx, const char *folder, bool direct,
							 WalDirectory *dir);

/*
 * Writes the filtered WAL, from the start up to the target, into pg_wal of the
 * data directory.  Sets ctx->end, and its timeline.
 */
extern bool recover_wal_write(Recover *ctx);

/*
 * Reads what was written, filters it once more, and makes sure that nothing
 * would change, and that records say the same of the blocks that are wanted.
 */
extern bool recover_wal_check(Recover *ctx);

/* Sets the message to what a gap is, and more.  Returns false. */
extern bool recover_wal_fail_gap(Recover *ctx, const WalBlockGap *gap,
								 const char *more);

#endif							/* ACCEL_RECOVER_WAL_H */
