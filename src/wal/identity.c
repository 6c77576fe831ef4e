/*
 * identity.c
 *	  What a WAL file says of itself.
 */
#include "wal/identity.h"

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

/* Is there a page of this size after the first one, whatever that one is? */
static bool
second_page(const uint8_t *data, size_t len, uint32_t page_size)
{
	const uint8_t *next = data + page_size;

	return len >= (size_t) page_size + WAL_PAGE_SHORT &&
		wal_version_supported(wal_load16(next)) != NULL &&
		wal_load64(next + WAL_PAGE_ADDR) % WAL_SEGMENT_MIN == page_size;
}

/*
 * How many pages of this size are at their places, from an offset on, with this
 * magic number or (0) with any supported one?
 */
static uint32_t
count_pages(const uint8_t *data, size_t len, size_t from, uint32_t page_size,
			uint16_t magic)
{
	uint32_t	count = 0;

	for (size_t at = from; at + WAL_PAGE_SHORT <= len; at += page_size)
	{
		uint16_t	found = wal_load16(data + at);
		bool		wanted = magic != 0 ? found == magic :
			wal_version_supported(found) != NULL;

		if (wanted && wal_load64(data + at + WAL_PAGE_ADDR) % WAL_SEGMENT_MIN ==
			at % WAL_SEGMENT_MIN)
			count++;
	}
	return count;
}

/* Finds the size with most pages, in doubt what the header claims. */
static uint32_t
find_page_size(const uint8_t *data, size_t len, uint32_t fallback)
{
	uint32_t	claimed = wal_load32(data + WAL_PAGE_BLCKSZ);
	uint32_t	best = fallback;
	uint32_t	most;

	if (wal_power_of_two(claimed, WAL_PAGE_MIN, WAL_PAGE_MAX))
		best = claimed;
	most = count_pages(data, len, best, best, 0);
	for (uint32_t size = WAL_PAGE_MIN; size <= WAL_PAGE_MAX; size *= 2)
	{
		uint32_t	count = count_pages(data, len, size, size, 0);

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

/* Of the header, the file's size and the fallback, two that agree win. */
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
 * Returns the magic number that most pages at hand have, 0 if none has a
 * supported one.  One page may be damaged, and one bit makes another version's
 * number of some.
 */
static uint16_t
most_frequent_magic(const uint8_t *data, size_t len, uint32_t page_size)
{
	const WalVersion *version;
	uint32_t	most = 0;
	uint16_t	found = 0;

	for (size_t n = 0; (version = wal_version_at(n)) != NULL; n++)
	{
		uint32_t	count = version->supported ?
			count_pages(data, len, 0, page_size, version->magic) : 0;

		if (count > most)
		{
			most = count;
			found = version->magic;
		}
	}
	return found;
}

static void
find_magic(WalIdentity *id, const uint8_t *data, size_t len)
{
	uint16_t	first = wal_load16(data);
	uint16_t	swapped = (uint16_t) (first << 8 | first >> 8);
	uint16_t	most = most_frequent_magic(data, len, id->page_size);
	bool		agree = two_pages(data, len, id->page_size);

	id->unsupported.value = first;
	if (most != 0)
		id->magic = most;
	else if (wal_version_supported(first) != NULL)
		id->magic = first;
	else if (wal_version(first) != NULL)
		id->unsupported.reason = WAL_REASON_FILE_VERSION_OLD;
	else if (agree && (first >> 8) >= 0xD0)
		id->unsupported.reason = WAL_REASON_FILE_VERSION_UNKNOWN;
	else if (wal_version(swapped) != NULL)
		id->unsupported.reason = WAL_REASON_FILE_BYTE_ORDER;
}

void
wal_identify(WalIdentity *id, const uint8_t *data, size_t len,
			 uint64_t file_size, uint32_t page_size, uint32_t segment_size)
{
	memset(id, 0, sizeof(*id));
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
		wal_page_flags_known(data, NULL) &&
		(wal_load16(data + WAL_PAGE_INFO) & WAL_FLAG_LONG) != 0;
	id->segment_size = find_segment_size(id, data, file_size, segment_size);
	find_magic(id, data, len);
	id->has_system = id->has_long_header && !id->zero;
	if (id->has_system)
		id->system = wal_load64(data + WAL_PAGE_SYSTEM);
	if (wal_version_supported(wal_load16(data)) != NULL)
	{
		id->address = wal_load64(data + WAL_PAGE_ADDR);
		id->timeline = wal_load32(data + WAL_PAGE_TLI);
	}
	if (second_page(data, len, id->page_size))
		id->second_address =
			wal_load64(data + id->page_size + WAL_PAGE_ADDR) - id->page_size;
}
