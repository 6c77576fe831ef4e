/*
 * scan.h
 *	  Finds lost writes: pages on disk that are older than WAL allows.
 *
 * The WAL from a start up to the redo point of the last completed checkpoint
 * says what the disk must hold (lost/witness.c); the disk is asked
 * (lost/disk.c); and before anything is named, the WAL up to its present end is
 * read for storage that ended meanwhile.  Memory is bounded: when the book of
 * proofs is full, it is held against the disk and begun anew.
 */
#ifndef ACCEL_LOST_SCAN_H
#define ACCEL_LOST_SCAN_H

#include "lost/disk.h"
#include "wal/directory.h"

typedef struct LostOptions
{
	const WalDirectory *dir;	/* where the WAL is read */
	const WalDirectory *own;	/* this server's pg_wal: may be the same */
	WalLsn		horizon;		/* lost_server_horizon() of before the
								 * directories were opened */
	WalLsn		start;			/* 0: of the oldest segment */
	WalLsn		end;			/* not after this; WAL_LSN_MAX: as far as can
								 * be judged */
	size_t		memory;			/* bytes */
	struct Throttle *throttle;	/* of what is read; NULL: no bound */
} LostOptions;

/* A row of SQL.  Of no relation: status not_verifiable, and why. */
typedef struct LostFinding
{
	Oid			relid;			/* InvalidOid: none */
	ForkNumber	fork;
	BlockNumber block;
	LostStatus	status;
	XLogRecPtr	disk_lsn;		/* InvalidXLogRecPtr: none */
	XLogRecPtr	expected_lsn;	/* likewise */
	char		path[SCAN_PATH_SIZE];
	char		segment[WAL_NAME_SIZE]; /* that proves it; "": none */
	char		message[SCAN_MESSAGE_SIZE + WAL_MESSAGE_SIZE];
} LostFinding;

typedef void (*LostFindingFn) (void *arg, const LostFinding *finding);

extern void lost_scan(const LostOptions *options, LostFindingFn finding,
					  void *arg);

#endif							/* ACCEL_LOST_SCAN_H */
