/*
 * backups.c
 *	  The command that verifies all base backups below a directory.
 *
 * Its rows are those of verify_backups() in verify_backup_verdicts.  With a
 * state each verdict is remembered as soon as it is given, and what is unchanged
 * is not read.  So a run that ends early goes on in the next one.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "backup/verdict.h"
#include "backup/window.h"
#include "host/print.h"
#include "page/status.h"
#include "program/backup.h"
#include "program/backups.h"
#include "program/backups_state.h"
#include "program/output.h"

typedef struct BackupsRun
{
	const Options *options;
	Output		output;
	BackupOptions read;			/* how each is */
	BackupPlan	plan;
	BackupsState state;			/* without a file, if none was given */
	bool		incomplete;		/* a folder could not be looked through */
} BackupsRun;

/* ---- rows ---- */

static void
json_time(Json *json, const char *name, bool known, int64_t at)
{
	time_t		seconds = (time_t) (at / 1000000);
	struct tm	parts;
	char		whole[32] = "";
	char		stamp[64];

	known = known && gmtime_r(&seconds, &parts) != NULL &&
		strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &parts) != 0;
	snprintf(stamp, sizeof(stamp), "%s.%06dZ", whole, (int) (at % 1000000));
	json_text(json, name, known, stamp);
}

/* The columns of verify_backup_verdicts, in their order, of one directory. */
static void
print_columns(Json *json, const void *of)
{
	const BackupVerdict *verdict = of;

	json_text(json, "backup", true, verdict->backup);
	json_number(json, "system_identifier", verdict->has_system, verdict->system);
	json_text(json, "label", verdict->label != NULL, verdict->label);
	json_text(json, "format", verdict->format != NULL, verdict->format);
	json_lsn(json, "start_lsn", verdict->start != 0, verdict->start);
	json_lsn(json, "end_lsn", verdict->end != 0, verdict->end);
	json_time(json, "taken_at", verdict->taken_at != 0, verdict->taken_at);
	json_time(json, "verified_at", true, verdict->verified_at);
	json_text(json, "status", true, verdict->status);
	json_bool(json, "is_finding", status_is_finding(verdict->status));
	json_bool(json, "unfinished", verdict->unfinished);
	json_number(json, "findings", true, (uint64_t) verdict->findings);
	json_number(json, "files", true, (uint64_t) verdict->files);
	json_number(json, "read_bytes", true, (uint64_t) verdict->bytes);
	json_texts(json, "prior_backups", verdict->priors, verdict->npriors);
	json_text(json, "message", verdict->message != NULL, verdict->message);
	json_text(json, "manifest_checksum", verdict->manifest != NULL, verdict->manifest);
	json_bool(json, "gone", verdict->gone);
}

/* One that is gone keeps its last verdict, which counts no more. */
static void
emit(BackupsRun *run, const BackupVerdict *verdict)
{
	bool		counts = !verdict->gone;
	char	   *words = host_print("%s%s%s", verdict->gone ? "gone" : "",
								   verdict->gone && verdict->message != NULL ? "; it was: " : "",
								   verdict->message == NULL ? "" : verdict->message);
	OutputRow	row = {counts && status_is_finding(verdict->status),
		counts && backup_verdict_unverifiable(verdict), verdict->status, words,
	print_columns, verdict, verdict->gone};

	output_other(&run->output, verdict->backup, &row);
	host_free(words);
}

static void
save(BackupsRun *run)
{
	if (run->options->state != NULL && !backups_state_write(&run->state))
		run->output.failed = true;
}

/* ---- what is there ---- */

static void
report_link(const BackupsRun *run, const char *path)
{
	char	   *link = host_print("%s/%s", run->plan.directory, path);
	char	   *real = realpath(link, NULL);
	size_t		len = strlen(run->plan.directory);

	if (real != NULL && (strncmp(real, run->plan.directory, len) != 0 ||
						 (real[len] != '/' && real[len] != '\0' && len > 1)))
		program_warn("symbolic link \"%s\" is not followed: it leads out of \"%s\"",
					 path, run->plan.directory);
	free(real);
	host_free(link);
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
			backup_plan_add(&run->plan, path, host_print("%s", path), kind);
			break;
		case BACKUP_FIND_SERVER:
			if (!run->options->quiet)
				program_warn("data directory \"%s\" is no backup: it has a postmaster.pid, so a server works in it", path);
			break;
		case BACKUP_FIND_LINK:
			if (!run->options->quiet)
				report_link(run, path);
			break;
		case BACKUP_FIND_FAILED:
			run->incomplete = true;
			run->output.unverified++;
			program_warn("could not look for backups in \"%s\": %s", path, strerror(errno));
			break;
	}
}

static const BackupVerdict *
find_remembered(void *arg, const char *name)
{
	const BackupsRun *run = arg;

	return backups_state_find(&run->state, name);
}

/* What was not looked through may still have it. */
static void
forget_all_gone(BackupsRun *run)
{
	for (size_t i = 0; i < run->state.count && !run->incomplete; i++)
	{
		BackupVerdict *verdict = run->state.verdicts[i];

		if (backup_plan_has(&run->plan, verdict->backup))
			continue;
		verdict->gone = true;
		emit(run, verdict);
	}
}

/* ---- one backup ---- */

static char *
text_of(const char *bytes)
{
	return host_print("%s", bytes);
}

static void
read_backup(BackupsRun *run, const PlannedBackup *backup,
			BackupVerdict *verdict)
{
	BackupOptions options = run->read;
	BackupSummary summary;
	BackupProgress progress;
	BackupNote	note;
	const char *refused;

	backup_note_begin(&note, text_of);
	backup_plan_options(&run->plan, backup, &options);
	backup_progress_begin(&progress, &run->output);
	options.progress = &progress;
	if (backup_run(&options, &note.sink, &summary, &refused) != BACKUP_RUN_OK)
	{
		backup_verdict_begin(&run->plan, backup, program_time(CLOCK_REALTIME), verdict);
		backup_verdict_none(verdict, host_print("could not open directory \"%s\": %s",
												refused, strerror(errno)));
		return;
	}
	backup_progress_end(&run->output);
	backup_verdict_give(&run->plan, backup, program_time(CLOCK_REALTIME), &note, &summary, verdict);
	run->output.read++;
	run->output.bytes += (uint64_t) summary.bytes;
}

static void
verify_backup(BackupsRun *run, const PlannedBackup *backup,
			  BackupVerdict *verdict)
{
	BackupVerdict *known = backups_state_find(&run->state, backup->name);
	bool		removed;

	read_backup(run, backup, verdict);
	removed = backup_plan_removed(backup);
	if (removed && known != NULL)
		*verdict = *known;
	verdict->gone = removed;
}

/* What need not be read, or must not be judged yet. */
static void
pass_over(void *arg, const PlannedBackup *backup)
{
	BackupsRun *run = arg;
	BackupVerdict verdict;

	if (!backup_plan_wants(&run->plan, backup) || backup_plan_as_judged(backup))
	{
		emit(run, backup->remembered);
		return;
	}
	backup_verdict_begin(&run->plan, backup, program_time(CLOCK_REALTIME), &verdict);
	backup_verdict_unfinished(&verdict);
	emit(run, &verdict);
	backups_state_remember(&run->state, &verdict);
}

/* ---- recovery windows ---- */

static void
print_window(Json *json, const void *of)
{
	const BackupWindow *window = of;
	bool		known = window->to != 0;

	json_text(json, "backup", true, window->verdict->backup);
	json_text(json, "status", true, known ? "recoverable" : "not_recoverable");
	json_bool(json, "is_finding", window->cut);
	json_lsn(json, "from_lsn", known, window->from);
	json_lsn(json, "to_lsn", known, window->to);
	json_number(json, "timeline_id", known, window->to_timeline);
	json_text(json, "message", window->message[0] != '\0', window->message);
}

/* What is wrong with a backup itself is in its verdict. */
static void
emit_window(BackupsRun *run, const BackupWindow *window)
{
	bool		known = window->to != 0;
	bool		sound = !status_is_finding(window->verdict->status) &&
		!backup_verdict_unverifiable(window->verdict);
	char	   *range = !known ? NULL :
		host_print("from %X/%X up to %X/%X, timeline %u", WAL_LSN_ARGS(window->from),
				   WAL_LSN_ARGS(window->to), window->to_timeline);
	char	   *words = host_print("%s%s%s", known ? range : "",
								   known && window->message[0] != '\0' ? "; " : "",
								   window->message);
	OutputRow	row = {window->cut, sound && !known && !window->cut,
		known ? "recoverable" : "not_recoverable", words,
	print_window, window, true};

	output_other(&run->output, window->verdict->backup, &row);
}

/* Each backup has a verdict by now. */
static const BackupVerdict *
find_verdict(void *arg, const PlannedBackup *backup)
{
	return find_remembered(arg, backup->name);
}

static void
show_windows(BackupsRun *run)
{
	BackupWindow *windows = backup_windows_find(&run->plan, &run->read,
												find_verdict, run);

	for (size_t i = 0; i < run->plan.count; i++)
		if (!windows[i].verdict->gone)
			emit_window(run, &windows[i]);
}

/* ---- the command ---- */

static void
verify_all(BackupsRun *run)
{
	const PlannedBackup **turns;
	size_t		count;

	backup_find(run->plan.directory, on_found, run);
	backup_plan_look(&run->plan, find_remembered, run);
	run->output.files = run->plan.count;
	if (run->plan.count == 0)
	{
		program_warn("there is no backup below directory \"%s\"", run->plan.directory);
		run->output.unverified++;
	}
	forget_all_gone(run);
	turns = host_alloc((run->plan.count + 1) * sizeof(*turns));
	count = backup_plan_turns(&run->plan, turns, pass_over, run, program_time(CLOCK_REALTIME));
	save(run);
	for (size_t i = 0; i < count; i++)
	{
		BackupVerdict verdict;
		uint64_t	mark = program_mark();

		snprintf(run->output.stage, sizeof(run->output.stage),
				 "backup %zu/%zu: ", i + 1, count);
		verify_backup(run, turns[i], &verdict);
		emit(run, &verdict);
		backups_state_remember(&run->state, &verdict);
		program_release(mark);
		save(run);
	}
}

static char *
resolve(const char *path)
{
	char	   *real;

	if (backup_run_look(path) == BACKUP_RUN_NONE)
		program_fail("\"%s\" is not a directory", path);
	real = realpath(path, NULL);
	if (real == NULL)
		program_fail("could not open directory \"%s\": %s", path, strerror(errno));
	return real;
}

int
backups_command(const Options *options)
{
	BackupsRun *run = host_alloc(sizeof(BackupsRun));

	memset(run, 0, sizeof(*run));
	run->options = options;
	output_begin(&run->output, options, options->operands[0]);
	run->read = backup_options(options);
	run->read.include_healed = false;
	if (run->read.wal != NULL)
		run->read.wal = resolve(run->read.wal);
	run->plan.directory = resolve(options->operands[0]);
	run->plan.wal = run->read.wal;
	run->plan.check_pages = run->read.check_pages;
	run->plan.system = options->system;
	run->plan.settled_after = options->settled_after < 0 ?
		BACKUP_SETTLED_AFTER : options->settled_after;
	run->plan.reverify = options->reverify_after < 0 ? INT64_MIN :
		program_time(CLOCK_REALTIME) - options->reverify_after;
	if (options->state != NULL)
		backups_state_open(&run->state, options->state, run->plan.directory);
	verify_all(run);
	if (options->windows)
		show_windows(run);
	return output_end(&run->output);
}
