/*
 * stream.h
 *	  This server's own WAL as one stream of records, out of two directories.
 *
 * The part that a directory (an archive) does not have yet is read from
 * pg_wal.
 */
#ifndef ACCEL_WAL_STREAM_H
#define ACCEL_WAL_STREAM_H

#include "wal/block_walk.h"

typedef struct WalStream
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
} WalStream;

/*
 * Hands out the records that start at from (0 for the oldest) or later and end
 * at to or before, until one says stop.  Returns the end of the last one.
 * Sets stream->complete if all were there that follow on the last break.
 */
extern WalLsn wal_stream_read(WalStream *stream, WalLsn from, WalLsn to);

typedef enum WalStreamHistory
{
	WAL_STREAM_SAME,			/* a segment of both is the same */
	WAL_STREAM_OTHER,			/* it is not */
	WAL_STREAM_UNKNOWN			/* they have none in common */
} WalStreamHistory;

/*
 * Has another directory the same records of a range, on a timeline?  The stream
 * is that of the server's own WAL.  If either lacks some, it is not known.
 */
extern WalStreamHistory wal_stream_compare(WalStream *stream,
										   const WalDirectory *other,
										   uint32_t timeline, WalLsn from,
										   WalLsn to);

/*
 * Is the directory's WAL of this server's own history?  Compares the newest
 * segment that both have of a timeline.  Its name is in *name unless there is
 * none.
 */
extern WalStreamHistory wal_stream_history(const WalDirectory *dir,
										   const WalDirectory *own,
										   uint32_t timeline, WalName *name);

#endif							/* ACCEL_WAL_STREAM_H */
