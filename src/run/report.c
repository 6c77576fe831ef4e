/*
 * report.c
 *	  Writes the messages of a run, which are findings, progress and the
 *	  closing line.
 *
 * A finding is a WARNING in the server's own words, so that what watches the
 * server's log for invalid pages sees ours.  A disk that dies would fill that
 * log.  So adjacent blocks with the same finding are one line, and a relation
 * has at most LINES_MAX of them.  The tables have all.  Relations that cannot
 * be verified have as many lines of their own.
 */
#include "compat.h"

#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "run/database_run.h"

#define LINES_MAX	100

static void report_findings(DatabaseRun *run, const RunLine *line);
static const char *phrase_of(PageStatus status, bool several);
static const char *hint_of(const RunRelation *relation, const PageFinding *finding);

/*
 * Returns its name with its schema, quoted where needed, and with its table if
 * it is part of one.
 */
static const char *
relation_name(const RunRelation *relation)
{
	const char *name;

	if (relation->name == NULL)
		return psprintf("with OID %u", relation->item.relid);
	name = relation->schema == NULL ? quote_identifier(relation->name) :
		quote_qualified_identifier(relation->schema, relation->name);
	if (relation->owner == NULL)
		return name;
	return psprintf("%s (%s of %s)", name, relation->kind, relation->owner);
}

/* Held back until one comes that does not adjoin it, or the batch ends. */
void
report_finding(DatabaseRun *run, const PageFinding *finding)
{
	RunLine    *line = &run->line;

	if (line->findings > 0 && finding->blkno >= 0 &&
		finding->status == line->first.status &&
		finding->copy == line->first.copy &&
		finding->fork == line->first.fork &&
		finding->blkno == line->last + 1)
	{
		line->last++;
		line->findings++;
		return;
	}
	report_line(run);
	line->first = *finding;
	line->last = finding->blkno;
	line->findings = 1;
}

void
report_line(DatabaseRun *run)
{
	RunLine    *line = &run->line;

	if (line->findings == 0)
		return;
	if (line->first.status == PAGE_NOT_VERIFIABLE ?
		run->unverified++ < LINES_MAX : run->lines++ < LINES_MAX)
		report_findings(run, line);
	else if (line->first.status != PAGE_NOT_VERIFIABLE)
		run->untold += line->findings;
	line->findings = 0;
}

static void
report_findings(DatabaseRun *run, const RunLine *line)
{
	const PageFinding *finding = &line->first;
	bool		several = line->findings > 1;
	char		blocks[64] = "";
	char		fork[32] = "";
	char		place[SCAN_PATH_SIZE + 64] = "";

	if (several)
		snprintf(blocks, sizeof(blocks), "s " INT64_FORMAT " to " INT64_FORMAT " of ",
				 finding->blkno, line->last);
	else if (finding->blkno >= 0)
		snprintf(blocks, sizeof(blocks), " " INT64_FORMAT " of ", finding->blkno);
	if (finding->fork > MAIN_FORKNUM)
		snprintf(fork, sizeof(fork), "fork \"%s\" of ", forkNames[finding->fork]);
	if (finding->path[0] != '\0' && finding->file_offset >= 0)
		snprintf(place, sizeof(place), " File \"%s\", offset " INT64_FORMAT ".",
				 finding->path, finding->file_offset);
	else if (finding->path[0] != '\0')
		snprintf(place, sizeof(place), " File \"%s\".", finding->path);
	ereport(WARNING,
			(errcode(finding->status == PAGE_NOT_VERIFIABLE ?
					 ERRCODE_WARNING : ERRCODE_DATA_CORRUPTED),
			 errmsg("%s%s%srelation %s",
					phrase_of(finding->status, finding->blkno >= 0),
					blocks, fork, relation_name(run->relation)),
			 errdetail_internal("%s: %s.%s", page_status_name(finding->status),
								finding->message[0] ? finding->message :
								"no more is known", place),
			 hint_of(run->relation, finding) == NULL ? 0 :
			 errhint("%s", hint_of(run->relation, finding))));
}

/* What is said before the number of the block. */
static const char *
phrase_of(PageStatus status, bool block)
{
	switch (status)
	{
		case PAGE_NOT_VERIFIABLE:
			return "could not verify ";
		case PAGE_IO_ERROR:
			return block ? "could not read block" : "could not read ";
		case PAGE_MISSING_SEGMENT:
			return "missing file at block";
		case PAGE_SHORT_SEGMENT:
			return "file is too short at block";
		case PAGE_PARTIAL_BLOCK:
			return "incomplete block";
		default:
			return block ? "invalid page in block" : "invalid page in ";
	}
}

/* The one thing to do first. */
static const char *
hint_of(const RunRelation *relation, const PageFinding *finding)
{
	if (finding->status == PAGE_NOT_VERIFIABLE)
		return NULL;
	if (finding->status == PAGE_BAD_ON_DISK_CACHED_OK)
		return finding->copy == BLOCK_COPY_PROVEN ?
			"Do not restart: shared buffers hold a page, which heal_block() writes unless WAL has a newer one. See " ACCEL_RUNBOOK "." :
			"Do not restart: shared buffers hold the page, maybe changed since it was read. If its rows are right, heal_block() writes it with allow_unproven => true. See " ACCEL_RUNBOOK ".";
	if (finding->status == PAGE_BAD_ON_DEVICE_CACHED_OK)
		return "Do not restart the machine: heal_block() with direct_io => true writes the page of its page cache. See " ACCEL_RUNBOOK ".";
	if (finding->status == PAGE_BAD_IN_PAGE_CACHE)
		return "No data are lost: drop the file from the page cache. See " ACCEL_RUNBOOK ".";
	if (finding->fork == FSM_FORKNUM || finding->fork == VISIBILITYMAP_FORKNUM)
		return "The server rebuilds this fork. See " ACCEL_RUNBOOK ".";
	if (finding->relid < FirstNormalObjectId)
		return "A system catalog is damaged: copy the data directory before any repair. See " ACCEL_RUNBOOK ".";
	if (relation->kind != NULL && strcmp(relation->kind, "index") == 0)
		return "REINDEX the index when its table is clean. See " ACCEL_RUNBOOK ".";
	if (relation->kind != NULL && strcmp(relation->kind, "materialized view") == 0)
		return "REFRESH the materialized view when its tables are clean. See " ACCEL_RUNBOOK ".";
	return "Copy the data directory before any repair. See " ACCEL_RUNBOOK ".";
}

/* One line for all of a relation, which the tables have one by one. */
void
report_lost(DatabaseRun *run, const LostFinding *first, int count)
{
	char		fork[32] = "";

	if (first->fork > MAIN_FORKNUM)
		snprintf(fork, sizeof(fork), "fork \"%s\" of ", forkNames[first->fork]);
	ereport(WARNING,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 count == 1 ?
			 errmsg("lost write in block %u of %srelation %s", first->block, fork,
					relation_name(run->relation)) :
			 errmsg("lost writes in %d blocks of relation %s", count,
					relation_name(run->relation)),
			 errdetail_internal("%s: block %u: %s. File \"%s\".",
								lost_status_name(first->status), first->block,
								first->message, first->path),
			 errhint("Replace the storage, and keep the WAL: pages may be given back by it. See " ACCEL_RUNBOOK ".")));
}

static int
hint_at_rest(const DatabaseRun *run)
{
	return run->recording ? errhint("verify_findings has all of them.") :
		errhint("verify_relation() shows all of them.");
}

/* A relation is verified. */
void
report_relation(DatabaseRun *run)
{
	const RunRelation *relation = run->relation;

	if (run->untold > 0)
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("%s in relation %s",
						accel_counted(run->untold, "more finding", "more findings"),
						relation_name(relation)),
				 hint_at_rest(run)));
	run->untold = 0;
	if (run->options.verbose && relation->unverifiable == 0)
		ereport(INFO,
				(errmsg("verified %s: %s, %s", relation_name(relation),
						accel_counted(relation->blocks, "block", "blocks"),
						accel_counted(relation->findings, "finding", "findings"))));
}

static double
seconds_since(TimestampTz start)
{
	return (double) (GetCurrentTimestamp() - start) / USECS_PER_SEC;
}

static const char *
time_left_text(double seconds)
{
	if (seconds < 90)
		return psprintf("about %.0f s left", seconds);
	if (seconds < 90 * 60)
		return psprintf("about %.0f minutes left", seconds / 60);
	return psprintf("about %.1f hours left", seconds / 3600);
}

/* As often as report_interval says. */
void
report_progress(DatabaseRun *run)
{
	TimestampTz now = GetCurrentTimestamp();
	double		total = run->progress.bytes_total;
	double		done;
	double		rate;

	if (run->next_report == 0 || now < run->next_report)
		return;
	run->next_report = now + run->options.report_interval;
	done = Min((double) run->progress.bytes_done + run->fork_bytes, total);
	rate = done / Max(seconds_since(run->started), 1e-6);
	ereport(INFO,
			(errmsg("%s of %s, %d %%, %s/s, %s, %s",
					accel_size_text(done), accel_size_text(total),
					(int) (total > 0 ? done * 100 / total : 100),
					accel_size_text(rate),
					time_left_text(rate > 0 ? (total - done) / rate : 0),
					accel_counted(run->totals.findings + run->batch.findings,
								  "finding", "findings"))));
}

/* How the next run goes on from where this one stopped, or NULL. */
static const char *
hint_to_go_on(const DatabaseRun *run)
{
	if (run->stopped && run->recording && !run->options.skip &&
		run->options.order == RUN_ORDER_STALEST)
		return "The next run in this order goes on where this one stopped.";
	if (run->stopped && run->recording)
		return psprintf("To go on, pass reverify_after => now() - timestamptz '%s'.",
						timestamptz_to_str(run->options.skip ?
										   run->options.skip_since :
										   run->started));
	if (OidIsValid(run->stopped_at.relid))
		return psprintf("To go on, pass resume_at => '%s%u/%s/%u%s'.",
						OidIsValid(run->stopped_at.database) ?
						psprintf("%u/", run->stopped_at.database) : "",
						run->stopped_at.relid, forkNames[run->stopped_at.fork],
						run->stopped_at.block,
						OidIsValid(run->stopped_at.number) ?
						psprintf("/%u", run->stopped_at.number) : "");
	return NULL;
}

/* "; 3 findings (1 in cluster files), 0 not verifiable" */
static const char *
findings_text(const RunTotals *totals)
{
	return psprintf("; %s%s, " INT64_FORMAT " not verifiable",
					accel_counted(totals->findings - totals->unverifiable,
								  "finding", "findings"),
					totals->bad_files == 0 ? "" :
					psprintf(" (" INT64_FORMAT " in cluster files)",
							 totals->bad_files),
					totals->unverifiable);
}

static void
report_unverified(const DatabaseRun *run)
{
	if (run->unverified > LINES_MAX)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("could not verify " INT64_FORMAT " more relations",
						run->unverified - LINES_MAX),
				 hint_at_rest(run)));
}

/* The verdict. */
void
report_end(DatabaseRun *run, const char *state)
{
	const RunTotals *totals = &run->totals;
	double		seconds = seconds_since(run->started);
	const char *next = hint_to_go_on(run);

	report_unverified(run);
	ereport(INFO,
			(errmsg("%s: %s%s, %s%s, %s in %.1f s (%s/s)%s%s", state,
					!run->options.cluster ? "" :
					psprintf("%s, ", accel_counted(run->databases, "database", "databases")),
					accel_counted(totals->relations, "relation", "relations"),
					accel_counted(totals->blocks, "block", "blocks"),
					totals->unwritten == 0 ? "" :
					psprintf(" (" INT64_FORMAT " not on disk yet)",
							 totals->unwritten),
					accel_size_text(totals->bytes), seconds,
					accel_size_text(totals->bytes / Max(seconds, 1e-6)),
					!run->options.cluster_files ? "" :
					psprintf(", %s", accel_counted(totals->files, "cluster file", "cluster files")),
					findings_text(totals)),
			 !run->checksums_off ? 0 :
			 errdetail("Data checksums are disabled in this cluster: only page headers and segments were verified."),
			 next ? errhint("%s", next) : 0));
}
