/*
 * manifest.c
 *	  What a backup manifest says.
 *
 * Each place of the format has a table of its fields.  A field has its number
 * there, as the token that it waits for, and as the bit that says that it
 * came.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "host/digits.h"
#include "manifest/manifest.h"

enum
{
	TOP_VERSION, TOP_SYSTEM, TOP_FILES, TOP_RANGES, TOP_CHECKSUM
};
enum
{
	FILE_PATH, FILE_ENCODED_PATH, FILE_SIZE, FILE_MODIFIED, FILE_ALGORITHM,
	FILE_CHECKSUM
};
enum
{
	RANGE_TIMELINE, RANGE_START, RANGE_END
};

static const char *const top_fields[] = {
	"PostgreSQL-Backup-Manifest-Version", "System-Identifier", "Files",
	"WAL-Ranges", "Manifest-Checksum", NULL
};
static const char *const file_fields[] = {
	"Path", "Encoded-Path", "Size", "Last-Modified", "Checksum-Algorithm",
	"Checksum", NULL
};
static const char *const range_fields[] = {
	"Timeline", "Start-LSN", "End-LSN", NULL
};

static const struct
{
	const char *name;
	uint32_t	length;
}			algorithms[] = {
	[MANIFEST_NONE] = {"NONE", 0},
	[MANIFEST_CRC32C] = {"CRC32C", 4},
	[MANIFEST_SHA224] = {"SHA224", 28},
	[MANIFEST_SHA256] = {"SHA256", 32},
	[MANIFEST_SHA384] = {"SHA384", 48},
	[MANIFEST_SHA512] = {"SHA512", 64},
	[MANIFEST_SHA1] = {"SHA1", 20},
};

/* that PostgreSQL's manifests may name */
#define NALGORITHMS	MANIFEST_SHA1
#define HAS(seen, field)	(((seen) & (UINT32_C(1) << (field))) != 0)

const char *
manifest_algorithm_name(ManifestAlgorithm algorithm)
{
	return algorithms[algorithm].name;
}

uint32_t
manifest_digest_length(ManifestAlgorithm algorithm)
{
	return algorithms[algorithm].length;
}

void
manifest_begin(ManifestReader *ctx)
{
	ctx->version = 0;
	ctx->newest = 0;
	ctx->has_system = false;
	ctx->error = NULL;
	ctx->unsupported = false;
	ctx->place = MANIFEST_BEGIN;
	ctx->field = -1;
	ctx->top_seen = 0;
	ctx->now.path[0] = '\0';
}

static void
fail(ManifestReader *ctx, const char *error)
{
	if (ctx->error == NULL)
		ctx->error = error;
}

/* ---- tokens ---- */

static bool
token_number(const char *token, uint64_t most, uint64_t *value)
{
	const char *end = digits_read(token, most, value);

	return end != NULL && *end == '\0';
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Exactly size bytes in hexadecimal digits. */
static bool
token_hex(const char *token, size_t size, uint8_t *bytes)
{
	if (strlen(token) != 2 * size)
		return false;
	for (size_t i = 0; i < size; i++)
	{
		int			high = hex_digit(token[2 * i]);
		int			low = hex_digit(token[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t) (high * 16 + low);
	}
	return true;
}

/* Reads up to 8 hexadecimal digits.  Returns the end, or NULL. */
static const char *
hex_half(const char *token, uint32_t *value)
{
	int			n = 0;

	*value = 0;
	for (; n < 9 && hex_digit(token[n]) >= 0; n++)
		*value = *value * 16 + (uint32_t) hex_digit(token[n]);
	return n >= 1 && n <= 8 ? token + n : NULL;
}

bool
manifest_lsn(const char *token, uint64_t *lsn)
{
	uint32_t	high;
	uint32_t	low;
	const char *end = hex_half(token, &high);

	if (end == NULL || *end != '/')
		return false;
	end = hex_half(end + 1, &low);
	if (end == NULL || *end != '\0')
		return false;
	*lsn = (uint64_t) high << 32 | low;
	return true;
}

/* ---- fields ---- */

static void
set_path(ManifestReader *ctx, const char *token)
{
	if (!backup_path_possible(token))
		fail(ctx, "file path is empty, absolute, too long or not in canonical form");
	else
		strcpy(ctx->now.path, token);
}

static void
set_encoded_path(ManifestReader *ctx, const char *token)
{
	char		path[BACKUP_PATH_MAX];
	size_t		size = strlen(token) / 2;

	if (size >= sizeof(path) || !token_hex(token, size, (uint8_t *) path) ||
		memchr(path, '\0', size) != NULL)
	{
		fail(ctx, "could not decode file name");
		return;
	}
	path[size] = '\0';
	set_path(ctx, path);
}

static void
set_algorithm(ManifestReader *ctx, const char *token)
{
	for (int i = 0; i < NALGORITHMS; i++)
		if (strcmp(token, algorithms[i].name) == 0)
		{
			ctx->now.algorithm = (ManifestAlgorithm) i;
			return;
		}
	fail(ctx, "unrecognized checksum algorithm");
}

/* Days from 1970 to a day of the Gregorian calendar. */
static int64_t
days_until(int year, int month, int day)
{
	static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	int			leaps = month > 2 ? year : year - 1;

	return 365 * (int64_t) (year - 1970) + leaps / 4 - leaps / 100 + leaps / 400 -
		(1969 / 4 - 1969 / 100 + 1969 / 400) + before[month - 1] + day - 1;
}

/* The time is in GMT, as the server writes it.  No other one is believed. */
static void
note_modified(ManifestReader *ctx, const char *token)
{
	int			year;
	int			month;
	int			day;
	int			hour;
	int			minute;
	int			second;
	int			end = 0;
	int64_t		time;

	if (sscanf(token, "%4d-%2d-%2d %2d:%2d:%2d GMT%n", &year, &month, &day,
			   &hour, &minute, &second, &end) != 6 ||
		end == 0 || token[end] != '\0' ||
		year < 1970 || month < 1 || month > 12)
		return;
	time = days_until(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
	if (time > ctx->newest)
		ctx->newest = time;
}

static void
file_scalar(ManifestReader *ctx, const char *token, bool string, bool number)
{
	if (ctx->field == FILE_SIZE)
	{
		if (!number || !token_number(token, INT64_MAX, &ctx->now.size))
			fail(ctx, "file size is not an integer");
	}
	else if (!string)
		fail(ctx, "field of a file is not a string");
	else if (ctx->field == FILE_PATH)
		set_path(ctx, token);
	else if (ctx->field == FILE_ENCODED_PATH)
		set_encoded_path(ctx, token);
	else if (ctx->field == FILE_MODIFIED)
		note_modified(ctx, token);
	else if (ctx->field == FILE_ALGORITHM)
		set_algorithm(ctx, token);
	else if (ctx->field == FILE_CHECKSUM)
	{
		if (strlen(token) >= sizeof(ctx->checksum))
			fail(ctx, "invalid checksum for file");
		else
			strcpy(ctx->checksum, token);
	}
}

static void
range_scalar(ManifestReader *ctx, const char *token, bool string, bool number)
{
	uint64_t	timeline = 0;

	if (ctx->field == RANGE_TIMELINE)
	{
		if (!number || !token_number(token, UINT32_MAX, &timeline) ||
			timeline == 0)
			fail(ctx, "timeline is not an integer");
		ctx->range_now.timeline = (uint32_t) timeline;
	}
	else if (ctx->field == RANGE_START)
	{
		if (!string || !manifest_lsn(token, &ctx->range_now.start))
			fail(ctx, "could not parse start LSN");
	}
	else if (!string || !manifest_lsn(token, &ctx->range_now.end))
		fail(ctx, "could not parse end LSN");
}

static void
set_version(ManifestReader *ctx, const char *token, bool number)
{
	uint64_t	version;

	if (!number || !token_number(token, UINT32_MAX, &version))
		fail(ctx, "manifest version is not an integer");
	else if (version != 1 && version != 2)
	{
		ctx->unsupported = true;
		fail(ctx, "unexpected manifest version");
	}
	else
		ctx->version = (uint32_t) version;
}

static void
top_scalar(ManifestReader *ctx, const char *token, bool string, bool number)
{
	if (ctx->field == TOP_VERSION)
		set_version(ctx, token, number);
	else if (ctx->field == TOP_SYSTEM)
	{
		ctx->has_system = true;
		if (!number || !token_number(token, UINT64_MAX, &ctx->system))
			fail(ctx, "system identifier in manifest is not an integer");
	}
	else if (ctx->field != TOP_CHECKSUM)
		fail(ctx, "unexpected scalar");
	else if (!string || !token_hex(token, sizeof(ctx->own), ctx->own))
		fail(ctx, "invalid manifest checksum");
}

/* ---- events ---- */

/*
 * A value begins, so is a field waiting for it?  An element of an array has
 * none.
 */
static bool
takes_value(ManifestReader *ctx)
{
	return ctx->error == NULL && ctx->field >= 0;
}

void
manifest_scalar(ManifestReader *ctx, const char *token, bool string,
				bool number)
{
	if (!takes_value(ctx))
		fail(ctx, "unexpected scalar");
	else if (ctx->place == MANIFEST_TOP)
		top_scalar(ctx, token, string, number);
	else if (ctx->place == MANIFEST_FILE)
		file_scalar(ctx, token, string, number);
	else
		range_scalar(ctx, token, string, number);
	ctx->field = -1;
}

/*
 * Returns the number of a field that has not come before, or -1 if it is none
 * of the format.
 */
static int
find_field(ManifestReader *ctx, const char *const *names, const char *name,
		   uint32_t *seen)
{
	for (int i = 0; names[i] != NULL; i++)
		if (strcmp(names[i], name) == 0)
		{
			if (HAS(*seen, i))
				fail(ctx, "a field comes twice");
			*seen |= UINT32_C(1) << i;
			return i;
		}
	return -1;
}

/*
 * Nothing follows a field's name but its value, and no parser sends anything
 * else.
 */
static bool
awaits_value(ManifestReader *ctx)
{
	if (ctx->error == NULL && ctx->field >= 0)
		fail(ctx, "field has no value");
	return ctx->error != NULL;
}

void
manifest_field(ManifestReader *ctx, const char *name)
{
	if (awaits_value(ctx))
		return;
	if (ctx->place == MANIFEST_TOP)
	{
		bool		first = ctx->top_seen == 0;

		ctx->field = find_field(ctx, top_fields, name, &ctx->top_seen);
		if (first && ctx->field != TOP_VERSION)
			fail(ctx, "expected version indicator");
		else if (ctx->field < 0)
			fail(ctx, "unrecognized top-level field");
		return;
	}
	if (ctx->place == MANIFEST_FILE)
		ctx->field = find_field(ctx, file_fields, name, &ctx->seen);
	else
		ctx->field = find_field(ctx, range_fields, name, &ctx->seen);
	if (ctx->field < 0)
		fail(ctx, ctx->place == MANIFEST_FILE ? "unexpected file field" :
			 "unexpected WAL range field");
}

void
manifest_array_start(ManifestReader *ctx)
{
	if (takes_value(ctx) && ctx->place == MANIFEST_TOP &&
		ctx->field == TOP_FILES)
		ctx->place = MANIFEST_FILES;
	else if (takes_value(ctx) && ctx->place == MANIFEST_TOP &&
			 ctx->field == TOP_RANGES)
		ctx->place = MANIFEST_RANGES;
	else
		fail(ctx, "unexpected array start");
	ctx->field = -1;
}

void
manifest_array_end(ManifestReader *ctx)
{
	if (ctx->place != MANIFEST_FILES && ctx->place != MANIFEST_RANGES)
		fail(ctx, "unexpected array end");
	if (ctx->error == NULL)
		ctx->place = MANIFEST_TOP;
}

void
manifest_object_start(ManifestReader *ctx)
{
	if (ctx->error != NULL)
		return;
	ctx->seen = 0;
	if (ctx->place == MANIFEST_BEGIN)
		ctx->place = MANIFEST_TOP;
	else if (ctx->place == MANIFEST_FILES)
	{
		ctx->place = MANIFEST_FILE;
		ctx->now.path[0] = '\0';
		ctx->now.algorithm = MANIFEST_NONE;
	}
	else if (ctx->place == MANIFEST_RANGES)
		ctx->place = MANIFEST_RANGE;
	else
		fail(ctx, "unexpected object start");
}

static void
finish_file(ManifestReader *ctx)
{
	bool		plain = HAS(ctx->seen, FILE_PATH);
	bool		encoded = HAS(ctx->seen, FILE_ENCODED_PATH);

	if (!plain && !encoded)
		fail(ctx, "missing path name");
	else if (plain && encoded)
		fail(ctx, "both path name and encoded path name");
	else if (!HAS(ctx->seen, FILE_SIZE))
		fail(ctx, "missing size");
	else if (HAS(ctx->seen, FILE_CHECKSUM) &&
			 !HAS(ctx->seen, FILE_ALGORITHM))
		fail(ctx, "checksum without algorithm");
	else if (!HAS(ctx->seen, FILE_CHECKSUM) &&
			 ctx->now.algorithm != MANIFEST_NONE)
		fail(ctx, "algorithm without checksum");
	else if (HAS(ctx->seen, FILE_CHECKSUM) &&
			 !token_hex(ctx->checksum, algorithms[ctx->now.algorithm].length,
						ctx->now.digest))
		fail(ctx, "invalid checksum for file");
	if (ctx->error != NULL)
		return;
	ctx->place = MANIFEST_FILES;
	ctx->file(ctx->arg, &ctx->now);
	ctx->now.path[0] = '\0';
}

static void
finish_range(ManifestReader *ctx)
{
	if (!HAS(ctx->seen, RANGE_TIMELINE))
		fail(ctx, "missing timeline");
	else if (!HAS(ctx->seen, RANGE_START))
		fail(ctx, "missing start LSN");
	else if (!HAS(ctx->seen, RANGE_END))
		fail(ctx, "missing end LSN");
	else if (ctx->range_now.start > ctx->range_now.end)
		fail(ctx, "start LSN is after end LSN");
	if (ctx->error != NULL)
		return;
	ctx->place = MANIFEST_RANGES;
	ctx->range(ctx->arg, &ctx->range_now);
}

void
manifest_object_end(ManifestReader *ctx)
{
	if (awaits_value(ctx))
		return;
	if (ctx->place == MANIFEST_FILE)
		finish_file(ctx);
	else if (ctx->place == MANIFEST_RANGE)
		finish_range(ctx);
	else if (ctx->top_seen == 0)
		fail(ctx, "unexpected object end");
	else
		ctx->place = MANIFEST_END;
}

bool
manifest_finish(ManifestReader *ctx)
{
	if (ctx->place != MANIFEST_END)
		fail(ctx, "manifest ended unexpectedly");
	else if (!HAS(ctx->top_seen, TOP_CHECKSUM))
		fail(ctx, "backup manifest has no checksum");
	else if (ctx->version >= 2 && !ctx->has_system)
		fail(ctx, "missing system identifier");
	else if (!HAS(ctx->top_seen, TOP_FILES))
		fail(ctx, "backup manifest has no files");
	return ctx->error == NULL;
}
