/*
 * fork_reader.c
 *	  Reads the blocks of one fork from storage, past shared buffers.
 */
#include "compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/smgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "page/fork_reader.h"

/*
 * Asks for sequential read-ahead of cold data, twice the kernel's default
 * window.  Asking for pieces in advance (POSIX_FADV_WILLNEED) came out slower.
 */
#ifdef USE_POSIX_FADVISE
#define ADVISE_SEQUENTIAL(fd) \
	((void) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL))
#else
#define ADVISE_SEQUENTIAL(fd)	((void) 0)
#endif

/* what O_DIRECT-minded storage managers want of a buffer */
#define READ_ALIGN		4096

static uint32 read_file(ForkReader *reader, BlockNumber blkno,
						uint32 nblocks, char *dst);
static uint32 read_smgr(ForkReader *reader, BlockNumber blkno,
						uint32 nblocks, char *dst);

void
fork_reader_init(ForkReader *reader, const Fork *fork)
{
	memset(reader, 0, sizeof(*reader));
	reader->fork = fork;
	reader->allocated = palloc(SCAN_PIECE_BLOCKS * BLCKSZ + READ_ALIGN);
	reader->buffer = (char *) TYPEALIGN(READ_ALIGN, reader->allocated);
	reader->fd = -1;
}

static void
close_segment(ForkReader *reader)
{
	if (reader->fd >= 0)
		CloseTransientFile(reader->fd);
	reader->fd = -1;
}

void
fork_reader_close(ForkReader *reader)
{
	close_segment(reader);
	pfree(reader->allocated);
}

bool
fork_reader_open(ForkReader *reader, BlockNumber blkno)
{
	BlockNumber segment = blkno / RELSEG_SIZE;
	char		path[SCAN_PATH_SIZE];
	struct stat st;

	reader->error = 0;
	if (!reader->fork->md || (reader->fd >= 0 && reader->segment == segment))
		return true;
	close_segment(reader);
	fork_segment_path(reader->fork, segment, path);
	reader->fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (reader->fd >= 0 && fstat(reader->fd, &st) == 0 &&
		!S_ISREG(st.st_mode))
	{
		close_segment(reader);
		errno = EINVAL;
	}
	if (reader->fd < 0)
	{
		reader->error = errno;
		snprintf(reader->message, sizeof(reader->message),
				 "could not open the file: %s", strerror(reader->error));
		return false;
	}
	ADVISE_SEQUENTIAL(reader->fd);
	reader->segment = segment;
	return true;
}

uint32
fork_reader_read(ForkReader *reader, BlockNumber blkno, uint32 nblocks,
				 char *dst)
{
	reader->error = 0;
	return reader->fork->md ? read_file(reader, blkno, nblocks, dst) :
		read_smgr(reader, blkno, nblocks, dst);
}

/*
 * A read may come short for reasons that mean nothing (a signal, some file
 * systems).  So the rest is asked for again until the end of the file or an
 * error.
 */
static uint32
read_file(ForkReader *reader, BlockNumber blkno, uint32 nblocks, char *dst)
{
	off_t		offset = (off_t) (blkno % RELSEG_SIZE) * BLCKSZ;
	size_t		wanted = (size_t) nblocks * BLCKSZ;
	size_t		done = 0;

	while (done < wanted)
	{
		ssize_t		n = pg_pread(reader->fd, dst + done, wanted - done,
								 offset + done);

		if (n > 0)
			done += n;
		else if (n == 0)
			break;
		else if (errno != EINTR)
		{
			reader->error = errno;
			snprintf(reader->message, sizeof(reader->message),
					 "could not read the block: %s", strerror(errno));
			break;
		}
	}
	return done / BLCKSZ;
}

/*
 * Part of a block may mean that the page cache has no more of it, or that the
 * file ends there.  An ordinary read tells.
 */
#ifdef RWF_NOWAIT
static bool
read_file_cached(ForkReader *reader, BlockNumber blkno, char *dst,
				 uint32 *nread)
{
	struct iovec iov = {dst, BLCKSZ};
	off_t		offset = (off_t) (blkno % RELSEG_SIZE) * BLCKSZ;
	ssize_t		n = preadv2(reader->fd, &iov, 1, offset, RWF_NOWAIT);

	*nread = n == BLCKSZ;
	if (n >= 0)
		return n == BLCKSZ || n == 0;
	if (errno != EIO)			/* EAGAIN, EINTR, EOPNOTSUPP and the like */
		return false;
	reader->error = errno;
	snprintf(reader->message, sizeof(reader->message),
			 "could not read the block: %s", strerror(errno));
	return true;
}
#else
#define read_file_cached(reader, blkno, dst, nread) false
#endif

bool
fork_reader_read_cached(ForkReader *reader, BlockNumber blkno, char *dst,
						uint32 *nread)
{
	reader->error = 0;
	return reader->fork->md && read_file_cached(reader, blkno, dst, nread);
}

/* The alignment of memory that the storage manager reads into, in bytes. */
#define SMGR_ALIGN	4096

/*
 * Reads one block through the storage manager, whose ERROR becomes a result.
 * A cancel is no read error, so it is raised again.  It is done without
 * zero_damaged_pages, which would fake what cannot be read.
 */
static bool
read_smgr_block(ForkReader *reader, BlockNumber blkno, char *dst)
{
	char		space[BLCKSZ + SMGR_ALIGN];
	char	   *block = (char *) TYPEALIGN(SMGR_ALIGN, space);
	MemoryContext context = CurrentMemoryContext;
	bool		saved = zero_damaged_pages;
	volatile bool done = false;

	zero_damaged_pages = false;
	PG_TRY();
	{
		smgrread(RelationGetSmgr(reader->fork->rel), reader->fork->fork,
				 blkno, block);
		memcpy(dst, block, BLCKSZ);
		done = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		zero_damaged_pages = saved;
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			PG_RE_THROW();
		FlushErrorState();
		reader->error = EIO;
		strlcpy(reader->message, error->message, sizeof(reader->message));
		FreeErrorData(error);
	}
	PG_END_TRY();
	zero_damaged_pages = saved;
	return done;
}

static uint32
read_smgr(ForkReader *reader, BlockNumber blkno, uint32 nblocks, char *dst)
{
	for (uint32 i = 0; i < nblocks; i++)
		if (!read_smgr_block(reader, blkno + i, dst + (size_t) i * BLCKSZ))
			return i;
	return nblocks;
}

BlockNumber
fork_reader_segment_end(ForkReader *reader)
{
	struct stat st;

	if (!reader->fork->md)
	{
		SMgrRelation smgr = RelationGetSmgr(reader->fork->rel);

		return smgrexists(smgr, reader->fork->fork) ?
			smgrnblocks(smgr, reader->fork->fork) : 0;
	}
	if (fstat(reader->fd, &st) != 0)
		return InvalidBlockNumber;
	return reader->segment * RELSEG_SIZE +
		(BlockNumber) Min(st.st_size / BLCKSZ, RELSEG_SIZE);
}
