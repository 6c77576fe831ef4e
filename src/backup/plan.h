/*
 * plan.h
 *	  Which backups of a directory to read, by what is remembered of them.
 *
 * Times are microseconds since 1970.
 */
#ifndef ACCEL_BACKUP_PLAN_H
#define ACCEL_BACKUP_PLAN_H

#include "backup/run.h"
#include "manifest/find.h"
#include "manifest/listing.h"
#include "manifest/origin.h"

/* How long nothing of a backup without a manifest has changed, by default. */
#define BACKUP_SETTLED_AFTER	INT64_C(300000000)

/* NULL, 0 and "has" that is false mean "none" (NULL in SQL). */
typedef struct BackupVerdict
{
	const char *backup;			/* path below the directory, as text */
	bool		has_system;
	uint64_t	system;
	const char *label;
	const char *format;
	WalLsn		start;
	WalLsn		end;
	int64_t		taken_at;
	int64_t		verified_at;
	const char *status;
	bool		unfinished;
	int64_t		findings;
	int64_t		files;
	int64_t		bytes;
	const char **priors;		/* names of the backups before it */
	int			npriors;
	const char *message;
	const char *manifest;		/* its own checksum */
	bool		has_digest;
	uint64_t	digest;
	bool		gone;
} BackupVerdict;

typedef struct PlannedBackup
{
	const char *name;			/* below the directory, as text */
	const char *path;
	bool		tar;
	bool		stored;			/* in a repository, with its own WAL */
	BackupListing listing;
	size_t	   *priors;			/* numbers of the backups before it */
	int			npriors;
	bool		lacks_prior;
	bool		settled;		/* as the listings of all of them are */
	uint64_t	digest;			/* of their listings, and how it is verified */
	const BackupVerdict *remembered;	/* NULL if nothing is */
} PlannedBackup;

typedef struct BackupPlan
{
	/* the caller's */
	const char *directory;
	const char *wal;			/* of their WAL, NULL for their own */
	bool		check_pages;
	uint64_t	system;			/* whose verdicts count, 0 for anyone's */
	int64_t		settled_after;	/* microseconds */
	int64_t		reverify;		/* what was verified by then is read again */

	/* what is there, in order of names */
	size_t		count;
	size_t		room;
	PlannedBackup *backups;
	BackupOrigin *origins;		/* of the same */
} BackupPlan;

/* Adds a backup that was found, with its path as text. */
extern void backup_plan_add(BackupPlan *plan, const char *path,
							const char *name, BackupFindKind kind);

/*
 * Lists all of them, after which find gives what is remembered of a name, NULL
 * if nothing is.
 */
extern void backup_plan_look(BackupPlan *plan,
							 const BackupVerdict *(*find) (void *arg, const char *name),
							 void *arg);

extern bool backup_plan_has(const BackupPlan *plan, const char *name);

/* Has it the listing, and is it verified in the way, of the remembered verdict? */
extern bool backup_plan_unchanged(const PlannedBackup *backup);

/* Is a backup to be read? */
extern bool backup_plan_wants(const BackupPlan *plan,
							  const PlannedBackup *backup);

/* May its files still be copied? */
extern bool backup_plan_unfinished(const BackupPlan *plan,
								   const PlannedBackup *backup, int64_t now);

/* Does what is remembered hold until it may be judged anew? */
extern bool backup_plan_as_judged(const PlannedBackup *backup);

/*
 * Lists what to read now, in order: what was never verified, the newest first,
 * then the stalest.  Returns how many they are.  pass_over is called for each
 * other one.
 */
extern size_t backup_plan_turns(const BackupPlan *plan,
								const PlannedBackup **turns,
								void (*pass_over) (void *arg, const PlannedBackup *backup),
								void *arg, int64_t now);

/* Of a backup and those before it, which are read, too. */
extern int64_t backup_plan_bytes(const BackupPlan *plan,
								 const PlannedBackup *backup);

/* Was it removed since it was found? */
extern bool backup_plan_removed(const PlannedBackup *backup);

/* Has it, or one before it, changed since they were listed? */
extern bool backup_plan_changed(const BackupPlan *plan,
								const PlannedBackup *backup);

/* Sets which backup is read. */
extern void backup_plan_options(const BackupPlan *plan,
								const PlannedBackup *backup,
								BackupOptions *options);

extern bool backup_verdict_unverifiable(const BackupVerdict *verdict);

#endif							/* ACCEL_BACKUP_PLAN_H */
