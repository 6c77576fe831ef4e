/*
 * event.h
 *	  What WAL says of storage that is truncated, dropped or made anew.
 *
 * From such a record on, what earlier ones proved of the disk holds no more.
 */
#ifndef ACCEL_LOST_EVENT_H
#define ACCEL_LOST_EVENT_H

#include "wal/blocks.h"

#define LOST_STAYS	UINT32_MAX	/* no block has this number */

/*
 * The storage that a record ends.  Numbers that are 0 stand for all.  In a
 * relation the blocks from first on end, and what its visibility map has for
 * those from map_first on.  LOST_STAYS means that nothing of that fork ends.
 */
typedef struct LostEvent
{
	uint32_t	tablespace;
	uint32_t	database;
	uint32_t	relation;
	uint32_t	first;			/* both are blocks of the main fork */
	uint32_t	map_first;
} LostEvent;

typedef void (*LostEventFn) (void *arg, const LostEvent *event);

#define LOST_EVENT_RMGRS	6	/* up to Tablespace, since later ones tell
								 * nothing */

/* Can a record with this header be about storage? */
extern bool lost_event_tells(const uint8_t *rec);

/* The same, without a call for most of them. */
static inline bool
lost_event_possible(const uint8_t *rec)
{
	return rec[WAL_REC_RMID] < LOST_EVENT_RMGRS && lost_event_tells(rec);
}

/*
 * Calls event for each storage that a decoded record ends.  Returns false if
 * the record is about storage and cannot be understood, or is cut.
 */
extern bool lost_events(const uint8_t *rec, const WalBlocks *blocks,
						LostEventFn event, void *arg);

#endif							/* ACCEL_LOST_EVENT_H */
