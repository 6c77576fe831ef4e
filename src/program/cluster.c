/*
 * cluster.c
 *	  The command that verifies the files of a data directory.
 *
 * It gives the rows that verify_cluster_files() gives of a directory that is
 * not its server's.  A server that runs there is not asked.  What its writes
 * make look wrong is looked at again, as cluster/look.c says.
 */
#include <errno.h>
#include <string.h>

#include "cluster/files.h"
#include "cluster/slru_files.h"
#include "program/cluster.h"
#include "program/output.h"

typedef struct FileRow
{
	const ClusterRow *row;
	const char *words;
} FileRow;

/* The columns of verify_cluster_files(), in their order. */
static void
print_columns(Json *json, const void *of)
{
	const FileRow *file = of;
	const ClusterRow *row = file->row;
	const ClusterVerdict *verdict = &row->verdict;
	const char *status = cluster_status_name(verdict->status);

	json_text(json, "path", true, row->path);
	json_text(json, "kind", true, cluster_kind_name(row->kind));
	json_text(json, "status", true, status);
	json_bool(json, "is_finding", status_is_finding(status));
	json_number(json, "stored_crc", verdict->has_crc, verdict->stored_crc);
	json_number(json, "computed_crc", verdict->has_crc, verdict->computed_crc);
	json_number(json, "size", row->bytes >= 0, (uint64_t) row->bytes);
	json_text(json, "message", file->words[0] != '\0', file->words);
}

static void
on_row(void *arg, const ClusterRow *row)
{
	Output	   *output = arg;
	char		words[CLUSTER_MESSAGE_SIZE];
	FileRow		file = {row, words};
	const char *status = cluster_status_name(row->verdict.status);
	OutputRow	line = {status_is_finding(status),
		row->verdict.status == CLUSTER_NOT_VERIFIABLE, status, words,
	print_columns, &file};

	cluster_verdict_words(&row->verdict, row->kind, row->live, words);
	output->files++;
	output->read += row->bytes >= 0 ? 1 : 0;
	output->bytes += row->verdict.has_crc ? (uint64_t) row->bytes : 0;
	output_other(output, row->path, &line);
}

int
cluster_command(const Options *options)
{
	const char *path = options->operands[0];
	Output		output;

	output_begin(&output, options, path);
	switch (cluster_files_scan(path, NULL, true, options->direct,
							   program_throttle(options->max_rate), on_row,
							   &output))
	{
		case CLUSTER_FILES_FAILED:
			program_fail("could not open directory \"%s\": %s", path, strerror(errno));
		case CLUSTER_FILES_NONE:
			program_fail("\"%s\" is not a directory", path);
		case CLUSTER_FILES_NO_CLUSTER:
			program_fail("\"%s\" is not a data directory: file \"PG_VERSION\" is missing", path);
		case CLUSTER_FILES_OK:
			break;
	}
	slru_files_scan(path, NULL, on_row, &output);
	return output_end(&output);
}
