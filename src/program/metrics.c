/*
 * metrics.c
 *	  Metrics of a run, for Prometheus's textfile collector.
 */
#include <time.h>

#include "program/host.h"
#include "program/metrics.h"
#include "program/replace.h"

static void
write_label(FILE * file, const char *value)
{
	for (; *value != '\0'; value++)
		if (*value == '\n')
			fputs("\\n", file);
		else if (*value == '"' || *value == '\\')
			fprintf(file, "\\%c", *value);
		else
			putc(*value, file);
}

static void
write_metric(FILE * file, const Metrics *metrics, const char *name,
			 const char *help, double value)
{
	fprintf(file, "# HELP " PROGRAM_NAME "_%s %s\n", name, help);
	fprintf(file, "# TYPE " PROGRAM_NAME "_%s gauge\n", name);
	fprintf(file, PROGRAM_NAME "_%s{command=\"%s\",subject=\"", name, metrics->command);
	write_label(file, metrics->subject);
	fprintf(file, "\"} %.15g\n", value);
}

bool
metrics_write(const char *path, const Metrics *metrics)
{
	Replace		replace;
	FILE	   *file;

	if (!replace_begin(&replace, path))
		return false;
	file = replace.file;
	write_metric(file, metrics, "files", "Files that were judged.", (double) metrics->files);
	write_metric(file, metrics, "read_files", "Files that this run read.", (double) metrics->read);
	write_metric(file, metrics, "findings", "Files with a finding.", (double) metrics->findings);
	write_metric(file, metrics, "not_verifiable", "Files without a verdict.",
				 (double) metrics->unverified);
	write_metric(file, metrics, "verified_bytes", "Bytes that this run verified.",
				 (double) metrics->bytes);
	write_metric(file, metrics, "exit_status",
				 "How the run ended: 0 sound, 1 failed, 2 findings, 3 not all verified.",
				 metrics->status);
	write_metric(file, metrics, "duration_seconds", "How long the run took.", metrics->seconds);
	write_metric(file, metrics, "completed_timestamp_seconds", "When the run ended.",
				 (double) time(NULL));
	return replace_end(&replace, true, false);
}
