/*
 * set.h
 *	  Blocks, or forks of relations, that are found by their tags.
 */
#ifndef ACCEL_RECOVER_SET_H
#define ACCEL_RECOVER_SET_H

#include <stddef.h>

#include "wal/blocks.h"

/* What ended a block, as far as the WAL was read. */
typedef enum RecoverEnding
{
	RECOVER_GOES_ON,
	RECOVER_CUT_OFF,
	RECOVER_DROPPED,
	RECOVER_MADE_ANEW,
	RECOVER_COPIED				/* its database was, by files */
} RecoverEnding;

/* What records say of a block, in their order. */
typedef struct RecoverBlock
{
	WalBlockTag tag;
	bool		wanted;
	bool		restored;		/* a record made all of the page, and nothing
								 * ended it since */
	WalLsn		last;			/* end of the last record that names it since
								 * its ending, or 0 */
	RecoverEnding ending;		/* the last one */
	WalLsn		ended;			/* end of that record */
	uint32_t	highest;		/* of a fork, the highest block */
} RecoverBlock;

/* Zero at first.  The items stand in the order in which they came. */
typedef struct RecoverSet
{
	RecoverBlock *items;
	size_t		count;
	size_t		room;
	uint32_t   *places;			/* hashed, number of an item plus one, or 0 */
	size_t		nplaces;		/* a power of two */
} RecoverSet;

/* Returns the item of a tag, or NULL.  It is valid until one is added. */
extern RecoverBlock *recover_set_find(const RecoverSet *set,
									  const WalBlockTag *tag);

/* Returns the item, which is added, zero but for the tag, if it is new. */
extern RecoverBlock *recover_set_add(RecoverSet *set, const WalBlockTag *tag);

extern void recover_set_free(RecoverSet *set);

#endif							/* ACCEL_RECOVER_SET_H */
