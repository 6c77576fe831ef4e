/*
 * archive.c
 *	  Runs verify_wal_archive(), which verifies the WAL of an archive that is
 *	  new or has changed.
 *
 * What to read is decided once (wal/archive.c).  Then a batch of segments is
 * read, recorded and committed.  So a run that is interrupted goes on where it
 * was, whenever the procedure is called again.
 *
 * Nothing that is found ends a run, nor does a table that cannot be written,
 * which is reported once.  During recovery nothing can be remembered at all.
 */
#include "compat.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/pgarch.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "func/func.h"
#include "host/direct.h"
#include "host/file_path.h"
#include "host/parallel.h"
#include "run/archive_record.h"
#include "run/memory.h"
#include "run/procedure.h"
#include "wal/beside.h"
#include "wal/parallel.h"

/* What each process reads between two commits. */
#define BATCH_BYTES		(UINT64CONST(1) << 30)
#define BATCH_SEGMENTS	128
#define BATCH_MOST		4096	/* of all processes */

/*
 * With a bound on the rate, what it allows in this time, but not so few that the
 * segments between two batches weigh.
 */
#define BATCH_SECONDS	60
#define BATCH_LEAST		8

/* Segments looked for at the newest end. */
#define NEWEST_MOST		1000

/* WARNINGs of a run. */
#define LINES_MAX		100

typedef struct ArchiveTotals
{
	int64		read;			/* files */
	int64		bytes;			/* of them, as stored */
	int64		findings;
	int64		unverifiable;	/* findings that say so */
	int64		expired;		/* files newly found to be */
	int64		lines;			/* WARNINGs */
} ArchiveTotals;

typedef struct ArchiveRun
{
	Memory		memory;
	MemoryContext batch_context;

	/* arguments */
	int64		reverify;		/* what was verified by then is read again */
	int			workers;
	Throttle	throttle;		/* shared by all workers */
	TimestampTz deadline;		/* 0 if none */
	bool		verbose;

	WalDirectory dir;
	char		last_archived[MAX_XFN_CHARS + 1];	/* by this server, there */
	WalArchive	archive;
	ArchiveTotals totals;

	/* the batch */
	size_t		batch_room;
	size_t		nfiles;
	WalArchiveFile **files;		/* to read */
	WalNames	names;			/* of them */
	size_t		nresults;
	WalSegmentResult *results;	/* of them */
	List	   *rows;			/* of ArchiveRow, to record */
} ArchiveRun;

enum
{
	ARG_DIRECTORY,
	ARG_SYSTEM_IDENTIFIER,
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

static const char *
name_of(const WalName *name)
{
	char		words[WAL_NAME_SIZE];

	wal_name_print(name, words);
	return pstrdup(words);
}

static const char *
kind_of(const WalName *name)
{
	return name->kind == WAL_KIND_HISTORY ? "history file" :
		name->kind == WAL_KIND_BACKUP ? "backup file" : "WAL segment";
}

/* A finding, or what could not be verified? */
static bool
is_reported(WalStatus status)
{
	return status == WAL_NOT_VERIFIABLE || wal_status_is_finding(status);
}

/* One WARNING per finding, up to a bound. */
static void
report_finding(ArchiveRun *run, const WalName *name, WalStatus status,
			   const char *message)
{
	bool		unread = status == WAL_IO_ERROR;
	bool		known = wal_status_is_finding(status);
	bool		missing = status == WAL_MISSING;
	const char *kind = kind_of(name);
	bool		beside = name->kind == WAL_KIND_HISTORY || name->kind == WAL_KIND_BACKUP;

	run->totals.findings++;
	run->totals.unverifiable += known ? 0 : 1;
	if (run->totals.lines++ >= LINES_MAX)
		return;
	ereport(WARNING,
			(errcode(unread ? ERRCODE_IO_ERROR : known ? ERRCODE_DATA_CORRUPTED : ERRCODE_WARNING),
			 !known ? errmsg("could not verify %s \"%s\"", kind, name_of(name)) :
			 unread ? errmsg("could not read %s \"%s\"", kind, name_of(name)) :
			 missing ? errmsg("missing %s \"%s\"", kind, name_of(name)) :
			 errmsg("invalid %s \"%s\"", kind, name_of(name)),
			 errdetail_internal("%s: %s. Archive \"%s\".",
								wal_status_name(status), message, run->dir.path),
			 !known || unread || missing || beside ? 0 :
			 errhint("verify_wal_findings() shows each finding in a segment.")));
}

static const char *
result_words(const WalSegmentResult *result)
{
	char		words[WAL_MESSAGE_SIZE];

	wal_verdict_words(&result->message, words);
	return words[0] == '\0' ? NULL : pstrdup(words);
}

/* Returns what is said of a file that was read, or NULL if nothing. */
static const char *
verdict_words(const WalArchiveFile *file, const WalSegmentResult *result,
			  const WalArchiveVerdict *verdict)
{
	char		words[WAL_ARCHIVE_WORDS];

	wal_archive_words(file, result, verdict,
					  file->memory.sound_at == 0 ? "" :
					  timestamptz_to_str(file->memory.sound_at), words);
	return words[0] == '\0' ? NULL : pstrdup(words);
}

static void
report_verdict(ArchiveRun *run, const WalArchiveFile *file,
			   const WalArchiveVerdict *verdict, const char *words)
{
	if (is_reported(verdict->memory.status))
		report_finding(run, &file->name, verdict->memory.status,
					   words == NULL ? "no more is known" : words);
	else if (verdict->rewritten)
		ereport(NOTICE,
				(errmsg("WAL segment \"%s\": %s", name_of(&file->name), words)));
	if (run->verbose)
		ereport(INFO,
				(errmsg("read \"%s\": %s", name_of(&file->name),
						wal_status_name(verdict->memory.status))));
}

/* The verdict. */
static void
report_end(void *arg, const char *state)
{
	ArchiveRun *run = arg;
	const ArchiveTotals *totals = &run->totals;
	double		seconds = (double) (GetCurrentTimestamp() - run->memory.started) / USECS_PER_SEC;

	if (totals->lines > LINES_MAX)
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("%s in WAL archive \"%s\"",
						accel_counted(totals->lines - LINES_MAX, "more finding", "more findings"),
						run->dir.path),
				 run->memory.recording ? errhint("verify_wal_files has all of them.") :
				 errhint("verify_wal() shows all of them.")));
	ereport(INFO,
			(errmsg("%s: %s, " INT64_FORMAT " read, %s in %.1f s (%s/s); %s, " INT64_FORMAT " not verifiable, " INT64_FORMAT " expired",
					state,
					accel_counted((int64) run->archive.there, "segment", "segments"),
					totals->read,
					accel_size_text(totals->bytes), seconds,
					accel_size_text(totals->bytes / Max(seconds, 1e-6)),
					accel_counted(totals->findings - totals->unverifiable,
								  "finding", "findings"),
					totals->unverifiable, totals->expired),
			 strcmp(state, "completed") == 0 ? 0 :
			 run->memory.recording ? errhint("To go on, call the procedure again.") : 0));
}

/* ---------------------------------------------------------------- *
 *		Memory
 * ---------------------------------------------------------------- */

static void
load(void *arg)
{
	ArchiveRun *run = arg;

	archive_record_load(&run->memory.history, &run->archive);
}

static void
write_rows(void *arg)
{
	ArchiveRun *run = arg;

	archive_record_write(&run->memory.history, &run->dir, run->rows);
}

/* Expired files, of an age that history_keep_minutes says. */
static void
prune_rows(void *arg)
{
	ArchiveRun *run = arg;

	(void) archive_record_prune(&run->memory.history, memory_limit(&run->memory));
}

static void
add_row(ArchiveRun *run, const WalArchiveFile *file, bool forget,
		const WalArchiveMemory *memory, const char *message)
{
	MemoryContext old;
	ArchiveRow *row;

	if (!run->memory.recording)
		return;
	old = MemoryContextSwitchTo(run->batch_context);
	row = palloc0(sizeof(ArchiveRow));
	row->name = file->name;
	row->forget = forget;
	row->memory = *memory;
	row->message = message == NULL ? NULL : pstrdup(message);
	run->rows = lappend(run->rows, row);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- *
 *		Batches
 * ---------------------------------------------------------------- */

static void
on_result(void *arg, const WalSegmentResult *result)
{
	ArchiveRun *run = arg;

	Assert(run->nresults < run->nfiles);
	run->results[run->nresults++] = *result;
}

static Throttle *
throttle_of(ArchiveRun *run)
{
	return run->throttle.pace.paid > 0 ? &run->throttle : NULL;
}

/* What was removed or replaced meanwhile is for the next run. */
static void
judge_file(ArchiveRun *run, const WalArchiveFile *file,
		   const WalSegmentResult *result)
{
	WalArchiveVerdict verdict;
	const char *words;

	if (result->status == WAL_OK_REMOVED)
		return;
	verdict = wal_archive_judge(&run->archive, file, result,
								GetCurrentTimestamp());
	words = verdict_words(file, result, &verdict);
	run->totals.read++;
	run->totals.bytes += (int64) file->stat.size;
	report_verdict(run, file, &verdict, words);
	add_row(run, file, false, &verdict.memory, words);
}

/* Reads what the batch has, records it, and commits. */
static void
end_batch(ArchiveRun *run)
{
	MemoryContext old = MemoryContextSwitchTo(run->batch_context);

	run->names.count = run->nfiles;
	run->nresults = 0;
	if (run->nfiles > 0)
		wal_parallel_judge(&run->dir, WAL_RANGE_ALL, &run->names, run->workers,
						   throttle_of(run), on_result, run);
	for (size_t i = 0; i < run->nresults; i++)
		judge_file(run, run->files[i], &run->results[i]);
	if (run->rows != NIL)
		memory_record(&run->memory, write_rows, run);
	MemoryContextSwitchTo(old);
	MemoryContextReset(run->batch_context);
	run->rows = NIL;
	run->nfiles = 0;
}

static void
add_to_batch(ArchiveRun *run, WalArchiveFile *file)
{
	(void) wal_archive_look(&run->archive, file);
	run->files[run->nfiles] = file;
	run->names.names[run->nfiles++] = file->name;
}

static void
alloc_batch(ArchiveRun *run)
{
	uint64		each = BATCH_BYTES / run->dir.limits.segment_size;

	each = Min(Max(each, 1), BATCH_SEGMENTS);
	run->batch_room = Min(each * (run->workers + 1), BATCH_MOST);
	if (run->throttle.pace.paid > 0)
		run->batch_room = Min(run->batch_room,
							  Max(run->throttle.pace.paid * BATCH_SECONDS / run->dir.limits.segment_size,
								  BATCH_LEAST));
	run->files = palloc(run->batch_room * sizeof(*run->files));
	run->names.names = palloc(run->batch_room * sizeof(WalName));
	run->results = palloc(run->batch_room * sizeof(WalSegmentResult));
}

/* ---------------------------------------------------------------- *
 *		Files
 * ---------------------------------------------------------------- */

/* A finding is told in each run, and recorded when it is new. */
static void
judge_missing(ArchiveRun *run, const WalArchiveFile *file)
{
	WalArchiveMemory memory = file->memory;
	const char *words = "the segment is not there";

	if (memory.sound_at != 0)
		words = psprintf("the file is gone; it was sound at %s",
						 timestamptz_to_str(memory.sound_at));
	report_finding(run, &file->name, WAL_MISSING, words);
	if (file->remembered && memory.status == WAL_MISSING)
		return;
	if (!file->remembered)
		memory.stat.mtime = WAL_MTIME_UNKNOWN;
	memory.status = WAL_MISSING;
	memory.verified_at = GetCurrentTimestamp();
	add_row(run, file, false, &memory, words);
}

/* Archives are pruned from their old end. */
static void
judge_expired(ArchiveRun *run, const WalArchiveFile *file)
{
	WalArchiveMemory memory = file->memory;

	if (memory.status == WAL_OK_EXPIRED)
		return;
	run->totals.expired++;
	memory.status = WAL_OK_EXPIRED;
	memory.verified_at = GetCurrentTimestamp();
	add_row(run, file, false, &memory, "the file is gone, and all older ones are");
}

/* What need not be read. */
static void
judge_unread(ArchiveRun *run, const WalArchiveFile *file)
{
	switch (file->state)
	{
		case WAL_ARCHIVE_THERE:
			if (is_reported(file->memory.status))
				report_finding(run, &file->name, file->memory.status,
							   "it was so when it was read, and was not written since");
			break;
		case WAL_ARCHIVE_GAP:
		case WAL_ARCHIVE_MISSING:
			judge_missing(run, file);
			break;
		case WAL_ARCHIVE_EXPIRED:
			judge_expired(run, file);
			break;
		case WAL_ARCHIVE_REPLACED:
			break;				/* see forget_replaced() */
	}
}

static bool
is_time_up(const ArchiveRun *run)
{
	return run->deadline != 0 && GetCurrentTimestamp() >= run->deadline;
}

/* Not before the files that replace them are recorded. */
static void
forget_replaced(ArchiveRun *run)
{
	for (size_t i = 0; i < run->archive.count; i++)
	{
		const WalArchiveFile *file = &run->archive.files[i];

		if (file->state == WAL_ARCHIVE_REPLACED && file->remembered)
			add_row(run, file, true, &file->memory, NULL);
		if (list_length(run->rows) >= BATCH_MOST)
			end_batch(run);
	}
}

/* Returns false if time is up. */
static bool
verify_files(ArchiveRun *run)
{
	MemoryContext old = MemoryContextSwitchTo(run->batch_context);
	bool		stopped = false;

	for (size_t i = 0; i < run->archive.count && !stopped; i++)
	{
		WalArchiveFile *file = &run->archive.files[i];

		CHECK_FOR_INTERRUPTS();
		if (file->state == WAL_ARCHIVE_THERE && file->wanted)
			add_to_batch(run, file);
		else
			judge_unread(run, file);
		if (run->nfiles == run->batch_room ||
			list_length(run->rows) >= BATCH_MOST)
		{
			end_batch(run);
			stopped = i + 1 < run->archive.count && is_time_up(run);
		}
	}
	if (!stopped)
	{
		end_batch(run);
		forget_replaced(run);
		end_batch(run);
	}
	MemoryContextSwitchTo(old);
	return !stopped;
}

static void
judge_beside(void *arg, const WalSegmentResult *result)
{
	ArchiveRun *run = arg;
	WalArchiveFile file = {0};
	WalArchiveMemory memory = {0};
	const char *words = result_words(result);

	file.name = result->name;
	memory.status = result->status;
	memory.stat.mtime = WAL_MTIME_UNKNOWN;
	memory.verified_at = GetCurrentTimestamp();
	if (is_reported(memory.status))
		report_finding(run, &file.name, result->status, words);
	add_row(run, &file, false, &memory, words);
}

static void
forget_beside(void *arg)
{
	ArchiveRun *run = arg;

	archive_record_forget_beside(&run->memory.history, run->dir.path);
}

/*
 * Verifies what is small and never remembered, and so is judged anew each
 * time.
 */
static void
verify_beside(ArchiveRun *run)
{
	MemoryContext old = MemoryContextSwitchTo(run->batch_context);

	wal_beside_judge(&run->dir, throttle_of(run), judge_beside, run);
	memory_record(&run->memory, forget_beside, run);
	MemoryContextSwitchTo(old);
	end_batch(run);
}

/* Reports a directory without segments as verify_wal() does. */
static void
report_none(ArchiveRun *run)
{
	WalSegmentResult none;

	wal_segment_none(&run->dir, &none);
	run->totals.findings++;
	run->totals.unverifiable++;
	ereport(WARNING,
			(errmsg("could not verify WAL archive \"%s\"", run->dir.path),
			 errdetail_internal("%s: %s.", wal_status_name(none.status),
								result_words(&none))));
}

/* ---------------------------------------------------------------- *
 *		The newest end
 * ---------------------------------------------------------------- */

static bool
is_remembered(const ArchiveRun *run, const WalName *name)
{
	for (size_t i = 0; i < run->archive.count; i++)
		if (wal_name_compare(&run->archive.files[i].name, name) == 0)
			return true;
	return false;
}

/*
 * Segments after the newest of their timeline, up to the last archived one,
 * are remembered though they were never seen.  So they are missing.
 */
static void
expect_newest(ArchiveRun *run)
{
	const WalNames *files = &wal_directory_listing(&run->dir)->files;
	uint32		size = run->dir.limits.segment_size;
	WalArchiveMemory none = {0};
	WalName		last;
	uint64		next;

	if (files->count == 0 || !wal_name_parse(run->last_archived, &last) ||
		last.kind != WAL_KIND_SEGMENT)
		return;
	next = wal_name_segno(&last, size);
	for (size_t i = 0; i < files->count; i++)
		if (files->names[i].timeline == last.timeline)
			next = Max(wal_name_segno(&files->names[i], size) + 1,
					   wal_name_segno(&last, size) >= NEWEST_MOST ?
					   wal_name_segno(&last, size) - NEWEST_MOST + 1 : 0);
	for (; next <= wal_name_segno(&last, size); next++)
	{
		WalName		name = wal_name_of(last.timeline, next, size, WAL_KIND_SEGMENT);

		if (!is_remembered(run, &name))
			wal_archive_remember(&run->archive, &name, &none);
	}
}

/* Returns false if time is up. */
static bool
verify_archive(void *arg)
{
	ArchiveRun *run = arg;
	bool		done;

	run->archive.dir = &run->dir;
	if (!memory_recall(&run->memory, load, run))
		run->archive.count = 0;
	MemoryContextSwitchTo(run->memory.context);
	expect_newest(run);
	wal_archive_plan(&run->archive, run->reverify);
	procedure_commit();
	if (run->archive.there == 0)
		report_none(run);
	alloc_batch(run);
	verify_beside(run);
	done = verify_files(run);
	if (done)
		memory_record(&run->memory, prune_rows, run);
	return done;
}

/* ---------------------------------------------------------------- *
 *		The procedure
 * ---------------------------------------------------------------- */

/* Is what is archived now put there?  A path after a colon is another host's. */
static bool
is_archived_to(const char *directory)
{
	const char *library = GetConfigOption("archive_library", true, false);
	const char *module = GetConfigOption("basic_archive.archive_directory", true, false);
	size_t		len = strlen(directory);

	if (!XLogArchivingActive())
		return false;
	if (library != NULL && library[0] != '\0')
		return module != NULL && strcmp(module, directory) == 0;
	for (const char *at = XLogArchiveCommand; (at = strstr(at, directory)) != NULL; at += len)
		if ((at == XLogArchiveCommand || strchr(" \t'\"=", at[-1]) != NULL) &&
			at[len] == '/')
			return true;
	return false;
}

/*
 * What the archiver has put there last, reported before the directory was
 * listed.  Before the configuration was read it may have archived elsewhere.
 */
static void
note_archived(ArchiveRun *run, const char *named,
			  const PgStat_ArchiverStats *stats)
{
	if (!RecoveryInProgress() &&
		run->dir.limits.server.system == GetSystemIdentifier() &&
		stats->last_archived_timestamp > PgReloadTime &&
		(is_archived_to(named) || is_archived_to(run->dir.path)))
		strlcpy(run->last_archived, stats->last_archived_wal,
				sizeof(run->last_archived));
}

/*
 * By whatever way the archive is named, it is one.  WAL of another cluster than
 * this one may be of any version.
 */
static void
open_directory(ArchiveRun *run, FunctionCallInfo fcinfo)
{
	const char *named = file_path_parse(text_to_cstring(PG_GETARG_TEXT_PP(ARG_DIRECTORY)));
	char		real[PATH_MAX];
	const PgStat_ArchiverStats *stats = pgstat_fetch_stat_archiver();
	HostServer *server = &run->dir.limits.server;

	accel_wal_directory(&run->dir, named,
						accel_boolean(fcinfo, ARG_DIRECT_IO, false), NULL);
	if (!run->dir.limits.live && realpath(named, real) != NULL)
		run->dir.path = pstrdup(real);
	if (!PG_ARGISNULL(ARG_SYSTEM_IDENTIFIER) &&
		(uint64) PG_GETARG_INT64(ARG_SYSTEM_IDENTIFIER) != server->system)
	{
		server->system = (uint64) PG_GETARG_INT64(ARG_SYSTEM_IDENTIFIER);
		server->magic = 0;
	}
	note_archived(run, named, stats);
}

static void
read_arguments(ArchiveRun *run, FunctionCallInfo fcinfo)
{
	int64		max_duration = accel_interval(fcinfo, ARG_MAX_DURATION, "max_duration", 1);
	int			max_rate;

	accel_check_null(fcinfo, ARG_DIRECTORY, "directory");
	run->reverify = PG_ARGISNULL(ARG_REVERIFY_AFTER) ? PG_INT64_MIN :
		run->memory.started - accel_interval(fcinfo, ARG_REVERIFY_AFTER, "reverify_after", 0);
	run->workers = parallel_workers(accel_integer(fcinfo, ARG_WORKERS, 0));
	max_rate = accel_integer(fcinfo, ARG_MAX_RATE, 0);
	throttle_init(&run->throttle, max_rate, BLCKSZ,
				  accel_boolean(fcinfo, ARG_DIRECT_IO, false) ?
				  DIRECT_PIECE_OF(max_rate) : WAL_PIECE_BYTES);
	run->deadline = max_duration == 0 ? 0 : run->memory.started + max_duration;
	run->verbose = accel_boolean(fcinfo, ARG_VERBOSE, false);
	open_directory(run, fcinfo);
	if (run->dir.limits.live)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is no WAL archive but this server's own WAL", run->dir.path),
				 errhint("Use verify_wal().")));
}

static void
raise_findings(const ArchiveRun *run)
{
	int64		findings = run->totals.findings - run->totals.unverifiable;

	if (findings > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_plural(INT64_FORMAT " finding in WAL archive \"%s\"",
							   INT64_FORMAT " findings in WAL archive \"%s\"",
							   findings, findings, run->dir.path),
				 errhint("See docs/wal.md.")));
}

/*
 * verify_wal_archive(directory text, system_identifier bigint, reverify_after,
 * max_duration interval, fail_on_findings, verbose boolean, workers,
 * max_rate integer)
 */
SQL_FUNCTION(accel_verify_wal_archive)
{
	bool		raise = accel_boolean(fcinfo, ARG_FAIL_ON_FINDINGS, false);
	MemoryContext caller = CurrentMemoryContext;
	ArchiveRun *run;

	procedure_begin(fcinfo, "verify_wal_archive", "batch of segments");
	run = palloc0(sizeof(ArchiveRun));
	run->memory.what = "WAL archive";
	run->memory.item = "segment";
	run->memory.kind = HISTORY_LOCK_ARCHIVE;
	memory_begin(&run->memory, fcinfo, caller);
	run->batch_context = AllocSetContextCreate(run->memory.context, "segments",
											   ALLOCSET_DEFAULT_SIZES);
	read_arguments(run, fcinfo);
	memory_lock(&run->memory, run->dir.path);
	memory_run(&run->memory, verify_archive, report_end, run);
	if (raise)
		raise_findings(run);
	SPI_finish();
	PG_RETURN_VOID();
}
