/*
 * own_wal.h
 *	  This server's WAL up to the present, from an archive and pg_wal.
 */
#ifndef ACCEL_FUNC_OWN_WAL_H
#define ACCEL_FUNC_OWN_WAL_H

#include "compat.h"

#include "access/xlogdefs.h"

#include "wal/stream.h"

/* It stays where it was opened, since the stream points into it. */
typedef struct OwnWal
{
	XLogRecPtr	present;		/* nothing after it counts */
	WalDirectory dir;			/* that of the argument */
	WalDirectory own;			/* pg_wal */
	bool		own_history;	/* the argument's is this server's for certain */
	WalStream	stream;
} OwnWal;

/*
 * Takes the present, then opens what there is to read.  The directory is that
 * of an argument, NULL for pg_wal alone.  Raises its errors, and 22023 if its
 * WAL is of another history.
 */
extern void own_wal_open(OwnWal *wal, const char *directory);

#endif							/* ACCEL_FUNC_OWN_WAL_H */
