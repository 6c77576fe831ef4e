/*
 * backups.c
 *	  Runs verify_backups(), which verifies the base backups below a directory
 *	  that are new or have changed.
 *
 * All of them are found and listed first, and what to read is decided.  Then
 * each is read, recorded and committed.  So a run that is interrupted goes on
 * where it was, whenever the procedure is called again.
 *
 * One that changes while it is read is not judged, whatever was found: it may
 * be copied, or removed.
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

#include "backup/verdict.h"
#include "func/backup.h"
#include "func/func.h"
#include "page/progress.h"
#include "run/backup_record.h"
#include "run/memory.h"
#include "run/procedure.h"

/* WARNINGs of a run. */
#define LINES_MAX		100

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
	TimestampTz deadline;		/* 0 if none */
	bool		verbose;

	/* what is there */
	BackupPlan	plan;
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
	bool		known = !backup_verdict_unverifiable(verdict);

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
	else if (backup_verdict_unverifiable(verdict) || status_is_finding(verdict->status))
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
					accel_counted((int64) run->plan.count, "backup", "backups"),
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
on_found(void *arg, const char *path, BackupFindKind kind)
{
	BackupsRun *run = arg;

	switch (kind)
	{
		case BACKUP_FIND_PLAIN:
		case BACKUP_FIND_TAR:
		case BACKUP_FIND_STORED:
			backup_plan_add(&run->plan, path, accel_text_of_bytes(path), kind);
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
			run->incomplete = true;
			run->totals.unverifiable++;
			accel_backup_unread(run->memory.directory, path);
			break;
	}
}

static const BackupVerdict *
find_remembered(void *arg, const char *name)
{
	const BackupsRun *run = arg;

	return backup_record_find(run->remembered, name);
}

/* ---------------------------------------------------------------- *
 *		One backup
 * ---------------------------------------------------------------- */

static void
show_progress(void *arg, int64_t bytes)
{
	progress_bytes(bytes);
}

/* What was not read of the one before is done, too. */
static void
show_backup(BackupsRun *run, const PlannedBackup *backup)
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
read_backup(BackupsRun *run, const PlannedBackup *backup,
			BackupVerdict *verdict)
{
	static const BackupProgress progress = {show_progress, NULL};
	BackupOptions options = run->options;
	BackupSummary summary;
	BackupNote	note;

	backup_note_begin(&note, accel_text_of_bytes);
	backup_plan_options(&run->plan, backup, &options);
	options.progress = &progress;
	accel_backup_run(&options, &note.sink, &summary);
	backup_verdict_give(&run->plan, backup, backup_record_now(), &note, &summary,
						verdict);
	run->totals.read++;
	run->totals.bytes += summary.bytes;
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

		if (!verdict->gone && !backup_plan_has(&run->plan, verdict->backup))
			forget_gone(run, verdict->backup);
	}
}

/* ---------------------------------------------------------------- *
 *		The run
 * ---------------------------------------------------------------- */

/* What fails with an error is not verifiable, and the next one is read. */
static void
verify_backup(BackupsRun *run, const PlannedBackup *backup)
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
		backup_verdict_begin(&run->plan, backup, backup_record_now(), &verdict);
		backup_verdict_none(&verdict, error->message);
	}
	PG_END_TRY();
	if (!backup_plan_removed(backup))
		record(run, &verdict);
	else if (backup->remembered != NULL && !backup->remembered->gone)
		forget_gone(run, backup->name);
	MemoryContextSwitchTo(old);
	MemoryContextReset(run->backup_context);
	run->progress.bytes_done += backup_plan_bytes(&run->plan, backup);
	procedure_commit();
}

/* What need not be read, or must not be judged yet. */
static void
pass_over(void *arg, const PlannedBackup *backup)
{
	BackupsRun *run = arg;
	BackupVerdict verdict;

	if (!backup_plan_wants(&run->plan, backup) || backup_plan_as_judged(backup))
	{
		verdict = *backup->remembered;
		if (status_is_finding(verdict.status))
			report_bad(run, &verdict);
		return;
	}
	backup_verdict_begin(&run->plan, backup, backup_record_now(), &verdict);
	backup_verdict_unfinished(&verdict);
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
	const PlannedBackup **turns = palloc((run->plan.count + 1) * sizeof(*turns));
	size_t		count = backup_plan_turns(&run->plan, turns, pass_over, run,
										  backup_record_now());

	for (size_t i = 0; i < count; i++)
		run->progress.bytes_total += backup_plan_bytes(&run->plan, turns[i]);
	for (size_t i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i > 0 && is_time_up(run))
			return false;
		verify_backup(run, turns[i]);
	}
	return true;
}

/* Returns false if time is up. */
static bool
verify_backups(void *arg)
{
	BackupsRun *run = arg;
	bool		done;

	(void) memory_recall(&run->memory, load, run);
	MemoryContextSwitchTo(run->memory.context);
	backup_find(run->plan.directory, on_found, run);
	backup_plan_look(&run->plan, find_remembered, run);
	procedure_commit();
	if (run->plan.count == 0)
	{
		run->totals.unverifiable++;
		accel_backup_none(run->memory.directory);
	}
	forget_all_gone(run);
	done = verify_all(run);
	if (done)
		memory_record(&run->memory, prune_rows, run);
	return done;
}

/* ---------------------------------------------------------------- *
 *		The procedure
 * ---------------------------------------------------------------- */

static void
read_arguments(BackupsRun *run, FunctionCallInfo fcinfo)
{
	int64		max_duration = accel_interval(fcinfo, ARG_MAX_DURATION, "max_duration", 1);
	BackupOptions *options = &run->options;
	BackupPlan *plan = &run->plan;

	accel_check_null(fcinfo, ARG_DIRECTORY, "directory");
	plan->settled_after = PG_ARGISNULL(ARG_SETTLED_AFTER) ? BACKUP_SETTLED_AFTER :
		accel_interval(fcinfo, ARG_SETTLED_AFTER, "settled_after", 0);
	plan->reverify = PG_ARGISNULL(ARG_REVERIFY_AFTER) ? PG_INT64_MIN :
		backup_record_now() - accel_interval(fcinfo, ARG_REVERIFY_AFTER, "reverify_after", 0);
	run->deadline = max_duration == 0 ? 0 : run->memory.started + max_duration;
	run->verbose = accel_boolean(fcinfo, ARG_VERBOSE, false);
	options->check_pages = accel_boolean(fcinfo, ARG_CHECK_PAGES, true);
	accel_backup_cost(options, accel_integer(fcinfo, ARG_WORKERS, 0),
					  accel_integer(fcinfo, ARG_MAX_RATE, 0),
					  accel_boolean(fcinfo, ARG_DIRECT_IO, false));
	run->memory.directory = accel_backup_directory(fcinfo, ARG_DIRECTORY);
	options->wal = accel_backup_directory(fcinfo, ARG_WAL_DIRECTORY);
	plan->directory = run->memory.directory;
	plan->wal = options->wal;
	plan->check_pages = options->check_pages;
	plan->system = GetSystemIdentifier();
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
