/*
 * backup_wal.h
 *	  The WAL that a backup needs to become consistent.
 */
#ifndef BACKUP_WAL_H
#define BACKUP_WAL_H

#include "scan/backup_sink.h"
#include "verify/backup_manifest.h"

#pragma GCC visibility push(hidden)

typedef struct BackupWal
{
	const char *path;			/* of the directory */
	const char *shown;			/* the same, as findings shall show it */
	uint64		system;			/* identifier that it must have */
	const char *version;		/* major version of the server, "15" */
	int			workers;
	int			nranges;
	const ManifestRange *ranges;	/* end WAL_LSN_MAX: as far as there is */

	/* found */
	int64		records;
	bool		whole;			/* every range was verified without a finding */
} BackupWal;

/* Verifies every range. */
extern void backup_wal_verify(BackupWal *wal, BackupSink *sink);

#pragma GCC visibility pop

#endif							/* BACKUP_WAL_H */
