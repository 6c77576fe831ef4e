/*
 * ahead.h
 *	  How far segments were walked to complete the record of an earlier one.
 *
 * A record over n segments is completed for the first of them, by a walk over
 * the others.  What that knows of the bytes of each is noted here.  The own
 * walk of each goes on from there, so that each file is read and decoded once.
 */
#ifndef ACCEL_WAL_AHEAD_H
#define ACCEL_WAL_AHEAD_H

#include "wal/file.h"
#include "wal/walk.h"

/* the longest record, in the smallest segments */
#define WAL_AHEAD_MAX	(WAL_REC_MAX / WAL_SEGMENT_MIN + 2)

/* A segment within the record, up to a page. */
typedef struct WalAheadNote
{
	dev_t		device;			/* the file, as it was */
	ino_t		inode;
	off_t		size;
	uint32_t	offset;			/* of the page */
	uint32_t	crc;			/* raw register over the bytes before it */
	uint32_t	got;			/* see WalPending, before the page */
	uint32_t	reg;
	uint32_t	last_timeline;	/* of the pages before it */
} WalAheadNote;

/* The segments after one, in order. */
typedef struct WalAhead
{
	uint32_t	timeline;
	WalLsn		record;
	uint64_t	first;			/* segment of notes[0] */
	uint32_t	count;
	WalAheadNote notes[WAL_AHEAD_MAX];
} WalAhead;

/* The record of the walker is to be completed from its next page on. */
extern void wal_ahead_begin(WalAhead *ctx, const WalWalker *walker,
							uint32_t timeline);

/* The pages to come are of this file, if of the segment that is next. */
extern void wal_ahead_file(WalAhead *ctx, const WalWalker *walker,
						   const WalFile *file);

/* The walker was given this page. */
extern void wal_ahead_page(WalAhead *ctx, const WalWalker *walker,
						   const uint8_t *page);

/* The last file is not the segment that it seemed to be. */
extern void wal_ahead_forget(WalAhead *ctx);

/*
 * Returns what is known of a file whose walk begins within the record, NULL if
 * nothing is.
 */
extern const WalAheadNote *wal_ahead_find(const WalAhead *ctx,
										  const WalWalker *walker,
										  const WalFile *file);

#endif							/* ACCEL_WAL_AHEAD_H */
