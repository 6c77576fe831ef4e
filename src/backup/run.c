/*
 * run.c
 *	  Verifies a backup by files, pages and WAL, and whether they agree.
 *
 * The order is that of trust.  The manifest is verified by its own checksum,
 * the files by the manifest, pages by their checksums, then the WAL.  Pages
 * that are not in order wait for the WAL, which decides whether they matter.
 * Without a manifest that counts, the files that are there are read all the
 * same, and what can be judged without it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/archives.h"
#include "backup/barman_check.h"
#include "backup/chain.h"
#include "backup/cluster.h"
#include "backup/files.h"
#include "backup/gaps.h"
#include "backup/increment.h"
#include "backup/meta.h"
#include "backup/need.h"
#include "backup/repository.h"
#include "backup/run.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/json.h"
#include "manifest/stored_names.h"
#include "manifest/walk.h"
#include "wal/file.h"
#include "wal/format.h"

#define MANIFEST_FILE	"backup_manifest"

/* of a relation's file, as most servers are built (RELSEG_SIZE) */
#define SEGMENT_BLOCKS	(UINT32_C(1024) * 1024 * 1024 / PAGE_BYTES)

typedef struct BackupRun
{
	const BackupOptions *options;
	BackupSink *sink;
	BackupSummary *summary;
	const char *base;			/* where small files and WAL are, the root or
								 * what was taken from archives */
	const char *root;			/* of its files */
	const char *wal;			/* the folder of its WAL, NULL for its own */
	Barman		barman;			/* what this says of it, if it does */
	bool		tar;
	bool		stored;			/* in the repository of another program */
	StoredNames *names;			/* of its files there */
	bool		refused;		/* which says nothing of it */
	BackupSpool *spool;			/* NULL for a plain one */
	uint32_t	folders;		/* needed ones that are not on disk, by bits */
	bool		unread;			/* nothing was read of an archive */
	BackupManifest *manifest;
	BackupMeta	meta;
	BackupList *list;			/* the manifest's, or what is there */
	bool		too_many;		/* there, and it was reported */
	int			nranges;
	ManifestRange *ranges;
	bool		guessed;		/* the range, as no manifest counts */
	BackupNewest newest;		/* page of it */
	BackupSuspects suspects;

	/* The last one of a chain has the others here. */
	BackupChain chain;
	struct BackupPrior *priors;

	/* of all in a chain */
	BackupParts *parts;			/* NULL if there is no chain */
	bool		is_prior;
} BackupRun;

/* A backup that the one to be verified is incremental to. */
typedef struct BackupPrior
{
	BackupRun	run;
	BackupOptions options;
	BackupSummary summary;
	BackupSink	sink;			/* shows its findings with its directory */
	BackupRun  *last;
	int			n;				/* of the chain */
} BackupPrior;

static void *
allocate_zeros(size_t size)
{
	void	   *memory = host_alloc(size);

	memset(memory, 0, size);
	return memory;
}

/* ---- the manifest and what is there ---- */

static void
read_manifest(BackupRun *run)
{
	BackupManifest *manifest = host_alloc(sizeof(BackupManifest));
	char	   *path = host_print("%s/%s", run->root, MANIFEST_FILE);

	backup_manifest_read(manifest, path, run->options->direct);
	host_free(path);
	run->manifest = manifest;
	run->list = &manifest->list;
	run->ranges = manifest->ranges;
	run->nranges = manifest->nranges;
	run->summary->no_manifest = manifest->status == BACKUP_NO_MANIFEST;
	if (manifest->status != BACKUP_OK)
		backup_sink_file(run->sink, MANIFEST_FILE, manifest->status,
						 "%s; files have nothing to be compared with, but pages and WAL are verified",
						 manifest->message);
}

static void
report_unwalked(BackupRun *run, const char *path, BackupWalkKind kind)
{
	int			error = errno;

	if (path[0] == '\0')
		path = ".";
	if (kind == BACKUP_WALK_LINK)
		backup_sink_file(run->sink, path, BACKUP_EXTRA,
						 "symbolic link to a directory, which is not looked through");
	else if (kind == BACKUP_WALK_OTHER)
		backup_sink_file(run->sink, path, BACKUP_EXTRA,
						 "neither a file nor a directory");
	else if (error == ENOENT)
		backup_sink_file(run->sink, path, BACKUP_MISSING,
						 "symbolic link leads nowhere");
	else
		backup_sink_file(run->sink, path, BACKUP_IO_ERROR,
						 "could not open: %s", strerror(error));
}

/* A file of the walk, held against the manifest. */
static void
compare_with_manifest(void *arg, const char *path, BackupWalkKind kind)
{
	BackupRun  *run = arg;

	if (kind != BACKUP_WALK_FILE)
		report_unwalked(run, path, kind);
	else if (backup_list_find(run->list, path) < 0)
		backup_sink_file(run->sink, path, BACKUP_EXTRA,
						 "present on disk but not in the manifest");
}

/* A file of the walk where there is no manifest. */
static void
add_to_list(void *arg, const char *path, BackupWalkKind kind)
{
	BackupRun  *run = arg;

	if (kind != BACKUP_WALK_FILE)
		report_unwalked(run, path, kind);
	else if (run->list->count < BACKUP_FILES_MAX)
		backup_list_add(run->list, path, -1, MANIFEST_NONE, NULL);
	else if (!run->too_many)
	{
		run->too_many = true;
		backup_sink_file(run->sink, ".", BACKUP_NOT_VERIFIABLE,
						 "backup has too many files; the rest is passed over");
	}
}

/* The same in the repository of another program, where names are others. */
static void
compare_with_stored(void *arg, const char *path, BackupWalkKind kind)
{
	BackupRun  *run = arg;

	if (stored_names_has(run->names, path, kind))
		return;
	if (kind != BACKUP_WALK_FILE)
		report_unwalked(run, path, kind);
	else
		backup_sink_file(run->sink, path, BACKUP_EXTRA,
						 "present on disk but not in the manifest");
}

static void
walk(BackupRun *run)
{
	bool		listed = run->manifest->status == BACKUP_OK;

	if (run->stored)
	{
		run->names = stored_names_new(run->list);
		backup_walk(run->root, compare_with_stored, run);
		return;
	}
	backup_walk(run->root,
				listed ? compare_with_manifest : add_to_list, run);
	if (!listed)
		(void) backup_list_end(run->list);
}

/* ---- files and pages ---- */

/* What a finding is made of, without memory, as millions may come. */
typedef struct FileWords
{
	char		expected[2 * MANIFEST_DIGEST_MAX + 1];
	char		actual[2 * MANIFEST_DIGEST_MAX + 1];
	char		message[256];
} FileWords;

#define MESSAGE(words, ...) \
	snprintf((words)->message, sizeof((words)->message), __VA_ARGS__)

static void
say_sizes(FileWords *words, int64_t expected, int64_t actual)
{
	snprintf(words->expected, sizeof(words->expected), "%" PRId64, expected);
	snprintf(words->actual, sizeof(words->actual), "%" PRId64, actual);
	MESSAGE(words, "file has %s bytes, but the manifest says %s",
			words->actual, words->expected);
}

static void
print_digits(char *digits, const uint8_t *digest, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		snprintf(digits + 2 * i, 3, "%02x", digest[i]);
}

static void
say_digests(FileWords *words, const BackupEntry *entry, const uint8_t *digest)
{
	ManifestAlgorithm algorithm = (ManifestAlgorithm) entry->algorithm;
	uint32_t	length = manifest_digest_length(algorithm);

	print_digits(words->expected, entry->digest, length);
	print_digits(words->actual, digest, length);
	MESSAGE(words, "%s of the file is not that of the manifest",
			manifest_algorithm_name(algorithm));
}

/* What a stored file is not decompressed to. */
static void
say_undecoded(FileWords *words, const BackupFileFinding *found)
{
	char		message[WAL_MESSAGE_SIZE];
	WalVerdict	verdict = wal_file_failure((DecodeFormat) found->format,
										   &found->failure);

	wal_verdict_words(&verdict, message);
	MESSAGE(words, "%s", message);
}

static void
say_error(FileWords *words, const BackupRun *run,
		  const BackupFileFinding *found)
{
	if (run->tar)
		MESSAGE(words, "archive ends or breaks off within the file, at offset %" PRId64,
				found->offset);
	else if (found->offset < 0 && found->error == 0)
		MESSAGE(words, "not a regular file");
	else if (found->offset < 0)
		MESSAGE(words, "could not open file: %s", strerror(found->error));
	else if (found->error == 0)
		MESSAGE(words, "file was truncated while it was read, at offset %" PRId64,
				found->offset);
	else
		MESSAGE(words, "could not read file at offset %" PRId64 ": %s",
				found->offset, strerror(found->error));
}

/* A file as a whole. */
static void
report_file(BackupRun *run, const BackupFileFinding *found)
{
	BackupEntry *entry = &run->list->entries[found->entry];
	BackupFinding finding = {backup_list_path(run->list, found->entry), -1,
	backup_status_name(found->status)};
	FileWords	words = {""};

	if (found->status == BACKUP_SIZE_MISMATCH)
		say_sizes(&words, entry->size, found->size);
	else if (found->status == BACKUP_CHECKSUM_MISMATCH)
		say_digests(&words, entry, found->digest);
	else if (found->failure.reason != DECODE_FINE)
		say_undecoded(&words, found);
	else if (found->status == BACKUP_MISSING)
		MESSAGE(&words, run->tar ? "present in the manifest but in no archive" :
				"present in the manifest but not on disk");
	else if (found->status == BACKUP_NOT_VERIFIABLE)
		MESSAGE(&words, "could not compute the file's checksum");
	else if (found->status == BACKUP_BAD_FORMAT)
		MESSAGE(&words, "%s", backup_increment_words((BackupIncrementReason) found->error));
	else
		say_error(&words, run, found);
	finding.message = words.message;
	if (words.expected[0] != '\0')
	{
		finding.expected = words.expected;
		finding.actual = words.actual;
	}
	entry->told = true;
	backup_sink_emit(run->sink, &finding);
}

static void
on_finding(void *arg, const BackupFileFinding *found)
{
	BackupRun  *run = arg;

	if (found->blkno < 0)
	{
		report_file(run, found);
		return;
	}
	run->summary->bad_pages++;
	backup_suspects_add(&run->suspects,
						backup_list_path(run->list, found->entry), found);
}

/* Can pages be judged?  It is reported if pg_control says that they cannot. */
static bool
pages_can_be_judged(BackupRun *run)
{
	const BackupControl *control = &run->meta.control;

	if (!run->options->check_pages || !run->meta.has_control)
		return false;
	if (control->block_size == PAGE_BYTES && control->segment_blocks > 0)
		return true;
	backup_sink_file(run->sink, "global/pg_control", BACKUP_NOT_VERIFIABLE,
					 "pages are not verified: they have %u bytes, those of this server %d",
					 control->block_size, PAGE_BYTES);
	return false;
}

static void
set_rules(BackupRun *run, BackupJudgeRules *judge)
{
	judge->pages = pages_can_be_judged(run);
	judge->rules.checksums = run->meta.control.checksums;
	judge->rules.horizon = run->summary->end;
	judge->segment_blocks = run->meta.control.segment_blocks;
}

/* The LSNs of an unlogged relation may be no places in the WAL. */
static bool
is_unlogged(const BackupRun *run, const char *path)
{
	BackupRelationFile file;
	char	   *init = host_print("%.*s_init", (int) strcspn(path, "."), path);
	bool		has_init = backup_list_find(run->list, init) >= 0;

	host_free(init);
	return has_init && backup_relation_file(path, &file) &&
		file.fork == BACKUP_FORK_MAIN;
}

static void
summarize_files(BackupRun *run, const BackupFileTotals *totals)
{
	run->summary->files = totals->files;
	run->summary->bytes = totals->bytes;
	run->summary->pages = totals->pages;
	if (totals->newest == 0 || is_unlogged(run, backup_list_path(run->list,
																 totals->newest_entry)))
		return;
	run->newest.path = backup_list_path(run->list, totals->newest_entry);
	run->newest.blkno = totals->newest_block;
	run->newest.lsn = totals->newest;
}

/* What a manifest says of sizes is what will be read. */
static void
tell_expected(const BackupRun *run)
{
	const BackupProgress *progress = run->options->progress;
	int64_t		bytes = 0;

	if (progress == NULL || progress->expect == NULL)
		return;
	for (uint32_t i = 0; i < run->list->count; i++)
		if (!run->list->entries[i].ignored && run->list->entries[i].size > 0)
			bytes += run->list->entries[i].size;
	progress->expect(progress->arg, bytes);
}

static void
verify_files(BackupRun *run)
{
	BackupFileOptions files = {run->root};
	BackupFileTotals totals;

	set_rules(run, &files.judge);
	files.workers = run->options->workers;
	files.throttle = run->options->throttle;
	files.direct = run->options->direct;
	files.progress = run->options->progress;
	tell_expected(run);
	run->options->verify_files(run->list, &files, on_finding, run, &totals);
	summarize_files(run, &totals);
}

/* Was something found of this file as a whole? */
static bool
is_told(void *arg, const char *path)
{
	const BackupList *list = ((BackupRun *) arg)->list;
	int64_t		entry = backup_list_find(list, path);

	return entry >= 0 && list->entries[entry].told;
}

/* ---- archives ---- */

/* The header of an incremental file is judged by what pg_control says, too. */
static void
on_early(void *arg, const BackupFileFinding *found)
{
	BackupRun  *run = arg;

	if (found->status == BACKUP_BAD_FORMAT)
		run->list->entries[found->entry].reason = (uint8_t) found->error;
	else
		on_finding(run, found);
}

/* When pages are judged again, all else is known. */
static void
on_page(void *arg, const BackupFileFinding *found)
{
	if (found->blkno >= 0 || found->status == BACKUP_BAD_FORMAT)
		on_early(arg, found);
}

/* All that was found of pages and headers. */
static void
forget_pages(BackupRun *run)
{
	backup_suspects_forget(&run->suspects);
	run->summary->bad_pages = 0;
	for (uint32_t i = 0; i < run->list->count; i++)
	{
		run->list->entries[i].reason = (uint8_t) BACKUP_INCREMENT_OK;
		run->list->entries[i].part = -1;
	}
}

static void
report_headers(BackupRun *run)
{
	for (uint32_t i = 0; i < run->list->count; i++)
	{
		BackupFileFinding found = {i, BACKUP_BAD_FORMAT};

		host_interrupts();
		found.error = run->list->entries[i].reason;
		if (found.error != (int) BACKUP_INCREMENT_OK)
			report_file(run, &found);
	}
}

/* Up to where the manifest's ranges go. */
static WalLsn
end_of_ranges(const BackupRun *run)
{
	WalLsn		end = 0;

	for (int i = 0; i < run->nranges; i++)
		if (run->ranges[i].end > end)
			end = run->ranges[i].end;
	return end;
}

/* By what is known before pg_control is. */
static void
read_archives(BackupRun *run, BackupTar *tar)
{
	const char *twice;

	tar->list = run->list;
	tar->listed = run->manifest->status == BACKUP_OK;
	tar->judge.pages = run->options->check_pages;
	tar->judge.rules.checksums = true;
	tar->judge.rules.horizon = end_of_ranges(run);
	tar->judge.segment_blocks = SEGMENT_BLOCKS;
	tar->keep_wal = run->wal == NULL && !run->is_prior;
	tar->parts = run->parts;
	tar->spool = run->spool = backup_spool_begin();
	tar->sink = run->sink;
	tar->finding = on_early;
	tar->arg = run;
	run->base = tar->spool->folder.path;
	backup_tar_read(tar);
	run->folders = tar->folders;
	run->unread = tar->unread;
	if (tar->listed)
		return;
	twice = backup_list_end(run->list);
	if (twice != NULL)
		backup_sink_file(run->sink, twice, BACKUP_EXTRA,
						 "several files of this name in the archives");
}

/* Was what pg_control says of pages what they were judged by? */
static void
confirm_pages(BackupRun *run, BackupTar *tar)
{
	BackupJudgeRules rules = tar->judge;
	BackupFileTotals totals = tar->totals;

	set_rules(run, &rules);
	if (rules.pages && (rules.rules.checksums || !tar->guessed) &&
		rules.rules.checksums == tar->judge.rules.checksums &&
		rules.segment_blocks == tar->judge.segment_blocks)
		return;
	forget_pages(run);
	tar->totals.pages = 0;
	if (!rules.pages)
		return;
	tar->judge = rules;
	tar->knows_checksums = true;
	tar->pages_only = true;
	tar->finding = on_page;
	backup_tar_read(tar);
	totals.pages = tar->totals.pages;
	tar->totals = totals;
}

static void
verify_archives(BackupRun *run, BackupTar *tar)
{
	confirm_pages(run, tar);
	report_headers(run);
	tar->finding = on_finding;
	backup_tar_end(tar);
	summarize_files(run, &tar->totals);
}

/* ---- the WAL ---- */

/*
 * Without a manifest, the range is from where recovery begins, as far as there
 * is WAL.
 */
static void
guess_range(BackupRun *run)
{
	ManifestRange *range = &run->manifest->ranges[0];

	if (run->meta.has_label)
	{
		range->timeline = run->meta.label.timeline;
		range->start = run->meta.label.start;
	}
	else if (run->meta.has_control)
	{
		range->timeline = run->meta.control.timeline;
		range->start = run->meta.control.redo;
	}
	else
		return;
	/* a standby goes on where the one that it follows was promoted */
	if (run->meta.has_control && run->meta.control.min_recovery > range->start &&
		run->meta.control.min_recovery_timeline > range->timeline)
		range->timeline = run->meta.control.min_recovery_timeline;
	range->end = WAL_LSN_MAX;
	run->nranges = 1;
	run->guessed = true;
}

static int
compare_ranges(const void *a, const void *b)
{
	const ManifestRange *x = a;
	const ManifestRange *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->timeline < y->timeline ? -1 : x->timeline > y->timeline;
}

/* The timelines of the ranges, as "1,2". */
static char *
print_timelines(const BackupRun *run)
{
	size_t		room = (size_t) run->nranges * sizeof(",4294967295");
	char	   *timelines = host_alloc(room);
	size_t		used = 0;

	for (int i = 0; i < run->nranges; i++)
		used += (size_t) snprintf(timelines + used, room - used, "%s%u",
								  i == 0 ? "" : ",", run->ranges[i].timeline);
	return timelines;
}

/* The ranges in order, and what they say as a whole. */
static void
frame_ranges(BackupRun *run)
{
	BackupSummary *summary = run->summary;

	if (run->nranges == 0)
		guess_range(run);
	if (run->nranges == 0)
		return;
	qsort(run->ranges, (size_t) run->nranges, sizeof(ManifestRange),
		  compare_ranges);
	for (int i = 0; i < run->nranges; i++)
		if (run->ranges[i].end != WAL_LSN_MAX && run->ranges[i].end > summary->end)
			summary->end = run->ranges[i].end;
	summary->start = run->ranges[0].start;
	summary->timelines = print_timelines(run);
}

/* Their pages that are restored, too, by the WAL of the last one. */
static void
decide_priors(BackupRun *run, BackupWal *wal)
{
	for (int i = 0; i < run->options->nprior; i++)
	{
		BackupPrior *prior = &run->priors[i];

		backup_suspects_decide(&prior->run.suspects, wal, prior->run.list,
							   &prior->sink);
		run->summary->healed_pages += prior->run.suspects.healed;
	}
}

/* What the backup lacks of folders that recovery copies is lost in the copy. */
static void
look_at_sources(BackupRun *run, BackupWal *wal)
{
	BackupFolder sources[BACKUP_COPIES_MAX];
	size_t		count = backup_wal_sources(wal, sources);

	for (size_t i = 0; i < count; i++)
		backup_gaps_in_source(run->list, run->base, run->meta.major,
							  &sources[i], &run->suspects);
}

static void
verify_wal(BackupRun *run)
{
	BackupWal	wal = {0};

	wal.path = run->wal != NULL ? run->wal : host_print("%s/pg_wal", run->base);
	wal.shown = run->wal != NULL ? run->wal : "pg_wal";
	wal.own = run->wal == NULL;
	wal.system = run->summary->system;
	wal.page_size = run->meta.control.wal_block_size;
	wal.magic = run->options->magic;
	/* a damaged file would make all WAL one of another version */
	wal.version = is_told(run, "PG_VERSION") ? NULL : run->meta.major;
	wal.judge = run->options->judge_wal;
	wal.identify = run->options->identify_wal;
	wal.arg = run->options->arg;
	wal.workers = run->options->workers;
	wal.block_size = PAGE_BYTES;
	wal.throttle = run->options->throttle;
	/* what came out of archives is in files of ours */
	wal.direct = run->options->direct && !(wal.own && run->spool != NULL);
	wal.nranges = run->nranges;
	wal.ranges = run->ranges;
	backup_wal_open(&wal, run->sink);
	if (run->guessed && wal.opened)
	{
		backup_need_settle(&wal, &run->ranges[0], &run->meta, &run->newest,
						   run->sink);
		if (run->ranges[0].end != WAL_LSN_MAX)
			run->summary->end = run->ranges[0].end;
	}
	backup_wal_verify(&wal, run->sink);
	look_at_sources(run, &wal);
	backup_suspects_decide(&run->suspects, &wal, run->list, run->sink);
	run->summary->wal_records = wal.records;
	run->summary->healed_pages = run->suspects.healed;
	decide_priors(run, &wal);
}

/* ---- the whole ---- */

static void
check_agreement(BackupRun *run)
{
	BackupFrame frame = {0};

	frame.has_system = run->manifest->has_system;
	frame.system = run->manifest->system;
	frame.has_range = run->manifest->nranges > 0;
	frame.start = run->summary->start;
	frame.end = run->summary->end;
	backup_meta_check(&run->meta, &frame, run->sink);
	backup_meta_check_map(run->base, run->sink);
	/* combining a chain makes the folders of its last backup */
	if (!run->is_prior && run->meta.major[0] != '\0')
		backup_meta_check_folders(run->spool != NULL ? run->folders :
								  backup_meta_folders(run->base), run->sink);
}

static void
summarize_identity(BackupRun *run)
{
	BackupSummary *summary = run->summary;

	memcpy(summary->label, run->meta.label.label, sizeof(summary->label));
	summary->incremental = run->meta.label.previous_start != 0;
	summary->checksums_off = run->meta.has_control &&
		!run->meta.control.checksums;
	summary->newest = run->manifest->newest;
	summary->has_system = run->manifest->has_system || run->meta.has_control;
	summary->system = run->manifest->has_system ? run->manifest->system :
		run->meta.control.system;
}

BackupRunResult
backup_run_look(const char *path)
{
	struct stat status;
	bool		there = stat(path, &status) == 0;

	if (there && !S_ISDIR(status.st_mode))
		return BACKUP_RUN_NONE;
	return there && access(path, R_OK | X_OK) == 0 ? BACKUP_RUN_OK :
		BACKUP_RUN_FAILED;
}

static BackupRunResult
look_for_directories(const BackupOptions *options, const char **refused)
{
	BackupRunResult result = backup_run_look(*refused = options->root);

	if (result == BACKUP_RUN_OK && options->wal != NULL)
		result = backup_run_look(*refused = options->wal);
	for (int i = 0; result == BACKUP_RUN_OK && i < options->nprior; i++)
		result = backup_run_look(*refused = options->prior[i]);
	return result;
}

/* ---- repositories ---- */

/*
 * Its own files come into the spool, so that they are found by their names.
 * Its WAL is that of the repository, unless another one is named.
 */
static void
read_repository(BackupRun *run)
{
	BackupRepository repository = {run->root};

	repository.throttle = run->options->throttle;
	repository.direct = run->options->direct;
	repository.manifest = run->manifest = allocate_zeros(sizeof(BackupManifest));
	repository.sink = run->sink;
	run->list = &run->manifest->list;
	run->refused = !backup_repository_read(&repository);
	if (run->refused)
		return;
	run->ranges = run->manifest->ranges;
	run->nranges = run->manifest->nranges;
	if (run->wal == NULL)
		run->wal = repository.archive;
	repository.keep_wal = run->wal == NULL;
	backup_repository_keep(&repository);
	run->spool = repository.spool;
	run->folders = repository.folders;
	run->base = run->spool->folder.path;
}

/* The files of a backup of barman are in a folder of its own folder. */
static void
enter_barman(BackupRun *run)
{
	const char *root = run->options->root;

	if (!barman_is(root))
		return;
	run->root = host_print("%s/" BARMAN_DATA, root);
	if (run->wal == NULL)
		run->wal = barman_archive(root);
	run->refused = !backup_barman_check(root, &run->barman, run->sink);
}

/* A manifest of servers before 17 does not have it. */
static void
take_system(BackupRun *run)
{
	const Barman *barman = &run->barman;

	if (!barman->has_system)
		return;
	if (run->manifest->has_system && run->manifest->system != barman->system)
		backup_sink_file(run->sink, barman->info, BACKUP_BAD_FORMAT,
						 "system identifier is %" PRIu64 ", but the manifest says %" PRIu64,
						 barman->system, run->manifest->system);
	else
		run->manifest->system = barman->system;
	run->manifest->has_system = true;
}

/* Reads manifest, files and pages, which is all but what the WAL decides. */
static void
read_backup(BackupRun *run)
{
	BackupTar	tar = {NULL};

	run->suspects.include_healed = run->options->include_healed;
	run->root = run->options->root;
	run->wal = run->options->wal;
	enter_barman(run);
	tar.root = run->base = run->root;
	tar.throttle = run->options->throttle;
	tar.direct = run->options->direct;
	tar.progress = run->options->progress;
	run->stored = run->summary->stored = pgbackrest_is(run->root);
	run->tar = run->summary->tar = !run->stored && backup_tar_is(run->root);
	if (!run->refused && run->stored)
		read_repository(run);
	else if (!run->refused)
		read_manifest(run);
	if (run->refused)
		return;
	take_system(run);
	if (run->tar)
		read_archives(run, &tar);
	backup_meta_read(&run->meta, run->base, run->sink);
	summarize_identity(run);
	frame_ranges(run);
	check_agreement(run);
	if (run->tar)
		verify_archives(run, &tar);
	else
	{
		walk(run);
		verify_files(run);
	}
}

/* ---- the backups before it ---- */

static void
emit_prior(void *arg, const BackupFinding *finding)
{
	BackupPrior *prior = arg;
	BackupFinding named = *finding;
	char	   *path = host_print("%s/%s", prior->options.root, finding->path);

	named.path = path;
	backup_sink_emit(prior->last->sink, &named);
	host_free(path);
}

static BackupFate
is_replaced(void *arg, const char *path, uint32_t block)
{
	BackupPrior *prior = arg;

	return backup_chain_replaces(&prior->last->chain, prior->n, path, block) ?
		BACKUP_FATE_REPLACED : BACKUP_FATE_NONE;
}

/* Recovery empties unlogged relations, and backups need not have them. */
static BackupFate
is_reset(void *arg, const char *path, uint32_t block)
{
	BackupRun  *run = arg;

	return (run->meta.has_label || !run->meta.control.shut_down) &&
		is_unlogged(run, path) ? BACKUP_FATE_RESET : BACKUP_FATE_NONE;
}

static void
begin_prior(BackupPrior *prior, BackupRun *last, int n)
{
	prior->last = last;
	prior->n = n;
	prior->options = *last->options;
	prior->options.root = last->options->prior[n];
	prior->options.nprior = 0;
	prior->sink.finding = emit_prior;
	prior->sink.arg = prior;
	prior->run.options = &prior->options;
	prior->run.parts = last->parts;
	prior->run.is_prior = true;
	prior->run.sink = &prior->sink;
	prior->run.summary = &prior->summary;
	prior->run.suspects.replaced = is_replaced;
	prior->run.suspects.arg = prior;
}

static void
add_link(BackupChain *chain, const BackupRun *run)
{
	BackupLink *link = &chain->links[chain->count++];

	link->root = run->root;
	link->parts = run->tar ? run->parts : NULL;
	link->meta = &run->meta;
	link->list = run->list;
	link->sink = run->sink;
}

/* After all of them were read. */
static void
join_chain(BackupRun *run)
{
	int			nprior = run->options->nprior;

	if (nprior == 0)
		return;
	run->chain.links = allocate_zeros((size_t) (nprior + 1) * sizeof(BackupLink));
	for (int i = 0; i < nprior; i++)
	{
		const BackupSummary *prior = &run->priors[i].summary;

		add_link(&run->chain, &run->priors[i].run);
		run->summary->files += prior->files;
		run->summary->bytes += prior->bytes;
		run->summary->pages += prior->pages;
		run->summary->bad_pages += prior->bad_pages;
	}
	add_link(&run->chain, run);
	backup_chain_check(&run->chain);
	backup_chain_check_sources(&run->chain);
}

static void
read_priors(BackupRun *run)
{
	int			nprior = run->options->nprior;

	run->priors = allocate_zeros((size_t) nprior * sizeof(BackupPrior));
	for (int i = 0; i < nprior; i++)
	{
		BackupRun  *prior = &run->priors[i].run;

		begin_prior(&run->priors[i], run, i);
		read_backup(prior);
		if (prior->spool != NULL)
			backup_spool_end(prior->spool);
	}
}

BackupRunResult
backup_run(const BackupOptions *options, BackupSink *sink,
		   BackupSummary *summary, const char **refused)
{
	BackupRun	run = {options, sink, summary};
	BackupParts parts = {0};
	BackupRunResult result = look_for_directories(options, refused);

	memset(summary, 0, sizeof(*summary));
	if (result != BACKUP_RUN_OK)
		return result;
	run.parts = options->nprior > 0 ? &parts : NULL;
	run.suspects.replaced = is_reset;
	run.suspects.arg = &run;
	read_priors(&run);
	read_backup(&run);
	if (run.refused)
		return result;
	join_chain(&run);
	if (run.manifest->status != BACKUP_OK)
		backup_gaps_find(run.list, run.base, run.meta.major, &run.suspects);
	/* without an archive nothing is known of its files */
	if (!run.unread || run.meta.major[0] != '\0')
		backup_cluster_verify(run.base, run.spool == NULL,
							  options->direct && run.spool == NULL,
							  is_told, &run, &run.suspects, sink);
	verify_wal(&run);
	backup_parts_end(&parts);
	if (run.spool != NULL)
		backup_spool_end(run.spool);
	return BACKUP_RUN_OK;
}
