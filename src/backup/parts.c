/*
 * parts.c
 *	  Which blocks the incremental files in archives have, for a chain.
 */
#include "backup/parts.h"
#include "host/host.h"

static size_t
numbers_bytes(const BackupIncrement *increment)
{
	return (size_t) increment->blocks * sizeof(uint32_t);
}

static void
write_bytes(BackupParts *parts, const void *bytes, size_t size)
{
	host_scratch_write(parts->file, bytes, size);
	parts->end += (int64_t) size;
}

int64_t
backup_parts_put(BackupParts *parts, const BackupBlocks *blocks)
{
	int64_t		part = parts->end;

	if (parts->file == NULL)
		parts->file = host_scratch_begin();
	write_bytes(parts, &blocks->increment, sizeof(BackupIncrement));
	write_bytes(parts, blocks->numbers, numbers_bytes(&blocks->increment));
	return part;
}

void
backup_parts_get(const BackupParts *parts, int64_t part, BackupBlocks *blocks)
{
	size_t		bytes;

	host_scratch_read(parts->file, &blocks->increment,
					  sizeof(BackupIncrement), part);
	bytes = numbers_bytes(&blocks->increment);
	blocks->numbers = host_alloc(bytes + 1);
	host_scratch_read(parts->file, blocks->numbers, bytes,
					  part + (int64_t) sizeof(BackupIncrement));
	blocks->ready = true;
}

void
backup_parts_end(BackupParts *parts)
{
	if (parts->file != NULL)
		host_scratch_end(parts->file);
	parts->file = NULL;
}
