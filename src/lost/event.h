/*
 * event.h
 *	  Which storage ends with a record, for what was proved of it before.
 *
 * From such a record on, what earlier ones proved of the disk holds no more.
 */
#ifndef ACCEL_LOST_EVENT_H
#define ACCEL_LOST_EVENT_H

#include "wal/storage.h"

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

/*
 * Calls event for each storage that a decoded record ends.  Returns false if
 * wal_storage_events() does.
 */
extern bool lost_events(const uint8_t *rec, const WalBlocks *blocks,
						LostEventFn event, void *arg);

#endif							/* ACCEL_LOST_EVENT_H */
