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

#include "host/direct.h"
#include "host/host.h"
#include "page/fork_reader.h"

/*
 * Asks for sequential read-ahead of cold data, twice the kernel's default
 * window.  Asking for pieces in advance (POSIX_FADV_WILLNEED) came out slower.
 */
#ifdef USE_POSIX_FADVISE
#define ADVISE_SEQUENTIAL(fd) \
	((void) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL))
#define ADVISE_RANDOM(fd) \
	((void) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
#else
#define ADVISE_SEQUENTIAL(fd)	((void) 0)
#define ADVISE_RANDOM(fd)		((void) 0)
#endif

static bool open_segment(ForkReader *reader, BlockNumber segment);
static uint32 read_file(ForkReader *reader, BlockNumber blkno,
						uint32 nblocks, char *dst);
static uint32 read_smgr(ForkReader *reader, BlockNumber blkno,
						uint32 nblocks, char *dst);

static void
init(ForkReader *reader, const Fork *fork, uint32 piece_blocks)
{
	Size		piece = (Size) Max(piece_blocks, SCAN_PIECE_BLOCKS) * BLCKSZ;
	Size		align = piece < DIRECT_LARGE ? DIRECT_ALIGN : DIRECT_LARGE;

	memset(reader, 0, sizeof(*reader));
	reader->fork = fork;
	reader->allocated = palloc(piece + BLCKSZ + align);
	reader->buffer = (char *) TYPEALIGN(align, reader->allocated);
	reader->block = reader->buffer + piece;
	reader->piece = piece;
	reader->fd = reader->device_fd = -1;
}

void
fork_reader_init(ForkReader *reader, const Fork *fork)
{
	init(reader, fork, SCAN_PIECE_BLOCKS);
}

void
fork_reader_init_direct(ForkReader *reader, const Fork *fork,
						uint32 piece_blocks)
{
	init(reader, fork, piece_blocks);
	reader->direct = reader->tidy = true;
}

static void
close_segment(ForkReader *reader)
{
	if (reader->fd >= 0)
		CloseTransientFile(reader->fd);
	if (reader->device_fd >= 0)
		CloseTransientFile(reader->device_fd);
	reader->fd = reader->device_fd = -1;
}

void
fork_reader_close(ForkReader *reader)
{
	close_segment(reader);
	if (reader->ring != NULL)
		FreeAccessStrategy(reader->ring);
	pfree(reader->allocated);
}

bool
fork_reader_open(ForkReader *reader, BlockNumber blkno)
{
	BlockNumber segment = blkno / RELSEG_SIZE;

	reader->error = 0;
	if (reader->direct && !reader->fork->md)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("relation \"%s\" cannot be read past the page cache",
						RelationGetRelationName(reader->fork->rel)),
				 errdetail("Another storage manager than the server's own keeps it.")));
	if (!reader->fork->md || (reader->fd >= 0 && reader->segment == segment))
		return true;
	close_segment(reader);
	return open_segment(reader, segment);
}

/* Returns false, and errno says why. */
static bool
open_failed(ForkReader *reader)
{
	reader->error = errno;
	close_segment(reader);
	snprintf(reader->message, sizeof(reader->message),
			 "could not open the file: %s", strerror(reader->error));
	return false;
}

static bool
open_segment(ForkReader *reader, BlockNumber segment)
{
	char		path[SCAN_PATH_SIZE];
	struct stat st;

	fork_segment_path(reader->fork, segment, path);
	reader->fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (reader->fd >= 0 && fstat(reader->fd, &st) == 0 &&
		!S_ISREG(st.st_mode))
	{
		close_segment(reader);
		errno = EINVAL;
	}
	if (reader->fd < 0)
		return open_failed(reader);
	reader->segment = segment;
	if (reader->tidy)
		ADVISE_RANDOM(reader->fd);
	else
		ADVISE_SEQUENTIAL(reader->fd);
	if (!reader->direct || fork_reader_open_device(reader))
		return true;
	if (errno == EINVAL)
		host_refuse_direct(path);
	return open_failed(reader);
}

bool
fork_reader_open_device(ForkReader *reader)
{
	char		path[SCAN_PATH_SIZE];
	struct stat ours;
	struct stat other;
	bool		same;

	if (reader->device_fd >= 0)
		return true;
	errno = EINVAL;
	if (DIRECT_OPEN == 0 || !reader->fork->md || BLCKSZ % DIRECT_ALIGN != 0)
		return false;
	fork_segment_path(reader->fork, reader->segment, path);
	reader->device_fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK |
										  DIRECT_OPEN | PG_BINARY);
	if (reader->device_fd < 0)
		return false;
	same = fstat(reader->fd, &ours) == 0 &&
		fstat(reader->device_fd, &other) == 0 &&
		ours.st_dev == other.st_dev && ours.st_ino == other.st_ino;
	if (same && direct_probe(reader->device_fd, &reader->write_back))
		return true;
	CloseTransientFile(reader->device_fd);
	reader->device_fd = -1;
	errno = same ? EINVAL : ENOENT;
	return false;
}

uint32
fork_reader_read(ForkReader *reader, BlockNumber blkno, uint32 nblocks,
				 char *dst)
{
	reader->error = 0;
	if (reader->direct && SERVER_READS_DIRECT() && nblocks == 1)
		return fork_reader_read_device(reader, blkno, dst);
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

static int
read_device(ForkReader *reader, BlockNumber blkno, uint32 nblocks, char *dst,
			uint32 *nread)
{
	off_t		offset = (off_t) (blkno % RELSEG_SIZE) * BLCKSZ;
	int			error;

	*nread = direct_read(reader->device_fd, dst, (size_t) nblocks * BLCKSZ,
						 offset, &error) / BLCKSZ;
	return error;
}

/*
 * The read writes back what is dirty.  A write-back that failed, now or
 * before, is told to one read of the file.  So a read that fails is tried once
 * more.  If that works, the first told of a write-back.
 */
static uint32
read_device_twice(ForkReader *reader, BlockNumber blkno, uint32 nblocks,
				  char *dst)
{
	uint32		nread;
	int			first = read_device(reader, blkno, nblocks, dst, &nread);

	reader->error = 0;
	if (first == 0)
		return nread;
	reader->error = read_device(reader, blkno, nblocks, dst, &nread);
	if (reader->error == 0)
		reader->write_back = first;
	else
		snprintf(reader->message, sizeof(reader->message),
				 "could not read the block from the device: %s",
				 strerror(reader->error));
	return nread;
}

uint32
fork_reader_scan(ForkReader *reader, BlockNumber blkno, uint32 nblocks)
{
	if (reader->direct)
	{
		bool		large = (Size) nblocks * BLCKSZ >= DIRECT_LARGE;

		if (large && !reader->ready)
			direct_ready(reader->buffer, reader->piece);
		reader->ready |= large;
		return read_device_twice(reader, blkno, nblocks, reader->buffer);
	}
	return fork_reader_read(reader, blkno, nblocks, reader->buffer);
}

uint32
fork_reader_read_device(ForkReader *reader, BlockNumber blkno, char *dst)
{
	uint32		nread = read_device_twice(reader, blkno, 1, reader->block);

	if (nread == 1)
		memcpy(dst, reader->block, BLCKSZ);
	return nread;
}

bool
fork_reader_is_cached(const ForkReader *reader, BlockNumber blkno)
{
	return direct_is_cached(reader->fd,
							(off_t) (blkno % RELSEG_SIZE) * BLCKSZ, BLCKSZ);
}

void
fork_reader_forget(const ForkReader *reader, BlockNumber blkno)
{
	direct_forget(reader->fd, (off_t) (blkno % RELSEG_SIZE) * BLCKSZ, BLCKSZ);
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
	if (reader->direct && SERVER_READS_DIRECT())
		return false;
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
