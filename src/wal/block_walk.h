/*
 * block_walk.h
 *	  The records of a range of WAL, one by one, and where some are missing.
 *
 * On top of the judge of segments: a record is handed out once its CRC and all
 * that the walker checks are right, in the order of the WAL, with the timelines
 * that the range belongs to and no others.  That none was left out is proved by
 * the records themselves: each names the one before (xl_prev).  Where it names
 * another than was handed out, that is a gap, and the gap is said.
 *
 * This is how verify_lost_writes, verify_backup and wal_block_history read WAL;
 * wal/blocks.h decodes what they get.
 */
#ifndef ACCEL_WAL_BLOCK_WALK_H
#define ACCEL_WAL_BLOCK_WALK_H

#include "wal/segment.h"

/* Of longer records only as much is handed out: all blocks, and main data. */
#define WAL_BLOCK_WALK_RECORD_MAX	(16 * 1024 * 1024)

typedef struct WalBlockRecord
{
	WalLsn		lsn;			/* where it starts */
	WalLsn		end;			/* where the next one can: the pd_lsn of the
								 * pages that it changes */
	const uint8_t *bytes;		/* until the callback returns */
	uint32_t	len;			/* of the record */
	uint32_t	present;		/* bytes at hand: len, or
								 * WAL_BLOCK_WALK_RECORD_MAX of more */
	const WalName *segment;		/* where it starts */
} WalBlockRecord;

/* Records may have been lost between begin and end. */
typedef struct WalBlockGap
{
	WalLsn		begin;			/* after the last record before it */
	WalLsn		end;			/* before the first one after it; WAL_LSN_MAX:
								 * unknown */
	WalName		segment;		/* whose trouble it is */
	WalStatus	status;
	WalVerdict	verdict;		/* its words; no reason: the status says all */
} WalBlockGap;

typedef struct WalBlockWalk
{
	const WalDirectory *dir;
	WalLsn		from;			/* records that start at or after it; 0: the
								 * oldest there is */
	WalLsn		to;				/* and end at or before it; WAL_LSN_MAX: as
								 * far as there are any */
	uint32_t	timeline;		/* whose history is walked; 0: the newest */
	uint64_t	system;			/* identifier; 0: this server's */

	/* false: no more is wanted */
	bool		(*record) (void *arg, const WalBlockRecord *record);
	void		(*gap) (void *arg, const WalBlockGap *gap); /* may be NULL */
	void	   *arg;

	struct Throttle *throttle;	/* of what is read; NULL: no bound */
} WalBlockWalk;

typedef struct WalBlockWalkEnd
{
	WalLsn		begin;			/* where it began: from, or the oldest there */
	WalLsn		end;			/* after the last record that was handed out */
	WalName		segment;		/* the last one that was read */
	uint64_t	records;		/* handed out */
	uint64_t	gaps;
	bool		certain_end;	/* the WAL goes on, or ends, there for
								 * certain; false: it ends where nothing
								 * follows, which damage may have done
								 * (another server's pg_wal, a .partial file) */
} WalBlockWalkEnd;

extern void wal_block_walk(const WalBlockWalk *walk, WalBlockWalkEnd *end);

#endif							/* ACCEL_WAL_BLOCK_WALK_H */
