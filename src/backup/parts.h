/*
 * parts.h
 *	  Which blocks the incremental files in archives have, for a chain.
 *
 * Whether a page of a backup is replaced is known when all later ones have
 * been read.  An archive cannot be read at any place.  So the numbers of
 * blocks are kept in a temporary file, which is a two thousandth of the blocks
 * themselves.
 */
#ifndef ACCEL_BACKUP_PARTS_H
#define ACCEL_BACKUP_PARTS_H

#include "backup/blocks.h"
#include "host/temporary.h"

/*
 * It is empty if all zero.  Its file goes with the transaction at the latest.
 */
typedef struct BackupParts
{
	HostScratch *file;			/* NULL if nothing was put yet */
	int64_t		end;			/* bytes in it */
} BackupParts;

/*
 * Keeps those of a file, which are ready, and returns where.  To be called
 * before any get.
 */
extern int64_t backup_parts_put(BackupParts *parts, const BackupBlocks *blocks);

/* Returns those from there, which are to be freed. */
extern void backup_parts_get(const BackupParts *parts, int64_t part,
							 BackupBlocks *blocks);

extern void backup_parts_end(BackupParts *parts);

#endif							/* ACCEL_BACKUP_PARTS_H */
