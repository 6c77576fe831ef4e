/*
 * segment_map.c
 *	  Which files a fork consists of, and what is wrong with their sizes.
 *
 * A fork is a row of files of RELSEG_SIZE blocks each, all full but the last.
 * Empty files after the last are normal, since truncation leaves them.  The
 * server stops at the first file that is short or missing, so that what
 * follows is hidden from it, silently.
 *
 * The relation is locked, so files only grow, one after the other.  A segment
 * gets its first block when the one before it is full.  A fork of other
 * storage managers has one imaginary file of whatever size.
 *
 * The last file may end within a block if an extension is under way, or was
 * ended by a full disk or a crash.  The server ignores such a tail, and no row
 * is in it, since an extension writes zeros, and a page gets there only after
 * that.  So a tail that holds anything else was a block, and so was one that
 * the fork must have (see least_blocks()).  Hash indexes and maps are extended
 * by pages that are not zeros on some versions, so of them no tail says
 * anything.
 */
#include "compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufpage.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "host/host.h"
#include "page/fork.h"
#include "page/map_witness.h"
#include "page/segment_map.h"

#define SEGMENT_BYTES	((int64) RELSEG_SIZE * BLCKSZ)

/* Segments that are looked for after those that should exist. */
#define PROBE_SEGMENTS	8

/* Samples of a size that looks wrong, and the time between two of them. */
#define SUSPICION_SAMPLES	4
#define SUSPICION_PAUSE_US	20000L

static void sample_all(SegmentMap *map, const Fork *fork);
static void sample_certain(SegmentMap *map, const Fork *fork);
static void sample(SegmentMap *map, const Fork *fork);
static BlockNumber least_blocks(const SegmentMap *map, const Fork *fork);
static bool tail_is_written(const SegmentMap *map, const Fork *fork);
static int64 segment_room(BlockNumber i);
static int64 segment_size(const Fork *fork, BlockNumber segment);
static BlockNumber segments_end(const Fork *fork, const SegmentMap *map);
static BlockNumber probe_end(const Fork *fork, const SegmentMap *map);
static BlockNumber segments_end_in_directory(const Fork *fork);
static void segment_map_add(SegmentMap *map, int64 bytes);
static bool suspicious(const SegmentMap *map);
static bool same_suspicions(const SegmentMap *a, const SegmentMap *b);
static void wait_for_extension(const Fork *fork);

void
segment_map_sample(SegmentMap *map, Fork *fork)
{
	sample_all(map, fork);
	while (map->bytes[0] <= 0 && fork_follow(fork))
	{
		segment_map_free(map);
		sample_all(map, fork);
	}
}

/* What must be there is asked first, see map_witness.c. */
static void
sample_all(SegmentMap *map, const Fork *fork)
{
	memset(map, 0, sizeof(*map));
	sample(map, fork);
	map->least = least_blocks(map, fork);
	segment_map_free(map);
	sample_certain(map, fork);
	map->tail_written = tail_is_written(map, fork);
}

/*
 * How many blocks the fork had for certain, by what its kind begins with, and
 * by the bits of the visibility map.
 */
static BlockNumber
least_blocks(const SegmentMap *map, const Fork *fork)
{
	BlockNumber last = map->count - 1;

	return Max(fork_first_blocks(fork),
			   map_witness_end(fork, (BlockNumber) Min((uint64) last * RELSEG_SIZE +
													   segment_map_blocks(map, last),
													   MaxBlockNumber)));
}

/* Samples until the sizes are in order, or as certain as they can be. */
static void
sample_certain(SegmentMap *map, const Fork *fork)
{
	SegmentMap	again = {0};
	int			agreed = 0;

	again.least = map->least;

	sample(map, fork);
	while (suspicious(map) && agreed < SUSPICION_SAMPLES)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(SUSPICION_PAUSE_US);
		wait_for_extension(fork);
		sample(&again, fork);
		agreed = same_suspicions(map, &again) ? agreed + 1 : 0;
		segment_map_free(map);
		*map = again;
	}
}

/*
 * Extension writes whole blocks, but a reader may see the file grow by less
 * than a block at a time.  Nobody is in the middle of it while we hold the
 * extension lock.  Replay and a hash index that splits do not take it, so for
 * them there are the pauses.
 */
static void
wait_for_extension(const Fork *fork)
{
	if (RecoveryInProgress() || !fork->md)
		return;
	LockRelationForExtension(fork->rel, ExclusiveLock);
	UnlockRelationForExtension(fork->rel, ExclusiveLock);
}

void
segment_map_free(SegmentMap *map)
{
	pfree(map->bytes);
	map->bytes = NULL;
}

BlockNumber
segment_map_blocks(const SegmentMap *map, BlockNumber i)
{
	int64		bytes = map->bytes[i];

	return bytes <= 0 ? 0 :
		(BlockNumber) (Min(bytes, segment_room(i)) / BLCKSZ);
}

/* The last segment that block numbers reach ends a block early. */
static int64
segment_room(BlockNumber i)
{
	uint64		first = (uint64) i * RELSEG_SIZE;

	return Min((int64) (MaxBlockNumber + UINT64CONST(1) - first) * BLCKSZ,
			   SEGMENT_BYTES);
}

/* Does the fork end, with this last segment, before it should? */
static bool
lacks_blocks(const SegmentMap *map, BlockNumber i)
{
	return map->bytes[i] < segment_room(i) &&
		(uint64) i * RELSEG_SIZE + segment_map_blocks(map, i) < map->least;
}

PageStatus
segment_map_status(const SegmentMap *map, BlockNumber i)
{
	int64		bytes = map->bytes[i];
	bool		last = true;

	for (BlockNumber j = i + 1; last && j < map->count; j++)
		last = map->bytes[j] == 0;
	if (bytes == SEGMENT_UNREADABLE)
		return PAGE_IO_ERROR;
	if (bytes == SEGMENT_MISSING)
		return PAGE_MISSING_SEGMENT;
	if (bytes < SEGMENT_BYTES && !last)
		return PAGE_SHORT_SEGMENT;
	if (bytes > segment_room(i))
		return PAGE_PARTIAL_BLOCK;
	if (bytes % BLCKSZ != 0)
		return map->tail_written || lacks_blocks(map, i) ?
			PAGE_PARTIAL_BLOCK : PAGE_PARTIAL_TAIL;
	return lacks_blocks(map, i) ? PAGE_SHORT_SEGMENT : PAGE_OK;
}

bool
segment_map_exists(const SegmentMap *map)
{
	for (BlockNumber i = 0; i < map->count; i++)
		if (map->bytes[i] != SEGMENT_MISSING)
			return true;
	return false;
}

void
segment_map_explain(const SegmentMap *map, BlockNumber i, char *dst,
					size_t size)
{
	int64		bytes = map->bytes[i];

	switch (segment_map_status(map, i))
	{
		case PAGE_MISSING_SEGMENT:
			snprintf(dst, size, segment_map_exists(map) ?
					 "segment %u is missing: the server sees nothing of the segments after it" :
					 "segment %u is missing", i);
			break;
		case PAGE_SHORT_SEGMENT:
			if (lacks_blocks(map, i))
				snprintf(dst, size,
						 "segment %u has " INT64_FORMAT " bytes, but the fork had %u blocks at least%s",
						 i, bytes, map->least, map->least == 1 ? "" :
						 ": the visibility map names them, or is damaged");
			else
				snprintf(dst, size,
						 "segment %u has " INT64_FORMAT " bytes instead of " INT64_FORMAT ": the server sees nothing of the segments after it",
						 i, bytes, SEGMENT_BYTES);
			break;
		case PAGE_PARTIAL_BLOCK:
			snprintf(dst, size, bytes > segment_room(i) ?
					 "segment %u has " INT64_FORMAT " bytes, more than a segment can have" :
					 "segment %u has " INT64_FORMAT " bytes, no multiple of the block size",
					 i, bytes);
			break;
		case PAGE_IO_ERROR:
			snprintf(dst, size, "segment %u is no regular file, or its size could not be read", i);
			break;
		default:
			strlcpy(dst, "", size);
	}
}

static void
sample(SegmentMap *map, const Fork *fork)
{
	BlockNumber end;
	int64		bytes;

	map->count = 0;
	map->tail_written = false;
	map->allocated = 8;
	map->bytes = palloc(map->allocated * sizeof(int64));
	if (!fork->md)
	{
		bytes = (int64) smgrnblocks(RelationGetSmgr(fork->rel),
									fork->fork) * BLCKSZ;
		for (; bytes > SEGMENT_BYTES; bytes -= SEGMENT_BYTES)
			segment_map_add(map, SEGMENT_BYTES);
		segment_map_add(map, bytes);
		return;
	}
	while ((bytes = segment_size(fork, map->count)) != SEGMENT_MISSING)
	{
		CHECK_FOR_INTERRUPTS();
		segment_map_add(map, bytes);
	}

	end = Max(segments_end(fork, map),
			  (BlockNumber) ((map->least + (uint64) RELSEG_SIZE - 1) / RELSEG_SIZE));
	if (map->count == 0 && end == 1)
		segment_map_add(map, bytes);	/* as it was just now */
	while (map->count < end)
	{
		CHECK_FOR_INTERRUPTS();
		segment_map_add(map, segment_size(fork, map->count));
	}

	/* a short segment may have grown and been followed since it was sampled */
	for (BlockNumber i = 0; i + 1 < map->count; i++)
		if (map->bytes[i] >= 0 && map->bytes[i] < SEGMENT_BYTES)
			map->bytes[i] = segment_size(fork, i);
}

static void
segment_map_add(SegmentMap *map, int64 bytes)
{
	HOST_MAKE_ROOM(map->bytes, map->count, map->allocated);
	map->bytes[map->count++] = bytes;
}

static int64
segment_size(const Fork *fork, BlockNumber segment)
{
	char		path[SCAN_PATH_SIZE];
	struct stat st;

	fork_segment_path(fork, segment, path);
	if (stat(path, &st) == 0)
		return S_ISREG(st.st_mode) ? st.st_size : SEGMENT_UNREADABLE;
	return errno == ENOENT ? SEGMENT_MISSING : SEGMENT_UNREADABLE;
}

/*
 * One past the highest segment that exists, 1 at least.  A directory may hold
 * a hundred thousand files, so it is read only where segments may be missing.
 * That is where the last one is full, as every one is that had a next, or
 * where there is one after a gap.
 */
static BlockNumber
segments_end(const Fork *fork, const SegmentMap *map)
{
	BlockNumber end = probe_end(fork, map);
	bool		look = map->count > 0 &&
		map->bytes[map->count - 1] >= SEGMENT_BYTES;

	for (BlockNumber i = map->count + 1; !look && i < end; i++)
	{
		CHECK_FOR_INTERRUPTS();
		look = segment_size(fork, i) != SEGMENT_MISSING;
	}
	return Max(Max(map->count, 1), look ? segments_end_in_directory(fork) : 0);
}

/*
 * How many segments a fork can have at most.  A page of the visibility map has
 * two bits for each block of the main fork, and an init fork never has a
 * second segment.  Half of what a run asks the file system would be about such
 * forks.
 */
static BlockNumber
segments_possible(ForkNumber fork)
{
	const int64 map_blocks = (BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * 4;

	if (fork == INIT_FORKNUM)
		return 1;
	if (fork == VISIBILITYMAP_FORKNUM)
		return (BlockNumber) (MaxBlockNumber / map_blocks / RELSEG_SIZE) + 1;
	return MaxBlockNumber / RELSEG_SIZE + 1;
}

/*
 * Up to where segments are looked for by name.  A gap may be as long as what
 * is there before it, and the catalog knows how long the relation once was.
 */
static BlockNumber
probe_end(const Fork *fork, const SegmentMap *map)
{
	BlockNumber known = 0;

	if (fork->fork == MAIN_FORKNUM)
		known = (BlockNumber) fork->rel->rd_rel->relpages / RELSEG_SIZE;
	return Min(Max(2 * map->count, known) + PROBE_SEGMENTS + 1,
			   segments_possible(fork->fork));
}

static BlockNumber
segments_end_in_directory(const Fork *fork)
{
	char		path[SCAN_PATH_SIZE];
	char	   *name;
	size_t		length;
	BlockNumber end = 0;
	DIR		   *dir;
	struct dirent *entry;

	fork_segment_path(fork, 0, path);
	name = strrchr(path, '/');
	*name++ = '\0';
	length = strlen(name);

	dir = AllocateDir(path);
	while ((entry = ReadDirExtended(dir, path, LOG)) != NULL)
	{
		const char *number = entry->d_name + length;
		char	   *rest;
		unsigned long segment;

		CHECK_FOR_INTERRUPTS();
		if (strncmp(entry->d_name, name, length) != 0 || number[0] != '.' ||
			number[1] < '0' || number[1] > '9')
			continue;
		segment = strtoul(number + 1, &rest, 10);
		if (*rest == '\0')		/* else an unrelated file, as 16384.1.bak */
			end = Max(end, (BlockNumber) segment + 1);
	}
	if (dir != NULL)
		FreeDir(dir);
	return Min(end, MaxBlockNumber / RELSEG_SIZE + 1);
}

/* A fork that does not exist is the caller's to judge. */
static bool
suspicious(const SegmentMap *map)
{
	if (!segment_map_exists(map))
		return false;
	for (BlockNumber i = 0; i < map->count; i++)
	{
		PageStatus	status = segment_map_status(map, i);

		if (status != PAGE_OK && status != PAGE_PARTIAL_TAIL)
			return true;
	}
	return false;
}

/* No extension wrote the part of a block after the last whole one. */
static bool
tail_is_written(const SegmentMap *map, const Fork *fork)
{
	BlockNumber last = map->count - 1;
	PGAlignedBlock block = {0};
	char		path[SCAN_PATH_SIZE];
	ssize_t		got;
	int			fd;

	if (fork->kind == PAGE_KIND_ANY || fork->kind == PAGE_KIND_VM ||
		fork->kind == PAGE_KIND_FSM || fork->kind == PAGE_KIND_HASH)
		return false;
	while (last > 0 && map->bytes[last] == 0)
		last--;
	if (segment_map_status(map, last) != PAGE_PARTIAL_TAIL)
		return false;
	fork_segment_path(fork, last, path);
	fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | PG_BINARY);
	if (fd < 0)
		return false;
	got = pg_pread(fd, block.data, BLCKSZ,
				   (off_t) segment_map_blocks(map, last) * BLCKSZ);
	CloseTransientFile(fd);
	return got > 0 && got < BLCKSZ && !page_is_zero(block.data);
}

/*
 * Files that are in order may grow all the time.  A short segment that is
 * followed by others may keep growing, because the server believes that it is
 * the last one.  It is enough that it stays short.  A partial block whose size
 * changes is being written.
 */
static bool
same_suspicions(const SegmentMap *a, const SegmentMap *b)
{
	for (BlockNumber i = 0; i < Max(a->count, b->count); i++)
	{
		PageStatus	was = i < a->count ? segment_map_status(a, i) : PAGE_OK;
		PageStatus	is = i < b->count ? segment_map_status(b, i) : PAGE_OK;

		if (was != is ||
			(is == PAGE_PARTIAL_BLOCK && a->bytes[i] != b->bytes[i]))
			return false;
	}
	return true;
}
