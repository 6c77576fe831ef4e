/*
 * increment.c
 *	  The files INCREMENTAL.name of an incremental backup.
 */
#include "backup/increment.h"
#include "wal/format.h"

#define MAGIC	UINT32_C(0xd3ae1f0d)	/* INCREMENTAL_MAGIC */

/* Bytes before the first block, so many of them given. */
static uint64_t
header_bytes(uint32_t blocks, uint32_t block_size)
{
	uint64_t	bytes = BACKUP_INCREMENT_START + (uint64_t) blocks * 4;

	if (blocks == 0)
		return bytes;
	return (bytes + block_size - 1) / block_size * block_size;
}

BackupIncrementReason
backup_increment_read(const uint8_t *bytes, size_t present, uint64_t size,
					  uint32_t segment_blocks, uint32_t block_size,
					  BackupIncrement *increment)
{
	if (present < BACKUP_INCREMENT_START)
		return BACKUP_INCREMENT_SHORT;
	if (wal_load32(bytes) != MAGIC)
		return BACKUP_INCREMENT_MAGIC;
	increment->blocks = wal_load32(bytes + 4);
	increment->truncation = wal_load32(bytes + 8);
	increment->header = header_bytes(increment->blocks, block_size);
	if (increment->blocks > segment_blocks)
		return BACKUP_INCREMENT_COUNT;
	if (increment->truncation > segment_blocks)
		return BACKUP_INCREMENT_TRUNCATION;
	if (size != increment->header + (uint64_t) increment->blocks * block_size)
		return BACKUP_INCREMENT_SIZE;
	return BACKUP_INCREMENT_OK;
}

BackupIncrementReason
backup_increment_check(const BackupIncrement *increment,
					   const uint32_t *numbers, uint32_t segment_blocks)
{
	for (uint32_t i = 0; i < increment->blocks; i++)
	{
		if (numbers[i] >= segment_blocks)
			return BACKUP_INCREMENT_RANGE;
		if (i > 0 && numbers[i] <= numbers[i - 1])
			return BACKUP_INCREMENT_ORDER;
	}
	return BACKUP_INCREMENT_OK;
}

int64_t
backup_increment_find(const BackupIncrement *increment,
					  const uint32_t *numbers, uint32_t block)
{
	uint32_t	low = 0;
	uint32_t	high = increment->blocks;

	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (numbers[middle] == block)
			return middle;
		if (numbers[middle] < block)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

uint32_t
backup_increment_end(const BackupIncrement *increment,
					 const uint32_t *numbers)
{
	if (numbers == NULL || increment->blocks == 0)
		return 0;
	return numbers[increment->blocks - 1] + 1;
}

uint32_t
backup_increment_run(const BackupIncrement *increment,
					 const uint32_t *numbers, uint32_t n, uint32_t most)
{
	uint32_t	run = 0;

	while (run < most && n + run < increment->blocks &&
		   numbers[n + run] == numbers[n] + run)
		run++;
	return run;
}

const char *
backup_increment_words(BackupIncrementReason reason)
{
	static const char *const words[] = {
#define BACKUP_INCREMENT_REASON(id, text) text,
		BACKUP_INCREMENT_REASONS
#undef BACKUP_INCREMENT_REASON
	};

	return words[reason];
}
