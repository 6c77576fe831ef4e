/*
 * run.h
 *	  Verifies a backup by files, pages and WAL, and whether they agree.
 */
#ifndef ACCEL_BACKUP_RUN_H
#define ACCEL_BACKUP_RUN_H

#include "backup/label.h"
#include "backup/sink.h"

/* More backups than these are nobody's chain. */
#define BACKUP_CHAIN_MAX	1000

typedef struct BackupOptions
{
	const char *root;			/* the backup's directory */
	const char *wal;			/* of its WAL, NULL for its own pg_wal */
	int			nprior;
	const char *const *prior;	/* backups that it is incremental to, full
								 * first */
	bool		check_pages;
	bool		include_healed; /* pages that WAL heals are told, too */
	int			workers;
	int32		max_rate;		/* kB/s, 0 if no limit */
	bool		direct;			/* read past the page cache */
} BackupOptions;

typedef struct BackupSummary
{
	char		label[BACKUP_LABEL_MAX];
	bool		incremental;
	bool		tar;
	bool		no_manifest;
	bool		checksums_off;	/* of the cluster, as pg_control says */
	bool		has_system;
	uint64		system;
	XLogRecPtr	start;			/* InvalidXLogRecPtr if unknown */
	XLogRecPtr	end;
	char	   *timelines;		/* NULL if unknown */
	int64		files;
	int64		bytes;
	int64		pages;
	int64		bad_pages;
	int64		healed_pages;
	int64		wal_records;
} BackupSummary;

/* Findings go to the sink.  Raises an error only for bad arguments. */
extern void backup_run(const BackupOptions *options, BackupSink *sink,
					   BackupSummary *summary);

#endif							/* ACCEL_BACKUP_RUN_H */
