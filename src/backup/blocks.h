/*
 * blocks.h
 *	  Which blocks an incremental file of a backup has.
 */
#ifndef ACCEL_BACKUP_BLOCKS_H
#define ACCEL_BACKUP_BLOCKS_H

#include "backup/increment.h"
#include "host/file_scan.h"

typedef struct BackupBlocks
{
	BackupIncrement increment;
	uint32_t	segment_blocks; /* of a relation's file */
	uint32_t   *numbers;		/* allocated, NULL if none were read */
	bool		ready;			/* all were, and are possible */
} BackupBlocks;

/*
 * Begins with the first bytes of a file of this size.  What is wrong with it
 * is a reason.  Memory is bounded by segment_blocks, at 4 bytes each.
 */
extern BackupIncrementReason backup_blocks_begin(BackupBlocks *blocks,
												 const char *bytes,
												 size_t present, int64_t size,
												 uint32_t segment_blocks);

/*
 * Takes the file's bytes from offset on, piece by piece from its start, until
 * it is ready.
 */
extern BackupIncrementReason backup_blocks_take(BackupBlocks *blocks,
												const char *piece,
												size_t bytes, int64_t offset);

/*
 * The same of an open file, at once.  A read that fails is SHORT.  Unless the
 * result is OK there are no numbers.
 */
extern BackupIncrementReason backup_blocks_read(BackupBlocks *blocks,
												FileScan *scan,
												uint32_t segment_blocks);

extern void backup_blocks_free(BackupBlocks *blocks);

#endif							/* ACCEL_BACKUP_BLOCKS_H */
