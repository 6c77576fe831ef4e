/*
 * fork_reader.h
 *	  Reads the blocks of one fork from storage, past shared buffers.
 *
 * Forks of the magnetic disk manager are read from their files in pieces, by
 * the paths of the relation cache's locator.  Those of other storage managers
 * are read block by block through smgr, so that they can decrypt.  Nothing
 * that storage does is an error here, since a read that fails tells why.
 */
#ifndef ACCEL_PAGE_FORK_READER_H
#define ACCEL_PAGE_FORK_READER_H

#include "page/fork.h"
#include "page/policy.h"

typedef struct ForkReader
{
	const Fork *fork;
	struct Throttle *throttle;	/* for reads that decide a block, NULL if none */
	void	   *allocated;
	char	   *buffer;			/* SCAN_PIECE_BLOCKS blocks, aligned for I/O */
	int			fd;				/* of the open segment, -1 if none */
	BlockNumber segment;		/* its number */
	int			error;			/* errno of the last read, 0 if none */
	char		message[SCAN_MESSAGE_SIZE]; /* in words */
} ForkReader;

extern void fork_reader_init(ForkReader *reader, const Fork *fork);
extern void fork_reader_close(ForkReader *reader);

/*
 * Opens the segment that holds blkno.  Returns false with reader->error,
 * ENOENT if there is none.
 */
extern bool fork_reader_open(ForkReader *reader, BlockNumber blkno);

/*
 * Reads up to nblocks blocks of the open segment into dst and returns how many
 * came whole.  If they are fewer than asked for, reader->error says why, 0 at
 * the end of the file.  With files it never raises an error, never checks for
 * interrupts, and may be called with an LWLock held.  With other storage
 * managers a cancel is raised.
 */
extern uint32 fork_reader_read(ForkReader *reader, BlockNumber blkno,
							   uint32 nblocks, char *dst);

/*
 * Reads a block of the open segment into dst if that takes no waiting for
 * storage, and sets *nread as fork_reader_read() returns it.  Returns false if
 * it would have to wait, or the system cannot tell.  Other storage managers
 * never tell.
 */
extern bool fork_reader_read_cached(ForkReader *reader, BlockNumber blkno,
									char *dst, uint32 *nread);

/*
 * The block at which the open segment ends now, or the whole fork of other
 * managers.  It is InvalidBlockNumber if that cannot be told.
 */
extern BlockNumber fork_reader_segment_end(ForkReader *reader);

#endif							/* ACCEL_PAGE_FORK_READER_H */
