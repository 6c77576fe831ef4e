/*
 * run.h
 *	  Verifies a backup by files, pages and WAL, and whether they agree.
 */
#ifndef ACCEL_BACKUP_RUN_H
#define ACCEL_BACKUP_RUN_H

#include "backup/files.h"
#include "backup/sink.h"
#include "backup/wal.h"
#include "manifest/label.h"

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
	BackupFilesFn verify_files; /* as backup_files_verify(), with workers */
	BackupWalJudgeFn judge_wal; /* the same of segments */
	BackupWalIdentifyFn identify_wal;	/* may be NULL, see BackupWal */
	void	   *arg;			/* of identify_wal() */
	uint16_t	magic;			/* of pages of WAL, 0 if the backup tells it */
	struct Throttle *throttle;	/* of all that is read, NULL if no bound */
	bool		direct;			/* read past the page cache */
	const BackupProgress *progress; /* NULL if nobody asks */
} BackupOptions;

typedef struct BackupSummary
{
	char		label[BACKUP_LABEL_MAX];
	bool		incremental;
	bool		tar;
	bool		stored;			/* in the repository of pgBackRest */
	bool		no_manifest;
	bool		checksums_off;	/* of the cluster, as pg_control says */
	bool		has_system;
	uint64_t	system;
	WalLsn		start;			/* 0 if unknown */
	WalLsn		end;
	char	   *timelines;		/* NULL if unknown */
	int64_t		files;
	int64_t		bytes;
	int64_t		pages;
	int64_t		bad_pages;
	int64_t		healed_pages;
	int64_t		wal_records;
	int64_t		newest;			/* the latest modification of a file of the
								 * manifest, in seconds since 1970, 0 if
								 * unknown */
} BackupSummary;

typedef enum BackupRunResult
{
	BACKUP_RUN_OK,
	BACKUP_RUN_NONE,			/* a path is no directory */
	BACKUP_RUN_FAILED			/* one could not be opened, errno says why */
} BackupRunResult;

/* Can a directory be read? */
extern BackupRunResult backup_run_look(const char *path);

/*
 * Findings go to the sink.  Unless all directories are there, nothing is read,
 * and *refused is the one that is not.
 */
extern BackupRunResult backup_run(const BackupOptions *options,
								  BackupSink *sink, BackupSummary *summary,
								  const char **refused);

#endif							/* ACCEL_BACKUP_RUN_H */
