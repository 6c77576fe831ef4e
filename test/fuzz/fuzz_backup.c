/* needs: verify max_len:4096 long:10000000 */
/*
 * fuzz_backup.c
 *	  Anything fed to what reads a backup: manifest, label, map, control, names,
 *	  headers of incremental files.
 *
 * Input: a byte that chooses the reader, then what it reads.  A manifest's JSON is
 * parsed as it is, and also taken apart here, by no rule of nesting: all orders of events come, more than a
 * parser of JSON would send.  What comes through must keep the promises of the
 * headers; strings have exactly the size that they need, so that the sanitizer
 * sees a byte too many.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "backup/increment.h"
#include "manifest/label.h"
#include "manifest/manifest.h"
#include "manifest/names.h"
#include "manifest/parse.h"

/* A string of these bytes, up to a zero, to be freed. */
static char *
text_of(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size == 0 ? NULL : memchr(data, '\0', size);
	size_t		length = zero == NULL ? size : (size_t) (zero - data);
	char	   *text = malloc(length + 1);

	if (length > 0)
		memcpy(text, data, length);
	text[length] = '\0';
	return text;
}

/* ---- names ---- */

static void
check_name(const char *path)
{
	BackupRelationFile file;
	char		full[BACKUP_PATH_MAX];
	char		part[BACKUP_PATH_MAX];

	(void) backup_path_ignored(path);
	must(!(backup_relation_file(path, &file) && backup_map_file(path, &file)));
	must(!(backup_relation_file(path, &file) && backup_incremental_file(path, &file)));
	if (!backup_path_possible(path))
		return;
	must(path[0] != '/' && strlen(path) < BACKUP_PATH_MAX && strstr(path, "//") == NULL);
	must(strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0 && strstr(path, "/../") == NULL);
	if (backup_incremental_path(path, part))
	{
		must(strlen(part) < BACKUP_PATH_MAX);
		must(backup_incremental_file(part, &file) == backup_relation_file(path, &file));
		backup_full_path(part, full);
		must(strcmp(full, path) == 0);
	}
}

/* ---- manifests ---- */

typedef struct Said
{
	uint64_t	files;
	uint64_t	ranges;
} Said;

static void
take_file(void *arg, const ManifestFile *file)
{
	((Said *) arg)->files++;
	must(backup_path_possible(file->path) && file->size <= INT64_MAX);
	must(file->algorithm <= MANIFEST_SHA512);
	must(manifest_digest_length(file->algorithm) <= MANIFEST_DIGEST_MAX);
	must(manifest_algorithm_name(file->algorithm)[0] != '\0');
	check_name(file->path);
}

static void
take_range(void *arg, const ManifestRange *range)
{
	((Said *) arg)->ranges++;
	must(range->timeline > 0 && range->start <= range->end);
}

/* The end of a string's contents, or of the input. */
static size_t
string_end(const uint8_t *data, size_t size, size_t at)
{
	while (at < size && data[at] != '"')
		at += data[at] == '\\' && at + 1 < size ? 2 : 1;
	return at;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ',' || c == ':';
}

static bool
ends_word(uint8_t c)
{
	return is_blank(c) || strchr("{}[]\"", c) != NULL;
}

/* A string, and what it is: a field's name if a colon follows. */
static size_t
feed_string(ManifestReader *reader, const uint8_t *data, size_t size, size_t at)
{
	size_t		end = string_end(data, size, at);
	char	   *text = text_of(data + at, end - at);

	if (end + 1 < size && data[end + 1] == ':')
		manifest_field(reader, text);
	else
		manifest_scalar(reader, text, true, false);
	free(text);
	return end + 1;
}

static size_t
feed_word(ManifestReader *reader, const uint8_t *data, size_t size, size_t at)
{
	size_t		end = at + 1;
	char	   *text;

	while (end < size && !ends_word(data[end]))
		end++;
	text = text_of(data + at, end - at);
	manifest_scalar(reader, text, false, strchr("-0123456789", text[0]) != NULL);
	free(text);
	return end;
}

static size_t
feed(ManifestReader *reader, const uint8_t *data, size_t size, size_t at)
{
	switch (data[at])
	{
		case '{':
			manifest_object_start(reader);
			return at + 1;
		case '}':
			manifest_object_end(reader);
			return at + 1;
		case '[':
			manifest_array_start(reader);
			return at + 1;
		case ']':
			manifest_array_end(reader);
			return at + 1;
		case '"':
			return feed_string(reader, data, size, at + 1);
		default:
			return is_blank(data[at]) ? at + 1 : feed_word(reader, data, size, at);
	}
}

static void
read_manifest(const uint8_t *data, size_t size)
{
	ManifestReader *reader = malloc(sizeof(ManifestReader));
	Said		said = {0};
	const char *error = NULL;

	memset(reader, 0x5A, sizeof(*reader));
	manifest_begin(reader);
	reader->file = take_file;
	reader->range = take_range;
	reader->arg = &said;
	for (size_t at = 0; at < size;)
	{
		Said		before = said;

		at = feed(reader, data, size, at);
		/* the first error stays, and nothing comes through after it */
		must(error == NULL || (reader->error == error && said.files == before.files && said.ranges == before.ranges));
		error = reader->error;
	}
	if (manifest_finish(reader))
		must(error == NULL && (reader->version == 1 || (reader->version == 2 && reader->has_system)));
	else
		must(reader->error != NULL && reader->error[0] != '\0');
	free(reader);
}

/* ---- the others ---- */

static void
read_label(const uint8_t *data, size_t size)
{
	char	   *text = text_of(data, size);
	BackupLabel *label = malloc(sizeof(BackupLabel));

	if (backup_label_read(text, label))
	{
		must(memchr(label->label, '\0', sizeof(label->label)) != NULL);
		must(label->previous_start != 0 || label->previous_timeline == 0);
	}
	free(label);
	free(text);
}

static void
read_map(const uint8_t *data, size_t size)
{
	char	   *text = text_of(data, size);
	size_t		at = 0;
	size_t		before;
	uint32_t	tablespace;

	do
	{
		before = at;
		if (!backup_map_next(text, &at, &tablespace))
			break;
		must(tablespace != 0 && (at == 0 || (at > before && at < strlen(text))));
	} while (at != 0);
	free(text);
}

static void
read_control(const uint8_t *data, size_t size)
{
	uint8_t    *bytes = malloc(size + 1);
	BackupControl control;

	memcpy(bytes, data, size);
	if (backup_control_read(bytes, size, &control))
		must(size >= BACKUP_CONTROL_BYTES);
	free(bytes);
}

static void
check_blocks(const BackupIncrement *increment, const uint32_t *numbers,
			 uint32_t segment_blocks)
{
	uint32_t	n = 0;

	if (backup_increment_check(increment, numbers, segment_blocks) != BACKUP_INCREMENT_OK)
		return;
	must(backup_increment_end(increment, numbers) <= segment_blocks);
	while (n < increment->blocks)
	{
		uint32_t	run = backup_increment_run(increment, numbers, n, 16);

		must(run >= 1 && run <= 16 && run <= increment->blocks - n);
		must(backup_increment_find(increment, numbers, numbers[n + run - 1]) == n + run - 1);
		n += run;
	}
	must(backup_increment_find(increment, numbers, backup_increment_end(increment, numbers)) < 0);
}

/* size in the file's first bytes; then its header */
static void
read_increment(const uint8_t *data, size_t size)
{
	const uint32_t segment_blocks = 1000;
	BackupIncrement increment;
	BackupIncrementReason reason;
	uint32_t   *numbers;
	uint32_t	bytes;
	size_t		present;

	if (size < 4)
		return;
	memcpy(&bytes, data, 4);
	reason = backup_increment_read(data + 4, size - 4, bytes, segment_blocks, 1024, &increment);
	must((backup_increment_words(reason)[0] == '\0') == (reason == BACKUP_INCREMENT_OK));
	if (reason != BACKUP_INCREMENT_OK)
		return;
	must(increment.blocks <= segment_blocks && increment.truncation <= segment_blocks);
	must(increment.header + (uint64_t) increment.blocks * 1024 == bytes);
	must(increment.header >= BACKUP_INCREMENT_START + 4 * (uint64_t) increment.blocks);
	numbers = calloc(increment.blocks + 1, 4);
	present = size - 4 - BACKUP_INCREMENT_START;
	present = present < 4 * (size_t) increment.blocks ? present : 4 * (size_t) increment.blocks;
	memcpy(numbers, data + 4 + BACKUP_INCREMENT_START, present);
	check_blocks(&increment, numbers, segment_blocks);
	free(numbers);
}

static void
read_name(const uint8_t *data, size_t size)
{
	char	   *text = text_of(data, size);

	check_name(text);
	free(text);
}

/* Text with the JSON of a manifest, or something like it. */
static void
read_json(const uint8_t *data, size_t size)
{
	ManifestReader *reader = malloc(sizeof(ManifestReader));
	char	   *bytes = malloc(size + (size == 0));
	Said		said = {0};
	ManifestParsed parsed;
	size_t		at;

	if (size > 0)
		memcpy(bytes, data, size);
	manifest_begin(reader);
	reader->file = take_file;
	reader->range = take_range;
	reader->arg = &said;
	parsed = manifest_parse(reader, bytes, size, &at);
	must(at <= size);
	must(parsed != MANIFEST_PARSED || at == size || reader->error != NULL);
	must(parsed == MANIFEST_PARSED || reader->error == NULL);
	free(bytes);
	free(reader);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* letters, so that inputs can be read */
	static const struct
	{
		uint8_t		letter;
		void		(*read) (const uint8_t *data, size_t size);
	}			readers[] = {
		{'m', read_manifest}, {'j', read_json}, {'l', read_label}, {'t', read_map},
		{'c', read_control}, {'i', read_increment}, {'n', read_name},
	};

	for (size_t i = 0; size > 0 && i < sizeof(readers) / sizeof(readers[0]); i++)
		if (data[0] == readers[i].letter)
			readers[i].read(data + 1, size - 1);
	return 0;
}
