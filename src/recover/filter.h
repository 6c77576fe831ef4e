/*
 * filter.h
 *	  Takes out of WAL what does not matter to some blocks.
 *
 * Records go in, in their order.  Each one is kept, changed, or replaced by an
 * XLOG_NOOP of the same length, so that all positions stay.  A server that
 * replays the rest makes the blocks what they are in the whole cluster.
 */
#ifndef ACCEL_RECOVER_FILTER_H
#define ACCEL_RECOVER_FILTER_H

#include "recover/set.h"
#include "wal/block_walk.h"

typedef struct RecoverFilter
{
	uint32_t	block_size;		/* of relations, in bytes */

	/*
	 * Where tables are recovered, the relations of this database that are
	 * tracked with all of their blocks, beside the catalogs.  Else it is 0.
	 */
	uint32_t	database;
	RecoverSet	relations;

	/* zero at first */
	RecoverSet	blocks;			/* tracked, the wanted ones first */
	RecoverSet	forks;			/* of relations, that have tracked blocks */
	uint64_t	kept;			/* records, changed ones too */
	uint64_t	changed;
	uint64_t	cleared;

	/* the record at work */
	const WalBlockRecord *record;
	WalBlocks	refs;
	bool		storage;		/* is it about storage of a tracked fork? */
	bool		database_ended; /* or about the database as such? */
	uint8_t    *copy;
	size_t		room;
} RecoverFilter;

/* Tracks a block that is wanted. */
extern void recover_filter_want(RecoverFilter *ctx, const WalBlockTag *tag);

/* Tracks a relation as a whole. */
extern void recover_filter_want_relation(RecoverFilter *ctx,
										 const WalBlockTag *tag);

/* Is a block's relation tracked as a whole? */
extern bool recover_filter_is_whole(const RecoverFilter *ctx,
									const WalBlockTag *tag);

/*
 * What takes the place of a record, bytes and then zeros up to its length.
 * They are valid until the next one.
 */
typedef struct RecoverRewrite
{
	const uint8_t *bytes;		/* NULL if the record stays as it is */
	uint32_t	count;
} RecoverRewrite;

/*
 * Takes the next record.  Returns NULL, or in words why the WAL cannot be
 * filtered.
 */
extern const char *recover_filter_record(RecoverFilter *ctx,
										 const WalBlockRecord *record,
										 RecoverRewrite *rewrite);

extern void recover_filter_end(RecoverFilter *ctx);

#endif							/* ACCEL_RECOVER_FILTER_H */
