/*
 * progress.h
 *	  What every backend is verifying at present, for all to see.
 *
 * Nothing is shown while track_activities is off.
 */
#ifndef ACCEL_PAGE_PROGRESS_H
#define ACCEL_PAGE_PROGRESS_H

#include "datatype/timestamp.h"

#include "page/sink.h"

/* The longest name of a backup that is shown whole, with its terminator. */
#define PROGRESS_NAME_BYTES	64

typedef struct ProgressRow
{
	int			pid;
	Oid			datid;
	Oid			relid;			/* InvalidOid between two relations */
	ForkNumber	fork;
	int64		blocks_total;	/* of this fork */
	int64		blocks_done;
	int64		findings;		/* of the whole run */
	TimestampTz started;		/* of the whole run */
	int64		relations_total;	/* 0 if it is not the run of a database */
	int64		relations_done;
	int64		bytes_total;	/* of the main forks of all relations, or of
								 * all backups to read */
	int64		bytes_done;
	char		backup[PROGRESS_NAME_BYTES];	/* "" if there is none */
} ProgressRow;

/*
 * A run begins in this backend.  It ends at progress_end() or when its
 * transaction fails.
 */
extern void progress_begin(void);
extern void progress_end(void);

/* A fork begins, so many of its blocks are done, something is found. */
extern void progress_fork(const ForkSummary *summary);
extern void progress_blocks(int64 blocks);
extern void progress_finding(void);

/*
 * Shows the run of a database, by a row whose relid, fork, pid and datid are
 * not read.
 */
extern void progress_database(const ProgressRow *row);

/*
 * A fork that is verified in parts has so many blocks, so many of them done
 * before.
 */
extern void progress_fork_blocks(int64 total, int64 done);

/*
 * Shows the run over backups, by a row whose started, findings, bytes and
 * backup are read, and then that so many bytes more are done.
 */
extern void progress_backup(const ProgressRow *row);
extern void progress_bytes(int64 bytes);

/* How many backends to ask for, and whether one of them verifies something. */
extern int	progress_backends(void);
extern bool progress_read(int backend, ProgressRow *row);

#endif							/* ACCEL_PAGE_PROGRESS_H */
