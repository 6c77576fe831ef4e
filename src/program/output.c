/*
 * output.c
 *	  What the program prints of files of WAL, in each of its formats, and how it
 *	  ends.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program/metrics.h"
#include "program/output.h"
#include "wal/version.h"

#define SECOND	UINT64_C(1000000)

/* What ends with this status is called so by Nagios, and there. */
static const struct
{
	const char *word;
	int			status;
}			nagios[] = {
	[EXIT_SOUND] = {"OK", 0},
	[EXIT_FAILED] = {"UNKNOWN", 3},
	[EXIT_FINDINGS] = {"CRITICAL", 2},
	[EXIT_UNVERIFIED] = {"UNKNOWN", 3}
};

static uint64_t
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t) time.tv_sec * SECOND + (uint64_t) time.tv_nsec / 1000;
}

void
output_begin(Output *output, const Options *options, const char *subject)
{
	memset(output, 0, sizeof(*output));
	output->options = options;
	output->subject = subject;
	output->file = stdout;
	output->begin = output->shown = now();
}

bool
output_is_reported(WalStatus status)
{
	return status == WAL_NOT_VERIFIABLE || wal_status_is_finding(status);
}

/* ---- JSON ---- */

static void
json_string(FILE * file, const char *text)
{
	putc('"', file);
	for (; *text !='\0'; text ++)
	{
		unsigned char c = (unsigned char) *text;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20)
			fprintf(file, "\\u%04x", c);
		else
			putc(c, file);
	}
	putc('"', file);
}

static void
json_text(FILE * file, const char *name, bool known, const char *value)
{
	fprintf(file, ",\"%s\":", name);
	if (known)
		json_string(file, value);
	else
		fputs("null", file);
}

static void
json_lsn(FILE * file, const char *name, bool known, WalLsn lsn)
{
	char text[	24];

	snprintf(text, sizeof(text), "%X/%X", (unsigned) (lsn >> 32), (unsigned) lsn);
	json_text(file, name, known, text);
}

static void
json_number(FILE * file, const char *name, bool known, uint64_t value)
{
	if (known)
		fprintf(file, ",\"%s\":%" PRIu64, name, value);
	else
		fprintf(file, ",\"%s\":null", name);
}

static uint64_t
findings_of(const WalSegmentResult *result)
{
	if (!wal_status_is_finding(result->status))
		return 0;
	return result->counts.errors > 0 ? result->counts.errors : 1;
}

/* The columns of verify_wal(), in their order. */
static void
print_json(FILE * file, const char *name, const WalSegmentResult *result,
		   const char *words)
{
	const WalCounts *counts = &result->counts;
	const char *version = wal_version_name(result->magic);
	bool		named = result->name.timeline != 0;

	fputs("{\"segment\":", file);
	if (name != NULL)
		json_string(file, name);
	else
		fputs("null", file);
	json_number(file, "timeline_id", named, result->name.timeline);
	json_lsn(file, "start_lsn", result->has_position, result->start_lsn);
	json_lsn(file, "end_lsn", result->has_counts, result->end_lsn);
	json_text(file, "status", true, wal_status_name(result->status));
	fprintf(file, ",\"is_finding\":%s", wal_status_is_finding(result->status) ? "true" : "false");
	json_text(file, "server_version", version != NULL, version);
	json_number(file, "records", true, counts->records);
	json_number(file, "fpi_bytes", true, counts->fpi_bytes);
	json_number(file, "verified_bytes", true, counts->bytes_verified);
	json_number(file, "unverified_head_bytes", true, counts->head_bytes);
	json_number(file, "unverified_tail_bytes", true, counts->tail_bytes);
	json_number(file, "zero_bytes", true, counts->zero_bytes);
	json_number(file, "skipped_bytes", true, counts->skipped_bytes);
	json_number(file, "findings", true, findings_of(result));
	json_lsn(file, "first_finding_lsn", counts->errors > 0, counts->first_error);
	json_number(file, "crc32c", result->has_crc, result->crc);
	json_text(file, "message", words[0] != '\0', words);
	json_text(file, "compression", result->has_format,
			  result->has_format ? decode_format_name(result->format) : NULL);
	fputs("}\n", file);
}

/* ---- rows ---- */

static void
print_row(Output *output, const char *name, const WalSegmentResult *result,
		  const char *words)
{
	const char *status = wal_status_name(result->status);
	char		line[OUTPUT_WORDS];

	snprintf(line, sizeof(line), "%s: %s%s%s", name == NULL ? output->subject : name,
			 status, words[0] == '\0' ? "" : ": ", words);
	if (output->first[0] == '\0' && output_is_reported(result->status))
		memcpy(output->first, line, sizeof(line));
	if (output->options->format == FORMAT_NAGIOS ||
		!(output->options->verbose || output_is_reported(result->status)))
		return;
	if (output->options->format == FORMAT_JSON)
		print_json(output->file, name, result, words);
	else
		fprintf(output->file, "%s\n", line);
}

void
output_row(Output *output, const char *name, const WalSegmentResult *result,
		   const char *words)
{
	char		own_name[WAL_NAME_SIZE];
	char		own_words[WAL_RESULT_WORDS];

	if (name == NULL && result->name.timeline != 0)
	{
		wal_name_print(&result->name, own_name);
		name = own_name;
	}
	if (words == NULL)
	{
		wal_segment_words(result, own_words);
		words = own_words;
	}
	output->files += result->name.timeline != 0 ? 1 : 0;
	output->records += result->counts.records;
	output->bytes += result->counts.bytes_verified;
	output->findings += wal_status_is_finding(result->status) ? 1 : 0;
	output->unverified += result->status == WAL_NOT_VERIFIABLE ? 1 : 0;
	print_row(output, name, result, words);
}

/* On a terminal it is one line that changes. */
void
output_progress(Output *output, uint64_t done, uint64_t total)
{
	uint64_t	time = now();

	if (!output->options->progress || total == 0 ||
		(time - output->shown < SECOND && done < total))
		return;
	output->shown = time;
	fflush(output->file);
	fprintf(stderr, "%" PRIu64 "/%" PRIu64 " segments (%" PRIu64 " %%), %" PRIu64 " with findings%s",
			done, total, done * 100 / total, output->findings,
			isatty(STDERR_FILENO) && done < total ? "\r" : "\n");
}

/* ---- the end ---- */

/* What failed is more than what could not be verified, and less than findings. */
ExitStatus
output_status(const Output *output)
{
	return output->findings > 0 ? EXIT_FINDINGS :
		output->failed ? EXIT_FAILED :
		output->unverified > 0 ? EXIT_UNVERIFIED : EXIT_SOUND;
}

static void
print_summary(const Output *output, double seconds)
{
	printf("%s: %" PRIu64 " files, %" PRIu64 " read, %" PRIu64 " records, %" PRIu64 " bytes of WAL verified in %.1f s: ",
		   output->subject, output->files, output->read, output->records,
		   output->bytes, seconds);
	printf("%" PRIu64 " with findings, %" PRIu64 " not verifiable\n",
		   output->findings, output->unverified);
}

static void
print_nagios(const Output *output, ExitStatus status, double seconds)
{
	printf("WAL %s - %" PRIu64 " of %" PRIu64 " files with findings, %" PRIu64 " not verifiable%s%s",
		   nagios[status].word, output->findings, output->files,
		   output->unverified, output->first[0] == '\0' ? "" : ": ",
		   output->first);
	printf(" | files=%" PRIu64 " read=%" PRIu64 " findings=%" PRIu64 ";;0 not_verifiable=%" PRIu64 ";0 bytes=%" PRIu64 "B seconds=%.1fs\n",
		   output->files, output->read, output->findings, output->unverified,
		   output->bytes, seconds);
}

static bool
write_metrics(const Output *output, double seconds)
{
	Metrics		metrics = {output->options->command_name, output->subject,
		output->files, output->read, output->findings, output->unverified,
	output->bytes, (int) output_status(output), seconds};

	return metrics_write(output->options->metrics, &metrics);
}

int
output_end(Output *output)
{
	const Options *options = output->options;
	double		seconds = (double) (now() - output->begin) / (double) SECOND;
	ExitStatus	status;

	if (options->metrics != NULL && !write_metrics(output, seconds))
		output->failed = true;
	status = output_status(output);
	if (options->format == FORMAT_NAGIOS)
		print_nagios(output, status, seconds);
	else if (options->format == FORMAT_TEXT && !options->quiet)
		print_summary(output, seconds);
	if (fflush(stdout) != 0 || ferror(stdout))
	{
		program_warn("could not write to standard output");
		output->failed = true;
		status = output_status(output);
	}
	return options->format == FORMAT_NAGIOS ? nagios[status].status : (int) status;
}
