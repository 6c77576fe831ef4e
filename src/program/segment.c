/*
 * segment.c
 *	  The command that verifies files of WAL, each alone.
 *
 * It is for archive_command.  A segment that is not archived stays in pg_wal,
 * which ends in a full disk and a server that stops.  A new base backup is what
 * helps against a damaged segment, and needs a server that runs.  So a finding
 * is reported, and archiving goes on, unless who calls it wants otherwise.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "program/alone.h"
#include "program/output.h"
#include "program/segment.h"

/* A report that cannot be written must not hide what was found. */
static FILE *
open_report(Output *output, const char *path)
{
	FILE	   *file = fopen(path, "a");

	if (file == NULL)
	{
		program_warn("could not open report \"%s\": %s", path, strerror(errno));
		output->failed = true;
	}
	output->file = file != NULL ? file : stderr;
	return file;
}

static void
close_report(Output *output, FILE * report, const char *path)
{
	bool		failed = ferror(report);

	output->file = stdout;
	if (fclose(report) == 0 && !failed)
		return;
	program_warn("could not write report \"%s\"", path);
	output->failed = true;
}

static void
judge_path(Output *output, const char *path, struct Throttle *throttle)
{
	Alone		alone;
	WalSegmentResult result;
	FileScanResult opened;

	if (!alone_begin(&alone, path, throttle, output->options->direct))
	{
		program_warn("\"%s\" has not the name of a file of WAL", path);
		output->failed = true;
		return;
	}
	opened = alone_open(&alone);
	if (opened == FILE_SCAN_OK)
	{
		alone_judge(&alone, output->options->system, output->options->magic, &result);
		output->read++;
		output_row(output, path, &result, NULL);
	}
	else
	{
		program_warn("could not open \"%s\": %s", path, opened == FILE_SCAN_IRREGULAR ?
					 "not a regular file" : strerror(errno));
		output->failed = true;
	}
	alone_end(&alone);
}

int
segment_command(const Options *options)
{
	struct Throttle *throttle = program_throttle(options->max_rate);
	Options		own = *options;
	Output		output;
	FILE	   *report = NULL;
	int			status;

	own.verbose = !options->quiet;
	own.quiet = true;			/* no last line */
	output_begin(&output, &own, options->operands[0]);
	if (options->report != NULL)
		report = open_report(&output, options->report);
	for (int i = 0; i < options->noperands; i++)
	{
		host_interrupts();
		judge_path(&output, options->operands[i], throttle);
	}
	if (report != NULL)
		close_report(&output, report, options->report);
	status = output_end(&output);
	return options->fail_on_finding ? status : EXIT_SOUND;
}
