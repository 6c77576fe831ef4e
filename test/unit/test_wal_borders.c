/* needs: kernel wal */
/*
 * test_wal_borders.c
 *	  What a walk hands over to that of the next segment.
 *
 * Whatever a segment's walk takes from others, its verdict must be that of a
 * walk that begins where the record over the border does: of intact WAL and of
 * damaged.
 */
#include "unit.h"
#include "wal_maker.h"

#define SEGMENT		16384
#define SEGMENTS	8

static WalMaker maker;
static uint8_t log_bytes[SEGMENTS * SEGMENT];
static uint8_t intact[SEGMENTS * SEGMENT];
static uint8_t record[4 * SEGMENT];
static long handed_over;
static long resumed;
static long switched;

static uint32_t
random_below(uint32_t n)
{
	return (uint32_t) (unit_random() % n);
}

static void
add_record(uint32_t len)
{
	unit_fill(record, len);
	record[WAL_REC_HEADER] = 0xFF;
	if (random_below(20) == 0)
		maker_abandon(&maker, record, len);
	else
		maker_record(&maker, record, len, 10, 0);
}

/* Up to where the header of the next record lies in two pages; it is the first. */
static void
fill_page(void)
{
	uint32_t	rest = maker.page_size - (uint32_t) (maker.at % maker.page_size);

	if ((maker.at + rest) % SEGMENT != 0 && rest < maker.page_size)
		add_record(rest + maker.page_size - WAL_PAGE_SHORT - 16);
}

static void
make_log(uint32_t page_size)
{
	maker_begin(&maker, log_bytes, sizeof(log_bytes), 1 << 20, SEGMENT,
				page_size, 0xD113);
	while (!maker.full)
	{
		bool		is_long = random_below(3) == 0;

		if (random_below(12) == 0)
			maker_switch(&maker);
		if (is_long && random_below(2))
			fill_page();
		add_record(30 + random_below(is_long ? 3 * SEGMENT : 500));
	}
	memcpy(intact, log_bytes, sizeof(intact));
}

/* Damages the prev-link of a record whose header lies in two pages. */
static void
break_prev_link(void)
{
	for (int i = 0; i < maker.nitems; i++)
	{
		const MakerItem *item = &maker.items[i];
		uint32_t	room = maker.page_size - (uint32_t) (item->start % maker.page_size);

		if (item->kind == MAKER_RECORD && room == 16)
			*maker_byte(&maker, item->start + WAL_REC_PREV) ^= 0x08;
	}
}

static WalWalkOptions
options_for(int segment, bool known)
{
	WalWalkOptions options = {0};

	options.path.timeline = 1;
	options.path.known = known;
	options.segment_start = maker.base + (uint64_t) segment * SEGMENT;
	options.segment_size = SEGMENT;
	options.page_size = maker.page_size;
	options.magic = maker.magic;
	options.limit = WAL_LSN_MAX;
	options.earliest_end = WAL_LSN_MAX;
	return options;
}

static void
walk_up_to(WalWalker *w, WalLsn end)
{
	while (w->page < end)
		wal_walk_page(w, log_bytes + (w->page - maker.base));
}

/* The rest of the segment, and of the record over its end. */
static void
walk_to_end(WalWalker *w)
{
	walk_up_to(w, w->segment_end);
	while (w->page < maker.base + maker.size && wal_walk_wants_more(w))
		wal_walk_page(w, log_bytes + (w->page - maker.base));
	wal_walk_finish(w);
}

static bool
same_verdict(const WalWalker *a, const WalWalker *b)
{
	return a->counts.records == b->counts.records &&
		a->counts.fpi_bytes == b->counts.fpi_bytes &&
		a->counts.bytes_verified == b->counts.bytes_verified &&
		a->counts.head_bytes == b->counts.head_bytes &&
		a->counts.tail_bytes == b->counts.tail_bytes &&
		a->counts.zero_bytes == b->counts.zero_bytes &&
		a->counts.skipped_bytes == b->counts.skipped_bytes &&
		a->counts.aborted == b->counts.aborted &&
		a->counts.pages == b->counts.pages &&
		a->counts.errors == b->counts.errors &&
		a->counts.first_error == b->counts.first_error &&
		a->counts.first_verdict.reason == b->counts.first_verdict.reason &&
		a->end == b->end && a->outcome == b->outcome;
}

/*
 * The segment after the walker's, from each page on up to which that one brings
 * the record.
 */
static void
test_resume(const WalWalker *before, const WalWalkOptions *options,
			const WalWalker *expected)
{
	WalWalker	ahead = *before;

	while (ahead.page < options->segment_start + SEGMENT)
	{
		WalWalker	w;

		wal_walk_page(&ahead, log_bytes + (ahead.page - maker.base));
		if (!wal_walk_wants_more(&ahead) ||
			ahead.pending.lsn != before->pending.lsn ||
			ahead.pending.mismatch.reason != WAL_REASON_NONE)
			break;
		wal_walk_take_over(&w, options, before);
		wal_walk_resume(&w, &ahead.pending,
						(uint32_t) (ahead.page - options->segment_start),
						ahead.last_timeline);
		walk_to_end(&w);
		resumed++;
		check(same_verdict(&w, expected), "resumed at %llX: %u errors, not %u",
			  (unsigned long long) ahead.page, w.counts.errors,
			  expected->counts.errors);
	}
}

/* The page of the last record that starts before. */
static WalLsn
page_before(WalLsn lsn)
{
	WalLsn		page = maker.base;

	for (int i = 0; i < maker.nitems; i++)
		if ((maker.items[i].kind == MAKER_RECORD || maker.items[i].kind == MAKER_ABANDONED) &&
			maker.items[i].start < lsn)
			page = maker.items[i].start - maker.items[i].start % maker.page_size;
	return page;
}

/* Walks segment s and tests what it hands over to the next one, if it does. */
static bool
test_border(int s, WalWalker *before, const WalWalkOptions *of_next)
{
	WalWalker	fresh;
	WalWalker	w;

	WalLsn		start;

	walk_up_to(before, of_next->segment_start);
	if (!wal_walk_hands_over(before))
		return false;
	handed_over++;
	switched += before->phase == WAL_WALK_SWITCHED;
	start = before->phase == WAL_WALK_SWITCHED ? before->prev : before->pending.lsn;
	wal_walk_begin(&fresh, of_next, start - start % maker.page_size);
	walk_to_end(&fresh);
	wal_walk_take_over(&w, of_next, before);
	walk_to_end(&w);
	check(same_verdict(&w, &fresh), "after segment %d: %u errors, not %u", s,
		  w.counts.errors, fresh.counts.errors);
	if (before->phase != WAL_WALK_SWITCHED)
		test_resume(before, of_next, &fresh);
	return true;
}

static void
test_borders(void)
{
	bool		known = random_below(2);
	WalWalkOptions options = options_for(0, known);
	WalWalker	before;
	WalWalker	next;

	wal_walk_begin(&before, &options, maker.base);
	for (int s = 0; s < SEGMENTS - 1; s++)
	{
		options = options_for(s + 1, known);
		if (test_border(s, &before, &options))
			wal_walk_take_over(&next, &options, &before);
		else
			wal_walk_begin(&next, &options, page_before(options.segment_start));
		before = next;
	}
}

int
main(int argc, char **argv)
{
	int			rounds;

	unit_begin("test_wal_borders", argc, argv);
	rounds = unit.scale == UNIT_FULL ? 200 : unit.scale == UNIT_QUICK ? 40 : 10;
	checksum_init();
	for (int i = 0; i < rounds; i++)
	{
		make_log(1024u << random_below(4));
		for (int n = 0; n < 20; n++)
		{
			test_borders();
			memcpy(log_bytes, intact, sizeof(intact));
			if (n % 4 == 1)
				break_prev_link();
			else
				log_bytes[random_below(sizeof(log_bytes))] ^= (uint8_t) (1 << random_below(8));
			if (n % 4 == 0)
				memset(log_bytes + random_below(SEGMENTS * 2) * (SEGMENT / 2), 0, maker.page_size);
		}
	}
	check(handed_over > rounds, "%ld borders handed over", handed_over);
	check(resumed > rounds, "%ld walks resumed", resumed);
	check(switched > rounds, "%ld borders behind a switch", switched);
	return unit_finish();
}
