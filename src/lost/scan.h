/*
 * scan.h
 *	  Finds lost writes, that is pages on disk that are older than WAL allows.
 *
 * The WAL from a start up to the redo point of the last completed checkpoint
 * says what the disk must hold (lost/witness.c).  The disk is then asked
 * (lost/disk.c).  Before anything is reported, the WAL up to its present end
 * is read for storage that ended meanwhile.  Memory is bounded, since the book
 * of proofs is held against the disk and begun anew when it is full.
 */
#ifndef ACCEL_LOST_SCAN_H
#define ACCEL_LOST_SCAN_H

#include "lost/disk.h"
#include "wal/directory.h"

typedef struct LostOptions
{
	const WalDirectory *dir;	/* where the WAL is read */
	const WalDirectory *own;	/* this server's pg_wal, may be the same */
	WalLsn		horizon;		/* lost_server_horizon() of before the
								 * directories were opened */
	WalLsn		start;			/* 0 for that of the oldest segment */
	WalLsn		end;			/* not after this, WAL_LSN_MAX for as far as
								 * can be judged */
	size_t		memory;			/* bytes */
	struct Throttle *throttle;	/* limits reading, or NULL */
} LostOptions;

/*
 * A row of SQL.  One about no relation has status not_verifiable, and says
 * why.
 */
typedef struct LostFinding
{
	Oid			relid;			/* InvalidOid if none */
	ForkNumber	fork;
	BlockNumber block;
	LostStatus	status;
	XLogRecPtr	disk_lsn;		/* InvalidXLogRecPtr if none */
	XLogRecPtr	expected_lsn;	/* likewise */
	char		path[SCAN_PATH_SIZE];
	char		segment[WAL_NAME_SIZE]; /* that proves it, or "" */
	char		message[SCAN_MESSAGE_SIZE + WAL_MESSAGE_SIZE];
} LostFinding;

typedef void (*LostFindingFn) (void *arg, const LostFinding *finding);

extern void lost_scan(const LostOptions *options, LostFindingFn finding,
					  void *arg);

#endif							/* ACCEL_LOST_SCAN_H */
