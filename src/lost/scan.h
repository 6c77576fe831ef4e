/*
 * scan.h
 *	  Finds lost writes, that is pages on disk that are older than WAL allows.
 *
 * The WAL from a start up to the redo point of the last completed checkpoint
 * says what the disk must hold (lost/witness.c).  The disk is then asked
 * (lost/disk.c).  Before anything is reported, the WAL up to its present end
 * is read for storage that ended meanwhile.  Memory is bounded, since the book
 * of proofs is held against the disk and begun anew when it is full.
 *
 * Only a session in a database can decide what the disk has of its relations.
 * A survey reads the WAL once for all databases, and tells which of them have
 * something to decide.
 */
#ifndef ACCEL_LOST_SCAN_H
#define ACCEL_LOST_SCAN_H

#include "nodes/pg_list.h"

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
	bool		leave_shared;	/* relations that all databases share */

	/*
	 * Is reading to end early, with so many blocks still to be read on disk?
	 * May be NULL.
	 */
	bool		(*enough) (void *arg, size_t blocks);
	size_t		memory;			/* bytes */
	bool		direct;			/* blocks are read past the page cache, as the
								 * directories say it of WAL */
	bool		pass_over;		/* file systems that do not read so are no
								 * error, and a survey has a row of each
								 * tablespace */
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
	bool		unread;			/* WAL was removed, or time was up, and
								 * nothing is wrong */
	bool		damaged;		/* the page on disk is, too */
	XLogRecPtr	disk_lsn;		/* InvalidXLogRecPtr if none */
	XLogRecPtr	expected_lsn;	/* likewise */
	char		path[SCAN_PATH_SIZE];
	char		segment[WAL_NAME_SIZE]; /* that proves it, or "" */
	char		message[SCAN_MESSAGE_SIZE + WAL_MESSAGE_SIZE];
} LostFinding;

/* The bytes of it that tell something. */
static inline Size
lost_finding_bytes(const LostFinding *finding)
{
	return offsetof(LostFinding, message) + strlen(finding->message) + 1;
}

typedef void (*LostFindingFn) (void *arg, const LostFinding *finding);

/* Returns up to where WAL was judged, less than it should if that was enough. */
extern WalLsn lost_scan(const LostOptions *options, LostFindingFn finding,
						void *arg);

/*
 * The same for all databases, but blocks are not decided.  *databases are the
 * OIDs of databases in which some may have lost a write, 0 for what is shared.
 */
extern WalLsn lost_survey(const LostOptions *options, LostFindingFn finding,
						  void *arg, List **databases);

#endif							/* ACCEL_LOST_SCAN_H */
