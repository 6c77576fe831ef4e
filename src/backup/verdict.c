/*
 * verdict.c
 *	  The verdict on one backup of many.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backup/verdict.h"
#include "host/host.h"
#include "host/print.h"

/* for who removes a backup to go on */
#define PAUSES				3
#define PAUSE_MICROSECONDS	100000

const char *
backup_format(const BackupSummary *summary)
{
	return summary->stored ? "pgbackrest" : summary->tar ? "tar" :
		summary->incremental ? "incremental" : "plain";
}

const char *
backup_message(const BackupSummary *summary, const BackupSink *sink)
{
	if (sink->findings > 0)
		return sink->first;
	if (summary->checksums_off && summary->pages > 0)
		return "data checksums are disabled: of pages, only headers were verified";
	return summary->no_manifest ?
		"there is no manifest: files were compared with nothing" : NULL;
}

/* ---- what was found ---- */

/* What is allocated while a file is read does not last. */
static void
note_finding(void *arg, const BackupFinding *finding)
{
	BackupNote *note = arg;

	if (note->path[0] == '\0' && note->sink.findings == 1)
		snprintf(note->path, sizeof(note->path), "%s", finding->path);
}

void
backup_note_begin(BackupNote *note, char *(*text) (const char *bytes))
{
	memset(note, 0, sizeof(*note));
	note->sink.finding = note_finding;
	note->sink.arg = note;
	note->text = text;
}

void
backup_verdict_begin(const BackupPlan *plan, const PlannedBackup *backup,
					 int64_t now, BackupVerdict *verdict)
{
	const BackupOrigin *origin = &plan->origins[backup - plan->backups];
	const BackupVerdict *known = backup->remembered;

	memset(verdict, 0, sizeof(*verdict));
	verdict->has_system = origin->has_system || (known != NULL && known->has_system);
	if (verdict->has_system)
		verdict->system = origin->has_system ? origin->system : known->system;
	verdict->backup = backup->name;
	verdict->verified_at = now;
	verdict->manifest = backup->listing.manifest[0] == '\0' ? NULL :
		backup->listing.manifest;
}

static void
set_words(const PlannedBackup *backup, const BackupNote *note,
		  const BackupSummary *summary, BackupVerdict *verdict)
{
	BackupStatus status = backup_sink_verdict(&note->sink);
	const char *words = backup_message(summary, &note->sink);

	verdict->findings = note->sink.findings;
	if (backup->lacks_prior && status == BACKUP_OK)
	{
		words = "a backup that it is incremental to is not below the directory; by itself it is sound";
		status = BACKUP_UNDECIDED;
	}
	verdict->status = backup_status_name(status);
	verdict->message = words == NULL ? NULL : note->path[0] == '\0' ?
		host_print("%s", words) : host_print("%s: %s", note->text(note->path), words);
}

/*
 * A manifest lists files as they were before the backup ended, and is written
 * then.  A copy of it may be younger.
 */
static int64_t
time_taken(const BackupListing *listing, const BackupSummary *summary)
{
	int64_t		seconds = listing->written_at / 1000000;

	if (listing->has_manifest)
		seconds = listing->manifest_at / 1000000;
	if (summary->newest != 0 && summary->newest < seconds)
		seconds = summary->newest;
	return seconds * 1000000;
}

/* ---- no verdict ---- */

void
backup_verdict_none(BackupVerdict *verdict, const char *why)
{
	verdict->status = backup_status_name(BACKUP_NOT_VERIFIABLE);
	verdict->message = why;
	verdict->findings = 0;
	verdict->has_digest = false;
}

static void
set_unfinished(BackupVerdict *verdict, const char *why)
{
	backup_verdict_none(verdict, why);
	verdict->unfinished = true;
}

void
backup_verdict_unfinished(BackupVerdict *verdict)
{
	set_unfinished(verdict, "unfinished: it has no manifest, and was changed a short time ago");
}

/* ---- the verdict ---- */

/*
 * Was it changed while it was read?  What lacks files may be about to be
 * removed, by a process that has to wait for a while.
 */
static bool
has_changed(const BackupPlan *plan, const PlannedBackup *backup, bool is_bad)
{
	bool		changed = backup_plan_changed(plan, backup);

	for (int i = 0; i < PAUSES && is_bad && !changed; i++)
	{
		host_interrupts();
		usleep(PAUSE_MICROSECONDS);
		changed = backup_plan_changed(plan, backup);
	}
	return changed;
}

void
backup_verdict_give(const BackupPlan *plan, const PlannedBackup *backup,
					int64_t now, const BackupNote *note,
					const BackupSummary *summary, BackupVerdict *verdict)
{
	backup_verdict_begin(plan, backup, now, verdict);
	verdict->has_system = summary->has_system;
	verdict->system = summary->system;
	verdict->label = summary->label[0] == '\0' ? NULL : note->text(summary->label);
	verdict->format = backup_format(summary);
	verdict->start = summary->start;
	verdict->end = summary->end;
	verdict->taken_at = time_taken(&backup->listing, summary);
	verdict->files = summary->files;
	verdict->bytes = summary->bytes;
	verdict->priors = host_alloc(((size_t) backup->npriors + 1) * sizeof(char *));
	verdict->npriors = backup->npriors;
	for (int i = 0; i < backup->npriors; i++)
		verdict->priors[i] = plan->backups[backup->priors[i]].name;
	verdict->has_digest = backup->settled;
	verdict->digest = backup->digest;
	set_words(backup, note, summary, verdict);
	if (has_changed(plan, backup, note->sink.findings > 0))
		set_unfinished(verdict, "unfinished: its files changed while they were read");
}
