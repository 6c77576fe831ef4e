/*
 * skeleton.h
 *	  A data directory with the files that a server needs to recover blocks.
 */
#ifndef ACCEL_RECOVER_SKELETON_H
#define ACCEL_RECOVER_SKELETON_H

#include "recover/context.h"

/* Is there room for so many segments of WAL, and all else? */
extern bool recover_skeleton_space(Recover *ctx, size_t segments);

/* Makes the folders, and files of the backup that are no relations. */
extern bool recover_skeleton_make(Recover *ctx);

/* Copies a file of the backup, or a folder's files, to the data directory. */
extern bool recover_skeleton_copy(Recover *ctx, const char *name);

/* Writes a text into it. */
extern bool recover_skeleton_write(Recover *ctx, const char *name,
								   const char *words);

/* Makes an empty file for each fork with a tracked block, long enough. */
extern bool recover_skeleton_relations(Recover *ctx);

/* Returns the path of a file of a fork, in the data directory. */
extern char *recover_skeleton_file(const Recover *ctx,
								   const WalBlockTag *fork, uint32_t segment);

#endif							/* ACCEL_RECOVER_SKELETON_H */
