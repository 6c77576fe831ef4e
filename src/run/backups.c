/*
 * backups.c
 *	  Runs verify_backups(), which verifies the base backups below a directory
 *	  that are new or have changed.
 *
 * All of them are found and listed first, and what to read is decided.  Then
 * each is read, recorded and committed.  So a run that is interrupted goes on
 * where it was, whenever the procedure is called again.
 *
 * Nobody says when a backup without a manifest is whole, so it is judged when
 * nothing of it has changed for a while.  Nor is one that changes while it is
 * read judged, whatever was found: it may be copied, or removed.
 */
#include "compat.h"

#include <limits.h>
#include <sys/stat.h>

#include "access/xlog.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "backup/archives.h"
#include "func/backup.h"
#include "func/func.h"
#include "host/file_path.h"
#include "manifest/barman.h"
#include "manifest/find.h"
#include "manifest/listing.h"
#include "manifest/origin.h"
#include "page/progress.h"
#include "run/backup_record.h"
#include "run/memory.h"
#include "run/procedure.h"

/* WARNINGs of a run. */
#define LINES_MAX		100

/* How long nothing of a backup without a manifest has changed, by default. */
#define SETTLED_AFTER	(5 * USECS_PER_MINUTE)

/* From 1970 to 2000. */
#define EPOCH_SECONDS \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY)

typedef struct Backup
{
	const char *name;			/* below the directory, as text */
	char	   *path;
	bool		tar;
	bool		stored;			/* in a repository, with its own WAL */
	BackupListing listing;
	size_t	   *priors;			/* numbers of the backups before it */
	int			npriors;
	bool		lacks_prior;
	bool		settled;		/* as the listings of all of them are */
	uint64		digest;			/* of their listings, and how it is verified */
	const BackupVerdict *remembered;
} Backup;

typedef struct BackupTotals
{
	int64		read;			/* backups */
	int64		bytes;			/* of them, and of those before them */
	int64		bad;			/* backups */
	int64		unverifiable;
	int64		gone;			/* newly found to be */
	int64		lines;			/* WARNINGs */
} BackupTotals;

typedef struct BackupsRun
{
	Memory		memory;
	MemoryContext backup_context;	/* of the one that is read */

	/* arguments */
	BackupOptions options;		/* of each, but for what it is */
	int64		settled_after;	/* microseconds */
	TimestampTz reverify;		/* what was verified by then is read again */
	TimestampTz deadline;		/* 0 if none */
	bool		verbose;

	/* what is there, in order of names */
	size_t		count;
	size_t		room;
	Backup	   *backups;
	BackupOrigin *origins;		/* of the same */
	bool		incomplete;		/* a folder could not be looked through */
	List	   *remembered;		/* of BackupVerdict */
	BackupTotals totals;
	ProgressRow progress;

	/* to be written */
	const BackupVerdict *verdict;
	const char *gone;
} BackupsRun;

enum
{
	ARG_DIRECTORY,
	ARG_WAL_DIRECTORY,
	ARG_CHECK_PAGES,
	ARG_SETTLED_AFTER,
	ARG_REVERIFY_AFTER,
	ARG_MAX_DURATION,
	ARG_FAIL_ON_FINDINGS,
	ARG_VERBOSE,
	ARG_WORKERS,
	ARG_MAX_RATE,
	ARG_DIRECT_IO
};

/* ---------------------------------------------------------------- *
 *		Messages
 * ---------------------------------------------------------------- */

static bool
is_unverifiable(const BackupVerdict *verdict)
{
	return strcmp(verdict->status, backup_status_name(BACKUP_NOT_VERIFIABLE)) == 0;
}

static void
report_unfinished(const BackupsRun *run, const BackupVerdict *verdict)
{
	ereport(NOTICE,
			(errmsg("backup \"%s\" is not judged yet", verdict->backup),
			 errdetail_internal("%s. Directory \"%s\".", verdict->message,
								run->memory.directory)));
}

/* One WARNING per backup, up to a bound. */
static void
report_bad(BackupsRun *run, const BackupVerdict *verdict)
{
	bool		known = !is_unverifiable(verdict);

	run->totals.bad += known ? 1 : 0;
	run->totals.unverifiable += known ? 0 : 1;
	if (run->totals.lines++ >= LINES_MAX)
		return;
	ereport(WARNING,
			(errcode(known ? ERRCODE_DATA_CORRUPTED : ERRCODE_WARNING),
			 known ? errmsg("invalid backup \"%s\"", verdict->backup) :
			 errmsg("could not verify backup \"%s\"", verdict->backup),
			 errdetail_internal("%s: %s. Directory \"%s\".", verdict->status,
								verdict->message, run->memory.directory),
			 known ? errhint("verify_backup() shows each finding in a backup.") : 0));
}

static void
report_verdict(BackupsRun *run, const BackupVerdict *verdict)
{
	if (verdict->unfinished)
		report_unfinished(run, verdict);
	else if (is_unverifiable(verdict) || status_is_finding(verdict->status))
		report_bad(run, verdict);
	if (run->verbose)
		ereport(INFO,
				(errmsg("read backup \"%s\": %s", verdict->backup, verdict->status)));
}

static void
report_end(void *arg, const char *state)
{
	BackupsRun *run = arg;
	const BackupTotals *totals = &run->totals;
	double		seconds = (double) (GetCurrentTimestamp() - run->memory.started) / USECS_PER_SEC;

	if (totals->lines > LINES_MAX)
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("%s in directory \"%s\"",
						accel_counted(totals->lines - LINES_MAX, "more bad backup", "more bad backups"),
						run->memory.directory)));
	ereport(INFO,
			(errmsg("%s: %s, " INT64_FORMAT " read, %s in %.1f s (%s/s); " INT64_FORMAT " bad, " INT64_FORMAT " not verifiable, " INT64_FORMAT " gone",
					state,
					accel_counted((int64) run->count, "backup", "backups"),
					totals->read,
					accel_size_text(totals->bytes), seconds,
					accel_size_text(totals->bytes / Max(seconds, 1e-6)),
					totals->bad, totals->unverifiable, totals->gone),
			 strcmp(state, "completed") == 0 ? 0 :
			 run->memory.recording ? errhint("To go on, call the procedure again.") : 0));
}

/* ---------------------------------------------------------------- *
 *		What is there
 * ---------------------------------------------------------------- */

static void
add_backup(BackupsRun *run, const char *path, BackupFindKind kind)
{
	Backup	   *backup;

	HOST_MAKE_ROOM(run->backups, run->count, run->room);
	backup = &run->backups[run->count++];
	memset(backup, 0, sizeof(*backup));
	backup->name = accel_text_of_bytes(path);
	backup->path = strcmp(path, ".") == 0 ? pstrdup(run->memory.directory) :
		psprintf("%s/%s", run->memory.directory, path);
	backup->tar = kind == BACKUP_FIND_TAR;
	backup->stored = kind == BACKUP_FIND_STORED;
}

/* A link to what is found by its own name needs no word. */
static void
report_link(const BackupsRun *run, const char *path)
{
	char		real[PATH_MAX];

	if (realpath(psprintf("%s/%s", run->memory.directory, path), real) == NULL ||
		path_is_prefix_of_path(run->memory.directory, real))
		return;
	ereport(NOTICE,
			(errmsg("symbolic link \"%s\" is not followed",
					accel_text_of_bytes(path)),
			 errdetail("It leads out of directory \"%s\".", run->memory.directory)));
}

static void
report_unread(BackupsRun *run, const char *path)
{
	run->incomplete = true;
	run->totals.unverifiable++;
	ereport(WARNING,
			(errcode_for_file_access(),
			 errmsg("could not look for backups in \"%s\": %m",
					accel_text_of_bytes(path)),
			 errdetail("Directory \"%s\".", run->memory.directory)));
}

static void
on_found(void *arg, const char *path, BackupFindKind kind)
{
	BackupsRun *run = arg;

	switch (kind)
	{
		case BACKUP_FIND_PLAIN:
		case BACKUP_FIND_TAR:
		case BACKUP_FIND_STORED:
			add_backup(run, path, kind);
			break;
		case BACKUP_FIND_SERVER:
			ereport(NOTICE,
					(errmsg("data directory \"%s\" is no backup",
							accel_text_of_bytes(path)),
					 errdetail("It has a postmaster.pid, so a server works in it.")));
			break;
		case BACKUP_FIND_LINK:
			report_link(run, path);
			break;
		case BACKUP_FIND_FAILED:
			report_unread(run, path);
			break;
	}
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const Backup *) a)->name, ((const Backup *) b)->name);
}

static const BackupVerdict *
find_remembered(const BackupsRun *run, const char *name)
{
	ListCell   *cell;

	foreach(cell, run->remembered)
	{
		const BackupVerdict *verdict = lfirst(cell);

		if (strcmp(verdict->backup, name) == 0)
			return verdict;
	}
	return NULL;
}

/* Where one before it is missing, a backup is judged by itself. */
static void
find_priors(const BackupsRun *run, size_t n)
{
	Backup	   *backup = &run->backups[n];

	backup->priors = palloc(BACKUP_CHAIN_MAX * sizeof(size_t));
	backup->npriors = backup_origin_priors(run->origins, run->count, n,
										   backup->priors, BACKUP_CHAIN_MAX);
	backup->lacks_prior = backup->npriors < 0;
	backup->npriors = Max(backup->npriors, 0);
	backup->priors = repalloc(backup->priors,
							  (backup->npriors + 1) * sizeof(size_t));
}

/*
 * What is the same is not read again.  Another server has not seen these
 * files, though a dump of this one brought it the verdicts.
 */
static void
compute_digest(const BackupsRun *run, Backup *backup)
{
	const char *how = psprintf(UINT64_FORMAT " %d %d %s", GetSystemIdentifier(),
							   run->options.check_pages, backup->lacks_prior,
							   run->options.wal == NULL ? "" : run->options.wal);
	uint64		digest = backup_listing_mix(backup->listing.digest, how, strlen(how));

	backup->settled = backup->listing.settled;
	for (int i = 0; i < backup->npriors; i++)
	{
		const BackupListing *prior = &run->backups[backup->priors[i]].listing;

		digest = backup_listing_mix(digest, &prior->digest, sizeof(prior->digest));
		backup->settled &= prior->settled;
	}
	backup->digest = digest;
}

/* barman has the data directory in a folder, and pgBackRest needs no word. */
static void
read_origin(const Backup *backup, BackupOrigin *origin)
{
	char	   *data = psprintf("%s/" BARMAN_DATA, backup->path);

	if (backup->stored)
		backup_origin_read(data, backup_tar_is(data), origin);
	else
		backup_origin_read(backup->path, backup->tar, origin);
}

static void
look_at_all(BackupsRun *run)
{
	backup_find(run->memory.directory, on_found, run);
	if (run->count > 1)
		qsort(run->backups, run->count, sizeof(Backup), compare_names);
	run->origins = palloc0((run->count + 1) * sizeof(BackupOrigin));
	for (size_t i = 0; i < run->count; i++)
	{
		Backup	   *backup = &run->backups[i];

		CHECK_FOR_INTERRUPTS();
		backup_listing_read(backup->path, backup->tar, &backup->listing);
		read_origin(backup, &run->origins[i]);
		backup->remembered = find_remembered(run, backup->name);
	}
	for (size_t i = 0; i < run->count; i++)
	{
		find_priors(run, i);
		compute_digest(run, &run->backups[i]);
	}
}

/* ---------------------------------------------------------------- *
 *		What to read
 * ---------------------------------------------------------------- */

/* WAL elsewhere is in no listing, and may mend what it was found to lack. */
static bool
is_wanted(const BackupsRun *run, const Backup *backup)
{
	const BackupVerdict *known = backup->remembered;

	return known == NULL || known->gone || is_unverifiable(known) ||
		!known->has_digest || known->digest != backup->digest ||
		known->verified_at <= run->reverify ||
		((run->options.wal != NULL || backup->stored) &&
		 status_is_finding(known->status));
}

static bool
is_unfinished(const BackupsRun *run, const Backup *backup)
{
	TimestampTz changed = time_t_to_timestamptz((pg_time_t) (backup->listing.changed_at / 1000000));

	return !backup->listing.has_manifest &&
		GetCurrentTimestamp() - changed < run->settled_after;
}

/*
 * Is it what was judged, by its listing, or since no file has changed after
 * that?  Then the verdict holds until this call may judge it.
 */
static bool
is_as_judged(const Backup *backup)
{
	const BackupVerdict *known = backup->remembered;

	if (known == NULL || known->gone || is_unverifiable(known))
		return false;
	return (known->has_digest && known->digest == backup->digest) ||
		backup->listing.changed_at <
		known->verified_at + EPOCH_SECONDS * USECS_PER_SEC;
}

/* What was never verified comes first, the newest of it, then the stalest. */
static int
compare_turns(const void *a, const void *b)
{
	const Backup *x = *(const Backup *const *) a;
	const Backup *y = *(const Backup *const *) b;
	TimestampTz x_at = x->remembered == NULL ? 0 : x->remembered->verified_at;
	TimestampTz y_at = y->remembered == NULL ? 0 : y->remembered->verified_at;

	if (x_at != y_at)
		return x_at < y_at ? -1 : 1;
	if (x->listing.written_at != y->listing.written_at)
		return x->listing.written_at > y->listing.written_at ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* ---------------------------------------------------------------- *
 *		One backup
 * ---------------------------------------------------------------- */

/* Where the first finding is. */
typedef struct FirstFinding
{
	BackupSink	sink;
	char	   *path;
} FirstFinding;

static void
note_finding(void *arg, const BackupFinding *finding)
{
	FirstFinding *first = arg;

	if (first->path == NULL && first->sink.findings == 1)
		first->path = accel_text_of_bytes(finding->path);
}

/* Is it not what it was when it was listed, nor are those before it? */
static bool
has_changed(const BackupsRun *run, const Backup *backup)
{
	BackupListing now;

	backup_listing_read(backup->path, backup->tar, &now);
	if (now.digest != backup->listing.digest)
		return true;
	for (int i = 0; i < backup->npriors; i++)
	{
		const Backup *prior = &run->backups[backup->priors[i]];

		backup_listing_read(prior->path, prior->tar, &now);
		if (now.digest != prior->listing.digest)
			return true;
	}
	return false;
}

static void
not_judged(BackupVerdict *verdict, bool unfinished, const char *why)
{
	verdict->status = backup_status_name(BACKUP_NOT_VERIFIABLE);
	verdict->unfinished = unfinished;
	verdict->message = why;
	verdict->findings = 0;
	verdict->has_digest = false;
}

static void
set_verdict(const Backup *backup, const FirstFinding *first,
			const BackupSummary *summary, BackupVerdict *verdict)
{
	BackupStatus status = backup_sink_verdict(&first->sink);
	const char *words = accel_backup_message(summary, &first->sink);

	verdict->findings = first->sink.findings;
	if (first->path != NULL)
		words = psprintf("%s: %s", first->path, words);
	if (backup->lacks_prior)
	{
		words = status != BACKUP_OK ? words :
			"a backup that it is incremental to is not below the directory; by itself it is sound";
		status = status == BACKUP_OK ? BACKUP_UNDECIDED : status;
	}
	verdict->status = backup_status_name(status);
	verdict->message = words == NULL ? NULL : pstrdup(words);
}

/*
 * A manifest lists files as they were before the backup ended, and is written
 * then.  A copy of it may be younger.
 */
static TimestampTz
time_taken(const Backup *backup, const BackupSummary *summary)
{
	const BackupListing *listing = &backup->listing;
	int64		seconds = listing->written_at / 1000000;

	if (listing->has_manifest)
		seconds = listing->manifest_at / 1000000;
	if (summary->newest != 0)
		seconds = Min(seconds, summary->newest);
	return (seconds - EPOCH_SECONDS) * USECS_PER_SEC;
}

static void
set_identity(const BackupsRun *run, const Backup *backup,
			 const BackupSummary *summary, BackupVerdict *verdict)
{
	verdict->has_system = summary->has_system;
	verdict->system = summary->system;
	verdict->label = summary->label[0] == '\0' ? NULL :
		accel_text_of_bytes(summary->label);
	verdict->format = accel_backup_format(summary);
	verdict->start = summary->start;
	verdict->end = summary->end;
	verdict->taken_at = time_taken(backup, summary);
	verdict->files = summary->files;
	verdict->bytes = summary->bytes;
	for (int i = 0; i < backup->npriors; i++)
		verdict->priors = lappend(verdict->priors,
								  unconstify(char *, run->backups[backup->priors[i]].name));
}

static void
begin_verdict(const BackupsRun *run, const Backup *backup,
			  BackupVerdict *verdict)
{
	const BackupOrigin *origin = &run->origins[backup - run->backups];
	const BackupVerdict *known = backup->remembered;

	memset(verdict, 0, sizeof(*verdict));
	verdict->has_system = origin->has_system || (known != NULL && known->has_system);
	if (verdict->has_system)
		verdict->system = origin->has_system ? origin->system : known->system;
	verdict->backup = backup->name;
	verdict->verified_at = GetCurrentTimestamp();
	verdict->manifest = backup->listing.manifest[0] == '\0' ? NULL :
		backup->listing.manifest;
}

/* With those before it, which are read, too. */
static int64
bytes_of(const BackupsRun *run, const Backup *backup)
{
	int64		bytes = (int64) backup->listing.bytes;

	for (int i = 0; i < backup->npriors; i++)
		bytes += (int64) run->backups[backup->priors[i]].listing.bytes;
	return bytes;
}

static void
show_progress(void *arg, int64_t bytes)
{
	progress_bytes(bytes);
}

/* What was not read of the one before is done, too. */
static void
show_backup(BackupsRun *run, const Backup *backup)
{
	int			bytes = pg_mbcliplen(backup->name, (int) strlen(backup->name),
									 PROGRESS_NAME_BYTES - 1);

	memset(run->progress.backup, 0, PROGRESS_NAME_BYTES);
	memcpy(run->progress.backup, backup->name, bytes);
	run->progress.started = run->memory.started;
	run->progress.findings = run->totals.bad;
	progress_backup(&run->progress);
}

static void
read_backup(BackupsRun *run, const Backup *backup, BackupVerdict *verdict)
{
	FirstFinding first = {{note_finding, &first}};
	static const BackupProgress progress = {show_progress, NULL};
	BackupOptions options = run->options;
	BackupSummary summary;
	const char **priors = palloc((backup->npriors + 1) * sizeof(char *));

	for (int i = 0; i < backup->npriors; i++)
		priors[i] = run->backups[backup->priors[i]].path;
	options.root = backup->path;
	options.progress = &progress;
	options.prior = priors;
	options.nprior = backup->npriors;
	accel_backup_run(&options, &first.sink, &summary);
	begin_verdict(run, backup, verdict);
	set_identity(run, backup, &summary, verdict);
	verdict->has_digest = backup->settled;
	verdict->digest = backup->digest;
	set_verdict(backup, &first, &summary, verdict);
	run->totals.read++;
	run->totals.bytes += summary.bytes;
	if (has_changed(run, backup))
		not_judged(verdict, true, "unfinished: its files changed while they were read");
}

static bool
is_gone(const char *path)
{
	struct stat status;

	return lstat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* ---------------------------------------------------------------- *
 *		Memory
 * ---------------------------------------------------------------- */

static void
load(void *arg)
{
	BackupsRun *run = arg;

	run->remembered = backup_record_load(&run->memory.history,
										 run->memory.directory);
}

static void
write_row(void *arg)
{
	BackupsRun *run = arg;

	backup_record_write(&run->memory.history, run->memory.directory,
						run->verdict);
}

static void
write_gone(void *arg)
{
	BackupsRun *run = arg;

	backup_record_gone(&run->memory.history, run->memory.directory, run->gone,
					   GetCurrentTimestamp());
}

static void
prune_rows(void *arg)
{
	BackupsRun *run = arg;

	(void) backup_record_prune(&run->memory.history, memory_limit(&run->memory));
}

static void
record(BackupsRun *run, const BackupVerdict *verdict)
{
	report_verdict(run, verdict);
	run->verdict = verdict;
	memory_record(&run->memory, write_row, run);
}

/* The row stays, with its last verdict. */
static void
forget_gone(BackupsRun *run, const char *name)
{
	run->totals.gone++;
	run->gone = name;
	memory_record(&run->memory, write_gone, run);
}

static bool
is_there(const BackupsRun *run, const char *name)
{
	Backup		wanted;

	wanted.name = name;
	return run->count > 0 &&
		bsearch(&wanted, run->backups, run->count, sizeof(Backup), compare_names) != NULL;
}

/* What was not looked through may still have it. */
static void
forget_all_gone(BackupsRun *run)
{
	ListCell   *cell;

	if (run->incomplete)
		return;
	foreach(cell, run->remembered)
	{
		const BackupVerdict *verdict = lfirst(cell);

		if (!verdict->gone && !is_there(run, verdict->backup))
			forget_gone(run, verdict->backup);
	}
}

/* ---------------------------------------------------------------- *
 *		The run
 * ---------------------------------------------------------------- */

/* What fails with an error is not verifiable, and the next one is read. */
static void
verify_backup(BackupsRun *run, const Backup *backup)
{
	MemoryContext old = MemoryContextSwitchTo(run->backup_context);
	BackupVerdict verdict;

	show_backup(run, backup);
	PG_TRY();
	{
		read_backup(run, backup, &verdict);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(run->backup_context);
		error = procedure_rollback(run->memory.history.caller);
		begin_verdict(run, backup, &verdict);
		not_judged(&verdict, false, error->message);
	}
	PG_END_TRY();
	if (!is_gone(backup->path))
		record(run, &verdict);
	else if (backup->remembered != NULL && !backup->remembered->gone)
		forget_gone(run, backup->name);
	MemoryContextSwitchTo(old);
	MemoryContextReset(run->backup_context);
	run->progress.bytes_done += bytes_of(run, backup);
	procedure_commit();
}

/* What need not be read, or must not be judged yet. */
static void
pass_over(BackupsRun *run, const Backup *backup)
{
	BackupVerdict verdict;

	if (!is_wanted(run, backup) || is_as_judged(backup))
	{
		verdict = *backup->remembered;
		if (status_is_finding(verdict.status))
			report_bad(run, &verdict);
		return;
	}
	begin_verdict(run, backup, &verdict);
	not_judged(&verdict, true, "unfinished: it has no manifest, and was changed a short time ago");
	record(run, &verdict);
}

static bool
is_time_up(const BackupsRun *run)
{
	return run->deadline != 0 && GetCurrentTimestamp() >= run->deadline;
}

/* Returns false if time is up. */
static bool
verify_all(BackupsRun *run)
{
	const Backup **wanted = palloc((run->count + 1) * sizeof(Backup *));
	size_t		count = 0;

	for (size_t i = 0; i < run->count; i++)
	{
		const Backup *backup = &run->backups[i];

		if (is_wanted(run, backup) && !is_unfinished(run, backup))
		{
			wanted[count++] = backup;
			run->progress.bytes_total += bytes_of(run, backup);
		}
		else
			pass_over(run, backup);
	}
	if (count > 1)
		qsort(wanted, count, sizeof(Backup *), compare_turns);
	for (size_t i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i > 0 && is_time_up(run))
			return false;
		verify_backup(run, wanted[i]);
	}
	return true;
}

static void
report_none(BackupsRun *run)
{
	run->totals.unverifiable++;
	ereport(WARNING,
			(errmsg("there is no backup below directory \"%s\"",
					run->memory.directory)));
}

/* Returns false if time is up. */
static bool
verify_backups(void *arg)
{
	BackupsRun *run = arg;
	bool		done;

	(void) memory_recall(&run->memory, load, run);
	MemoryContextSwitchTo(run->memory.context);
	look_at_all(run);
	procedure_commit();
	if (run->count == 0)
		report_none(run);
	forget_all_gone(run);
	done = verify_all(run);
	if (done)
		memory_record(&run->memory, prune_rows, run);
	return done;
}

/* ---------------------------------------------------------------- *
 *		The procedure
 * ---------------------------------------------------------------- */

static char *
directory_argument(FunctionCallInfo fcinfo, int argument)
{
	char		real[PATH_MAX];
	char	   *path;

	if (PG_ARGISNULL(argument))
		return NULL;
	path = file_path_parse(text_to_cstring(PG_GETARG_TEXT_PP(argument)));
	accel_backup_check_directory(path);
	return realpath(path, real) == NULL ? path : pstrdup(real);
}

static void
read_arguments(BackupsRun *run, FunctionCallInfo fcinfo)
{
	int64		max_duration = accel_interval(fcinfo, ARG_MAX_DURATION, "max_duration", 1);
	BackupOptions *options = &run->options;

	accel_check_null(fcinfo, ARG_DIRECTORY, "directory");
	run->settled_after = PG_ARGISNULL(ARG_SETTLED_AFTER) ? SETTLED_AFTER :
		accel_interval(fcinfo, ARG_SETTLED_AFTER, "settled_after", 0);
	run->reverify = PG_ARGISNULL(ARG_REVERIFY_AFTER) ? PG_INT64_MIN :
		run->memory.started - accel_interval(fcinfo, ARG_REVERIFY_AFTER, "reverify_after", 0);
	run->deadline = max_duration == 0 ? 0 : run->memory.started + max_duration;
	run->verbose = accel_boolean(fcinfo, ARG_VERBOSE, false);
	options->check_pages = accel_boolean(fcinfo, ARG_CHECK_PAGES, true);
	accel_backup_cost(options, accel_integer(fcinfo, ARG_WORKERS, 0),
					  accel_integer(fcinfo, ARG_MAX_RATE, 0),
					  accel_boolean(fcinfo, ARG_DIRECT_IO, false));
	run->memory.directory = directory_argument(fcinfo, ARG_DIRECTORY);
	options->wal = directory_argument(fcinfo, ARG_WAL_DIRECTORY);
}

static void
raise_findings(const BackupsRun *run)
{
	if (run->totals.bad > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_plural(INT64_FORMAT " bad backup in directory \"%s\"",
							   INT64_FORMAT " bad backups in directory \"%s\"",
							   run->totals.bad, run->totals.bad,
							   run->memory.directory),
				 errhint("See docs/backups.md.")));
}

/*
 * verify_backups(directory, wal_directory text, check_pages boolean,
 * settled_after, reverify_after, max_duration interval, fail_on_findings,
 * verbose boolean, workers, max_rate integer, direct_io boolean)
 */
SQL_FUNCTION(accel_verify_backups)
{
	bool		raise = accel_boolean(fcinfo, ARG_FAIL_ON_FINDINGS, false);
	MemoryContext caller = CurrentMemoryContext;
	BackupsRun *run;

	procedure_begin(fcinfo, "verify_backups", "backup");
	run = palloc0(sizeof(BackupsRun));
	run->memory.what = "directory";
	run->memory.item = "backup";
	run->memory.kind = HISTORY_LOCK_BACKUPS;
	memory_begin(&run->memory, fcinfo, caller);
	run->backup_context = AllocSetContextCreate(run->memory.context, "backup",
												ALLOCSET_DEFAULT_SIZES);
	read_arguments(run, fcinfo);
	memory_lock(&run->memory, run->memory.directory);
	memory_run(&run->memory, verify_backups, report_end, run);
	progress_end();
	if (raise)
		raise_findings(run);
	SPI_finish();
	PG_RETURN_VOID();
}
