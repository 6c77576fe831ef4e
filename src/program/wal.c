/*
 * wal.c
 *	  The command that verifies a WAL archive.
 *
 * Without a state it gives the rows of verify_wal(), with one the verdicts of
 * verify_wal_archive().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "program/jobs.h"
#include "program/output.h"
#include "program/owner.h"
#include "program/state.h"
#include "program/wal.h"
#include "wal/beside.h"

/* between two times that the state is written, in microseconds */
#define SAVE_AFTER	INT64_C(60000000)

typedef struct WalRun
{
	const Options *options;
	Output		output;
	WalDirectory dir;
	struct Throttle *throttle;

	/* with a state */
	State		state;
	WalArchive	archive;
	WalArchiveFile **wanted;	/* those to read */
	WalNames	names;			/* of them */
	int64_t		saved;			/* when the state was written */
} WalRun;

static void
on_beside(void *arg, const WalSegmentResult *result)
{
	WalRun	   *run = arg;

	run->output.read += result->status == WAL_MISSING ? 0 : 1;
	output_row(&run->output, NULL, result, NULL);
}

static void
on_none(WalRun *run)
{
	WalSegmentResult none;

	wal_segment_none(&run->dir, &none);
	output_row(&run->output, NULL, &none, NULL);
}

/* ---- without a state ---- */

/* The lowest segment of a timeline or its ancestors, if one is there. */
static WalLsn
begin_of_path(const WalDirectory *dir, const WalPath *path)
{
	const WalNames *files = &wal_directory_listing(dir)->files;
	uint64_t	lowest = UINT64_MAX;

	for (size_t i = 0; i < files->count; i++)
	{
		const WalName *name = &files->names[i];
		uint64_t	segno = wal_name_segno(name, dir->limits.segment_size);
		bool		on_path = name->timeline == path->timeline;

		for (int n = 0; n < path->nancestors; n++)
			on_path = on_path || name->timeline == path->ancestors[n].timeline;
		if (on_path && segno < lowest)
			lowest = segno;
	}
	return lowest == UINT64_MAX ? 0 : lowest * dir->limits.segment_size;
}

/* Lists what to judge.  Returns within which LSNs. */
static WalRange
list_segments(const WalRun *run, WalNames *list)
{
	const Options *options = run->options;
	const WalDirectory *dir = &run->dir;
	WalRange	range = WAL_RANGE_ALL;

	if (options->timeline == 0)
		wal_list_names(dir, options->since.timeline == 0 ? NULL : &options->since,
					   options->until.timeline == 0 ? NULL : &options->until, list);
	else
	{
		WalPath		path = wal_list_path(dir, options->timeline);

		range.begin = options->since.timeline == 0 ? begin_of_path(dir, &path) :
			wal_name_start(&options->since, dir->limits.segment_size);
		wal_list_range(dir, range, options->timeline, false, list);
	}
	return range;
}

static void
on_result(void *arg, size_t i, const WalSegmentResult *result)
{
	WalRun	   *run = arg;

	run->output.read += result->status == WAL_MISSING ? 0 : 1;
	output_row(&run->output, NULL, result, NULL);
	output_progress(&run->output, "segments", i + 1, run->names.count);
}

static void
verify_directory(WalRun *run)
{
	const Options *options = run->options;
	bool		all = options->since.timeline == 0 &&
		options->until.timeline == 0 && options->timeline == 0;
	WalRange	range = list_segments(run, &run->names);

	if (run->names.count == 0)
		on_none(run);
	jobs_judge(&run->dir, range, &run->names, options->jobs, run->throttle,
			   on_result, run);
	if (all)
		wal_beside_judge(&run->dir, run->throttle, on_beside, run);
}

/* ---- with a state ---- */

static const char *
print_time(int64_t time, char words[32])
{
	time_t		seconds = (time_t) (time / 1000000);
	struct tm	parts;

	if (gmtime_r(&seconds, &parts) == NULL ||
		strftime(words, 32, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
		strcpy(words, "an unknown time");
	return words;
}

static void
save(WalRun *run, bool complete)
{
	if (!state_write(&run->state, &run->archive, complete))
		run->output.failed = true;
	run->saved = program_time(CLOCK_REALTIME);
}

/* What is known is kept, whatever ends the run. */
static void
save_at_end(void *arg)
{
	save(arg, false);
}

static void
on_file(void *arg, size_t i, const WalSegmentResult *result)
{
	WalRun	   *run = arg;
	WalArchiveFile *file = run->wanted[i];
	WalArchiveVerdict verdict;
	WalSegmentResult row = *result;
	char		words[WAL_ARCHIVE_WORDS];
	char		when[32];

	run->output.read++;
	if (result->status == WAL_OK_REMOVED)	/* is for the next run */
		output_row(&run->output, NULL, result, NULL);
	else
	{
		verdict = wal_archive_judge(&run->archive, file, result, program_time(CLOCK_REALTIME));
		wal_archive_words(file, result, &verdict,
						  print_time(file->memory.sound_at, when), words);
		row.status = verdict.memory.status;
		output_row(&run->output, NULL, &row, words);
		file->memory = verdict.memory;
		file->remembered = true;
	}
	output_progress(&run->output, "segments", i + 1, run->names.count);
	if (program_time(CLOCK_REALTIME) - run->saved > SAVE_AFTER)
		save(run, false);
}

/* What is not read has the verdict that is remembered. */
static void
emit_unread(WalRun *run, const WalArchiveFile *file, WalStatus status,
			const char *words)
{
	uint32_t	size = run->dir.limits.segment_size;
	WalSegmentResult row;

	memset(&row, 0, sizeof(row));
	row.name = file->name;
	row.status = status;
	row.has_position = wal_name_possible(&file->name, size);
	row.start_lsn = wal_name_start(&file->name, size);
	row.has_crc = file->memory.has_crc;
	row.crc = file->memory.crc;
	output_row(&run->output, NULL, &row, words);
}

/* A file that is gone keeps what was known of it. */
static void
judge_missing(WalRun *run, WalArchiveFile *file)
{
	char		words[WAL_ARCHIVE_WORDS] = "the segment is not there";
	char		when[32];

	if (file->memory.sound_at != 0)
		snprintf(words, sizeof(words), "the file is gone; it was sound at %s",
				 print_time(file->memory.sound_at, when));
	emit_unread(run, file, WAL_MISSING, words);
	if (!file->remembered)
		file->memory.stat.mtime = WAL_MTIME_UNKNOWN;
	if (!file->remembered || file->memory.status != WAL_MISSING)
		file->memory.verified_at = program_time(CLOCK_REALTIME);
	file->memory.status = WAL_MISSING;
	file->remembered = true;
}

static void
judge_unread(WalRun *run, WalArchiveFile *file)
{
	WalStatus	status = file->memory.status;

	switch (file->state)
	{
		case WAL_ARCHIVE_THERE:
			emit_unread(run, file, status, output_is_reported(status) ?
						"it was so when it was read, and was not written since" : "");
			break;
		case WAL_ARCHIVE_GAP:
		case WAL_ARCHIVE_MISSING:
			judge_missing(run, file);
			break;
		case WAL_ARCHIVE_EXPIRED:
		case WAL_ARCHIVE_REPLACED:
			break;
	}
}

static void
verify_files(WalRun *run)
{
	WalArchive *archive = &run->archive;

	run->wanted = host_alloc((archive->count + 1) * sizeof(*run->wanted));
	for (size_t i = 0; i < archive->count; i++)
	{
		WalArchiveFile *file = &archive->files[i];

		if (file->state != WAL_ARCHIVE_THERE || !file->wanted)
		{
			judge_unread(run, file);
			continue;
		}
		run->wanted[run->names.count] = file;
		wal_names_add(&run->names, &file->name);
	}
	jobs_judge(&run->dir, WAL_RANGE_ALL, &run->names, run->options->jobs,
			   run->throttle, on_file, run);
}

static void
verify_archive(WalRun *run)
{
	const Options *options = run->options;

	run->archive.dir = &run->dir;
	run->saved = program_time(CLOCK_REALTIME);
	wal_archive_plan(&run->archive, options->reverify_after < 0 ? INT64_MIN :
					 program_time(CLOCK_REALTIME) - options->reverify_after);
	program_at_end(save_at_end, run);
	if (run->archive.there == 0)
		on_none(run);
	wal_beside_judge(&run->dir, run->throttle, on_beside, run);
	verify_files(run);
	program_forget_end();
	save(run, true);
}

/* ---- the command ---- */

/*
 * The cluster is the one that was given, else the one that is remembered, else
 * that of the first sound segment.  What was verified of another one does not
 * count.
 */
static void
find_owner(WalRun *run)
{
	HostServer *owner = &run->state.owner;
	uint64_t	system = run->options->system;
	bool		other = system != 0 && owner->system != 0 && system != owner->system;

	if (other)
		run->archive.count = 0;
	if (other || owner->system == 0)
		*owner = owner_find(&run->dir, system, run->options->magic);
	owner_set(&run->dir, owner);
}

static void
open_state(WalRun *run, const char *path)
{
	char	   *directory = realpath(path, NULL);

	if (directory == NULL)
		program_fail("could not resolve \"%s\": %s", path, strerror(errno));
	state_open(&run->state, run->options->state, directory, &run->archive);
}

int
wal_command(const Options *options)
{
	const char *path = options->operands[0];
	WalRun	   *run = host_alloc(sizeof(WalRun));

	memset(run, 0, sizeof(*run));
	run->options = options;
	run->throttle = program_throttle(options->max_rate);
	output_begin(&run->output, options, path);
	owner_open(&run->dir, path, options);
	if (options->state != NULL)
		open_state(run, path);
	find_owner(run);
	if (options->state != NULL)
		verify_archive(run);
	else
		verify_directory(run);
	return output_end(&run->output);
}
