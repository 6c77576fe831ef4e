/*
 * book.h
 *	  What WAL has proved of blocks so far, in bounded memory.
 *
 * The book takes what a block must at least carry, the newest word counting,
 * and which storage ended where.  It is closed when it is full, or when the
 * WAL is over.  Closing strikes out what was proved before its storage ended,
 * and puts the rest in order of files and blocks.  Its owner then asks the
 * disk and opens it again.
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
	uint32_t	least;			/* once closed, the first of this one and of
								 * the later ones of the same storage */
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
	uint32_t   *slots;			/* numbers of entries from 1, or 0 if free */
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
 * Opens an empty book within so many bytes at memory, which is aligned for
 * LostEntry.  Closing it may allocate as many again for a moment, in qsort of
 * the C library.  The value map_covers is the number of blocks of a table per
 * block of its visibility map.
 */
extern void lost_book_open(LostBook *book, void *memory, size_t bytes,
						   uint32_t map_covers);

/* Returns false if the book is full. */
extern bool lost_book_prove(LostBook *book, const WalBlockTag *tag,
							LostProof proof, WalLsn lsn);
extern bool lost_book_end(LostBook *book, const LostEvent *event, WalLsn lsn);

/* Strikes out and sorts.  What remains are entries 0 to count - 1. */
extern void lost_book_close(LostBook *book);

/* Has the storage of this block ended after lsn?  The book must be closed. */
extern bool lost_book_ended(const LostBook *book, const WalBlockTag *tag,
							WalLsn lsn);

/*
 * Returns what an open book proves of a block whose storage did not end before
 * lsn, or NULL if that is nothing.
 */
extern const LostEntry *lost_book_find(LostBook *book, const WalBlockTag *tag,
									   WalLsn lsn);

/*
 * Strikes out of an open book what ended, and all blocks outside of a share.
 * The share has the blocks whose number has mask's bits as share has them.
 */
extern void lost_book_keep(LostBook *book, uint32_t share, uint32_t mask);

/* The number of a block, by which blocks fall into shares. */
extern uint32_t lost_book_number(const WalBlockTag *tag);

/* Makes a closed book empty again. */
extern void lost_book_reopen(LostBook *book);

/* Compares by file, then by block, which is the order of entries. */
extern int	lost_tag_compare(const WalBlockTag *a, const WalBlockTag *b);

#endif							/* ACCEL_LOST_BOOK_H */
