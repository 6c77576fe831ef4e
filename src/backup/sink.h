/*
 * sink.h
 *	  What is found in a backup, on its way out.
 */
#ifndef ACCEL_BACKUP_SINK_H
#define ACCEL_BACKUP_SINK_H

#include "page/status.h"
#include "wal/format.h"

/* This is one finding, where NULL and negative mean "none" (NULL in SQL). */
typedef struct BackupFinding
{
	const char *path;			/* within the backup, as bytes */
	int64_t		blkno;			/* absolute */
	const char *status;
	const char *expected;
	const char *actual;
	WalLsn		lsn;			/* 0 if none */
	const char *message;
} BackupFinding;

/* What a finding says of the backup, by its status. */
typedef enum BackupRank
{
	BACKUP_HARMLESS,			/* healed, replaced, made anew, or that there
								 * is no manifest */
	BACKUP_NO_VERDICT,			/* no damage, but not known to be sound */
	BACKUP_DAMAGE
} BackupRank;

extern BackupRank backup_sink_rank(const BackupFinding *finding);

typedef struct BackupSink
{
	void		(*finding) (void *arg, const BackupFinding *finding);
	void	   *arg;

	/* counted here */
	int64_t		findings;
	int64_t		undecided;		/* of them, no damage but no verdict either */
	char		first[256];		/* the first of them, in words */
} BackupSink;

/* A finding goes out, and counts unless it is harmless. */
extern void backup_sink_emit(BackupSink *sink, const BackupFinding *finding);

/* Does the same for a file as a whole, with a message as for printf. */
extern void backup_sink_file(BackupSink *sink, const char *path,
							 BackupStatus status, const char *message,...)
			__attribute__((format(printf, 4, 5)));

/* The verdict on the whole backup: ok, damaged or undecided. */
extern BackupStatus backup_sink_verdict(const BackupSink *sink);

#endif							/* ACCEL_BACKUP_SINK_H */
