/*
 * stream.h
 *	  This server's own WAL as one stream of records, out of two directories.
 *
 * The part that a directory (an archive) does not have yet is read from
 * pg_wal.
 */
#ifndef ACCEL_LOST_STREAM_H
#define ACCEL_LOST_STREAM_H

#include "wal/block_walk.h"

typedef struct LostStream
{
	const WalDirectory *dir;
	const WalDirectory *own;	/* pg_wal, may be the same */
	uint32_t	timeline;		/* whose history is read */
	void		(*record) (void *arg, const WalBlockRecord *record);

	/* called when records are missing or damaged, so that the chain broke */
	void		(*broken) (void *arg, const WalBlockGap *gap);
	void	   *arg;
	struct Throttle *throttle;	/* limits reading, or NULL */

	/* used while it is read */
	WalLsn		to;
	bool		own_at_work;
	bool		joint;			/* the next record follows on another walk */
	WalLsn		last;			/* the last record, or 0 */
	bool		stop;			/* set by record if no more is wanted */
	bool		complete;
	WalBlockGap rest;			/* what is wrong if not complete */
} LostStream;

/*
 * Hands out the records that start at from (0 for the oldest) or later and end
 * at to or before, until one says stop.  Returns the end of the last one.
 * Sets stream->complete if all were there that follow on the last break.
 */
extern WalLsn lost_stream_read(LostStream *stream, WalLsn from, WalLsn to);

typedef enum LostHistory
{
	LOST_HISTORY_SAME,			/* a segment of both is the same */
	LOST_HISTORY_OTHER,			/* it is not */
	LOST_HISTORY_UNKNOWN		/* they have none in common */
} LostHistory;

/*
 * Is the directory's WAL of this server's own history?  Compares the newest
 * segment that both have of a timeline.  Its name is in *name unless there is
 * none.
 */
extern LostHistory lost_stream_history(const WalDirectory *dir,
									   const WalDirectory *own,
									   uint32_t timeline, WalName *name);

#endif							/* ACCEL_LOST_STREAM_H */
