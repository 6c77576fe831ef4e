/*
 * increment.h
 *	  The files INCREMENTAL.name of an incremental backup (from 17).
 *
 * Pure.  Facts of PostgreSQL's basebackup.c and reconstruct.c, valid from 17
 * to 19.  Such a file has some blocks of the relation's file "name", in this
 * form.
 *
 *	  magic, number of blocks, truncation length		32 bits each
 *	  the blocks' numbers within the file, ascending	32 bits each
 *	  zeros up to a multiple of the block size, if there are blocks
 *	  the blocks
 *
 * The rest of the file's blocks, as far as the truncation length, is that of
 * the backups before.  A block at or beyond that length is valid.  After a
 * relation was truncated, all blocks that it has grown by since are in the
 * file.
 */
#ifndef ACCEL_BACKUP_INCREMENT_H
#define ACCEL_BACKUP_INCREMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BACKUP_INCREMENT_START	12	/* bytes before the numbers */

#define BACKUP_INCREMENT_REASONS \
	BACKUP_INCREMENT_REASON(OK, "") \
	BACKUP_INCREMENT_REASON(SHORT, "incremental file ends within its header") \
	BACKUP_INCREMENT_REASON(MAGIC, "incremental file has a wrong magic number") \
	BACKUP_INCREMENT_REASON(COUNT, "incremental file has more blocks than a file of a relation") \
	BACKUP_INCREMENT_REASON(TRUNCATION, "truncation length is more than a file of a relation has") \
	BACKUP_INCREMENT_REASON(SIZE, "size of the incremental file is not that of its blocks") \
	BACKUP_INCREMENT_REASON(RANGE, "incremental file has a block beyond those of a file of a relation") \
	BACKUP_INCREMENT_REASON(ORDER, "blocks of the incremental file are not in ascending order")

typedef enum BackupIncrementReason
{
#define BACKUP_INCREMENT_REASON(id, words) BACKUP_INCREMENT_##id,
	BACKUP_INCREMENT_REASONS
#undef BACKUP_INCREMENT_REASON
} BackupIncrementReason;

typedef struct BackupIncrement
{
	uint32_t	blocks;			/* in the file */
	uint32_t	truncation;		/* blocks, those before come from elsewhere */
	uint64_t	header;			/* bytes before the first block */
} BackupIncrement;

/*
 * Parses the first BACKUP_INCREMENT_START bytes, of which present are there.
 * The size is that of the whole file in bytes, and segment_blocks that of the
 * files of relations.
 */
extern BackupIncrementReason backup_increment_read(const uint8_t *bytes,
												   size_t present,
												   uint64_t size,
												   uint32_t segment_blocks,
												   uint32_t block_size,
												   BackupIncrement *increment);

/* Are these numbers possible, as many as the header says? */
extern BackupIncrementReason backup_increment_check(const BackupIncrement *increment,
													const uint32_t *numbers,
													uint32_t segment_blocks);

/*
 * Returns which of the file's blocks has this number, or -1.  To be called
 * after that.
 */
extern int64_t backup_increment_find(const BackupIncrement *increment,
									 const uint32_t *numbers, uint32_t block);

/* Returns one more than the last block's number, or 0 if the file has none. */
extern uint32_t backup_increment_end(const BackupIncrement *increment,
									 const uint32_t *numbers);

/*
 * How many of the blocks from the nth on, at most so many, follow each other
 * without a gap?
 */
extern uint32_t backup_increment_run(const BackupIncrement *increment,
									 const uint32_t *numbers, uint32_t n,
									 uint32_t most);

extern const char *backup_increment_words(BackupIncrementReason reason);

#endif							/* ACCEL_BACKUP_INCREMENT_H */
