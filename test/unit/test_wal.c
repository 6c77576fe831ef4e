/* needs: kernel wal */
/*
 * test_wal.c
 *	  The WAL walker against log that is made here: intact, damaged, ended.
 *
 * Every bit of every segment is flipped once: the flip must be found, once, at
 * its place, unless it is one of those that nothing can judge.
 */
#include "unit.h"
#include "wal_maker.h"

#define SEGMENT		16384
#define SEGMENTS	4

static WalMaker maker;
static uint8_t log_bytes[SEGMENTS * SEGMENT];
static uint8_t intact[SEGMENTS * SEGMENT];
static uint8_t record[3 * SEGMENT];

static uint32_t
random_below(uint32_t n)
{
	return (uint32_t) (unit_random() % n);
}

/* A body as records have it: main data only, or a block with an image. */
static uint32_t
random_body(bool image)
{
	uint32_t	len;
	uint32_t	at = WAL_REC_HEADER;

	switch (random_below(8))
	{
		case 0:
			len = 26 + random_below(16);
			break;
		case 1:
			len = 500 + random_below(4000);
			break;
		case 2:
			len = random_below(10) == 0 ? SEGMENT + random_below(5000) : 60;
			break;
		default:
			len = 30 + random_below(270);
	}
	unit_fill(record, len);
	record[at] = 0xFF;
	if (image && len > 300)
	{
		uint16_t	bytes = (uint16_t) (len < 8000 ? len - 100 : 8000);

		record[at] = 0;
		record[at + 1] = WAL_BLOCK_HAS_IMAGE;
		memcpy(record + at + 4, &bytes, 2);
		record[at + 8] = 0x05;	/* with a hole, compressed: two more bytes */
		memset(record + at + 2, 0, 2);
		record[at + 4 + 5 + 2 + 16] = 0xFF;
		if (random_below(2))	/* no main data: the image itself follows */
		{
			bytes = (uint16_t) (len - WAL_REC_HEADER - (4 + 5 + 2 + 16));
			memcpy(record + at + 4, &bytes, 2);
			record[at + 4 + 5 + 2 + 16] = 1;
			record[at + 4 + 5 + 2 + 17] = WAL_BLOCK_HAS_IMAGE;
		}
		maker.image_bytes += bytes;
	}
	return len;
}

static bool
make_log(uint32_t page_size, uint16_t magic)
{
	maker_begin(&maker, log_bytes, sizeof(log_bytes), 1 << 20, SEGMENT,
				page_size, magic);
	while (!maker.full)
	{
		uint64_t	images = maker.image_bytes;
		uint32_t	kind = random_below(300);
		uint32_t	len = random_body(random_below(4) == 0);

		if (kind == 0)
		{
			maker.image_bytes = images;
			maker_switch(&maker);
		}
		else if (kind < 12)
		{
			maker.image_bytes = images;
			maker_abandon(&maker, record, len);
		}
		else if (!maker_record(&maker, record, len, 10, 0))
			maker.image_bytes = images;
	}
	memcpy(intact, log_bytes, sizeof(intact));
	/* end within a page, where a length that is too long shows */
	return maker.at % page_size > WAL_PAGE_LONG;
}

typedef struct Verdict
{
	WalWalker	walker;
	WalFinding	first;
	int			findings;
} Verdict;

static Verdict verdict;

static void
note_finding(void *arg, const WalFinding *finding)
{
	Verdict    *v = arg;

	if (v->findings++ == 0)
		v->first = *finding;
}

/* What is wrong first, in words. */
static const char *
words(const WalWalker *w)
{
	static char text[WAL_MESSAGE_SIZE];

	wal_verdict_words(&w->counts.first_verdict, text);
	return text;
}

static WalWalkOptions
options_for(int segment)
{
	WalWalkOptions options = {0};

	options.path.timeline = 1;
	options.segment_start = maker.base + (uint64_t) segment * SEGMENT;
	options.segment_size = SEGMENT;
	options.page_size = maker.page_size;
	options.magic = maker.magic;
	options.limit = WAL_LSN_MAX;
	options.earliest_end = WAL_LSN_MAX;
	options.finding = note_finding;
	options.arg = &verdict;
	return options;
}

/* Judges a segment; alone, or with its neighbours. */
static const WalWalker *
judge(const WalWalkOptions *options, bool alone)
{
	WalWalker  *w = &verdict.walker;
	WalLsn		from = alone ? options->segment_start : maker.base;
	WalLsn		end = options->segment_start + SEGMENT;

	verdict.findings = 0;
	wal_walk_begin(w, options, from);
	while (w->page < end)
		wal_walk_page(w, log_bytes + (w->page - maker.base));
	while (!alone && w->page < maker.base + maker.size &&
		   wal_walk_wants_more(w))
		wal_walk_page(w, log_bytes + (w->page - maker.base));
	wal_walk_finish(w);
	return w;
}

static uint64_t
sum_of(const WalCounts *c)
{
	return c->bytes_verified + c->head_bytes + c->tail_bytes + c->zero_bytes +
		c->skipped_bytes;
}

/* ---- intact log ---- */

static int
last_segment(void)
{
	return (int) ((maker.at - 1 - maker.base) / SEGMENT);
}

static void
test_intact(void)
{
	uint64_t	records = 0;
	uint64_t	images = 0;

	for (int s = 0; s <= last_segment(); s++)
	{
		WalWalkOptions options = options_for(s);
		const WalWalker *w;

		if (s == last_segment())
			options.earliest_end = 0;
		w = judge(&options, false);
		check(w->counts.errors == 0, "intact segment %d: %s", s,
			  words(w));
		check(s != last_segment() || w->outcome == WAL_OUTCOME_SWITCHED || w->end == maker.at,
			  "end %llX, made %llX", (unsigned long long) w->end,
			  (unsigned long long) maker.at);
		check(sum_of(&w->counts) == SEGMENT, "sum of segment %d is %llu", s,
			  (unsigned long long) sum_of(&w->counts));
		records += w->counts.records;
		images += w->counts.fpi_bytes;
		w = judge(&options, true);
		check(w->counts.errors == 0, "segment %d alone: %s", s,
			  words(w));
		check(sum_of(&w->counts) == SEGMENT, "sum of segment %d alone is %llu",
			  s, (unsigned long long) sum_of(&w->counts));
	}
	check(records == maker.records, "%llu records of %llu",
		  (unsigned long long) records, (unsigned long long) maker.records);
	check(images == maker.image_bytes, "%llu bytes of images of %llu",
		  (unsigned long long) images,
		  (unsigned long long) maker.image_bytes);
}

/* ---- one bit ---- */

/* Bits that nothing can judge, and those of the identity. */
static bool
is_free(const MakerItem *item, WalLsn lsn, int bit)
{
	uint64_t	at;
	uint64_t	low = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;	/* byte of 16 bits */

	if (item == NULL)
		return true;
	at = lsn - item->start;
	return item->kind == MAKER_HEADER &&
		((at == WAL_PAGE_INFO + low && bit == 2 && maker.magic < 0xD122) ||
		 (at >= WAL_PAGE_SYSTEM && at < WAL_PAGE_SYSTEM + 8));
}

/*
 * A record whose length is broken may look like one that was abandoned if the
 * page behind says that one was; the error then shows there.
 */
static WalLsn
next_overwrite(WalLsn lsn)
{
	WalLsn		page = lsn - lsn % maker.page_size + maker.page_size;

	if (page < maker.base + maker.size &&
		(wal_load16(maker_byte(&maker, page) + WAL_PAGE_INFO) &
		 wal_version(maker.magic)->overwrite_flag))
		return page + WAL_PAGE_LONG;
	return lsn - lsn % maker.page_size + WAL_PAGE_LONG > lsn ?
		lsn - lsn % maker.page_size + WAL_PAGE_LONG : lsn;
}

static void
test_flip(int s, uint32_t at, int bit)
{
	WalWalkOptions options = options_for(s);
	WalLsn		lsn = options.segment_start + at;
	const MakerItem *item = maker_find(&maker, lsn);
	uint8_t    *byte = maker_byte(&maker, lsn);
	WalLsn		start = item == NULL ? 0 : item->start;
	const WalWalker *w;

	/* a page and its record may disagree: either may be blamed */
	for (int i = 0; item != NULL && item->kind == MAKER_HEADER && i < maker.nitems; i++)
		if (maker.items[i].kind != MAKER_HEADER && maker.items[i].start < lsn &&
			maker.items[i].end + WAL_PAGE_LONG > lsn)
			start = maker.items[i].start;
	options.limit_exact = true;
	if (s == last_segment())
		options.limit = maker.at;
	*byte ^= (uint8_t) (1 << bit);
	w = judge(&options, false);
	*byte ^= (uint8_t) (1 << bit);
	unit_at((size_t) lsn, (size_t) bit, maker.page_size);
	if (item != NULL && item->kind == MAKER_ABANDONED)
	{
		check(w->counts.errors <= 1, "abandoned record: %u findings",
			  w->counts.errors);
		return;
	}
	if (is_free(item, lsn, bit))
	{
		check(w->counts.errors == 0, "free bit %llX.%d is reported",
			  (unsigned long long) lsn, bit);
		return;
	}
	/* after a page's wrong word on lengths, the next page may look wrong too */
	check(w->counts.errors == 1 ||
		  (w->counts.errors == 2 && item->kind == MAKER_HEADER), "bit %llX.%d (kind %d, byte %llu of it): %u findings, %s",
		  (unsigned long long) lsn, bit, item->kind,
		  (unsigned long long) (lsn - item->start), w->counts.errors,
		  words(w));
	if (w->counts.errors == 0)
		return;
	check(w->counts.first_error <= next_overwrite(lsn) &&
		  (w->counts.first_error >= start ||
		   w->counts.first_error == options.segment_start),
		  "bit %llX.%d: found at %llX, %s", (unsigned long long) lsn, bit,
		  (unsigned long long) w->counts.first_error,
		  words(w));
	check(verdict.findings == (int) w->counts.errors, "findings are counted");
	check(sum_of(&w->counts) <= SEGMENT, "sum is %llu",
		  (unsigned long long) sum_of(&w->counts));
}

static void
test_flips(uint32_t step)
{
	for (int s = 0; s <= last_segment(); s++)
		for (uint32_t at = random_below(step); at < SEGMENT; at += 1 + random_below(2 * step - 1))
			test_flip(s, at, (int) random_below(8));
}

/*
 * What test_flips() meets by chance only: each page claims that a record before
 * it was abandoned, and the last record reaches beyond the end of WAL.
 */
static void
test_rare_flips(void)
{
	bool		big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const MakerItem *last = NULL;

	for (int i = 0; i < maker.nitems; i++)
	{
		const MakerItem *item = &maker.items[i];
		uint64_t	at = item->start - maker.base;

		if (item->kind == MAKER_HEADER)
			test_flip((int) (at / SEGMENT), (uint32_t) (at % SEGMENT) + WAL_PAGE_INFO + big,
					  maker.magic < 0xD122 ? 3 : 2);
		else if (item->kind == MAKER_RECORD)
			last = item;
	}
	if (last == NULL || last->start < maker.base + (uint64_t) last_segment() * SEGMENT)
		return;
	for (uint32_t bit = 8; bit < 24; bit++)
		test_flip(last_segment(), (uint32_t) ((last->start - maker.base) % SEGMENT) +
				  (big ? 3 - bit / 8 : bit / 8), (int) (bit % 8));
}

/* ---- lies: records whose CRC is right and whose header is not ---- */

static void
test_lie(const MakerItem *item, bool link)
{
	WalWalkOptions options = options_for((int) ((item->start - maker.base) / SEGMENT));
	uint8_t    *rec = maker_byte(&maker, item->start);
	uint32_t	len = (uint32_t) (item->end - item->start);
	uint8_t		saved[WAL_REC_HEADER];
	uint64_t	prev = wal_load64(rec + WAL_REC_PREV);
	uint32_t	crc;
	uint8_t		last = wal_version(maker.magic)->last_rmgr;
	const WalWalker *w;

	memcpy(saved, rec, sizeof(saved));
	prev -= WAL_REC_ALIGN << random_below(3);
	if (link)
		memcpy(rec + WAL_REC_PREV, &prev, 8);
	else
		rec[WAL_REC_RMID] = (uint8_t) (last + 1 +
									   random_below(WAL_RMGR_CUSTOM - last - 1u));
	crc = maker_crc(rec, len);
	memcpy(rec + WAL_REC_CRC, &crc, 4);
	options.limit_exact = true;
	options.limit = maker.at;
	w = judge(&options, false);
	memcpy(rec, saved, sizeof(saved));
	check(w->counts.errors == 1 && w->counts.first_error == item->start,
		  "%s at %llX with a right CRC: %u findings, %s",
		  link ? "wrong link" : "no such resource manager",
		  (unsigned long long) item->start, w->counts.errors,
		  words(w));
}

static void
test_lies(void)
{
	bool		first = true;	/* its link leads nowhere */

	for (int i = 0; i < maker.nitems; i++)
	{
		const MakerItem *item = &maker.items[i];

		if (item->kind != MAKER_RECORD)
			continue;
		if (!first &&
			item->start / maker.page_size == (item->end - 1) / maker.page_size &&
			maker_byte(&maker, item->start)[WAL_REC_RMID] != WAL_RMGR_XLOG)
			test_lie(item, i % 2 == 0);
		first = false;
	}
}

/* ---- where the log ends ---- */

/* Does a cut at lsn leave an item as it is?  It may end in zeros. */
static bool
survives_cut(const MakerItem *item, WalLsn lsn)
{
	return item->end <= lsn ||
		(item->start < lsn &&
		 wal_is_zero(intact + (lsn - maker.base), item->end - lsn));
}

/* The end of the last record that is whole when zeros follow from lsn on. */
static WalLsn
last_end(WalLsn lsn, WalLsn start)
{
	WalLsn		end = start;

	for (int i = 0; i < maker.nitems; i++)
		if (maker.items[i].kind == MAKER_RECORD &&
			survives_cut(&maker.items[i], lsn) &&
			wal_align(maker.items[i].end) > end)
			end = wal_align(maker.items[i].end);
	return end;
}

/* Cuts the log at a place; behind it are zeros, or what was there before. */
static void
test_end(int s, uint32_t at, bool recycled)
{
	WalWalkOptions options = options_for(s);
	WalLsn		cut = options.segment_start + at;
	WalLsn		end = last_end(cut, options.segment_start);
	const MakerItem *item = maker_find(&maker, cut);
	const WalWalker *w;

	if (item == NULL || item->kind == MAKER_TAIL ||
		item->kind == MAKER_ABANDONED || item->kind == MAKER_HEADER)
		return;					/* a header is written as a whole */
	memset(maker_byte(&maker, cut), 0, maker.base + maker.size - cut);
	if (memcmp(log_bytes + s * SEGMENT, intact + s * SEGMENT, SEGMENT) == 0)
	{
		/* nothing but zeros was cut from this segment */
		memcpy(log_bytes, intact, sizeof(intact));
		return;
	}
	for (WalLsn page = cut - cut % maker.page_size + maker.page_size;
		 recycled && page < maker.base + maker.size; page += maker.page_size)
	{
		uint8_t    *p = maker_byte(&maker, page);
		WalLsn		old = page - 4 * SEGMENT;

		memcpy(p, intact + (page - maker.base), maker.page_size);
		memcpy(p + WAL_PAGE_ADDR, &old, 8);
	}
	options.earliest_end = 0;
	w = judge(&options, false);
	check(w->outcome == WAL_OUTCOME_ENDED && w->counts.errors == 0, "cut at %llX: no end, %s",
		  (unsigned long long) cut, words(w));
	check(w->end == end || w->end + WAL_PAGE_LONG - end <= 2 * WAL_PAGE_LONG,
		  "cut at %llX: end %llX, not %llX", (unsigned long long) cut,
		  (unsigned long long) w->end, (unsigned long long) end);
	options.earliest_end = WAL_LSN_MAX;
	w = judge(&options, false);
	check(w->counts.errors == 1 || w->counts.tail_bytes > 0, "cut at %llX is no damage in an archive: %u",
		  (unsigned long long) cut, w->counts.errors);
	options.limit = end;
	w = judge(&options, false);
	check(w->outcome == WAL_OUTCOME_ENDED && w->counts.errors == 0, "cut at %llX: behind the limit, %s",
		  (unsigned long long) cut, words(w));
	memcpy(log_bytes, intact, sizeof(intact));
}

/*
 * A crash between a switch record and the last of the zeros behind it: from some
 * page on there is what the recycled file held before.
 */
static void
test_former(const MakerItem *tail, uint64_t back, unsigned errors)
{
	int			s = (int) ((tail->start - maker.base) / SEGMENT);
	WalWalkOptions options = options_for(s);
	WalLsn		page = tail->start + maker.page_size - 1;
	uint64_t	former = 0;
	const WalWalker *w;

	page -= page % maker.page_size;
	page += maker.page_size * random_below((uint32_t) ((tail->end - page) / maker.page_size + 1));
	for (; page < tail->end; page += maker.page_size)
	{
		uint8_t    *p = maker_byte(&maker, page);
		WalLsn		old = page - back;

		unit_fill(p, maker.page_size);
		memcpy(p + WAL_PAGE_MAGIC, &maker.magic, 2);
		memset(p + WAL_PAGE_INFO, 0, 2);
		memcpy(p + WAL_PAGE_ADDR, &old, 8);
		former += maker.page_size;
	}
	w = judge(&options, false);
	check(w->outcome == WAL_OUTCOME_SWITCHED && w->counts.errors == (former > 0 ? errors : 0),
		  "former log behind a switch: %u findings, %s", w->counts.errors,
		  words(w));
	check(sum_of(&w->counts) + w->counts.recycled_bytes == SEGMENT &&
		  w->counts.recycled_bytes == (errors > 0 ? 0 : former),
		  "%llu bytes behind a switch",
		  (unsigned long long) w->counts.recycled_bytes);
	memcpy(log_bytes, intact, sizeof(intact));
}

static void
test_formers(void)
{
	for (int i = 0; i < maker.nitems; i++)
	{
		if (maker.items[i].kind != MAKER_TAIL)
			continue;
		test_former(&maker.items[i], 4 * SEGMENT, 0);
		test_former(&maker.items[i], 0, 1);
		test_former(&maker.items[i], maker.page_size, 1);
	}
}

/*
 * The server writes up to the end of a page, too.  A record that goes on there
 * is no damage, however little of it is left, and whatever follows.
 */
static void
test_page_end(WalLsn limit)
{
	WalWalkOptions options = options_for((int) ((limit - 1 - maker.base) / SEGMENT));
	const WalWalker *w;

	memset(maker_byte(&maker, limit), 0, maker.base + maker.size - limit);
	options.limit = limit;
	options.limit_exact = true;
	w = judge(&options, false);
	check(w->counts.errors == 0, "flushed up to a page at %llX: %s",
		  (unsigned long long) limit, words(w));
	memcpy(log_bytes, intact, sizeof(intact));
}

static void
test_page_ends(uint32_t page_size, uint16_t magic)
{
	for (WalLsn page = maker.base + page_size; page < maker.at; page += page_size)
		test_page_end(page);
	for (uint32_t left = 1; left <= 3 * WAL_PAGE_SHORT; left++)
	{
		WalLsn		end;

		maker_begin(&maker, log_bytes, sizeof(log_bytes), 1 << 20, SEGMENT,
					page_size, magic);
		unit_fill(record, 200);
		record[WAL_REC_HEADER] = 0xFF;
		maker_record(&maker, record, 200, 10, 0);
		unit_fill(record, 5 * page_size);
		record[WAL_REC_HEADER] = 0xFF;
		end = maker.at - maker.at % page_size + 4 * page_size;
		maker_record(&maker, record,
					 (uint32_t) (end - maker.at) - 3 * WAL_PAGE_SHORT + left, 10, 0);
		memcpy(intact, log_bytes, sizeof(intact));
		test_page_end(end);
	}
}

static void
test_ends(int n)
{
	for (int i = 0; i < n; i++)
		test_end((int) random_below((uint32_t) last_segment() + 1),
				 random_below(SEGMENT), i % 2);
}

/* ---- anything ---- */

static void
test_garbage(int n)
{
	for (int i = 0; i < n; i++)
	{
		int			s = (int) random_below(SEGMENTS);
		WalWalkOptions options = options_for(s);
		uint32_t	at = random_below(SEGMENTS * SEGMENT);
		uint32_t	len = 1 + random_below(SEGMENTS * SEGMENT - at);

		unit_fill(log_bytes + at, random_below(3) ? 1 + random_below(len) : len);
		if (i % 3 == 0)
			options.limit = maker.base + random_below(SEGMENTS * SEGMENT);
		if (i % 5 == 0)
			options.magic = 0;
		judge(&options, i % 2);
		check(sum_of(&verdict.walker.counts) <= SEGMENT, "sum is %llu",
			  (unsigned long long) sum_of(&verdict.walker.counts));
		memcpy(log_bytes, intact, sizeof(intact));
	}
}

/* ---- names and identities ---- */

static bool
parses(const char *text)
{
	WalName		name;

	return wal_name_parse(text, &name);
}

static WalName
name_of(const char *text)
{
	WalName		name;

	check(wal_name_parse(text, &name), "no name: %s", text);
	return name;
}

/* What archivers make of a name, and what must not be taken for one. */
#define DIGITS	"0000000A000000010000000F"
#define FOLDER	"0000000A00000001/"
#define DIGEST	"-0123456789abcdef0123456789abcdef01234567"

static void
test_archived_names(void)
{
	static const struct
	{
		const char *text;
		uint32_t	kind;
		DecodeFormat format;
	}			names[] = {
		{DIGITS, WAL_KIND_SEGMENT, DECODE_PLAIN},
		{DIGITS ".partial", WAL_KIND_PARTIAL, DECODE_PLAIN},
		{DIGITS ".gz", WAL_KIND_SEGMENT, DECODE_GZIP},
		{DIGITS ".lz4", WAL_KIND_SEGMENT, DECODE_LZ4},
		{DIGITS ".zst", WAL_KIND_SEGMENT, DECODE_ZSTD},
		{DIGITS ".gpg", WAL_KIND_SEGMENT, DECODE_ENCRYPTED},
		{DIGITS ".partial.lz4", WAL_KIND_PARTIAL, DECODE_LZ4},
		{DIGITS ".gz.partial", WAL_KIND_PARTIAL, DECODE_GZIP},
		{DIGITS DIGEST, WAL_KIND_SEGMENT, DECODE_PLAIN},
		{DIGITS DIGEST ".gz", WAL_KIND_SEGMENT, DECODE_GZIP},
		{DIGITS DIGEST ".partial.zst", WAL_KIND_PARTIAL, DECODE_ZSTD},
		{DIGITS ".partial" DIGEST ".zst", WAL_KIND_PARTIAL, DECODE_ZSTD},
		{FOLDER DIGITS, WAL_KIND_SEGMENT, DECODE_PLAIN},
		{FOLDER DIGITS ".partial" DIGEST ".lz4", WAL_KIND_PARTIAL, DECODE_LZ4}
	};
	static const char *const others[] = {
		DIGITS "-0123", DIGITS DIGEST "0", DIGITS ".gz.gz", DIGITS ".GZ",
		DIGITS "-0123456789ABCDEF0123456789ABCDEF01234567", DIGITS ".",
		DIGITS ".partial.partial", DIGITS ".partial.gz.partial", DIGITS "/",
		"0000000A00000002/" DIGITS, FOLDER, "/" DIGITS, FOLDER FOLDER DIGITS
	};
	char		text[WAL_NAME_SIZE];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		WalName		name = name_of(names[i].text);

		wal_name_print(&name, text);
		check(strcmp(text, names[i].text) == 0, "printed: %s", text);
		check(name.kind == names[i].kind && name.timeline == 10 &&
			  name.high == 1 && name.low == 15, "%s: parts", text);
		check(wal_name_format(&name) == names[i].format, "%s: format", text);
		for (size_t j = 0; j < i; j++)
		{
			WalName		other = name_of(names[j].text);

			check(wal_name_compare(&name, &other) * wal_name_compare(&other, &name) < 0,
				  "%s is not %s", names[i].text, names[j].text);
		}
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		check(!parses(others[i]), "no name: %s", others[i]);
	check(wal_name_is_folder("0000000A00000001") &&
		  !wal_name_is_folder("0000000000000001") &&
		  !wal_name_is_folder("0000000A0000001") &&
		  !wal_name_is_folder("0000000a00000001"), "folders");
}

static void
test_names(void)
{
	WalName		name = name_of("0000000A000000010000000F");
	WalName		later = name_of("0000000A000000010000000F.partial");
	WalName		newer = name_of("0000000B000000000000000F");
	char		text[WAL_NAME_SIZE];

	check(name.timeline == 10 && name.high == 1 && name.low == 15 &&
		  name.kind == WAL_KIND_SEGMENT, "a name");
	check(later.kind == WAL_KIND_PARTIAL, "a partial one");
	check(wal_name_compare(&name, &later) < 0 &&
		  wal_name_compare(&later, &newer) < 0 &&
		  wal_name_compare(&name, &name) == 0, "by timeline");
	check(wal_name_compare_segments(&newer, &name) < 0 &&
		  wal_name_compare_segments(&name, &later) < 0, "by segment");
	check(!parses(""), "no name");
	check(!parses("0000000A000000010000000"), "short");
	check(!parses("0000000A000000010000000F0"), "long");
	check(!parses("0000000a000000010000000F"), "lower case");
	check(!parses("00000000000000010000000F"), "timeline 0");
	check(!parses("0000000A.history"), "history");
	check(!parses("0000000A000000010000000F.00000028.backup"), "backup label");
	name = name_of("0000000100000002000000FF");
	check(wal_name_possible(&name, 16 << 20) &&
		  wal_name_segno(&name, 16 << 20) == 0x2FF, "segno");
	name = name_of("000000010000000200000100");
	check(!wal_name_possible(&name, 16 << 20), "beyond 4 GB");
	name = name_of("00000001FFFFFFFF00000FFF");
	check(!wal_name_possible(&name, 1 << 20), "ends beyond the last LSN");
	name = name_of("00000001FFFFFFFF00000FFE");
	check(wal_name_possible(&name, 1 << 20), "the last segment");
	name = wal_name_of(1, 0x2FF, 16 << 20, WAL_KIND_MISSING);
	wal_name_print(&name, text);
	check(strcmp(text, "0000000100000002000000FF") == 0, "printed: %s", text);
	check(strcmp(wal_version_name(0xD110), "15") == 0 &&
		  wal_version_supported(0xD118) && !wal_version_supported(0xD10D) &&
		  wal_version_name(0xBEEF) == NULL, "versions");
}

static void
identify(WalIdentity *id)
{
	wal_identify(id, log_bytes, sizeof(log_bytes), 1 << 20, 8192, 16 << 20);
}

static void
set16(uint16_t value, uint32_t page, uint32_t at)
{
	memcpy(log_bytes + page * maker.page_size + at, &value, 2);
}

static void
set_all16(uint16_t magic)
{
	for (uint32_t page = 0; page < sizeof(log_bytes) / maker.page_size; page++)
		set16(magic, page, WAL_PAGE_MAGIC);
}

static void
test_identities(void)
{
	WalIdentity id;
	uint32_t	size = 1 << 20;
	WalLsn		older = maker.page_size;

	for (int page = 1; page < 6; page++)	/* switched too early? */
		if (wal_load16(log_bytes + page * maker.page_size) == 0)
			return;
	memcpy(log_bytes + WAL_PAGE_SEG_SIZE, &size, 4);
	identify(&id);
	check(id.unsupported.reason == WAL_REASON_NONE && id.magic == maker.magic &&
		  id.page_size == maker.page_size && id.segment_size == 1 << 20 &&
		  id.system == MAKER_SYSTEM && id.address == maker.base &&
		  id.second_address == maker.base,
		  "intact: page size %u, segment size %u", id.page_size,
		  id.segment_size);
	set16(maker.magic == 0xD118 ? 0xD110 : 0xD118, 1, 0);
	identify(&id);
	check(id.unsupported.reason == WAL_REASON_NONE && id.magic == maker.magic,
		  "the second page alone of another version");
	memcpy(log_bytes, intact, sizeof(intact));
	set16(0x1234, 0, 0);
	identify(&id);
	check(id.unsupported.reason == WAL_REASON_NONE && id.magic == maker.magic &&
		  id.page_size == maker.page_size && id.address == 0 &&
		  id.second_address == maker.base, "first magic broken");
	memcpy(log_bytes, intact, sizeof(intact));
	memcpy(log_bytes + maker.page_size + WAL_PAGE_ADDR, &older, 8);
	identify(&id);
	check(id.address == maker.base && id.second_address != maker.base,
		  "only the first page of a recycled file is new");
	memcpy(log_bytes, intact, sizeof(intact));
	set16(0x1234, 0, 0);
	set16(0x1234, 1, 0);
	identify(&id);
	check(id.unsupported.reason == WAL_REASON_NONE && id.page_size == maker.page_size,
		  "two magics broken");
	set_all16(0xD10D);
	identify(&id);
	check(id.unsupported.reason == WAL_REASON_FILE_VERSION_OLD, "PostgreSQL 14");
	set_all16(0xD199);
	identify(&id);
	check(id.unsupported.reason == WAL_REASON_FILE_VERSION_UNKNOWN, "of the future");
	set_all16(0x10D1);
	identify(&id);
	check(id.unsupported.reason == WAL_REASON_FILE_BYTE_ORDER, "other byte order");
	memset(log_bytes, 0, sizeof(log_bytes));
	identify(&id);
	check(id.unsupported.reason == WAL_REASON_NONE && id.zero && id.magic == 0, "zeros");
	unit_fill(log_bytes, sizeof(log_bytes));
	set16(0x1234, 0, 0);		/* no version's magic number by chance */
	set16(0x1235, 1, 0);
	identify(&id);
	check(id.unsupported.reason == WAL_REASON_NONE && !id.zero && id.magic == 0, "garbage");
	for (size_t len = 0; len < 2 * WAL_PAGE_LONG; len++)
		wal_identify(&id, intact, len, len, 8192, 16 << 20);
	memcpy(log_bytes, intact, sizeof(intact));
}

int
main(int argc, char **argv)
{
	static const uint32_t page_sizes[] = {1024, 4096, 8192};
	static const uint16_t magics[] = {0xD110, 0xD113, 0xD116, 0xD118, 0xD122};
	int			rounds;

	unit_begin("test_wal", argc, argv);
	rounds = unit.scale == UNIT_FULL ? 40 : unit.scale == UNIT_QUICK ? 15 : 5;
	checksum_init();
	test_names();
	test_archived_names();
	for (int i = 0; i < rounds; i++)
	{
		while (!make_log(page_sizes[i % 3], magics[i % 5]))
			;
		test_intact();
		test_flips(i == 0 && unit.scale == UNIT_FULL ? 1 : 12);
		test_rare_flips();
		test_lies();
		test_formers();
		test_ends(60);
		test_garbage(100);
		test_identities();
		test_page_ends(page_sizes[i % 3], magics[i % 5]);
	}
	return unit_finish();
}
