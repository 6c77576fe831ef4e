/*
 * archive_record.h
 *	  The table of the files of WAL archives.
 *
 * The functions want an active snapshot and raise what goes wrong.
 */
#ifndef ACCEL_RUN_ARCHIVE_RECORD_H
#define ACCEL_RUN_ARCHIVE_RECORD_H

#include "compat.h"

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "run/history.h"
#include "wal/archive.h"

typedef struct ArchiveRow
{
	WalName		name;
	bool		forget;			/* there is no such file any more */
	WalArchiveMemory memory;
	const char *message;		/* NULL if none */
} ArchiveRow;

/* Remembers what the table has of its directory, in the current memory context. */
extern void archive_record_load(const History *history, WalArchive *archive);

/* Writes a list of ArchiveRow. */
extern void archive_record_write(const History *history,
								 const WalDirectory *dir, const List *rows);

/* Forgets what stands beside the segments of a directory. */
extern void archive_record_forget_beside(const History *history,
										 const char *directory);

/*
 * Forgets files that are gone by right since then, and directories that are
 * gone and were not verified since then.  Returns how many rows.
 */
extern int64 archive_record_prune(const History *history, TimestampTz limit);

#endif							/* ACCEL_RUN_ARCHIVE_RECORD_H */
