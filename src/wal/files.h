/*
 * files.h
 *	  The files of a directory that a walk over its segments has at hand.
 *
 * Each segment is read with its neighbours.  A compressed file that is closed
 * stays at hand for the segment whose neighbour or self it is next.  So a walk
 * in order decodes each file once.
 */
#ifndef ACCEL_WAL_FILES_H
#define ACCEL_WAL_FILES_H

#include "wal/directory.h"
#include "wal/file.h"

#define WAL_FILES	3			/* the segment before, itself, the one after */

typedef struct WalFiles
{
	const WalDirectory *dir;
	uint64_t	clock;
	struct
	{
		WalFile		file;
		WalName		name;
		bool		in_use;
		uint64_t	used;		/* by the clock */
	}			slots[WAL_FILES];
} WalFiles;

/* The files are of the memory that is allocated now. */
extern WalFiles *wal_files_begin(const WalDirectory *dir);
extern void wal_files_end(WalFiles *files);

/* From now on what is read of them is bounded. */
extern void wal_files_throttle(WalFiles *files, struct Throttle *throttle);

/*
 * From now on nothing is read of them, as if they ended.  What is judged by
 * that means nothing.
 */
extern void wal_files_stop(WalFiles *files);

/*
 * Opens a file of the directory.  If it returns NULL, *opened says why, and
 * errno does, too.  At most WAL_FILES are open at a time.
 */
extern WalFile *wal_files_open(WalFiles *files, const WalName *name,
							   FileScanResult *opened);
extern void wal_files_close(WalFiles *files, WalFile *file);

/* Are files of the list compressed?  Some of them are asked. */
extern bool wal_files_compressed(WalFiles *files, const WalNames *list);

#endif							/* ACCEL_WAL_FILES_H */
