/*
 * backup.c
 *	  The command that verifies a base backup.
 *
 * Its rows are those of verify_backup().
 */
#include <errno.h>
#include <string.h>

#include "backup/run.h"
#include "program/backup.h"
#include "program/jobs.h"
#include "program/output.h"
#include "program/owner.h"
#include "program/readers.h"

/* The columns of verify_backup(), in their order. */
static void
print_columns(Json *json, const void *of)
{
	const BackupFinding *finding = of;

	json_text(json, "path", true, finding->path);
	json_number(json, "blkno", finding->blkno >= 0, (uint64_t) finding->blkno);
	json_text(json, "status", true, finding->status);
	json_text(json, "stored", finding->expected != NULL, finding->expected);
	json_text(json, "computed", finding->actual != NULL, finding->actual);
	json_lsn(json, "lsn", finding->lsn != 0, finding->lsn);
	json_text(json, "message", finding->message != NULL, finding->message);
}

/* What is told and is no damage is shown as SQL shows it. */
static void
on_finding(void *arg, const BackupFinding *finding)
{
	BackupRank	rank = backup_sink_rank(finding);
	OutputRow	row = {rank == BACKUP_DAMAGE, rank == BACKUP_NO_VERDICT,
		finding->status, finding->message == NULL ? "" : finding->message,
	print_columns, finding, true};
	char		name[BACKUP_PATH_MAX + 32];

	if (finding->blkno >= 0)
		snprintf(name, sizeof(name), "%s, block %lld", finding->path,
				 (long long) finding->blkno);
	else
		snprintf(name, sizeof(name), "%s", finding->path);
	output_other(arg, name, &row);
}

/* ---- segments, by jobs.c ---- */

typedef struct SegmentResults
{
	void		(*result) (void *arg, const WalSegmentResult *result);
	void	   *arg;
} SegmentResults;

static void
on_segment(void *arg, size_t i, const WalSegmentResult *result)
{
	SegmentResults *results = arg;

	(void) i;
	results->result(results->arg, result);
}

static void
judge_wal(const WalDirectory *dir, WalRange range, const WalNames *list,
		  int workers, struct Throttle *throttle,
		  void (*result) (void *arg, const WalSegmentResult *result),
		  void *arg)
{
	SegmentResults results = {result, arg};

	jobs_judge(dir, range, list, workers, throttle, on_segment, &results);
}

/* The cluster is the one that was given, else that of the WAL itself. */
static void
identify_wal(void *arg, WalDirectory *dir)
{
	const Options *options = arg;
	HostServer	owner = owner_find(dir, options->system, options->magic);

	owner_set(dir, &owner);
}

/* ---- progress ---- */

static void
show_read(void *arg, int64_t bytes)
{
	Output	   *output = arg;

	output->done += (uint64_t) bytes;
	output_progress(output, "bytes", output->done,
					output->expected > output->done ? output->expected : 0);
}

static void
expect(void *arg, int64_t bytes)
{
	Output	   *output = arg;

	output->expected += (uint64_t) bytes;
}

void
backup_progress_begin(BackupProgress *progress, Output *output)
{
	progress->read = show_read;
	progress->arg = output;
	progress->expect = expect;
	output->done = output->expected = 0;
}

void
backup_progress_end(Output *output)
{
	output_progress(output, "bytes", output->done, output->done);
}

/* ---- the command ---- */

BackupOptions
backup_options(const Options *options)
{
	BackupOptions backup = {options->operands[0]};

	backup.wal = options->wal.count > 0 ? options->wal.values[0] : NULL;
	backup.nprior = (int) options->prior.count;
	backup.prior = options->prior.values;
	backup.check_pages = !options->no_pages;
	backup.include_healed = options->verbose;
	backup.workers = options->jobs;
	backup.verify_files = readers_verify;
	backup.judge_wal = judge_wal;
	backup.identify_wal = identify_wal;
	backup.arg = (void *) options;
	backup.magic = options->magic;
	backup.throttle = program_throttle(options->max_rate);
	backup.direct = options->direct;
	return backup;
}

/* No finding means sound, and pages whose checksums mean nothing are not. */
static void
end_summary(Output *output, const BackupSummary *summary)
{
	output->files = output->read = (uint64_t) summary->files;
	output->pages = (uint64_t) summary->pages;
	output->bytes = (uint64_t) summary->bytes;
	output->records = (uint64_t) summary->wal_records;
	if (summary->checksums_off && summary->pages > 0)
		program_warn("data checksums are disabled in the cluster of this backup: of pages, only headers were verified");
}

int
backup_command(const Options *options)
{
	BackupOptions backup = backup_options(options);
	BackupSummary summary;
	Output		output;
	BackupSink	sink = {on_finding, &output};
	BackupProgress progress;
	const char *refused;

	output_begin(&output, options, backup.root);
	backup_progress_begin(&progress, &output);
	backup.progress = &progress;
	switch (backup_run(&backup, &sink, &summary, &refused))
	{
		case BACKUP_RUN_NONE:
			program_fail("\"%s\" is not a directory", refused);
		case BACKUP_RUN_FAILED:
			program_fail("could not open directory \"%s\": %s", refused, strerror(errno));
		case BACKUP_RUN_OK:
			break;
	}
	backup_progress_end(&output);
	end_summary(&output, &summary);
	return output_end(&output);
}
