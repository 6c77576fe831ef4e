/*
 * wal_name.c
 *	  The names of WAL files: timeline, segment number, kind.
 */
#include <stdio.h>

#include "verify/wal_name.h"

/* By kind.  From the third on: listed, not readable here. */
static const char *const suffixes[] = {
	"", ".partial",
	".gz", ".lz4", ".zst", ".bz2", ".xz", ".br", ".lzo", ".gpg",
	".partial.gz", ".partial.lz4", ".gz.partial", ".lz4.partial"
};

#define NSUFFIXES	(sizeof(suffixes) / sizeof(suffixes[0]))

static uint64_t
segments_per_4gb(uint32_t segment_size)
{
	return (UINT64_C(1) << 32) / segment_size;
}

WalName
wal_name_of(uint32_t timeline, uint64_t segno, uint32_t segment_size,
			uint32_t kind)
{
	WalName		name;

	name.timeline = timeline;
	name.high = (uint32_t) (segno / segments_per_4gb(segment_size));
	name.low = (uint32_t) (segno % segments_per_4gb(segment_size));
	name.kind = kind;
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
wal_name_parse(const char *file_name, WalName *name)
{
	if (!parse_hex(file_name, &name->timeline) || name->timeline == 0 ||
		!parse_hex(file_name + 8, &name->high) ||
		!parse_hex(file_name + 16, &name->low))
		return false;
	for (name->kind = 0; name->kind < NSUFFIXES; name->kind++)
		if (strcmp(file_name + WAL_NAME_DIGITS, suffixes[name->kind]) == 0)
			return true;
	return false;				/* a backup label, say */
}

void
wal_name_print(const WalName *name, char file_name[WAL_NAME_SIZE])
{
	snprintf(file_name, WAL_NAME_SIZE, "%08X%08X%08X%s", name->timeline,
			 name->high, name->low,
			 name->kind < NSUFFIXES ? suffixes[name->kind] : "");
}

uint64_t
wal_name_segno(const WalName *name, uint32_t segment_size)
{
	return name->high * segments_per_4gb(segment_size) + name->low;
}

bool
wal_name_possible(const WalName *name, uint32_t segment_size)
{
	return name->low < segments_per_4gb(segment_size) &&
		wal_name_segno(name, segment_size) < UINT64_MAX / segment_size;
}

#define COMPARE(x, y)	(((x) > (y)) - ((x) < (y)))

int
wal_name_compare(const WalName *a, const WalName *b)
{
	if (a->timeline != b->timeline)
		return COMPARE(a->timeline, b->timeline);
	if (a->high != b->high)
		return COMPARE(a->high, b->high);
	if (a->low != b->low)
		return COMPARE(a->low, b->low);
	return COMPARE(a->kind, b->kind);
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
	return COMPARE(a->kind, b->kind);
}
