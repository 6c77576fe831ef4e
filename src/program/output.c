/*
 * output.c
 *	  What the program prints of files, in each of its formats, and how it ends.
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
	return (uint64_t) program_time(CLOCK_MONOTONIC);
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

/* How many bytes of text are a character of UTF-8?  0 if they are none. */
static size_t
utf8_length(const unsigned char *text)
{
	size_t		length = text[0] < 0x80 ? 1 : text[0] < 0xC2 ? 0 :
		text[0] < 0xE0 ? 2 : text[0] < 0xF0 ? 3 : text[0] < 0xF5 ? 4 : 0;

	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xC0) !=0x80)
			return 0;
	/* neither longer than need be, nor a surrogate, nor beyond the last one */
	if ((text[0] == 0xE0 && text[1] < 0xA0) ||(text[0] == 0xED && text[1] > 0x9F) ||
		(text[0] == 0xF0 && text[1] < 0x90) ||(text[0] == 0xF4 && text[1] > 0x8F))
		return 0;
	return length;
}

static bool
is_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *) text;

	while (*at != '\0')
	{
		size_t		length = utf8_length(at);

		if (length == 0)
			return false;
		at += length;
	}
	return true;
}

static void
json_character(FILE * file, unsigned char c)
{
	static const char controls[] = "\b\f\n\r\t";
	const char *control = strchr(controls, c);

	if (c == '"' || c == '\\')
		fprintf(file, "\\%c", c);
	else if (control != NULL)
		fprintf(file, "\\%c", "bfnrt"[control - controls]);
	else if (c < 0x20)
		fprintf(file, "\\u%04x", c);
	else
		putc(c, file);
}

/*
 * Bytes that are no text, as a name of a file may have, are shown in hexadecimal
 * digits, as SQL shows them.
 */
static void
json_string(FILE * file, const char *text)
{
	bool		valid = is_utf8(text);

	putc('"', file);
	for (; *text !='\0'; text ++)
		if (!valid && ((unsigned char) *text >=0x80 || *text == '\\'))
			fprintf(file, "\\\\x%02x", (unsigned char) *text);
		else
			json_character(file, (unsigned char) *text);
	putc('"', file);
}

static void
json_name(Json *json, const char *name)
{
	putc(json->begun ? ',' : '{', json->file);
	json->begun = true;
	json_string(json->file, name);
	putc(':', json->file);
}

void
json_text(Json *json, const char *name, bool known, const char *value)
{
	json_name(json, name);
	if (known)
		json_string(json->file, value);
	else
		fputs("null", json->file);
}

void
json_lsn(Json *json, const char *name, bool known, WalLsn lsn)
{
	char text[	24];

	snprintf(text, sizeof(text), WAL_LSN_FORMAT, WAL_LSN_ARGS(lsn));
	json_text(json, name, known, text);
}

void
json_bool(Json *json, const char *name, bool value)
{
	json_name(json, name);
	fputs(value ? "true" : "false", json->file);
}

void
json_texts(Json *json, const char *name, const char *const *values, int count)
{
	if (count == 0)
	{
		json_text(json, name, false, NULL);
		return;
	}
	json_name(json, name);
	for (int i = 0; i < count; i++)
	{
		putc(i == 0 ? '[' : ',', json->file);
		json_string(json->file, values[i]);
	}
	putc(']', json->file);
}

void
json_number(Json *json, const char *name, bool known, uint64_t value)
{
	json_name(json, name);
	if (known)
		fprintf(json->file, "%" PRIu64, value);
	else
		fputs("null", json->file);
}

/* ---- rows ---- */

static void
print_row(Output *output, const char *name, const OutputRow *row)
{
	bool		reported = row->finding || row->unverified;
	Json		json = {output->file, false};
	char		line[OUTPUT_WORDS];

	snprintf(line, sizeof(line), "%s: %s%s%s", name == NULL ? output->subject : name,
			 row->status, row->words[0] == '\0' ? "" : ": ", row->words);
	for (char *c = line; *c != '\0'; c++)	/* a name may have any byte */
		if ((unsigned char) *c < ' ')
			*c = '?';
	if (output->first[0] == '\0' && reported)
		memcpy(output->first, line, sizeof(line));
	if (output->options->format == FORMAT_NAGIOS ||
		!(output->options->verbose || reported ||
		  (row->told && !output->options->quiet)))
		return;
	if (output->options->format == FORMAT_JSON)
	{
		row->columns(&json, row->of);
		fputs("}\n", output->file);
	}
	else
		fprintf(output->file, "%s\n", line);
}

void
output_other(Output *output, const char *name, const OutputRow *row)
{
	output->findings += row->finding ? 1 : 0;
	output->unverified += row->unverified ? 1 : 0;
	print_row(output, name, row);
}

typedef struct FileRow
{
	const char *name;			/* may be NULL */
	const WalSegmentResult *result;
	const char *words;
} FileRow;

static uint64_t
findings_of(const WalSegmentResult *result)
{
	if (!wal_status_is_finding(result->status))
		return 0;
	return result->counts.errors > 0 ? result->counts.errors : 1;
}

/* The columns of verify_wal(), in their order. */
static void
print_columns(Json *json, const void *of)
{
	const FileRow *row = of;
	const WalSegmentResult *result = row->result;
	const WalCounts *counts = &result->counts;
	const char *version = wal_version_name(result->magic);
	bool		named = result->name.timeline != 0;

	json_text(json, "segment", row->name != NULL, row->name);
	json_number(json, "timeline_id", named, result->name.timeline);
	json_lsn(json, "start_lsn", result->has_position, result->start_lsn);
	json_lsn(json, "end_lsn", result->has_counts, result->end_lsn);
	json_text(json, "status", true, wal_status_name(result->status));
	json_bool(json, "is_finding", wal_status_is_finding(result->status));
	json_text(json, "server_version", version != NULL, version);
	json_number(json, "records", true, counts->records);
	json_number(json, "fpi_bytes", true, counts->fpi_bytes);
	json_number(json, "verified_bytes", true, counts->bytes_verified);
	json_number(json, "unverified_head_bytes", true, counts->head_bytes);
	json_number(json, "unverified_tail_bytes", true, counts->tail_bytes);
	json_number(json, "zero_bytes", true, counts->zero_bytes);
	json_number(json, "skipped_bytes", true, counts->skipped_bytes);
	json_number(json, "findings", true, findings_of(result));
	json_lsn(json, "first_finding_lsn", counts->errors > 0, counts->first_error);
	json_number(json, "crc32c", result->has_crc, result->crc);
	json_text(json, "message", row->words[0] != '\0', row->words);
	json_text(json, "compression", result->has_format,
			  result->has_format ? decode_format_name(result->format) : NULL);
}

void
output_row(Output *output, const char *name, const WalSegmentResult *result,
		   const char *words)
{
	char		own_name[WAL_NAME_SIZE];
	char		own_words[WAL_RESULT_WORDS];
	FileRow		file = {name, result, words};
	OutputRow	row = {wal_status_is_finding(result->status),
		result->status == WAL_NOT_VERIFIABLE,
	wal_status_name(result->status), NULL, print_columns, &file};

	if (name == NULL && result->name.timeline != 0)
	{
		wal_name_print(&result->name, own_name);
		file.name = own_name;
	}
	if (words == NULL)
	{
		wal_segment_words(result, own_words);
		file.words = own_words;
	}
	row.words = file.words;
	output->files += result->name.timeline != 0 ? 1 : 0;
	output->records += result->counts.records;
	output->bytes += result->counts.bytes_verified;
	output_other(output, file.name, &row);
}

/* On a terminal it is one line that changes. */
void
output_progress(Output *output, const char *units, uint64_t done,
				uint64_t total)
{
	uint64_t	time = now();
	bool		goes_on = total == 0 || done < total;

	if (!output->options->progress || (time - output->shown < SECOND && goes_on))
		return;
	output->shown = time;
	fflush(output->file);
	fprintf(stderr, "%s%" PRIu64, output->stage, done);
	if (total != 0)
		fprintf(stderr, "/%" PRIu64 " %s (%" PRIu64 " %%)", total, units,
				done * 100 / total);
	else
		fprintf(stderr, " %s", units);
	fprintf(stderr, ", %" PRIu64 " with findings%s", output->findings,
			isatty(STDERR_FILENO) && goes_on ? "\r" : "\n");
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
	if (output->options->command == COMMAND_IMAGES)
		printf("%s: %" PRIu64 " full-page images of %" PRIu64 " records held against the record before, %" PRIu64 " bytes of WAL read in %.1f s: ",
			   output->subject, output->files, output->records, output->bytes,
			   seconds);
	else if (output->options->command == COMMAND_BACKUP)
		printf("%s: %" PRIu64 " files, %" PRIu64 " pages, %" PRIu64 " bytes and %" PRIu64 " records of WAL verified in %.1f s: ",
			   output->subject, output->files, output->pages, output->bytes,
			   output->records, seconds);
	else if (output->options->command == COMMAND_BACKUPS)
		printf("%s: %" PRIu64 " backups, %" PRIu64 " read, %" PRIu64 " bytes verified in %.1f s: ",
			   output->subject, output->files, output->read, output->bytes,
			   seconds);
	else if (output->options->command == COMMAND_CLUSTER)
		printf("%s: %" PRIu64 " files, %" PRIu64 " read, %" PRIu64 " bytes verified in %.1f s: ",
			   output->subject, output->files, output->read, output->bytes,
			   seconds);
	else
		printf("%s: %" PRIu64 " files, %" PRIu64 " read, %" PRIu64 " records, %" PRIu64 " bytes of WAL verified in %.1f s: ",
			   output->subject, output->files, output->read, output->records,
			   output->bytes, seconds);
	printf("%" PRIu64 " %s, %" PRIu64 " not verifiable\n", output->findings,
		   output->options->command == COMMAND_BACKUP ? "findings" : "with findings",
		   output->unverified);
}

static void
print_nagios(const Output *output, ExitStatus status, double seconds)
{
	const char *what = output->options->command == COMMAND_IMAGES ? "images" :
		output->options->command == COMMAND_BACKUPS ? "backups" : "files";
	bool		backup = output->options->command == COMMAND_BACKUP;

	printf("%s %s - %" PRIu64 " %s %" PRIu64 " %s%s, %" PRIu64 " not verifiable%s%s",
		   output->options->label, nagios[status].word, output->findings,
		   backup ? "findings in" : "of", output->files, what,
		   backup ? "" : " with findings", output->unverified,
		   output->first[0] == '\0' ? "" : ": ", output->first);
	printf(" | %s=%" PRIu64 " read=%" PRIu64 " findings=%" PRIu64 ";;0 not_verifiable=%" PRIu64 ";0 bytes=%" PRIu64 "B seconds=%.1fs\n",
		   what, output->files, output->read, output->findings, output->unverified,
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
