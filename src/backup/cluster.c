/*
 * cluster.c
 *	  The files of a backup that carry a CRC of their own.
 *
 * A file that ends with its own CRC-32C has the same CRC-32C whatever it
 * holds.  So the manifest's default algorithm says nothing of pg_control,
 * relation maps and prepared transactions.  What they say is compared with the
 * rest instead.
 */
#include <stdio.h>

#include "backup/cluster.h"
#include "cluster/files.h"
#include "cluster/look.h"
#include "cluster/slru_files.h"

typedef struct ClusterScan
{
	const char *root;
	bool		(*known) (void *arg, const char *path);
	void	   *arg;
	BackupSuspects *suspects;
	BackupSink *sink;
} ClusterScan;

static void
emit_row(const ClusterScan *scan, const ClusterRow *row, const char *status,
		 const char *words)
{
	BackupFinding finding = {row->path, -1, status};
	char		sums[2][16];

	if (row->verdict.has_crc &&
		row->verdict.stored_crc != row->verdict.computed_crc)
	{
		snprintf(sums[0], sizeof(sums[0]), "%u", row->verdict.computed_crc);
		snprintf(sums[1], sizeof(sums[1]), "%u", row->verdict.stored_crc);
		finding.expected = sums[0];
		finding.actual = sums[1];
	}
	finding.message = words;
	backup_sink_emit(scan->sink, &finding);
}

/*
 * WAL may be in an archive, where what is missing of it is found.  A link that
 * leads nowhere was found when the folders were walked through.  What catalogs
 * name is a question to WAL (backup/gaps.c), or the manifest lists it.
 */
static bool
is_found_elsewhere(const ClusterRow *row)
{
	return row->verdict.reason == CLUSTER_REASON_LINK ||
		row->verdict.reason == CLUSTER_REASON_CONTROL_CHECKPOINT ||
		row->verdict.reason == CLUSTER_REASON_CONTROL_WAL_NONE ||
		row->verdict.reason == CLUSTER_REASON_CONTROL_WAL_UNREAD;
}

/*
 * Each file that a map lacks is a question of its own, since CREATE DATABASE
 * writes the map before it makes the files by WAL.
 */
static void
add_mapped(const ClusterScan *scan, const ClusterRow *row)
{
	for (int i = 0; i < cluster_map_count(row->map); i++)
	{
		ClusterMapping mapping = cluster_map_entry(row->map, i);
		ClusterVerdict verdict = {0};
		char		words[CLUSTER_MESSAGE_SIZE];

		if (cluster_look_mapped(scan->root, row->path, false, mapping, &verdict))
			continue;
		/* what excuses the first one excuses all of them */
		if (row->verdict.status == CLUSTER_NOT_VERIFIABLE)
			verdict = row->verdict;
		cluster_verdict_words(&verdict, row->kind, false, words);
		if (backup_suspects_add_map(scan->suspects, row->path, mapping.file,
									cluster_status_name(verdict.status), words))
			continue;
		emit_row(scan, row, cluster_status_name(verdict.status), words);
		return;
	}
}

static void
on_row(void *arg, const ClusterRow *row)
{
	const ClusterScan *scan = arg;
	const char *status = cluster_status_name(row->verdict.status);
	char		words[CLUSTER_MESSAGE_SIZE];

	if (row->verdict.status == CLUSTER_OK || is_found_elsewhere(row) ||
		scan->known(scan->arg, row->path))
		return;
	if (row->map != NULL)
	{
		add_mapped(scan, row);
		return;
	}
	cluster_verdict_words(&row->verdict, row->kind, false, words);
	if (!backup_suspects_add_map(scan->suspects, row->path, 0, status, words))
		emit_row(scan, row, status, words);
}

void
backup_cluster_verify(const char *root, bool whole, bool direct,
					  bool (*known) (void *arg, const char *path), void *arg,
					  BackupSuspects *suspects, BackupSink *sink)
{
	ClusterScan scan = {root, known, arg, suspects, sink};

	/* without the version, formats are not known */
	if (known(arg, "PG_VERSION") ||
		cluster_files_scan(root, NULL, false, direct, NULL, on_row, &scan) == CLUSTER_FILES_OK)
	{
		if (whole)
			slru_files_scan(root, NULL, on_row, &scan);
		return;
	}
	backup_sink_file(sink, "PG_VERSION", BACKUP_MISSING,
					 "not a data directory: this file is not there or says nothing");
}
