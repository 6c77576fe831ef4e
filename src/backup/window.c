/*
 * window.c
 *	  To which moments an archive of WAL lets recovery from backups go.
 *
 * An archive is judged along the path to its newest timeline, from the oldest
 * backup on that path.  A backup on no such path is judged along its own
 * timeline.  The archive must have all WAL since a backup began.
 *
 * A damaged segment counts for nothing, though recovery may read some records
 * of it.  So a window may be shorter than what recovery reaches, never longer.
 */
#include <stdio.h>
#include <string.h>

#include "backup/window.h"
#include "host/host.h"
#include "manifest/barman.h"
#include "manifest/pgbackrest.h"
#include "page/status.h"

typedef struct Judging
{
	const BackupWal *wal;
	WalPath		path;
	BackupWindow **members;		/* those that are on the path */
	size_t		count;
	WalLsn		reached;		/* after the last whole record so far */
	WalLsn		next;			/* where the next segment begins */
	bool		ended;			/* in the last segment, as a pg_wal does */
} Judging;

static void
decide(BackupWindow *window, const char *why)
{
	window->decided = true;
	snprintf(window->message, sizeof(window->message), "%s", why);
}

/* ---- what a backup needs ---- */

/* The label of pgBackRest's may be in a bundle, but its manifest knows it all. */
static void
read_pgbackrest(const PlannedBackup *backup, BackupWindow *window)
{
	BackupManifest *manifest = host_alloc(sizeof(BackupManifest));
	PgBackRest	stored;

	memset(manifest, 0, sizeof(*manifest));
	memset(&stored, 0, sizeof(stored));
	pgbackrest_read(backup->path, false, manifest, &stored);
	if (manifest->status == BACKUP_OK && manifest->nranges > 0)
		window->timeline = manifest->ranges[manifest->nranges - 1].timeline;
	if (manifest->status == BACKUP_OK && window->archive == NULL)
		window->archive = pgbackrest_archive(backup->path, &stored);
}

static void
read_needs(const BackupPlan *plan, size_t n, BackupWindow *window)
{
	const PlannedBackup *backup = &plan->backups[n];

	window->archive = plan->wal;
	window->timeline = plan->origins[n].timeline;
	if (pgbackrest_is(backup->path))
		read_pgbackrest(backup, window);
	else if (backup->stored && window->archive == NULL)
		window->archive = barman_archive(backup->path);
}

static void
begin_window(const BackupPlan *plan, size_t n, const BackupVerdict *verdict,
			 BackupWindow *window)
{
	window->verdict = verdict;
	if (verdict == NULL)
	{
		decide(window, "it has not been verified as it is now");
		return;
	}
	if (strcmp(verdict->status, backup_status_name(BACKUP_OK)) != 0)
	{
		decide(window, "the backup is not sound");
		return;
	}
	read_needs(plan, n, window);
	if (window->archive == NULL)
		decide(window, "no archive of its WAL is known");
	else if (window->timeline == 0 || verdict->start == 0 || verdict->end == 0)
		decide(window, "the backup does not say where it begins and ends");
}

/* ---- which are judged together ---- */

/* Was all of the backup taken on this path? */
static bool
is_on_path(const WalPath *path, const BackupWindow *window)
{
	const BackupVerdict *verdict = window->verdict;

	if (!path->known)
		return path->timeline == window->timeline;
	return wal_path_at(path, verdict->start) == window->timeline &&
		wal_path_at(path, verdict->end - 1) == window->timeline;
}

/*
 * Chooses the path, and those of the windows that are on it and are not decided
 * yet.  The first is one of them.
 */
static void
choose_members(Judging *judging, BackupWindow *windows, size_t count,
			   BackupWindow *first)
{
	const WalDirectory *dir = &judging->wal->dir;

	judging->path = wal_list_path(dir, 0);
	if (!is_on_path(&judging->path, first))
		judging->path = wal_list_path(dir, first->timeline);
	if (!is_on_path(&judging->path, first))
		decide(first, "the archive's history files have another timeline there");
	for (BackupWindow *window = first; window < windows + count; window++)
		if (!window->decided && strcmp(window->archive, first->archive) == 0 &&
			window->verdict->system == first->verdict->system &&
			is_on_path(&judging->path, window))
			judging->members[judging->count++] = window;
}

/* ---- what ends them ---- */

static void
close_window(const Judging *judging, BackupWindow *window, const char *why)
{
	const WalPath *path = &judging->path;
	bool		ends = judging->reached < window->verdict->end;

	decide(window, why[0] == '\0' && ends ?
		   "the archive ends before the backup does" : why);
	window->cut = window->message[0] != '\0';
	if (ends)
		return;
	window->from = window->verdict->end;
	window->to = judging->reached;
	window->to_timeline = path->known ? wal_path_at(path, window->to - 1) :
		path->timeline;
}

/* Closes the windows of all backups that began before an LSN. */
static void
close_before(Judging *judging, WalLsn lsn, const char *why)
{
	for (size_t i = 0; i < judging->count; i++)
		if (!judging->members[i]->decided &&
			judging->members[i]->verdict->start < lsn)
			close_window(judging, judging->members[i], why);
}

/* A server takes no .partial file of an archive. */
static bool
is_whole(const WalSegmentResult *result)
{
	return result->name.kind == WAL_KIND_SEGMENT &&
		(result->status == WAL_OK || result->status == WAL_OK_SWITCHED ||
		 result->status == WAL_OK_END_OF_WAL);
}

/* What a timeline wrote after the path has left it is not on the path. */
static WalLsn
end_on_path(const WalPath *path, const WalSegmentResult *result)
{
	WalLsn		end = result->end_lsn;

	for (int i = 0; i < path->nancestors; i++)
		if (path->ancestors[i].timeline == result->name.timeline &&
			path->ancestors[i].end < end)
			end = path->ancestors[i].end;
	return end;
}

static void
print_end(const WalSegmentResult *result, char *why, size_t size)
{
	char		name[WAL_NAME_SIZE];
	char		words[WAL_RESULT_WORDS];

	wal_name_print(&result->name, name);
	wal_segment_words(result, words);
	snprintf(why, size, "%s: %s%s%s", name, wal_status_name(result->status),
			 words[0] == '\0' ? "" : ": ", words);
}

static void
on_result(void *arg, const WalSegmentResult *result)
{
	Judging    *judging = arg;
	uint32_t	size = judging->wal->dir.limits.segment_size;
	WalLsn		start = wal_name_start(&result->name, size);
	char		why[sizeof(((BackupWindow *) 0)->message)];
	WalLsn		end;

	/* of a long gap, not all is listed */
	if (judging->ended || start > judging->next)
		close_before(judging, start, "WAL is missing");
	judging->next = start + size;
	judging->ended = result->status == WAL_OK_END_OF_WAL;
	if (!is_whole(result))
	{
		print_end(result, why, sizeof(why));
		close_before(judging, start + size, why);
		return;
	}
	end = end_on_path(&judging->path, result);
	if (end > judging->reached)
		judging->reached = end;
}

/* ---- all of them ---- */

static void
drop_finding(void *arg, const BackupFinding *finding)
{
	(void) arg;
	(void) finding;
}

static void
judge_members(Judging *judging)
{
	const BackupWal *wal = judging->wal;
	WalRange	range = {WAL_LSN_MAX, WAL_LSN_MAX};
	WalNames	list;

	for (size_t i = 0; i < judging->count; i++)
		if (judging->members[i]->verdict->start < range.begin)
			range.begin = judging->members[i]->verdict->start;
	judging->next = range.begin;
	wal_list_range(&wal->dir, range, judging->path.timeline, false, &list);
	wal->judge(&wal->dir, range, &list, wal->workers, wal->throttle,
			   on_result, judging);
	close_before(judging, WAL_LSN_MAX, "");
	host_free(list.names);
}

/* Decides the first one, and all others on its path. */
static void
judge_path(const BackupOptions *options, BackupWindow *windows, size_t count,
		   BackupWindow *first)
{
	BackupSink	unseen = {drop_finding};
	BackupWal	wal = {first->archive, first->archive};
	Judging		judging = {&wal};

	wal.system = first->verdict->system;
	wal.identify = options->identify_wal;
	wal.arg = options->arg;
	wal.magic = options->magic;
	wal.judge = options->judge_wal;
	wal.workers = options->workers;
	wal.throttle = options->throttle;
	wal.direct = options->direct;
	backup_wal_open(&wal, &unseen);
	if (!wal.opened)
	{
		decide(first, "its archive could not be opened");
		return;
	}
	judging.members = host_alloc(count * sizeof(BackupWindow *));
	choose_members(&judging, windows, count, first);
	if (judging.count > 0)
		judge_members(&judging);
	host_free(judging.members);
}

BackupWindow *
backup_windows_find(const BackupPlan *plan, const BackupOptions *options,
					const BackupVerdict *(*find) (void *arg, const PlannedBackup *backup),
					void *arg)
{
	BackupWindow *windows = host_alloc((plan->count + 1) * sizeof(BackupWindow));

	memset(windows, 0, (plan->count + 1) * sizeof(BackupWindow));
	for (size_t i = 0; i < plan->count; i++)
		begin_window(plan, i, find(arg, &plan->backups[i]), &windows[i]);
	for (size_t i = 0; i < plan->count; i++)
		if (!windows[i].decided)
			judge_path(options, windows, plan->count, &windows[i]);
	return windows;
}
