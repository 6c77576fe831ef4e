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

#include "storage/buf.h"

#include "page/fork.h"
#include "page/policy.h"

typedef struct ForkReader
{
	const Fork *fork;
	struct Throttle *throttle;	/* for reads that decide a block, NULL if none */
	void	   *allocated;
	Size		piece;			/* bytes of the buffer */
	bool		ready;			/* the buffer, for the largest pieces */
	char	   *buffer;			/* SCAN_PIECE_BLOCKS blocks or more, aligned
								 * for I/O */
	char	   *block;			/* one more, for a read of the device */
	int			fd;				/* of the open segment, -1 if none */
	int			device_fd;		/* the same, past the page cache */
	bool		direct;			/* fork_reader_scan() reads the device */
	bool		tidy;			/* decisions leave the page cache as it was */
	bool		strict;			/* decisions hold a good page of the device
								 * against the page cache's, too */
	int			write_back;		/* errno of a write-back that failed, for the
								 * caller to reset, 0 if none */
	BufferAccessStrategy ring;	/* of buffers to compare with, NULL if none */
	BlockNumber segment;		/* its number */
	int			error;			/* errno of the last read, 0 if none */
	char		message[SCAN_MESSAGE_SIZE]; /* in words */
} ForkReader;

extern void fork_reader_init(ForkReader *reader, const Fork *fork);

/*
 * The same for a reader whose fork_reader_scan() reads pieces of the device.
 * fork_reader_open() then refuses other storage managers, and file systems
 * that do not read past their page cache, with an ERROR.
 */
extern void fork_reader_init_direct(ForkReader *reader, const Fork *fork,
									uint32 piece_blocks);
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
 * managers a cancel is raised.  A direct reader reads a single block from the
 * device if the server itself does so, and nothing from the page cache then.
 */
extern uint32 fork_reader_read(ForkReader *reader, BlockNumber blkno,
							   uint32 nblocks, char *dst);

/*
 * Reads up to nblocks blocks into reader->buffer, through the page cache, or
 * from the device if the reader is direct.  Returns as fork_reader_read().
 */
extern uint32 fork_reader_scan(ForkReader *reader, BlockNumber blkno,
							   uint32 nblocks);

/*
 * Opens the segment that is open past the page cache, too.  Returns false with
 * errno, which is EINVAL where the file system does not read so.
 */
extern bool fork_reader_open_device(ForkReader *reader);

/*
 * Reads one block of that segment from the device into dst.  What is dirty in
 * the page cache is written first.  Returns as fork_reader_read().
 */
extern uint32 fork_reader_read_device(ForkReader *reader, BlockNumber blkno,
									  char *dst);

/* May the page cache have some of the block?  And takes the block out of it. */
extern bool fork_reader_is_cached(const ForkReader *reader, BlockNumber blkno);
extern void fork_reader_forget(const ForkReader *reader, BlockNumber blkno);

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
