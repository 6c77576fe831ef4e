/*
 * pgbackrest.c
 *	  Reads what pgBackRest writes of a backup in its repository.
 *
 * The facts are those of its user guide, and of what releases 2.45 and later
 * write.  A value is taken as it stands in the line.  Those that matter have
 * no escapes: digits, LSNs, and the names of backups.
 *
 * The manifest's own checksum is of something else than its bytes.  So the
 * manifest is held against the copy that pgBackRest writes beside it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/digits.h"
#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/pgbackrest.h"

#define DATA		PGBACKREST_DATA
#define FORMAT		5			/* of the repository */
#define SALTED		"Salted__"	/* begins what is encrypted */
#define DIGITS		"0123456789ABCDEFabcdef"
#define LABEL		"0123456789FDI-_"	/* 20260131-235959F_20260201-235959I */

/* A backup has files of those before it, up to a full one. */
#define REFERENCES_MAX	4096

/* A part of the manifest. */
typedef struct Text
{
	const char *at;
	size_t		len;
} Text;

typedef struct Parse
{
	BackupManifest *manifest;
	PgBackRest *backup;
	Text		section;
	size_t		line;
	ManifestRange range;
	uint32_t	stop_timeline;
	bool		has_format;
	bool		bundled;		/* it may have bundles, and no empty files */
} Parse;

/* ---- values ---- */

static bool
text_is(Text part, const char *word)
{
	return part.len == strlen(word) && memcmp(part.at, word, part.len) == 0;
}

static bool
text_begins(Text part, const char *prefix)
{
	return part.len >= strlen(prefix) &&
		memcmp(part.at, prefix, strlen(prefix)) == 0;
}

static Text
text_after(Text part, size_t len)
{
	Text		rest = {part.at + len, part.len - len};

	return rest;
}

/* Takes the quotation marks from a string. */
static Text
unquoted(Text value)
{
	Text		inner = {value.at + 1, value.len - 2};

	return value.len >= 2 && value.at[0] == '"' ? inner : value;
}

/* All of it is a number. */
static bool
parse_number(Text value, uint64_t most, uint64_t *result)
{
	return digits_read(value.at, most, result) == value.at + value.len;
}

static bool
parse_lsn(Text value, uint64_t *result)
{
	char		lsn[32];

	value = unquoted(value);
	if (value.len >= sizeof(lsn))
		return false;
	memcpy(lsn, value.at, value.len);
	lsn[value.len] = '\0';
	return strlen(lsn) == value.len && manifest_lsn(lsn, result);
}

/* That of the name of a segment. */
static bool
parse_timeline(Text value, uint32_t *result)
{
	char		digits[9];

	value = unquoted(value);
	if (value.len != 24)
		return false;
	memcpy(digits, value.at, 8);
	digits[8] = '\0';
	*result = (uint32_t) strtoul(digits, NULL, 16);
	return strspn(digits, DIGITS) == 8;
}

static int
hexadecimal(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
parse_digest(Text value, uint8_t result[HOST_SHA1_BYTES])
{
	value = unquoted(value);
	if (value.len != 2 * HOST_SHA1_BYTES)
		return false;
	for (size_t i = 0; i < HOST_SHA1_BYTES; i++)
	{
		int			high = hexadecimal(value.at[2 * i]);
		int			low = hexadecimal(value.at[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		result[i] = (uint8_t) (high << 4 | low);
	}
	return true;
}

/*
 * The name of a backup, which is that of its folder.  No other path is made of
 * it, like that of the folder above.
 */
static bool
is_label(Text part)
{
	for (size_t i = 0; i < part.len; i++)
		if (strchr(LABEL, part.at[i]) == NULL || part.at[i] == '\0')
			return false;
	return part.len > 0;
}

/* ---- objects of one line ---- */

/* The end of a string, which begins with its quotation mark, or NULL. */
static const char *
end_of_string(const char *at, const char *end)
{
	for (at++; at < end; at++)
	{
		if (*at == '\\')
			at++;
		else if (*at == '"')
			return at + 1;
	}
	return NULL;
}

/* The end of a value: a string, a list in brackets, or a word. */
static const char *
end_of_value(const char *at, const char *end)
{
	int			depth = 0;

	while (at < end)
	{
		if (depth == 0 && (*at == ',' || *at == '}'))
			return at;
		if (*at == '[' || *at == '{')
			depth++;
		else if (*at == ']' || *at == '}')
			depth--;
		if (*at != '"')
			at++;
		else if ((at = end_of_string(at, end)) == NULL)
			return NULL;
	}
	return NULL;
}

/*
 * Takes the next field of an object, whose brace or comma comes first.
 * Returns false at its end, and then *rest is empty unless it is no object.
 */
static bool
next_field(Text *rest, Text *name, Text *value)
{
	const char *end = rest->at + rest->len;
	const char *at;

	if (text_is(*rest, "}") || text_is(*rest, "{}"))
	{
		rest->len = 0;
		return false;
	}
	if (rest->len < 2 || rest->at[0] == '}' || rest->at[1] != '"' ||
		(at = end_of_string(rest->at + 1, end)) == NULL ||
		at == end || *at != ':')
		return false;
	name->at = rest->at + 2;
	name->len = (size_t) (at - name->at) - 1;
	value->at = at + 1;
	at = end_of_value(value->at, end);
	if (at == NULL)
		return false;
	value->len = (size_t) (at - value->at);
	rest->at = at;
	rest->len = (size_t) (end - at);
	return true;
}

/* ---- files ---- */

typedef struct File
{
	uint64_t	size;
	bool		has_size;
	bool		has_digest;
	bool		has_bytes;
	bool		blocks;			/* it is stored by its blocks */
	uint8_t		digest[HOST_SHA1_BYTES];
	Text		reference;
	uint64_t	bundle;
	BackupStored stored;
} File;

/* The fields of a file stored by its blocks begin with "bi". */
static bool
read_field(File *file, Text name, Text value)
{
	if (text_is(name, "size"))
		return file->has_size = parse_number(value, INT64_MAX, &file->size);
	if (text_is(name, "checksum"))
		return file->has_digest = parse_digest(value, file->digest);
	if (text_is(name, "reference"))
	{
		file->reference = unquoted(value);
		return is_label(file->reference);
	}
	if (text_is(name, "bni"))
		return parse_number(value, UINT32_MAX, &file->bundle);
	if (text_is(name, "bno"))
		return parse_number(value, INT64_MAX, &file->stored.offset);
	if (text_is(name, "repo-size"))
		return file->has_bytes = parse_number(value, INT64_MAX, &file->stored.bytes);
	if (text_begins(name, "bi"))
		file->blocks = true;
	return true;
}

/*
 * Where it is left out, a file is stored with as many bytes as it has.  One
 * that is not in a bundle is stored from its beginning.
 */
static bool
read_file(File *file, Text value)
{
	BackupStored *stored = &file->stored;
	Text		name;
	Text		of;

	memset(file, 0, sizeof(*file));
	while (next_field(&value, &name, &of))
		if (!read_field(file, name, of))
			return false;
	if (!file->has_bytes)
		stored->bytes = file->size;
	if (file->bundle == 0)
		stored->offset = 0;
	return value.len == 0 && file->has_size &&
		(file->has_digest || file->size == 0) &&
		stored->bytes <= INT64_MAX - stored->offset;
}

/* The path within the data directory, or NULL if it is not of a backup. */
static char *
path_of(Text name)
{
	char	   *path;

	if (text_begins(name, DATA "/"))
		name = text_after(name, strlen(DATA "/"));
	else if (!text_begins(name, "pg_tblspc/"))
		return NULL;
	path = host_print("%.*s", (int) name.len, name.at);
	if (backup_path_possible(path))
		return path;
	host_free(path);
	return NULL;
}

/* References come in runs, so a name is kept once for many files. */
static uint64_t
folder_of(Parse *parse, Text reference)
{
	BackupList *list = &parse->manifest->list;
	const BackupStored *last = list->stored_count > 0 ?
		&list->stored[list->stored_count - 1] : NULL;
	char	   *name;
	uint64_t	at;

	if (reference.len == 0)
		return BACKUP_STORED_OWN;
	if (last != NULL && last->folder != BACKUP_STORED_OWN &&
		text_is(reference, list->names + last->folder))
		return last->folder;
	name = host_print("%.*s", (int) reference.len, reference.at);
	at = backup_list_add_name(list, name);
	host_free(name);
	return at;
}

static void
add_file(Parse *parse, const char *path, File *file)
{
	BackupList *list = &parse->manifest->list;
	BackupStored *stored = &file->stored;

	stored->folder = folder_of(parse, file->reference);
	stored->bundle = (uint32_t) file->bundle;
	backup_list_add(list, path, (int64_t) file->size,
					file->has_digest ? MANIFEST_SHA1 : MANIFEST_NONE,
					file->has_digest ? file->digest : NULL);
	if (file->blocks)
	{
		parse->backup->incremental++;
		list->entries[list->count - 1].ignored = true;
	}
	backup_list_add_stored(list, stored);
}

static bool
parse_file(Parse *parse, Text name, Text value)
{
	char	   *path = path_of(name);
	File		file;
	bool		good = path != NULL && read_file(&file, value);

	if (good && parse->manifest->list.count < BACKUP_FILES_MAX)
		add_file(parse, path, &file);
	else if (good)
		backup_manifest_fail(parse->manifest, BACKUP_UNSUPPORTED_VERSION,
							 host_print("manifest has too many files"));
	host_free(path);
	return good;
}

static bool
parse_folder(Parse *parse, Text name)
{
	PgBackRest *backup = parse->backup;
	char	   *path;

	if (text_is(name, DATA) || text_is(name, "pg_tblspc"))
		return true;
	if (backup->nfolders == BACKUP_FILES_MAX)
		return false;
	path = path_of(name);
	if (path == NULL)
		return false;
	HOST_MAKE_ROOM(backup->folders, backup->nfolders, backup->room);
	backup->folders[backup->nfolders++] = path;
	return true;
}

/* ---- what the backup is ---- */

static bool
parse_format(Parse *parse, Text value)
{
	uint64_t	format = 0;

	if (!parse_number(value, UINT32_MAX, &format))
		return false;
	parse->has_format = true;
	if (format != FORMAT)
		backup_manifest_fail(parse->manifest, BACKUP_UNSUPPORTED_VERSION,
							 host_print("format %u of the repository is not supported",
										(unsigned) format));
	return true;
}

static bool
parse_backup(Parse *parse, Text name, Text value)
{
	uint64_t	seconds = 0;

	if (text_is(name, "backup-bundle"))
		parse->bundled = text_is(value, "true");
	if (text_is(name, "backup-lsn-start"))
		return parse_lsn(value, &parse->range.start);
	if (text_is(name, "backup-lsn-stop"))
		return parse_lsn(value, &parse->range.end);
	if (text_is(name, "backup-archive-start"))
		return parse_timeline(value, &parse->range.timeline);
	if (text_is(name, "backup-archive-stop"))
		return parse_timeline(value, &parse->stop_timeline);
	if (text_is(name, "backup-timestamp-stop"))
	{
		if (!parse_number(value, INT64_MAX, &seconds))
			return false;
		parse->manifest->newest = (int64_t) seconds;
	}
	return true;
}

/* It becomes part of a path, so it is digits and dots. */
static bool
parse_version(Text value, char version[PGBACKREST_VERSION])
{
	if (value.len >= PGBACKREST_VERSION)
		return false;
	memcpy(version, value.at, value.len);
	version[value.len] = '\0';
	return strspn(version, "0123456789.") == value.len;
}

static bool
parse_server(Parse *parse, Text name, Text value)
{
	uint64_t	id = 0;

	if (text_is(name, "db-system-id"))
		return parse->manifest->has_system =
			parse_number(value, UINT64_MAX, &parse->manifest->system);
	if (text_is(name, "db-version"))
		return parse_version(unquoted(value), parse->backup->version);
	if (!text_is(name, "db-id"))
		return true;
	if (!parse_number(value, UINT32_MAX, &id))
		return false;
	parse->backup->id = (uint32_t) id;
	return true;
}

static bool
parse_option(Parse *parse, Text name, Text value)
{
	char		suffix[16];

	if (!text_is(name, "option-compress-type"))
		return true;
	value = unquoted(value);
	if (text_is(value, "none"))
		return true;
	snprintf(suffix, sizeof(suffix), ".%.*s", (int) value.len, value.at);
	parse->backup->format = decode_format_suffixed(suffix);
	return parse->backup->format != DECODE_PLAIN;
}

static bool
parse_value(Parse *parse, Text name, Text value)
{
	if (text_is(parse->section, "target:file"))
		return parse_file(parse, name, value);
	if (text_is(parse->section, "target:path"))
		return parse_folder(parse, name);
	if (text_is(parse->section, "backrest") && text_is(name, "backrest-format"))
		return parse_format(parse, value);
	if (text_is(parse->section, "backup"))
		return parse_backup(parse, name, value);
	if (text_is(parse->section, "backup:db"))
		return parse_server(parse, name, value);
	if (text_is(parse->section, "backup:option"))
		return parse_option(parse, name, value);
	return true;
}

/* ---- lines ---- */

/* A name may have '=' itself, and an object begins with its brace. */
static const char *
find_equal(Text line, bool object)
{
	const char *at = line.at;
	const char *end = line.at + line.len;

	while ((at = memchr(at, '=', (size_t) (end - at))) != NULL)
	{
		if (!object || (at + 1 < end && at[1] == '{'))
			return at;
		at++;
	}
	return NULL;
}

static bool
parse_line(Parse *parse, Text line)
{
	const char *equal;
	Text		name = {line.at, 0};
	Text		value;

	if (line.len == 0)
		return true;
	/* what follows such a byte would be cut off silently */
	if (memchr(line.at, '\0', line.len) != NULL)
		return false;
	if (line.at[0] == '[' && line.at[line.len - 1] == ']')
	{
		parse->section.at = line.at + 1;
		parse->section.len = line.len - 2;
		return true;
	}
	equal = find_equal(line, text_is(parse->section, "target:file") ||
					   text_is(parse->section, "target:path"));
	if (equal == NULL)
		return false;
	name.len = (size_t) (equal - line.at);
	value = text_after(line, name.len + 1);
	return parse_value(parse, name, value);
}

/* Sections may have come in any order. */
static void
say_how_stored(const Parse *parse)
{
	BackupList *list = &parse->manifest->list;

	for (uint32_t i = 0; i < list->stored_count; i++)
	{
		list->stored[i].format = (uint8_t) parse->backup->format;
		list->stored[i].nothing = parse->bundled && list->entries[i].size == 0;
	}
}

static void
finish(Parse *parse)
{
	BackupManifest *manifest = parse->manifest;

	if (!parse->has_format || manifest->list.count == 0)
		backup_manifest_fail(manifest, BACKUP_BAD_FORMAT,
							 host_print("not a manifest of pgBackRest"));
	if (manifest->status != BACKUP_OK)
		return;
	say_how_stored(parse);
	/* of a backup of a running server, on one timeline */
	if (parse->range.start != 0 && parse->range.end > parse->range.start &&
		parse->range.timeline != 0 &&
		parse->range.timeline == parse->stop_timeline)
		manifest->ranges[manifest->nranges++] = parse->range;
	if (backup_list_end(&manifest->list) != NULL)
		backup_manifest_fail(manifest, BACKUP_BAD_FORMAT,
							 host_print("duplicate path name in backup manifest"));
}

void
pgbackrest_parse(const char *bytes, size_t size, BackupManifest *manifest,
				 PgBackRest *backup)
{
	Parse		parse = {.manifest = manifest,.backup = backup};
	const char *end = bytes + size;

	if (size >= strlen(SALTED) && memcmp(bytes, SALTED, strlen(SALTED)) == 0)
	{
		backup_manifest_fail(manifest, BACKUP_NOT_VERIFIABLE,
							 host_print("the repository is encrypted"));
		return;
	}
	while (bytes < end && manifest->status == BACKUP_OK)
	{
		const char *stop = memchr(bytes, '\n', (size_t) (end - bytes));
		Text		line = {bytes, (size_t) ((stop == NULL ? end : stop) - bytes)};

		host_interrupts();
		parse.line++;
		if (!parse_line(&parse, line))
			backup_manifest_fail(manifest, BACKUP_BAD_FORMAT,
								 host_print("invalid line %zu", parse.line));
		bytes = stop == NULL ? end : stop + 1;
	}
	finish(&parse);
}

/* ---- the repository ---- */

bool
pgbackrest_is(const char *root)
{
	return file_scan_exists(root, PGBACKREST_MANIFEST);
}

/* Returns the text of a file, or NULL if it cannot be read. */
static char *
read_text(const char *root, const char *name, bool direct, size_t *size)
{
	BackupManifest *manifest = host_alloc(sizeof(BackupManifest));
	char	   *path = host_print("%s/%s", root, name);
	char	   *bytes;

	memset(manifest, 0, sizeof(*manifest));
	bytes = backup_manifest_bytes(manifest, path, direct, size);
	host_free(path);
	host_free(manifest);
	return bytes;
}

/* Is there another file than the copy, which is gone in no sound backup? */
static bool
differs(const char *root, bool direct, const char *bytes, size_t size)
{
	size_t		copied = 0;
	char	   *copy = read_text(root, PGBACKREST_COPY, direct, &copied);
	bool		same = copy != NULL && copied == size && memcmp(copy, bytes, size) == 0;

	host_free(copy);
	return !same;
}

void
pgbackrest_read(const char *root, bool direct, BackupManifest *manifest,
				PgBackRest *backup)
{
	char	   *path = host_print("%s/" PGBACKREST_MANIFEST, root);
	size_t		size = 0;
	char	   *bytes;

	memset(manifest, 0, sizeof(*manifest));
	memset(backup, 0, sizeof(*backup));
	bytes = backup_manifest_bytes(manifest, path, direct, &size);
	host_free(path);
	if (bytes != NULL)
	{
		pgbackrest_parse(bytes, size, manifest, backup);
		backup->differs = differs(root, direct, bytes, size);
		host_free(bytes);
	}
	if (manifest->status != BACKUP_OK)
		backup_manifest_drop(manifest);
}

/* ---- other backups ---- */

/* Is a backup the present one, or named already? */
static bool
is_named(const PgBackRest *backup, const char *self, const char *name)
{
	if (strcmp(self, name) == 0)
		return true;
	for (size_t i = 0; i < backup->nreferences; i++)
		if (strcmp(backup->references[i], name) == 0)
			return true;
	return false;
}

static void
add_reference(PgBackRest *backup, const char *self, Text part)
{
	char	   *name;

	if (!is_label(part))
		return;
	name = host_print("%.*s", (int) part.len, part.at);
	if (is_named(backup, self, name))
	{
		host_free(name);
		return;
	}
	HOST_MAKE_ROOM(backup->references, backup->nreferences,
				   backup->room_references);
	backup->references[backup->nreferences++] = name;
}

/* The value of the first line that begins so, up to its quotation mark. */
static const char *
find_value(const char *bytes, const char *line, size_t *len)
{
	const char *at = strstr(bytes, line);

	*len = 0;
	if (at == NULL)
		return bytes;
	at += strlen(line);
	*len = strcspn(at, "\"\n");
	return at;
}

static void
find_references(const char *bytes, PgBackRest *backup)
{
	size_t		len;
	const char *at = find_value(bytes, "\nbackup-label=\"", &len);
	char	   *self = host_print("%.*s", (int) len, at);
	const char *end;

	at = find_value(bytes, "\nbackup-reference=\"", &len);
	end = at + len;
	for (int i = 0; i < REFERENCES_MAX && at < end; i++, at++)
	{
		Text		name = {at, strcspn(at, ",\"\n")};

		add_reference(backup, self, name);
		at += name.len;
	}
	host_free(self);
	at = find_value(bytes, "\nbackrest-checksum=\"", &len);
	snprintf(backup->own, sizeof(backup->own), "%.*s", (int) len, at);
}

/* At most INT64_MAX. */
static uint64_t
sum_sizes(const char *bytes)
{
	static const char name[] = "\"size\":";
	uint64_t	sum = 0;
	uint64_t	size;

	while ((bytes = strstr(bytes, name)) != NULL)
	{
		host_interrupts();
		bytes += strlen(name);
		if (digits_read(bytes, INT64_MAX, &size) != NULL)
			sum = size < INT64_MAX - sum ? sum + size : INT64_MAX;
	}
	return sum;
}

void
pgbackrest_parse_references(const char *bytes, PgBackRest *backup)
{
	find_references(bytes, backup);
	backup->bytes = sum_sizes(bytes);
}

void
pgbackrest_references(const char *root, PgBackRest *backup)
{
	size_t		size = 0;
	char	   *bytes = read_text(root, PGBACKREST_MANIFEST, false, &size);

	memset(backup, 0, sizeof(*backup));
	if (bytes != NULL)
		pgbackrest_parse_references(bytes, backup);
	host_free(bytes);
}

char *
pgbackrest_archive(const char *root, const PgBackRest *backup)
{
	char	   *above = host_print("%s/..", root);
	char	   *stanza = realpath(above, NULL);
	char	   *archive = NULL;
	struct stat status;

	if (stanza != NULL)
		archive = host_print("%s/../../archive/%s/%s-%u", stanza,
							 strrchr(stanza, '/') + 1, backup->version, backup->id);
	free(stanza);
	host_free(above);
	if (archive != NULL && stat(archive, &status) == 0 && S_ISDIR(status.st_mode))
		return archive;
	host_free(archive);
	return NULL;
}
