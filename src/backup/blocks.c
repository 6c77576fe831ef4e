/*
 * blocks.c
 *	  Which blocks an incremental file of a backup has.
 */
#include "compat.h"

#include "utils/memutils.h"

#include "backup/blocks.h"

/* Where the numbers end. */
static int64
numbers_end(const BackupBlocks *blocks)
{
	return BACKUP_INCREMENT_START +
		(int64) blocks->increment.blocks * (int64) sizeof(uint32);
}

BackupIncrementReason
backup_blocks_begin(BackupBlocks *blocks, const char *bytes, size_t present,
					int64 size, uint32 segment_blocks)
{
	BackupIncrementReason reason;

	blocks->numbers = NULL;
	blocks->ready = false;
	blocks->segment_blocks = segment_blocks;
	reason = backup_increment_read((const uint8 *) bytes, present,
								   (uint64) size, segment_blocks, BLCKSZ,
								   &blocks->increment);
	if (reason == BACKUP_INCREMENT_OK)
		blocks->numbers = MemoryContextAllocHuge(CurrentMemoryContext,
												 (Size) numbers_end(blocks));
	return reason;
}

BackupIncrementReason
backup_blocks_take(BackupBlocks *blocks, const char *piece, size_t bytes,
				   int64 offset)
{
	int64		from = Max(offset, BACKUP_INCREMENT_START);
	int64		to = Min(offset + (int64) bytes, numbers_end(blocks));

	if (from < to)
		memcpy((char *) blocks->numbers + (from - BACKUP_INCREMENT_START),
			   piece + (from - offset), (size_t) (to - from));
	if (offset + (int64) bytes < numbers_end(blocks))
		return BACKUP_INCREMENT_OK;
	blocks->ready = true;
	return backup_increment_check(&blocks->increment, blocks->numbers,
								  blocks->segment_blocks);
}

/* The numbers of an open file. */
static BackupIncrementReason
read_numbers(BackupBlocks *blocks, FileScan *scan)
{
	size_t		bytes = (size_t) numbers_end(blocks);
	char	   *header = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	BackupIncrementReason reason = BACKUP_INCREMENT_SHORT;

	if (file_scan_read(scan, header, bytes, 0) == (ssize_t) bytes)
		reason = backup_blocks_take(blocks, header, bytes, 0);
	pfree(header);
	return reason;
}

BackupIncrementReason
backup_blocks_read(BackupBlocks *blocks, FileScan *scan,
				   uint32 segment_blocks)
{
	char		start[BACKUP_INCREMENT_START];
	BackupIncrementReason reason;
	ssize_t		got = file_scan_read(scan, start, sizeof(start), 0);

	reason = backup_blocks_begin(blocks, start, (size_t) Max(got, 0),
								 scan->size, segment_blocks);
	if (reason == BACKUP_INCREMENT_OK)
		reason = read_numbers(blocks, scan);
	if (reason != BACKUP_INCREMENT_OK)
		backup_blocks_free(blocks);
	return reason;
}

void
backup_blocks_free(BackupBlocks *blocks)
{
	if (blocks->numbers != NULL)
		pfree(blocks->numbers);
	blocks->numbers = NULL;
	blocks->ready = false;
}
