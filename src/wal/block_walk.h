/*
 * block_walk.h
 *	  The records of a range of WAL, one by one, and where some are missing.
 *
 * A record is handed out once its CRC and all that the walker checks are right.
 * Records come in the order of the WAL, with the timelines that the range
 * belongs to and no others.  The records themselves prove that none was left
 * out, as each names the one before it (xl_prev).  Where one names another than
 * was handed out, that is a gap, and the gap is reported.
 *
 * This is how verify_lost_writes, verify_backup and wal_block_history read WAL.
 * They decode what they get by wal/blocks.h.
 */
#ifndef ACCEL_WAL_BLOCK_WALK_H
#define ACCEL_WAL_BLOCK_WALK_H

#include "wal/segment.h"

/* Longer records are cut to this, which holds all blocks and some main data. */
#define WAL_BLOCK_WALK_RECORD_MAX	(16 * 1024 * 1024)

typedef struct WalBlockRecord
{
	WalLsn		lsn;			/* where it starts */
	WalLsn		end;			/* where the next one can start, and pd_lsn of
								 * the pages that it changes */
	const uint8_t *bytes;		/* until the callback returns */
	uint32_t	len;			/* of the record */
	uint32_t	present;		/* bytes at hand, at most
								 * WAL_BLOCK_WALK_RECORD_MAX */
	const WalName *segment;		/* where it starts */
} WalBlockRecord;

/* Records may have been lost between begin and end. */
typedef struct WalBlockGap
{
	WalLsn		begin;			/* after the last record before it */
	WalLsn		end;			/* before the first one after it, WAL_LSN_MAX
								 * if unknown */
	WalName		segment;		/* whose trouble it is */
	WalStatus	status;
	WalVerdict	verdict;		/* without a reason if the status says all */
} WalBlockGap;

typedef struct WalBlockWalk
{
	const WalDirectory *dir;
	WalLsn		from;			/* records that start at or after it, 0 for
								 * the oldest there is */
	WalLsn		to;				/* and end at or before it, WAL_LSN_MAX for as
								 * far as there are any */
	uint32_t	timeline;		/* whose history is walked, 0 for the newest */
	uint64_t	system;			/* identifier, 0 for this server's */

	/* returns false if no more is wanted */
	bool		(*record) (void *arg, const WalBlockRecord *record);
	void		(*gap) (void *arg, const WalBlockGap *gap); /* may be NULL */
	void	   *arg;

	struct Throttle *throttle;	/* limits reading, or NULL */
	bool		rest_elsewhere; /* as of wal_list_range() */
} WalBlockWalk;

typedef struct WalBlockWalkEnd
{
	WalLsn		begin;			/* from, or the oldest there was */
	WalLsn		end;			/* after the last record that was handed out */
	WalName		segment;		/* the last one that was read */
	uint64_t	records;		/* handed out */
	uint64_t	gaps;
	bool		certain_end;	/* false if it ends only because nothing
								 * follows, which damage may have done (in
								 * another server's pg_wal, a .partial file) */
} WalBlockWalkEnd;

extern void wal_block_walk(const WalBlockWalk *walk, WalBlockWalkEnd *end);

#endif							/* ACCEL_WAL_BLOCK_WALK_H */
