/* needs: kernel wal */
/*
 * test_wal_reasons.c
 *	  Every reason for which WAL is damaged: provoked, alone, at its place.
 *
 * A table of one mutilation per reason.  The intact WAL passes first, then the
 * mutilated copy gives exactly this one finding.  Reasons of files as a whole,
 * which no walker gives, are those that t/031 and t/061 provoke; that none is
 * forgotten is checked here.
 */
#include "unit.h"
#include "wal_maker.h"

#define PAGE		1024
#define SEGMENT		(16 * PAGE)
#define SEGMENTS	3
#define BASE		UINT64_C(0x100000)

static WalMaker maker;
static uint8_t bytes[SEGMENTS * SEGMENT];
static WalWalkOptions options;
static bool alone;

/* Places of the middle segment, noted while it is made. */
static WalLsn fresh_page;		/* no record goes on here */
static WalLsn plain;			/* a record with another one after it */
static WalLsn crossing;			/* a record over three pages */
static WalLsn switch_end;
static WalLsn last;				/* the last record before the switch */

static uint8_t record[4 * PAGE];

static uint32_t
room(void)
{
	return PAGE - (uint32_t) (maker.at % PAGE);
}

static WalLsn
put(uint32_t len)
{
	unit_fill(record, len);
	check(maker_record(&maker, record, len, 10, 0), "the WAL has room");
	return maker.prev;
}

/* Records up to the end of a page. */
static void
fill_page(void)
{
	while (room() > 300)
		put(101);
	put(room());
}

static void
make(uint32_t timeline)
{
	maker_begin(&maker, bytes, sizeof(bytes), BASE, SEGMENT, PAGE, 0xD118);
	maker.timeline = timeline;
	while (maker.at < BASE + SEGMENT + 2 * PAGE)
		put(300);
	put(101);
	plain = put(101);
	put(101);
	fill_page();
	fresh_page = maker.at;
	put(101);
	crossing = put(2 * PAGE + 200);
	put(101);
	last = put(101);
	maker_switch(&maker);
	switch_end = maker.items[maker.nitems - 1].start;
	for (int i = 0; i < 20; i++)
		put(101);
}

static uint8_t *
at(WalLsn lsn)
{
	return maker_byte(&maker, lsn);
}

static void
set16(WalLsn lsn, uint16_t value)
{
	memcpy(at(lsn), &value, 2);
}

static void
set32(WalLsn lsn, uint32_t value)
{
	memcpy(at(lsn), &value, 4);
}

static void
set64(WalLsn lsn, uint64_t value)
{
	memcpy(at(lsn), &value, 8);
}

/* The second page of the record that crosses two borders. */
static WalLsn
second_page(void)
{
	return crossing - crossing % PAGE + PAGE;
}

/* ---- the mutilations: each returns where the finding must be ---- */

static WalLsn
page_zero(void)
{
	memset(at(fresh_page), 0, PAGE);
	return fresh_page;
}

static WalLsn
page_magic(void)
{
	set16(fresh_page + WAL_PAGE_MAGIC, 0xD110);
	return fresh_page;
}

static WalLsn
page_magic_unknown(void)
{
	alone = true;
	options.magic = 0;
	set16(options.segment_start + WAL_PAGE_MAGIC, 0x1234);
	return options.segment_start;
}

static WalLsn
page_address(void)
{
	set64(fresh_page + WAL_PAGE_ADDR, fresh_page + PAGE);
	return fresh_page;
}

static WalLsn
page_flags(void)
{
	set16(fresh_page + WAL_PAGE_INFO, 0x0020);
	return fresh_page;
}

static WalLsn
page_padding(void)
{
	set32(fresh_page + WAL_PAGE_PADDING, 1);
	return fresh_page;
}

static WalLsn
page_segment_size(void)
{
	alone = true;
	set32(options.segment_start + WAL_PAGE_SEG_SIZE, 2 * SEGMENT);
	return options.segment_start;
}

static WalLsn
page_block_size(void)
{
	alone = true;
	set32(options.segment_start + WAL_PAGE_BLCKSZ, 2 * PAGE);
	return options.segment_start;
}

static WalLsn
page_timeline(void)
{
	set32(fresh_page + WAL_PAGE_TLI, 3);
	return fresh_page;
}

static WalLsn
page_timeline_order(void)
{
	set32(fresh_page + WAL_PAGE_TLI, 1);
	return fresh_page;
}

static WalLsn
record_missing(void)
{
	memset(at(plain), 0, PAGE - plain % PAGE);
	return plain;
}

static WalLsn
record_length(void)
{
	set32(plain, 5);
	return plain;
}

static WalLsn
record_too_long(void)
{
	set32(plain, UINT32_MAX);
	return plain;
}

static WalLsn
prev_link(void)
{
	set64(plain + WAL_REC_PREV, plain - 8);
	return plain;
}

static WalLsn
prev_link_ahead(void)
{
	WalLsn		first = options.segment_start + WAL_PAGE_LONG;

	first = wal_align(first + wal_load32(at(options.segment_start) + WAL_PAGE_REM_LEN));
	alone = true;
	set64(first + WAL_REC_PREV, first + 8);
	return first;
}

static WalLsn
resource_manager(void)
{
	*at(plain + WAL_REC_RMID) = 22;
	return plain;
}

static WalLsn
record_crc(void)
{
	*at(plain + WAL_REC_HEADER + 10) ^= 1;
	return plain;
}

static WalLsn
record_padding(void)
{
	*at(plain + 101) = 1;
	return plain + 101;
}

static WalLsn
overwrite_expected(void)
{
	set16(fresh_page + WAL_PAGE_INFO, wal_version(0xD118)->overwrite_flag);
	return fresh_page + WAL_PAGE_SHORT;
}

static WalLsn
contrecord_missing(void)
{
	set16(second_page() + WAL_PAGE_INFO, 0);
	set32(second_page() + WAL_PAGE_REM_LEN, 0);
	return crossing;
}

static WalLsn
contrecord_zero(void)
{
	memset(at(second_page()), 0, PAGE);
	return crossing;
}

static WalLsn
contrecord_length(void)
{
	WalLsn		page = second_page();

	set32(page + WAL_PAGE_REM_LEN, wal_load32(at(page) + WAL_PAGE_REM_LEN) + 8);
	return page;
}

static WalLsn
contrecord_unexpected(void)
{
	set16(fresh_page + WAL_PAGE_INFO, WAL_FLAG_CONTRECORD);
	set32(fresh_page + WAL_PAGE_REM_LEN, 101);
	return fresh_page;
}

static WalLsn
beyond_end(void)
{
	WalLsn		end = wal_align(last + 101);

	options.limit = end;
	options.limit_exact = true;
	memset(at(end), 0, bytes + sizeof(bytes) - at(end));
	set32(last, 101 + 2 * PAGE);
	return last;
}

static WalLsn
switch_tail(void)
{
	*at(switch_end + 1000) = 1;
	return switch_end + 1000;
}

static const struct
{
	WalReason	reason;
	WalLsn		(*mutilate) (void);
}			cases[] = {
	{WAL_REASON_PAGE_ZERO, page_zero},
	{WAL_REASON_PAGE_MAGIC, page_magic},
	{WAL_REASON_PAGE_MAGIC_UNKNOWN, page_magic_unknown},
	{WAL_REASON_PAGE_ADDRESS, page_address},
	{WAL_REASON_PAGE_FLAGS, page_flags},
	{WAL_REASON_PAGE_PADDING, page_padding},
	{WAL_REASON_PAGE_SEGMENT_SIZE, page_segment_size},
	{WAL_REASON_PAGE_BLOCK_SIZE, page_block_size},
	{WAL_REASON_PAGE_TIMELINE, page_timeline},
	{WAL_REASON_PAGE_TIMELINE_ORDER, page_timeline_order},
	{WAL_REASON_RECORD_MISSING, record_missing},
	{WAL_REASON_RECORD_LENGTH, record_length},
	{WAL_REASON_RECORD_TOO_LONG, record_too_long},
	{WAL_REASON_PREV_LINK, prev_link},
	{WAL_REASON_PREV_LINK_AHEAD, prev_link_ahead},
	{WAL_REASON_RESOURCE_MANAGER, resource_manager},
	{WAL_REASON_RECORD_CRC, record_crc},
	{WAL_REASON_RECORD_PADDING, record_padding},
	{WAL_REASON_OVERWRITE_EXPECTED, overwrite_expected},
	{WAL_REASON_CONTRECORD_MISSING, contrecord_missing},
	{WAL_REASON_CONTRECORD_ZERO, contrecord_zero},
	{WAL_REASON_CONTRECORD_LENGTH, contrecord_length},
	{WAL_REASON_CONTRECORD_UNEXPECTED, contrecord_unexpected},
	{WAL_REASON_BEYOND_END, beyond_end},
	{WAL_REASON_SWITCH_TAIL, switch_tail},
};

#define NCASES	(sizeof(cases) / sizeof(cases[0]))

static int	findings;

static void
count_finding(void *arg, const WalFinding *finding)
{
	(void) arg;
	check(finding->file_offset == finding->lsn - options.segment_start,
		  "offset and LSN agree");
	findings++;
}

/* Judges the middle segment. */
static const WalCounts *
judge(void)
{
	static WalWalker walker;
	WalLsn		end = options.segment_start + SEGMENT;

	findings = 0;
	wal_walk_begin(&walker, &options, alone ? options.segment_start : BASE);
	while (walker.page < end || (!alone && wal_walk_wants_more(&walker)))
		wal_walk_page(&walker, at(walker.page));
	wal_walk_finish(&walker);
	return &walker.counts;
}

static void
begin_case(uint32_t timeline)
{
	make(timeline);
	memset(&options, 0, sizeof(options));
	options.path.timeline = 2;
	options.segment_start = BASE + SEGMENT;
	options.segment_size = SEGMENT;
	options.page_size = PAGE;
	options.magic = maker.magic;
	options.limit = WAL_LSN_MAX;
	options.earliest_end = WAL_LSN_MAX;
	options.finding = count_finding;
	alone = false;
}

static void
test_case(size_t n)
{
	const char *name = wal_reason_name(cases[n].reason);
	const WalCounts *counts;
	char		words[WAL_MESSAGE_SIZE];
	WalLsn		place;

	begin_case(2);
	counts = judge();
	check(counts->errors == 0, "intact, before %s", name);
	place = cases[n].mutilate();
	counts = judge();
	wal_verdict_words(&counts->first_verdict, words);
	check(counts->errors == 1 && findings == 1 &&
		  counts->first_verdict.reason == cases[n].reason,
		  "%s: %u findings, the first: %s (%s)", name, counts->errors,
		  wal_reason_name(counts->first_verdict.reason), words);
	check(counts->first_error == place, "%s: at %llX, expected %llX", name,
		  (unsigned long long) counts->first_error,
		  (unsigned long long) place);
}

/* Each reason has a name, words and a case; those of whole files do in t/. */
static void
test_table(void)
{
	for (int reason = WAL_REASON_NONE + 1; reason < WAL_REASONS; reason++)
	{
		WalVerdict	verdict = {(WalReason) reason, 0, 1, 1, 1};
		char		words[WAL_MESSAGE_SIZE];
		bool		provoked = reason > WAL_REASON_SWITCH_TAIL;

		for (size_t n = 0; n < NCASES; n++)
			provoked |= cases[n].reason == (WalReason) reason;
		check(provoked, "%s is provoked",
			  wal_reason_name((WalReason) reason));
		wal_verdict_words(&verdict, words);
		check(words[0] != '\0' && wal_reason_name((WalReason) reason)[0] != '\0',
			  "reason %d has a name and words", reason);
		for (int other = 1; other < reason; other++)
			check(strcmp(wal_reason_name((WalReason) reason),
						 wal_reason_name((WalReason) other)) != 0,
				  "%s is one reason", wal_reason_name((WalReason) reason));
	}
}

/* The words are those of the server. */
static void
test_words(void)
{
	static const struct
	{
		WalVerdict	verdict;
		const char *words;
	}			expected[] = {
		{{WAL_REASON_PREV_LINK, 0x100000028, 0x10, 0x200000020, 0},
		"record with incorrect prev-link 0/10 at 1/28, expected 2/20"},
		{{WAL_REASON_RECORD_MISSING, 0x30, 0, 0, 0},
		"invalid record length at 0/30: wanted 24, got 0"},
		{{WAL_REASON_RECORD_CRC, 0x30, 0xAB, 0xCD, 0},
		"incorrect resource manager data checksum in record at 0/30, calculated 000000AB but expected 000000CD"},
		{{WAL_REASON_CONTRECORD_LENGTH, 0x30, 7, 8, 0x2000},
		"invalid contrecord length 7 (expected 8) at 0/2000"},
		{{WAL_REASON_START_OPEN, 0, WAL_NEIGHBOUR_MISSING, 0, 0},
		"the record over the start is not checked: the segment before is not there"},
		{{WAL_REASON_END_OPEN, 0, 0, WAL_NEIGHBOUR_DAMAGED, 0},
		"the record over the end is not checked: the segment after is damaged"},
		{{WAL_REASON_NONE, 0, 0, 0, 0}, ""},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
	{
		char		words[WAL_MESSAGE_SIZE];

		wal_verdict_words(&expected[i].verdict, words);
		check(strcmp(words, expected[i].words) == 0, "words: %s", words);
	}
}

int
main(int argc, char **argv)
{
	unit_begin("test_wal_reasons", argc, argv);
	checksum_init();
	for (size_t n = 0; n < NCASES; n++)
		test_case(n);
	test_table();
	test_words();
	return unit_finish();
}
