/*
 * blocks.c
 *	  Which blocks an incremental file of a backup has.
 */
#include <string.h>

#include "backup/blocks.h"
#include "host/host.h"
#include "page/format.h"

/* Where the numbers end. */
static int64_t
numbers_end(const BackupBlocks *blocks)
{
	return BACKUP_INCREMENT_START +
		(int64_t) blocks->increment.blocks * (int64_t) sizeof(uint32_t);
}

BackupIncrementReason
backup_blocks_begin(BackupBlocks *blocks, const char *bytes, size_t present,
					int64_t size, uint32_t segment_blocks)
{
	BackupIncrementReason reason;

	blocks->numbers = NULL;
	blocks->ready = false;
	blocks->segment_blocks = segment_blocks;
	reason = backup_increment_read((const uint8_t *) bytes, present,
								   (uint64_t) size, segment_blocks, PAGE_BYTES,
								   &blocks->increment);
	if (reason == BACKUP_INCREMENT_OK)
		blocks->numbers = host_alloc((size_t) numbers_end(blocks));
	return reason;
}

BackupIncrementReason
backup_blocks_take(BackupBlocks *blocks, const char *piece, size_t bytes,
				   int64_t offset)
{
	int64_t		end = numbers_end(blocks);
	int64_t		from = offset > BACKUP_INCREMENT_START ? offset : BACKUP_INCREMENT_START;
	int64_t		to = offset + (int64_t) bytes < end ? offset + (int64_t) bytes : end;

	if (from < to)
		memcpy((char *) blocks->numbers + (from - BACKUP_INCREMENT_START),
			   piece + (from - offset), (size_t) (to - from));
	if (offset + (int64_t) bytes < end)
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
	char	   *header = host_alloc(bytes);
	BackupIncrementReason reason = BACKUP_INCREMENT_SHORT;

	if (file_scan_read(scan, header, bytes, 0) == (ssize_t) bytes)
		reason = backup_blocks_take(blocks, header, bytes, 0);
	host_free(header);
	return reason;
}

BackupIncrementReason
backup_blocks_read(BackupBlocks *blocks, FileScan *scan,
				   uint32_t segment_blocks)
{
	char		start[BACKUP_INCREMENT_START];
	BackupIncrementReason reason;
	ssize_t		got = file_scan_read(scan, start, sizeof(start), 0);

	reason = backup_blocks_begin(blocks, start, got > 0 ? (size_t) got : 0,
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
	host_free(blocks->numbers);
	blocks->numbers = NULL;
	blocks->ready = false;
}
