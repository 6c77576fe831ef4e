/*
 * block_history.h
 *	  What records and gaps of WAL make of one block, as rows in their order.
 *
 * Records and gaps go in as wal/stream.h hands them out.  The last row may be
 * the image of the block as it is now.  That takes that no later record
 * changed the block or ended its storage, and that all of them were seen.
 *
 * Truncation is a change, since what is extended later begins as zeros without
 * WAL.  Storage that is made anew begins another history at the same place.
 */
#ifndef ACCEL_WAL_BLOCK_HISTORY_H
#define ACCEL_WAL_BLOCK_HISTORY_H

#include "wal/block_walk.h"
#include "wal/blocks.h"

/* what a row is about, as id and SQL name */
#define WAL_ROW_KINDS(KIND) \
	KIND(IMAGE, "image") \
	KIND(CHECK, "check") \
	KIND(INIT, "init") \
	KIND(CHANGE, "change") \
	KIND(CREATED, "created") \
	KIND(TRUNCATED, "truncated") \
	KIND(GAP, "gap")

typedef enum WalRowKind
{
#define WAL_ROW_KIND(id, name) WAL_ROW_##id,
	WAL_ROW_KINDS(WAL_ROW_KIND)
#undef WAL_ROW_KIND
} WalRowKind;

typedef struct WalBlockRow
{
	WalRowKind	kind;
	WalLsn		lsn;
	WalLsn		end;			/* 0 if unknown */
	WalName		segment;
	uint8_t		rmid;			/* not of a gap */
	uint8_t		info;
	WalImageMethod compression; /* of an image */
	char		message[WAL_MESSAGE_SIZE];	/* of a gap */
} WalBlockRow;

typedef struct WalBlockHistory
{
	WalBlockTag tag;			/* of the block */
	uint32_t	block_size;
	WalLsn		until;			/* gaps from here on do not count */
	bool		all_copies;		/* a copy of the database is a row, though
								 * nothing was before it */
	void		(*emit) (void *arg, const WalBlockRow *row, bool is_last,
						 bool is_page);
	void	   *arg;

	/* zero at first */
	bool		has_row;
	WalBlockRow row;			/* not put yet, as it may be the last */
	bool		dropped;		/* since that row */
	const WalBlockRecord *record;	/* at work */
	WalBlocks	blocks;
} WalBlockHistory;

/* These two take the WalBlockHistory as arg, as a WalStream calls them. */
extern void wal_block_history_record(void *arg, const WalBlockRecord *record);
extern void wal_block_history_gap(void *arg, const WalBlockGap *gap);

/*
 * Puts the last row.  It is complete if all WAL up to the present was seen, and
 * every change of the block is in WAL with a reference to it.
 */
extern void wal_block_history_end(WalBlockHistory *ctx, bool complete);

/* Does the row have a full-page image? */
extern bool wal_block_row_has_image(const WalBlockRow *row);

extern const char *wal_row_kind_name(WalRowKind kind);

#endif							/* ACCEL_WAL_BLOCK_HISTORY_H */
