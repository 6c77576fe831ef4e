/*
 * name.c
 *	  Takes the names of WAL files apart into timeline, segment number and
 *	  kind.
 */
#include <stdio.h>

#include "wal/name.h"

#define PARTIAL		".partial"
#define HISTORY		".history"
#define BACKUP		".backup"

static uint64_t
segments_per_4gb(uint32_t segment_size)
{
	return (UINT64_C(1) << 32) / segment_size;
}

WalName
wal_name_of(uint32_t timeline, uint64_t segno, uint32_t segment_size,
			uint32_t kind)
{
	WalName		name = {0};

	name.timeline = timeline;
	name.high = (uint32_t) (segno / segments_per_4gb(segment_size));
	name.low = (uint32_t) (segno % segments_per_4gb(segment_size));
	name.kind = kind;
	name.partial = kind == WAL_KIND_PARTIAL ? WAL_PARTIAL_AFTER_DIGITS :
		WAL_PARTIAL_NONE;
	return name;
}

static bool
parse_hex(const char *digits, uint32_t *value)
{
	*value = 0;
	for (int i = 0; i < 8; i++)
	{
		char		c = digits[i];

		if (c >= '0' && c <= '9')
			*value = *value << 4 | (uint32_t) (c - '0');
		else if (c >= 'A' && c <= 'F')
			*value = *value << 4 | (uint32_t) (c - 'A' + 10);
		else
			return false;
	}
	return true;
}

bool
wal_name_is_folder(const char *file_name)
{
	uint32_t	timeline;
	uint32_t	high;

	return strlen(file_name) == WAL_NAME_FOLDER &&
		parse_hex(file_name, &timeline) && timeline != 0 &&
		parse_hex(file_name + 8, &high);
}

/* Parses "-" and the SHA-1 of the contents, in lower case. */
static bool
parse_digest(const char *text, WalName *name)
{
	static const char digits[] = "0123456789abcdef";

	if (text[0] != '-' || strlen(text) < 1 + 2 * WAL_NAME_DIGEST)
		return false;
	for (int i = 0; i < 2 * WAL_NAME_DIGEST; i++)
	{
		const char *digit = strchr(digits, text[1 + i]);

		if (digit == NULL)
			return false;
		name->digest[i / 2] = (uint8_t) (name->digest[i / 2] << 4 | (digit - digits));
	}
	name->has_digest = true;
	return true;
}

/* Passes over ".partial", once in a name. */
static const char *
parse_partial(const char *text, WalName *name, WalPartialPlace place)
{
	if (name->partial != WAL_PARTIAL_NONE ||
		strncmp(text, PARTIAL, strlen(PARTIAL)) != 0)
		return text;

	name->partial = (uint8_t) place;
	name->kind = WAL_KIND_PARTIAL;
	return text +strlen(PARTIAL);
}

/* Parses what follows the digits. */
static bool
parse_tail(const char *text, WalName *name)
{
	DecodeFormat format;

	text = parse_partial(text, name, WAL_PARTIAL_AFTER_DIGITS);

	if (parse_digest(text, name))
		text = parse_partial(text +1 + 2 * WAL_NAME_DIGEST, name,
							 WAL_PARTIAL_AFTER_DIGEST);

	format = decode_format_suffixed(text);
	name->suffix = (uint8_t) format;
	text	  +=strlen(decode_format_suffix(format));

	if (format != DECODE_PLAIN)
		text = parse_partial(text, name, WAL_PARTIAL_LAST);

	return *text == '\0';		/* else a backup label, say */
}

bool
wal_name_parse(const char *file_name, WalName *name)
{
	memset(name, 0, sizeof(*name));
	if (strlen(file_name) > WAL_NAME_FOLDER + 1 &&
		file_name[WAL_NAME_FOLDER] == '/')
	{
		const char *folder = file_name;

		file_name += WAL_NAME_FOLDER + 1;
		if (strncmp(folder, file_name, WAL_NAME_FOLDER) != 0)
			return false;
		name->in_folder = true;
	}
	return strlen(file_name) >= WAL_NAME_DIGITS &&
		parse_hex(file_name, &name->timeline) && name->timeline != 0 &&
		parse_hex(file_name + 8, &name->high) &&
		parse_hex(file_name + 16, &name->low) &&
		parse_tail(file_name + WAL_NAME_DIGITS, name);
}

/*
 * Parses what follows ".history" or ".backup", nothing or how it is
 * compressed.
 */
static bool
parse_suffix(const char *text, WalName *name)
{
	DecodeFormat format = decode_format_suffixed(text);

	name->suffix = (uint8_t) format;
	return strcmp(text, decode_format_suffix(format)) == 0;
}

static bool
parse_backup(const char *file_name, WalName *name)
{
	name->kind = WAL_KIND_BACKUP;
	return strlen(file_name) >= WAL_NAME_DIGITS + 9 &&
		parse_hex(file_name, &name->timeline) && name->timeline != 0 &&
		parse_hex(file_name + 8, &name->high) && parse_hex(file_name + 16, &name->low) &&
		file_name[WAL_NAME_DIGITS] == '.' &&
		parse_hex(file_name + WAL_NAME_DIGITS + 1, &name->offset) &&
		strncmp(file_name + WAL_NAME_DIGITS + 9, BACKUP, strlen(BACKUP)) == 0 &&
		parse_suffix(file_name + WAL_NAME_DIGITS + 9 + strlen(BACKUP), name);
}

bool
wal_name_parse_beside(const char *file_name, WalName *name)
{
	memset(name, 0, sizeof(*name));
	if (strlen(file_name) < 8 || !parse_hex(file_name, &name->timeline))
		return false;
	if (strncmp(file_name + 8, HISTORY, strlen(HISTORY)) != 0)
		return parse_backup(file_name, name);
	name->kind = WAL_KIND_HISTORY;
	return name->timeline > 1 &&
		parse_suffix(file_name + 8 + strlen(HISTORY), name);
}

DecodeFormat
wal_name_format(const WalName *name)
{
	return (DecodeFormat) name->suffix;
}

static void
print_beside(const WalName *name, const char *folder,
			 char file_name[WAL_NAME_SIZE])
{
	const char *suffix = decode_format_suffix((DecodeFormat) name->suffix);

	if (name->kind == WAL_KIND_HISTORY)
		snprintf(file_name, WAL_NAME_SIZE, "%08X" HISTORY "%s", name->timeline,
				 suffix);
	else
		snprintf(file_name, WAL_NAME_SIZE, "%s%08X%08X%08X.%08X" BACKUP "%s",
				 folder, name->timeline, name->high, name->low, name->offset,
				 suffix);
}

void
wal_name_print(const WalName *name, char file_name[WAL_NAME_SIZE])
{
	char		folder[WAL_NAME_FOLDER + 2] = "";
	char		digest[2 + 2 * WAL_NAME_DIGEST] = "";

	if (name->in_folder)
		snprintf(folder, sizeof(folder), "%08X%08X/", name->timeline,
				 name->high);
	if (name->kind == WAL_KIND_HISTORY || name->kind == WAL_KIND_BACKUP)
	{
		print_beside(name, folder, file_name);
		return;
	}
	if (name->has_digest)
		digest[0] = '-';
	for (int i = 0; name->has_digest && i < WAL_NAME_DIGEST; i++)
		snprintf(digest + 1 + 2 * i, 3, "%02x", name->digest[i]);
	snprintf(file_name, WAL_NAME_SIZE, "%s%08X%08X%08X%s%s%s%s%s", folder,
			 name->timeline, name->high, name->low,
			 name->partial == WAL_PARTIAL_AFTER_DIGITS ? PARTIAL : "", digest,
			 name->partial == WAL_PARTIAL_AFTER_DIGEST ? PARTIAL : "",
			 decode_format_suffix((DecodeFormat) name->suffix),
			 name->partial == WAL_PARTIAL_LAST ? PARTIAL : "");
}

uint64_t
wal_name_segno(const WalName *name, uint32_t segment_size)
{
	return name->high * segments_per_4gb(segment_size) + name->low;
}

WalLsn
wal_name_start(const WalName *name, uint32_t segment_size)
{
	return wal_name_segno(name, segment_size) * segment_size;
}

bool
wal_name_possible(const WalName *name, uint32_t segment_size)
{
	return name->low < segments_per_4gb(segment_size) &&
		wal_name_segno(name, segment_size) < UINT64_MAX / segment_size;
}

#define COMPARE(x, y)	(((x) > (y)) - ((x) < (y)))

/* Compares files of one segment.  What is named most plainly comes first. */
static int
compare_files(const WalName *a, const WalName *b)
{
	if (a->kind != b->kind)
		return COMPARE(a->kind, b->kind);
	if (a->suffix != b->suffix)
		return COMPARE(a->suffix, b->suffix);
	if (a->in_folder != b->in_folder)
		return COMPARE(a->in_folder, b->in_folder);
	if (a->has_digest != b->has_digest)
		return COMPARE(a->has_digest, b->has_digest);
	if (a->partial != b->partial)
		return COMPARE(a->partial, b->partial);
	return memcmp(a->digest, b->digest, sizeof(a->digest));
}

int
wal_name_compare(const WalName *a, const WalName *b)
{
	if (a->timeline != b->timeline)
		return COMPARE(a->timeline, b->timeline);
	if (a->high != b->high)
		return COMPARE(a->high, b->high);
	if (a->low != b->low)
		return COMPARE(a->low, b->low);
	return compare_files(a, b);
}

int
wal_name_compare_segments(const WalName *a, const WalName *b)
{
	if (a->high != b->high)
		return COMPARE(a->high, b->high);
	if (a->low != b->low)
		return COMPARE(a->low, b->low);
	if (a->timeline != b->timeline)
		return COMPARE(b->timeline, a->timeline);
	return compare_files(a, b);
}
