/*
 * wal_identity.c
 *	  What a file of write-ahead log says of itself, and what its name says.
 */
#include <stdio.h>

#include "verify/wal.h"

/* Page magics; a new server version is one row. */
static const struct
{
	uint16_t	magic;
	bool		supported;
	const char *version;
}			versions[] = {
	{0xD122, true, "19"},
	{0xD118, true, "18"},
	{0xD116, true, "17"},
	{0xD113, true, "16"},
	{0xD110, true, "15"},
	{0xD10D, false, "14"},
	{0xD106, false, "13"},
	{0xD101, false, "12"},
	{0xD098, false, "11"},
	{0xD097, false, "10"},
	{0xD093, false, "9.6"},
	{0xD087, false, "9.5"},
};

#define NVERSIONS	(sizeof(versions) / sizeof(versions[0]))

const char *
wal_version_name(uint16_t magic)
{
	for (size_t i = 0; i < NVERSIONS; i++)
		if (versions[i].magic == magic)
			return versions[i].version;
	return NULL;
}

bool
wal_version_supported(uint16_t magic)
{
	for (size_t i = 0; i < NVERSIONS; i++)
		if (versions[i].magic == magic)
			return versions[i].supported;
	return false;
}

bool
wal_page_is_at(const uint8_t *page, WalLsn address)
{
	return wal_version_supported(wal_load16(page + WAL_PAGE_MAGIC)) &&
		wal_load64(page + WAL_PAGE_ADDR) == address;
}

bool
wal_page_starts_record(const uint8_t *page, uint32_t page_size,
					   WalLsn address)
{
	bool		is_long = (wal_load16(page + WAL_PAGE_INFO) & WAL_FLAG_LONG) != 0;
	uint64_t	start = is_long ? WAL_PAGE_LONG : WAL_PAGE_SHORT;

	return wal_page_is_at(page, address) &&
		wal_align(start + wal_load32(page + WAL_PAGE_REM_LEN)) < page_size;
}

/* ---- files ---- */

/*
 * Do two pages of this size stand at the start of the file?  They share a
 * magic (any), and the second one's address follows the first one's.
 */
static bool
two_pages(const uint8_t *data, size_t len, uint32_t page_size)
{
	const uint8_t *next = data + page_size;

	return len >= (size_t) page_size + WAL_PAGE_SHORT &&
		wal_load16(next) == wal_load16(data) && wal_load16(data) != 0 &&
		wal_load64(next + WAL_PAGE_ADDR) ==
		wal_load64(data + WAL_PAGE_ADDR) + page_size;
}

/* A page of this size behind the first one, whatever the first one is. */
static bool
second_page(const uint8_t *data, size_t len, uint32_t page_size)
{
	const uint8_t *next = data + page_size;

	return len >= (size_t) page_size + WAL_PAGE_SHORT &&
		wal_version_supported(wal_load16(next)) &&
		wal_load64(next + WAL_PAGE_ADDR) % WAL_SEGMENT_MIN == page_size;
}

/* How many pages of this size are seen behind the first one? */
static uint32_t
count_pages(const uint8_t *data, size_t len, uint32_t page_size)
{
	uint32_t	count = 0;

	for (size_t at = page_size; at + WAL_PAGE_SHORT <= len; at += page_size)
		if (wal_version_supported(wal_load16(data + at)) &&
			wal_load64(data + at + WAL_PAGE_ADDR) % WAL_SEGMENT_MIN ==
			at % WAL_SEGMENT_MIN)
			count++;
	return count;
}

/* The size with most pages; in doubt what the header claims. */
static uint32_t
find_page_size(const uint8_t *data, size_t len, uint32_t fallback)
{
	uint32_t	claimed = wal_load32(data + WAL_PAGE_BLCKSZ);
	uint32_t	best = fallback;
	uint32_t	most;

	if (wal_power_of_two(claimed, WAL_PAGE_MIN, WAL_PAGE_MAX))
		best = claimed;
	most = count_pages(data, len, best);
	for (uint32_t size = WAL_PAGE_MIN; size <= WAL_PAGE_MAX; size *= 2)
	{
		uint32_t	count = count_pages(data, len, size);

		if (count > most)
		{
			best = size;
			most = count;
		}
	}
	return best;
}

static bool
valid_segment_size(uint64_t size)
{
	return wal_power_of_two(size, WAL_SEGMENT_MIN, WAL_SEGMENT_MAX);
}

/* Two witnesses of three win: the header, the file's size, the fallback. */
static uint32_t
find_segment_size(const WalIdentity *id, const uint8_t *data,
				  uint64_t file_size, uint32_t fallback)
{
	uint32_t	claimed = id->has_long_header ?
		wal_load32(data + WAL_PAGE_SEG_SIZE) : 0;

	if (valid_segment_size(claimed) &&
		(claimed == file_size || claimed == fallback))
		return claimed;
	if (valid_segment_size(file_size) &&
		(file_size == fallback || !valid_segment_size(claimed)))
		return (uint32_t) file_size;
	return valid_segment_size(claimed) ? claimed : fallback;
}

/*
 * The magic number that most pages at hand have, those before the segment's
 * second page's address included; 0: none has a known one.  One page may be
 * damaged, and one bit makes another version's number of some.
 */
static uint16_t
most_frequent_magic(const uint8_t *data, size_t len, uint32_t page_size)
{
	uint32_t	most = 0;
	uint16_t	found = 0;

	for (size_t v = 0; v < NVERSIONS; v++)
	{
		uint32_t	count = 0;

		for (size_t at = 0; at + WAL_PAGE_SHORT <= len; at += page_size)
			if (wal_load16(data + at) == versions[v].magic &&
				wal_load64(data + at + WAL_PAGE_ADDR) % WAL_SEGMENT_MIN ==
				at % WAL_SEGMENT_MIN)
				count++;
		if (versions[v].supported && count > most)
		{
			most = count;
			found = versions[v].magic;
		}
	}
	return found;
}

static void
find_magic(WalIdentity *id, const uint8_t *data, size_t len)
{
	uint16_t	first = wal_load16(data);
	uint16_t	swapped = (uint16_t) (first << 8 | first >> 8);
	bool		agree = two_pages(data, len, id->page_size);
	const char *version = wal_version_name(first);
	uint16_t	most = most_frequent_magic(data, len, id->page_size);

	if (most != 0)
		id->magic = most;
	else if (wal_version_supported(first))
		id->magic = first;
	else if (version != NULL || (agree && (first >> 8) >= 0xD0))
	{
		id->status = WAL_UNSUPPORTED_VERSION;
		snprintf(id->message, sizeof(id->message), version != NULL ?
				 "WAL of PostgreSQL %s (page magic %04X)" :
				 "WAL of an unknown version%s (page magic %04X)",
				 version != NULL ? version : "", first);
	}
	else if (wal_version_name(swapped) != NULL)
	{
		id->status = WAL_UNSUPPORTED_VERSION;
		snprintf(id->message, sizeof(id->message),
				 "WAL of a machine with the other byte order (page magic %04X)",
				 first);
	}
}

void
wal_identify(WalIdentity *id, const uint8_t *data, size_t len,
			 uint64_t file_size, uint32_t page_size, uint32_t segment_size)
{
	memset(id, 0, sizeof(*id));
	id->status = WAL_OK;
	id->page_size = page_size;
	id->segment_size = segment_size;
	if (len < WAL_PAGE_LONG)
	{
		id->zero = len > 0 && wal_is_zero(data, len);
		return;
	}
	id->page_size = find_page_size(data, len, page_size);
	id->zero = wal_is_zero(data, len < id->page_size ? len : id->page_size);
	id->has_long_header =
		(wal_load16(data + WAL_PAGE_INFO) & ~WAL_FLAGS) == 0 &&
		(wal_load16(data + WAL_PAGE_INFO) & WAL_FLAG_LONG) != 0;
	id->segment_size = find_segment_size(id, data, file_size, segment_size);
	find_magic(id, data, len);
	id->has_system = id->has_long_header && !id->zero;
	if (id->has_system)
		id->system = wal_load64(data + WAL_PAGE_SYSTEM);
	if (wal_version_supported(wal_load16(data)))
	{
		id->address = wal_load64(data + WAL_PAGE_ADDR);
		id->timeline = wal_load32(data + WAL_PAGE_TLI);
	}
	if (second_page(data, len, id->page_size))
		id->second_address =
			wal_load64(data + id->page_size + WAL_PAGE_ADDR) - id->page_size;
}

/* ---- names ---- */

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
wal_parse_name(const char *name, WalName *result)
{
	if (!parse_hex(name, &result->timeline) || result->timeline == 0 ||
		!parse_hex(name + 8, &result->log) ||
		!parse_hex(name + 16, &result->seg))
		return false;
	result->partial = strcmp(name + 24, ".partial") == 0;
	return result->partial || name[24] == '\0';
}

bool
wal_name_segno(const WalName *name, uint32_t segment_size, uint64_t *segno)
{
	uint64_t	per_log = (UINT64_C(1) << 32) / segment_size;

	*segno = name->log * per_log + name->seg;
	return name->seg < per_log && *segno < UINT64_MAX / segment_size;
}

void
wal_format_name(char buffer[WAL_NAME_SIZE], uint32_t timeline,
				uint64_t segno, uint32_t segment_size)
{
	uint64_t	per_log = (UINT64_C(1) << 32) / segment_size;

	snprintf(buffer, WAL_NAME_SIZE, "%08X%08X%08X", timeline,
			 (uint32_t) (segno / per_log), (uint32_t) (segno % per_log));
}
