/*
 * parts.c
 *	  Which blocks the incremental files in archives have, for a chain.
 *
 * It is a temporary file of the server's own kind, within temp_file_limit and
 * temp_tablespaces.  It is gone when the transaction ends.
 */
#include "compat.h"

#include "utils/memutils.h"

#include "backup/parts.h"

static Size
numbers_bytes(const BackupIncrement *increment)
{
	return (Size) increment->blocks * sizeof(uint32);
}

static void
write_bytes(BackupParts *parts, const void *bytes, Size size)
{
	BufFileWrite(parts->file, unconstify(void *, bytes), size);
	parts->end += (int64) size;
}

int64
backup_parts_put(BackupParts *parts, const BackupBlocks *blocks)
{
	int64		part = parts->end;

	if (parts->file == NULL)
		parts->file = BufFileCreateTemp(false);
	write_bytes(parts, &blocks->increment, sizeof(BackupIncrement));
	write_bytes(parts, blocks->numbers, numbers_bytes(&blocks->increment));
	return part;
}

static void
read_bytes(const BackupParts *parts, void *bytes, Size size)
{
	if (BufFileRead(parts->file, bytes, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
}

void
backup_parts_get(const BackupParts *parts, int64 part, BackupBlocks *blocks)
{
	if (BufFileSeek(parts->file, 0, part, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file: %m")));
	read_bytes(parts, &blocks->increment, sizeof(BackupIncrement));
	blocks->numbers = MemoryContextAllocHuge(CurrentMemoryContext,
											 numbers_bytes(&blocks->increment) + 1);
	read_bytes(parts, blocks->numbers, numbers_bytes(&blocks->increment));
	blocks->ready = true;
}

void
backup_parts_end(BackupParts *parts)
{
	if (parts->file != NULL)
		BufFileClose(parts->file);
	parts->file = NULL;
}
