/*
 * book.h
 *	  What WAL has proved of blocks so far, in bounded memory.
 *
 * The book takes what a block must at least carry, the newest word counting,
 * and which storage ended where.  When it is full, or the WAL is over, it is
 * closed: what was proved before its storage ended is struck out, the rest is in
 * order of files and blocks.  Its owner asks the disk and opens it again.
 */
#ifndef ACCEL_LOST_BOOK_H
#define ACCEL_LOST_BOOK_H

#include "lost/event.h"
#include "lost/witness.h"

/* A block, and the LSN that it has on disk or has passed. */
typedef struct LostEntry
{
	WalBlockTag tag;
	LostProof	proof;
	WalLsn		lsn;
} LostEntry;

/* Storage that ended with the record at lsn. */
typedef struct LostEnd
{
	LostEvent	event;
	WalLsn		lsn;
	uint32_t	least;			/* closed: first of this one and of the later
								 * ones of the same storage */
	uint32_t	map_least;		/* the same of map_first */
} LostEnd;

/* A proof that was noted, and where its slot is looked for. */
typedef struct LostNote
{
	LostEntry	entry;
	uint32_t   *slot;
} LostNote;

#define LOST_NOTES		32

typedef struct LostBook
{
	LostEntry  *entries;
	size_t		most;			/* entries that it takes */
	size_t		count;
	uint32_t   *slots;			/* numbers of entries from 1, 0: free */
	size_t		nslots;
	LostNote	notes[LOST_NOTES];	/* not in it yet */
	size_t		nnotes;
	LostEnd    *ends;
	size_t		ends_room;
	size_t		nends;
	uint32_t	map_covers;
} LostBook;

#define LOST_BOOK_MIN	8192	/* bytes */

/*
 * An empty book within so many bytes at memory, which is aligned for LostEntry.
 * Closing it may allocate as many again for a moment (qsort of the C library).
 * map_covers: blocks of a table per block of its visibility map.
 */
extern void lost_book_open(LostBook *book, void *memory, size_t bytes,
						   uint32_t map_covers);

/* false: it is full. */
extern bool lost_book_prove(LostBook *book, const WalBlockTag *tag,
							LostProof proof, WalLsn lsn);
extern bool lost_book_end(LostBook *book, const LostEvent *event, WalLsn lsn);

/* Strikes out and sorts: entries 0 to count - 1. */
extern void lost_book_close(LostBook *book);

/* Of a closed book: has the storage of this block ended after lsn? */
extern bool lost_book_ended(const LostBook *book, const WalBlockTag *tag,
							WalLsn lsn);

/*
 * Of an open book: what is proved of a block whose storage did not end before
 * lsn; NULL: nothing.
 */
extern const LostEntry *lost_book_find(LostBook *book, const WalBlockTag *tag,
									   WalLsn lsn);

/*
 * Of an open book: strikes out what ended, and what is not of a share of all
 * blocks: that whose number has mask's bits as share has them.
 */
extern void lost_book_keep(LostBook *book, uint32_t share, uint32_t mask);

/* The number of a block, by which blocks fall into shares. */
extern uint32_t lost_book_number(const WalBlockTag *tag);

/* Of a closed book: empty again. */
extern void lost_book_reopen(LostBook *book);

/* Order of entries: by file, then block. */
extern int	lost_tag_compare(const WalBlockTag *a, const WalBlockTag *b);

#endif							/* ACCEL_LOST_BOOK_H */
