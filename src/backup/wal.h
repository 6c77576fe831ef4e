/*
 * wal.h
 *	  The WAL that a backup needs to become consistent.
 */
#ifndef ACCEL_BACKUP_WAL_H
#define ACCEL_BACKUP_WAL_H

#include "backup/fate.h"
#include "backup/sink.h"
#include "manifest/manifest.h"
#include "wal/segment.h"

/* Judges the segments of a list, as wal_parallel_judge() does. */
typedef void (*BackupWalJudgeFn) (const WalDirectory *dir, WalRange range,
								  const WalNames *list, int workers,
								  struct Throttle *throttle,
								  void (*result) (void *arg,
												  const WalSegmentResult *result),
								  void *arg);

/*
 * Finds out of which cluster a directory of WAL is, where the backup does not
 * say it, and sets that in its limits.
 */
typedef void (*BackupWalIdentifyFn) (void *arg, WalDirectory *dir);

typedef struct BackupWal
{
	const char *path;			/* of the directory */
	const char *shown;			/* the same, as findings shall show it */
	bool		own;			/* it is the backup's pg_wal, not an archive */
	uint64_t	system;			/* identifier that it must have, 0 if unknown */
	BackupWalIdentifyFn identify;	/* NULL if the server's own is meant then */
	void	   *arg;			/* of identify() */
	uint32_t	page_size;		/* bytes, 0 if unknown */
	uint16_t	magic;			/* of its pages, 0 if the version tells it */
	const char *version;		/* major version of the server, "15", NULL if
								 * unknown */
	BackupWalJudgeFn judge;
	int			workers;
	uint32_t	block_size;		/* of relations */
	struct Throttle *throttle;	/* of all that is read, NULL if no bound */
	bool		direct;			/* read past the page cache */
	int			nranges;
	const ManifestRange *ranges;	/* end WAL_LSN_MAX for all there is */

	/* found */
	bool		opened;
	WalDirectory dir;
	int64_t		records;
	int64_t		copies;			/* of them, records that copy a database */
	bool		cut;			/* WAL is missing after the last that is there */
} BackupWal;

/* Opens the directory.  What is wrong with it is a finding. */
extern void backup_wal_open(BackupWal *wal, BackupSink *sink);

/* Verifies every range. */
extern void backup_wal_verify(BackupWal *wal, BackupSink *sink);

/*
 * Which folders of the backup redo copies, each once, where a copy stays.
 * Returns how many, 0 if there are too many.
 */
extern size_t backup_wal_sources(BackupWal *wal,
								 BackupFolder sources[BACKUP_COPIES_MAX]);

/* What becomes of pages that are not in order, by all ranges. */
extern void backup_wal_decide(BackupWal *wal, BackupSuspect *suspects,
							  size_t count);

#endif							/* ACCEL_BACKUP_WAL_H */
