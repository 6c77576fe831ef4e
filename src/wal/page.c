/*
 * page.c
 *	  Whether a WAL page header is what it must be.
 */
#include "wal/page.h"

/* no version has more */
#define FLAGS_OF_ANY	0x000F

bool
wal_page_flags_known(const uint8_t *page, const WalVersion *version)
{
	uint16_t	known = version != NULL ? version->all_flags : FLAGS_OF_ANY;

	return (wal_load16(page + WAL_PAGE_INFO) & ~known) == 0;
}

bool
wal_page_is_at(const uint8_t *page, WalLsn address)
{
	return wal_version_supported(wal_load16(page + WAL_PAGE_MAGIC)) != NULL &&
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

bool
wal_page_is_recycled(const uint8_t *page, WalLsn address,
					 uint32_t segment_size)
{
	const WalVersion *version = wal_version_supported(wal_load16(page + WAL_PAGE_MAGIC));
	WalLsn		claimed = wal_load64(page + WAL_PAGE_ADDR);

	return version != NULL && wal_page_flags_known(page, version) &&
		claimed < address && (address - claimed) % segment_size == 0;
}

static bool
blame(WalVerdict *verdict, WalReason reason, uint64_t value,
	  uint64_t expected)
{
	verdict->reason = reason;
	verdict->value = value;
	verdict->expected = expected;
	return false;
}

static bool
flags_fit(const WalPageExpectation *expect, const WalVersion *version,
		  const uint8_t *page)
{
	uint16_t	info = wal_load16(page + WAL_PAGE_INFO);
	bool		contrecord = (info & WAL_FLAG_CONTRECORD) != 0;

	if (!wal_page_flags_known(page, version))
		return false;
	if (((info & WAL_FLAG_LONG) != 0) !=
		(expect->lsn % expect->segment_size == 0))
		return false;
	if (contrecord && (info & version->overwrite_flag) != 0)
		return false;
	return contrecord == (wal_load32(page + WAL_PAGE_REM_LEN) != 0);
}

/* Checks what the long header has in addition. */
static bool
check_long(const WalPageExpectation *expect, const uint8_t *page,
		   WalVerdict *verdict)
{
	uint32_t	segment_size = wal_load32(page + WAL_PAGE_SEG_SIZE);
	uint32_t	page_size = wal_load32(page + WAL_PAGE_BLCKSZ);

	if (segment_size != expect->segment_size)
		return blame(verdict, WAL_REASON_PAGE_SEGMENT_SIZE, segment_size,
					 expect->segment_size);
	if (page_size != expect->page_size)
		return blame(verdict, WAL_REASON_PAGE_BLOCK_SIZE, page_size,
					 expect->page_size);
	return true;
}

static bool
check_timeline(const WalPageExpectation *expect, const uint8_t *page,
			   WalVerdict *verdict)
{
	uint32_t	timeline = wal_load32(page + WAL_PAGE_TLI);

	if (expect->timeline != 0)
		return timeline == expect->timeline ||
			blame(verdict, WAL_REASON_PAGE_TIMELINE, timeline,
				  expect->timeline);
	if (timeline > expect->timeline_most || timeline == 0)
		return blame(verdict, WAL_REASON_PAGE_TIMELINE, timeline,
					 expect->timeline_most);
	if (timeline < expect->timeline_least)
		return blame(verdict, WAL_REASON_PAGE_TIMELINE_ORDER, timeline,
					 expect->timeline_least);
	return true;
}

/* Is the magic number the one that is expected?  Sets the version that it is. */
static bool
check_magic(const WalPageExpectation *expect, const uint8_t *page,
			const WalVersion **version, WalVerdict *verdict)
{
	uint16_t	magic = wal_load16(page + WAL_PAGE_MAGIC);

	*version = expect->version;
	if (*version != NULL && (*version)->magic == magic)
		return true;
	if (magic == 0 && wal_is_zero(page, expect->page_size))
		return blame(verdict, WAL_REASON_PAGE_ZERO, 0, 0);
	if (*version != NULL)
		return blame(verdict, WAL_REASON_PAGE_MAGIC, magic,
					 (*version)->magic);
	*version = wal_version_supported(magic);
	return *version != NULL ||
		blame(verdict, WAL_REASON_PAGE_MAGIC_UNKNOWN, magic, 0);
}

bool
wal_page_check(const WalPageExpectation *expect, const uint8_t *page,
			   WalVerdict *verdict)
{
	WalLsn		address = wal_load64(page + WAL_PAGE_ADDR);
	const WalVersion *version;

	verdict->at = expect->lsn;
	verdict->more = 0;
	if (!check_magic(expect, page, &version, verdict))
		return false;
	if (address != expect->lsn)
		return blame(verdict, WAL_REASON_PAGE_ADDRESS, address, expect->lsn);
	if (!flags_fit(expect, version, page))
		return blame(verdict, WAL_REASON_PAGE_FLAGS,
					 wal_load16(page + WAL_PAGE_INFO),
					 wal_load32(page + WAL_PAGE_REM_LEN));
	if (wal_load32(page + WAL_PAGE_PADDING) != 0)
		return blame(verdict, WAL_REASON_PAGE_PADDING,
					 wal_load32(page + WAL_PAGE_PADDING), 0);
	if (expect->lsn % expect->segment_size == 0 &&
		!check_long(expect, page, verdict))
		return false;
	return check_timeline(expect, page, verdict);
}
