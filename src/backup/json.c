/*
 * json.c
 *	  Reads a backup's manifest.
 *
 * The parser is the server's own (common/jsonapi.h).  It recurses with the
 * nesting, and collects strings whole, so both are measured before it is
 * called.  A manifest nests three deep, and its strings are paths.
 */
#include "compat.h"

#include "common/cryptohash.h"
#include "common/jsonapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "backup/json.h"
#include "host/file_scan.h"

#define MANIFEST_BYTES_MAX	(INT64CONST(512) * 1024 * 1024)
#define PIECE_BYTES			((size_t) 1024 * 1024)

#define NESTING_MAX			8
#define STRING_MAX			(8 * BACKUP_PATH_MAX)	/* with its escapes */

/* What the callbacks of the reader know. */
typedef struct ManifestScan
{
	ManifestReader reader;
	BackupManifest *manifest;
} ManifestScan;

static void
fail(BackupManifest *manifest, BackupStatus status, char *message)
{
	if (manifest->status != BACKUP_OK)
		return;
	manifest->status = status;
	manifest->message = message;
}

/* ---- its bytes ---- */

static char *
read_bytes(BackupManifest *manifest, FileScan *scan)
{
	char	   *bytes;
	ssize_t		got;

	if (scan->size > MANIFEST_BYTES_MAX)
	{
		fail(manifest, BACKUP_UNSUPPORTED_VERSION,
			 psprintf("manifest has " INT64_FORMAT " bytes, at most " INT64_FORMAT " are read",
					  (int64) scan->size, MANIFEST_BYTES_MAX));
		return NULL;
	}
	bytes = MemoryContextAllocHuge(CurrentMemoryContext, (Size) scan->size + 1);
	got = file_scan_read(scan, bytes, (size_t) scan->size, 0);
	bytes[scan->size] = '\0';	/* for a parser that does not keep to the size */
	if (got == scan->size)
		return bytes;
	fail(manifest, BACKUP_IO_ERROR,
		 got < 0 ? psprintf("could not read file: %m") :
		 pstrdup("file was truncated while it was read"));
	pfree(bytes);
	return NULL;
}

static char *
read_file(BackupManifest *manifest, const char *path, bool direct,
		  size_t *size)
{
	FileScan	scan;
	FileWindow *window = direct ? file_window_new(NULL) : NULL;
	FileScanResult opened = file_scan_open_direct(&scan, path, window);
	char	   *bytes;

	if (opened == FILE_SCAN_MISSING)
		fail(manifest, BACKUP_NO_MANIFEST, pstrdup("there is no manifest"));
	else if (opened == FILE_SCAN_IRREGULAR)
		fail(manifest, BACKUP_IO_ERROR, pstrdup("not a regular file"));
	else if (opened != FILE_SCAN_OK)
		fail(manifest, BACKUP_IO_ERROR, psprintf("could not open file: %m"));
	if (opened != FILE_SCAN_OK)
	{
		file_window_free(window);
		return NULL;
	}
	*size = (size_t) scan.size;
	bytes = read_bytes(manifest, &scan);
	file_scan_close(&scan);
	file_window_free(window);
	return bytes;
}

/* ---- its own checksum ---- */

/* The SHA-256 of so many bytes. */
static bool
sha256(const char *bytes, size_t size, uint8 digest[MANIFEST_OWN_DIGEST])
{
	pg_cryptohash_ctx *hash = pg_cryptohash_create(PG_SHA256);
	bool		done = hash != NULL && pg_cryptohash_init(hash) >= 0;

	for (size_t at = 0; done && at < size; at += PIECE_BYTES)
	{
		CHECK_FOR_INTERRUPTS();
		done = pg_cryptohash_update(hash, (const uint8 *) bytes + at,
									Min(size - at, PIECE_BYTES)) >= 0;
	}
	done = done && pg_cryptohash_final(hash, digest, MANIFEST_OWN_DIGEST) >= 0;
	pg_cryptohash_free(hash);
	return done;
}

/* It covers all lines but the last one, in which it stands. */
static void
check_own(BackupManifest *manifest, const ManifestReader *reader,
		  const char *bytes, size_t size)
{
	uint8		digest[MANIFEST_OWN_DIGEST];
	size_t		covered = size;

	if (size == 0 || bytes[size - 1] != '\n')
	{
		fail(manifest, BACKUP_BAD_FORMAT,
			 pstrdup("last line of the manifest does not end with a newline"));
		return;
	}
	do
		covered--;
	while (covered > 0 && bytes[covered - 1] != '\n');
	if (covered == 0)
		fail(manifest, BACKUP_BAD_FORMAT,
			 pstrdup("expected at least 2 lines in the manifest"));
	else if (!sha256(bytes, covered, digest))
		fail(manifest, BACKUP_NOT_VERIFIABLE,
			 pstrdup("could not compute the manifest's checksum"));
	else if (memcmp(digest, reader->own, sizeof(digest)) != 0)
		fail(manifest, BACKUP_CHECKSUM_MISMATCH,
			 pstrdup("manifest checksum mismatch"));
}

/* ---- what it says ---- */

/* No more of it is read. */
static void
refuse(ManifestScan *scan, const char *why)
{
	scan->reader.unsupported = true;
	scan->reader.error = why;
}

static void
add_file(void *arg, const ManifestFile *file)
{
	ManifestScan *scan = arg;
	BackupList *list = &scan->manifest->list;

	if (list->count == BACKUP_FILES_MAX)
		refuse(scan, "manifest has too many files");
	else
		backup_list_add(list, file->path, (int64) file->size,
						file->algorithm, file->digest);
}

static void
add_range(void *arg, const ManifestRange *range)
{
	ManifestScan *scan = arg;
	BackupManifest *manifest = scan->manifest;

	if (manifest->nranges == BACKUP_RANGES_MAX)
		refuse(scan, "manifest has too many WAL ranges");
	else
		manifest->ranges[manifest->nranges++] = *range;
}

static JSON_ACTION
object_start(void *state)
{
	manifest_object_start(state);
	JSON_ACTION_RETURN(((ManifestReader *) state)->error == NULL);
}

static JSON_ACTION
object_end(void *state)
{
	CHECK_FOR_INTERRUPTS();
	manifest_object_end(state);
	JSON_ACTION_RETURN(((ManifestReader *) state)->error == NULL);
}

static JSON_ACTION
array_start(void *state)
{
	manifest_array_start(state);
	JSON_ACTION_RETURN(((ManifestReader *) state)->error == NULL);
}

static JSON_ACTION
array_end(void *state)
{
	manifest_array_end(state);
	JSON_ACTION_RETURN(((ManifestReader *) state)->error == NULL);
}

static JSON_ACTION
field_start(void *state, char *name, bool isnull)
{
	manifest_field(state, name);
	JSON_ACTION_RETURN(((ManifestReader *) state)->error == NULL);
}

/* The parser leaves names and tokens to us. */
static JSON_ACTION
field_end(void *state, char *name, bool isnull)
{
	pfree(name);
	JSON_ACTION_RETURN(((ManifestReader *) state)->error == NULL);
}

static JSON_ACTION
scalar(void *state, char *token, JsonTokenType type)
{
	manifest_scalar(state, token, type == JSON_TOKEN_STRING,
					type == JSON_TOKEN_NUMBER);
	pfree(token);
	JSON_ACTION_RETURN(((ManifestReader *) state)->error == NULL);
}

/*
 * Is it an escape of a character that is not ASCII?  The parser converts that
 * to the encoding of the database, which may have none (an error in 15).
 * Manifests have escapes of control characters alone.
 */
static bool
is_foreign_escape(const char *bytes, size_t size)
{
	return size > 4 && bytes[0] == '\\' && bytes[1] == 'u' &&
		GetDatabaseEncoding() != PG_UTF8 &&
		(bytes[2] != '0' || bytes[3] != '0' || bytes[4] > '7');
}

/* Is its nesting, and each of its strings, of a size that a manifest has? */
static bool
is_moderate(const char *bytes, size_t size)
{
	int			depth = 0;
	size_t		string = 0;		/* bytes of the present one, quote included */

	for (size_t i = 0; i < size && depth <= NESTING_MAX &&
		 string <= STRING_MAX; i++)
	{
		char		c = bytes[i];

		if ((i & (PIECE_BYTES - 1)) == 0)
			CHECK_FOR_INTERRUPTS();
		if (string > 0)
		{
			if (is_foreign_escape(bytes + i, size - i))
				return false;
			string = c == '"' ? 0 : string + 1;
			i += c == '\\';
		}
		else if (c == '"')
			string = 1;
		else
			depth += (c == '{' || c == '[') - (c == '}' || c == ']');
	}
	return depth <= NESTING_MAX && string <= STRING_MAX;
}

/*
 * Returns what the parser says, as far as it may be shown, since it quotes the
 * input.
 */
static char *
parser_message(JsonParseErrorType error, JsonLexContext *lex)
{
	char	   *words = json_errdetail(error, lex);
	int			length = (int) strlen(words);

	if (!pg_verifymbstr(words, length, true))
		return pstrdup("could not parse manifest: invalid JSON");
	length -= length > 0 && words[length - 1] == '.';	/* a sentence */
	return psprintf("could not parse manifest: %.*s", length, words);
}

static void
parse(BackupManifest *manifest, ManifestReader *reader, char *bytes,
	  size_t size)
{
	JsonSemAction actions = {0};
	JsonLexContext *lex = json_lex_begin(bytes, (int) size, PG_UTF8, true);
	JsonParseErrorType result;

	actions.semstate = reader;
	actions.object_start = object_start;
	actions.object_end = object_end;
	actions.array_start = array_start;
	actions.array_end = array_end;
	actions.object_field_start = field_start;
	actions.object_field_end = field_end;
	actions.scalar = scalar;
	result = pg_parse_json(lex, &actions);
	if (reader->error == NULL && result == JSON_SUCCESS &&
		manifest_finish(reader))
		return;
	if (reader->error == NULL)
		fail(manifest, BACKUP_BAD_FORMAT, parser_message(result, lex));
	else
		fail(manifest, reader->unsupported ? BACKUP_UNSUPPORTED_VERSION :
			 BACKUP_BAD_FORMAT, pstrdup(reader->error));
}

static void
read_contents(BackupManifest *manifest, char *bytes, size_t size)
{
	ManifestScan scan;
	const char *twice;

	scan.manifest = manifest;
	manifest_begin(&scan.reader);
	scan.reader.file = add_file;
	scan.reader.range = add_range;
	scan.reader.arg = &scan;
	if (!is_moderate(bytes, size))
		fail(manifest, BACKUP_BAD_FORMAT,
			 pstrdup("nesting too deep, a string too long, or an escape not possible, for a manifest"));
	else
		parse(manifest, &scan.reader, bytes, size);
	if (manifest->status != BACKUP_OK)
		return;
	check_own(manifest, &scan.reader, bytes, size);
	manifest->has_system = scan.reader.has_system;
	manifest->system = scan.reader.system;
	twice = backup_list_end(&manifest->list);
	if (twice != NULL)
		fail(manifest, BACKUP_BAD_FORMAT,
			 pstrdup("duplicate path name in backup manifest"));
}

void
backup_manifest_read(BackupManifest *manifest, const char *path, bool direct)
{
	size_t		size = 0;
	char	   *bytes;

	memset(manifest, 0, sizeof(*manifest));
	bytes = read_file(manifest, path, direct, &size);
	if (bytes != NULL)
	{
		read_contents(manifest, bytes, size);
		pfree(bytes);
	}
	if (manifest->status == BACKUP_OK)
		return;
	backup_list_free(&manifest->list);
	manifest->nranges = 0;
	manifest->has_system = false;
}
