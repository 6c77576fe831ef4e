/*
 * chain.c
 *	  An incremental backup and those before it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backup/chain.h"
#include "host/host.h"
#include "host/print.h"

#define LABEL_FILE		"backup_label"
#define CONTROL_FILE	"global/pg_control"

/* ---- does each begin where the one before it says? ---- */

static void
report_difference(BackupSink *sink, const char *path, BackupStatus status,
				  const char *expected, const char *actual, const char *message)
{
	BackupFinding finding = {path, -1, backup_status_name(status)};

	finding.expected = expected;
	finding.actual = actual;
	finding.message = message;
	backup_sink_emit(sink, &finding);
}

/* An LSN and a timeline, in words. */
static char *
words_of_start(uint64_t lsn, uint32_t timeline)
{
	return host_print(WAL_LSN_FORMAT " on timeline %u", WAL_LSN_ARGS(lsn), timeline);
}

static void
check_start(const BackupLink *link, const BackupLink *before)
{
	const BackupLabel *label = &link->meta->label;
	const BackupLabel *prior = &before->meta->label;

	if (prior->start == label->previous_start &&
		prior->timeline == label->previous_timeline)
		return;
	report_difference(link->sink, LABEL_FILE, BACKUP_BAD_FORMAT,
					  words_of_start(label->previous_start, label->previous_timeline),
					  words_of_start(prior->start, prior->timeline),
					  "the backup before it does not start where this incremental backup says");
}

static void
check_label(const BackupChain *chain, int n)
{
	const BackupLink *link = &chain->links[n];
	bool		full = link->meta->label.previous_start == 0;

	if (!link->meta->has_label)
		backup_sink_file(link->sink, LABEL_FILE, BACKUP_NOT_VERIFIABLE,
						 "missing or invalid: its place in the chain is not verified");
	else if (n == 0 && !full)
		backup_sink_file(link->sink, LABEL_FILE, BACKUP_BAD_FORMAT,
						 "incremental backup, but the first one of a chain must be a full backup");
	else if (n > 0 && full)
		backup_sink_file(link->sink, LABEL_FILE, BACKUP_BAD_FORMAT,
						 "full backup, but backups before it were named");
	else if (n > 0 && chain->links[n - 1].meta->has_label)
		check_start(link, &chain->links[n - 1]);
}

static void
check_system(const BackupLink *link, const BackupLink *last)
{
	uint64_t	expected = last->meta->control.system;
	uint64_t	actual = link->meta->control.system;

	if (!link->meta->has_control || !last->meta->has_control ||
		expected == actual)
		return;
	report_difference(link->sink, CONTROL_FILE, BACKUP_FOREIGN,
					  host_print("%" PRIu64, expected),
					  host_print("%" PRIu64, actual),
					  "system identifier is not that of the last backup of the chain");
}

void
backup_chain_check(const BackupChain *chain)
{
	for (int n = 0; n < chain->count; n++)
	{
		check_label(chain, n);
		check_system(&chain->links[n], &chain->links[chain->count - 1]);
	}
}

/* ---- what an incremental file is a part of ---- */

static bool
link_has(const BackupLink *link, const char *path)
{
	return backup_list_find(link->list, path) >= 0;
}

/* The whole file, before any backup that has not even a part of it? */
static bool
has_source(const BackupChain *chain, const char *full, const char *part)
{
	const BackupLink *links = chain->links;
	int			n = chain->count - 2;

	while (n >= 0 && !link_has(&links[n], full) && link_has(&links[n], part))
		n--;
	return n >= 0 && link_has(&links[n], full);
}

void
backup_chain_check_sources(const BackupChain *chain)
{
	const BackupLink *last = &chain->links[chain->count - 1];
	BackupRelationFile relation;
	char		full[BACKUP_PATH_MAX];

	/* without a full one that nothing has a source is no news */
	if (chain->links[0].meta->label.previous_start != 0)
		return;
	for (uint32_t i = 0; i < last->list->count; i++)
	{
		const char *path = backup_list_path(last->list, i);

		host_interrupts();
		if (!backup_incremental_file(path, &relation))
			continue;
		backup_full_path(path, full);
		if (!has_source(chain, full, path))
			backup_sink_file(last->sink, path, BACKUP_MISSING,
							 "no backup before it has the file that this is a part of");
	}
}

/* ---- which backup has a block ---- */

/*
 * Reads the header of a plain incremental file.  Unless it is OK there are no
 * numbers.
 */
static void
read_header(BackupLink *link, const char *path)
{
	char	   *whole = host_print("%s/%s", link->root, path);
	FileScan	scan;

	if (file_scan_open(&scan, whole) == FILE_SCAN_OK)
	{
		(void) backup_blocks_read(&link->blocks, &scan,
								  link->meta->control.segment_blocks);
		file_scan_close(&scan);
	}
	host_free(whole);
}

/* The same of one in an archive, as it was read. */
static void
find_header(BackupLink *link, const char *path)
{
	int64_t		entry = backup_list_find(link->list, path);

	if (entry >= 0 && link->list->entries[entry].part >= 0)
		backup_parts_get(link->parts, link->list->entries[entry].part,
						 &link->blocks);
}

static void
read_blocks(BackupLink *link, const char *path)
{
	backup_blocks_free(&link->blocks);
	if (link->parts != NULL)
		find_header(link, path);
	else
		read_header(link, path);
	snprintf(link->path, sizeof(link->path), "%s", path);
}

/* Is the block, by its number in the file, that of this backup? */
static bool
part_has(BackupLink *link, const char *path, uint32_t block, bool last)
{
	const BackupIncrement *increment = &link->blocks.increment;

	if (strcmp(link->path, path) != 0)
		read_blocks(link, path);
	if (link->blocks.numbers == NULL)
		return false;
	if (backup_increment_find(increment, link->blocks.numbers, block) >= 0)
		return true;
	/* beyond the end of the file that is put together */
	return last && block >= increment->truncation &&
		block >= backup_increment_end(increment, link->blocks.numbers);
}

bool
backup_chain_replaces(BackupChain *chain, int n, const char *path,
					  uint32_t block)
{
	/* not 0, else its pages were not judged */
	uint32_t	segment = chain->links[n].meta->control.segment_blocks;
	BackupRelationFile relation;
	char		full[BACKUP_PATH_MAX];
	char		part[BACKUP_PATH_MAX];
	bool		fits;

	if (backup_incremental_file(path, &relation))
		backup_full_path(path, full);
	else
		snprintf(full, sizeof(full), "%s", path);
	fits = backup_incremental_path(full, part);
	while (fits && ++n < chain->count)
	{
		BackupLink *link = &chain->links[n];

		if (link_has(link, full) || !link_has(link, part) ||
			part_has(link, part, block % segment, n == chain->count - 1))
			return true;
	}
	return false;
}
