/* needs: kernel wal */
/*
 * test_wal_history.c
 *	  The history of a block from records that are made here.
 *
 * Each case is a list of what happens, and the rows that it must give.  One
 * letter stands for each row, and a last letter P says that the image of the
 * last one is the page.
 */
#include "unit.h"
#include "record_maker.h"

#include "wal/block_history.h"

#define BLOCK_SIZE	8192

static const WalBlockTag block = {1663, 5, 100, WAL_FORK_MAIN, 7};
static const WalBlockTag map_block = {1663, 5, 100, WAL_FORK_MAP, 7};

static WalBlockHistory history;
static WalLsn now;
static bool all_copies;
static char rows[16];			/* by their kinds */
static WalBlockRow last;		/* and what was put of the last one */
static bool last_seen;

/* ---- records ---- */

static void
hand_over(void)
{
	static const WalName segment = {.timeline = 1};
	WalBlockRecord record = {now, now + 50, made, made_bytes, made_bytes, &segment};

	put_end();
	wal_block_history_record(&history, &record);
	now += 100;
}

/* Main data are so many words. */
static void
hand_over_words(uint8_t rmgr, uint8_t info, uint32_t n, const uint32_t *words)
{
	make_record(rmgr, info);
	put_main((uint8_t) (n * 4));
	for (uint32_t i = 0; i < n; i++)
		put32(words[i]);
	hand_over();
}

#define STORAGE(rmgr, info, ...) \
	hand_over_words(rmgr, info, sizeof((uint32_t[]) {__VA_ARGS__}) / 4, (uint32_t[]) {__VA_ARGS__})

/* A reference to a block, whose image has a hole of all but 100 bytes. */
static void
refer(const WalBlockTag *tag, uint8_t flags, uint8_t image_info)
{
	make_record(10, 0);
	put8(0);
	put8((uint8_t) (tag->fork | flags));
	put16(0);						/* bytes of data */
	if (flags & WAL_BLOCK_HAS_IMAGE)
	{
		put16(100);					/* its length, and where the hole begins */
		put16(100);
		put8(image_info | WAL_IMAGE_HAS_HOLE);
		if (image_info & WAL_IMAGE_COMPRESSED)
			put16(50);				/* the hole's length */
	}
	put_locator(tag);
	put32(tag->block);
	if (flags & WAL_BLOCK_HAS_IMAGE)
		made_bytes += 100;
	else
		put_main(0);
	hand_over();
}

static void
lose_records(WalLsn begin)
{
	WalBlockGap gap = {.begin = begin, .end = begin + 50, .status = WAL_MISSING};

	wal_block_history_gap(&history, &gap);
}

/* ---- what happens ---- */

static void
happen(char what, const WalBlockTag *tag)
{
	WalBlockTag other = *tag;

	switch (what)
	{
		case 'i':
			refer(tag, WAL_BLOCK_HAS_IMAGE, WAL_IMAGE_APPLY);
			break;
		case 'z':
			refer(tag, WAL_BLOCK_HAS_IMAGE, WAL_IMAGE_APPLY | WAL_IMAGE_PGLZ);
			break;
		case 'k':				/* for wal_consistency_checking */
			refer(tag, WAL_BLOCK_HAS_IMAGE, 0);
			break;
		case 'n':
			refer(tag, WAL_BLOCK_WILL_INIT, 0);
			break;
		case 'c':
			refer(tag, 0, 0);
			break;
		case 'o':				/* others */
			other.block++;
			refer(&other, 0, 0);
			refer(&other, WAL_BLOCK_HAS_IMAGE, WAL_IMAGE_APPLY);
			other = *tag;
			other.relation++;
			refer(&other, 0, 0);
			other = *tag;
			other.fork = WAL_FORK_FREE_SPACE;
			refer(&other, WAL_BLOCK_WILL_INIT, 0);
			STORAGE(1, 0x80, 1, 2, 4, 1, 1663, 5, 101);
			STORAGE(2, 0x10, 1663, 5, 101, tag->fork);
			STORAGE(2, 0x20, 0, 1663, 6, 100, 7);
			STORAGE(4, 0x00, 6, 1663, 5, 1663);
			STORAGE(4, 0x00, 5, 1664, 5, 1663);
			STORAGE(4, 0x20, 5, 1, 1664);
			STORAGE(4, 0x20, 6, 1, 1663);
			break;
		case 'm':				/* the table is made, and its other forks */
			STORAGE(2, 0x10, 1663, 5, 100, 0);
			break;
		case 'f':
			STORAGE(2, 0x10, 1663, 5, 100, 1);
			break;
		case 'v':
			STORAGE(2, 0x10, 1663, 5, 100, 2);
			break;
		case '6':				/* the table is truncated to so many blocks */
		case '7':
		case '8':
			STORAGE(2, 0x20, (uint32_t) (what - '0'), 1663, 5, 100, 1);
			break;
		case 'V':
			STORAGE(2, 0x20, 1000, 1663, 5, 100, 2);
			break;
		case 'F':
			STORAGE(2, 0x20, 0, 1663, 5, 100, 4);
			break;
		case 'd':
			STORAGE(1, 0x80, 1, 2, 4, 2, 1663, 5, 99, 1663, 5, 100);
			break;
		case 'D':
			STORAGE(4, 0x20, 5, 2, 1664, 1663);
			break;
		case 'C':				/* the database is copied here */
			STORAGE(4, 0x00, 5, 1663, 1, 1663);
			break;
		case 'g':
			lose_records(now);
			break;
		case 'G':				/* beyond what is looked at */
			lose_records(history.until);
			break;
		case '?':				/* what no server writes */
			STORAGE(2, 0x30, 0, 1663, 5, 100, 7);
			break;
		case '!':
			make_record(10, 0);
			made[made_bytes++] = 200;
			made_bytes += 3;
			hand_over();
			break;
	}
}

static void
put_row(void *arg, const WalBlockRow *row, bool is_last, bool is_page)
{
	/* by WalRowKind */
	char		name[3] = {"IKNCMTG"[row->kind], is_page ? 'P' : '\0', '\0'};

	(void) arg;
	check(!last_seen && (is_last || !is_page), "no row after the last, no page before it");
	last_seen = is_last;
	last = *row;
	strncat(rows, name, sizeof(rows) - strlen(rows) - 1);
}

static void
live(const char *what, const WalBlockTag *tag, bool complete)
{
	memset(&history, 0, sizeof(history));
	history.tag = *tag;
	history.block_size = BLOCK_SIZE;
	history.until = 100000;
	history.emit = put_row;
	history.all_copies = all_copies;
	rows[0] = '\0';
	last_seen = false;
	now = 1000;
	for (; *what != '\0'; what++)
		happen(*what, tag);
	wal_block_history_end(&history, complete);
}

typedef struct Case
{
	const char *what;
	const char *rows;
	const char *name;
} Case;

static const Case of_table[] = {
	{"", "", "nothing"},
	{"o", "", "records of others alone"},
	{"i", "IP", "an image, then nothing"},
	{"z", "IP", "a compressed image"},
	{"k", "KP", "an image that serves checks alone"},
	{"oio", "IP", "an image among records of others"},
	{"c", "C", "a change without an image"},
	{"ic", "IC", "an image, then a change"},
	{"ici", "ICIP", "the next image"},
	{"n", "N", "a page that is made anew"},
	{"in", "IN", "an image, then the page is made anew"},
	{"ni", "NIP", "the page is made anew, then an image"},
	{"i8", "IP", "truncated above the block"},
	{"i7", "IT", "truncated at the block"},
	{"i6", "IT", "truncated below the block"},
	{"i6i", "ITIP", "truncated, and an image of what is there since"},
	{"iVF", "IP", "the maps are truncated"},
	{"im", "IM", "made anew"},
	{"mi", "MIP", "made, then an image"},
	{"ifv", "IP", "other forks are made"},
	{"id", "I", "dropped"},
	{"idi", "IIP", "dropped, and an image of what is there since"},
	{"di", "IP", "an earlier relation was dropped"},
	{"iD", "I", "the database is dropped"},
	{"C", "", "a copy of the database, of which nothing was before"},
	{"iC", "IM", "the database is copied over"},
	{"ig", "IG", "a gap after the image"},
	{"gi", "GIP", "a gap before the image"},
	{"iG", "IP", "a gap after what is looked at"},
	{"i?", "IG", "a record about storage that cannot be understood"},
	{"i!", "IG", "a record that cannot be decoded"},
	{"?i", "GIP", "an image after it"}
};

static const Case of_map[] = {
	{"i", "IP", "an image of the map"},
	{"i678", "IP", "the table is truncated"},
	{"iV", "IT", "the map is truncated somewhere"},
	{"imf", "IP", "the table is made"},
	{"iv", "IM", "the map is made"},
	{"id", "I", "the map is dropped with its table"}
};

static void
test_cases(const Case *cases, size_t n, const WalBlockTag *tag)
{
	for (size_t i = 0; i < n; i++)
	{
		char		without[16] = "";

		live(cases[i].what, tag, true);
		check(strcmp(rows, cases[i].rows) == 0, "%s: %s, expected %s",
			  cases[i].name, rows, cases[i].rows);
		check(last_seen == (rows[0] != '\0'), "%s: the last row is said", cases[i].name);
		strncat(without, rows, strcspn(rows, "P"));
		live(cases[i].what, tag, false);
		check(strcmp(rows, without) == 0,
			  "%s: no image is the page where not all was seen", cases[i].name);
	}
}

static void
test_rows(void)
{
	live("oz", &block, true);
	check(last.lsn == now - 100 && last.end == now - 50 && last.rmid == 10 &&
		  last.compression == WAL_METHOD_PGLZ && last.segment.timeline == 1,
		  "a row has what its record has");
	live("zi", &block, true);
	check(last.compression == WAL_METHOD_NONE, "the next image is not compressed");
	live("g", &block, true);
	check(last.lsn == 1000 && last.end == 1050 &&
		  strcmp(last.message, "no WAL was found here") == 0, "a gap");
	live("!", &block, true);
	check(strcmp(last.message, "invalid record: invalid block_id") == 0,
		  "a gap because of a record: %s", last.message);
	check(strcmp(wal_row_kind_name(WAL_ROW_GAP), "gap") == 0, "a name");
	all_copies = true;
	live("Co", &block, true);
	check(strcmp(rows, "M") == 0 && last.rmid == 4, "a copy of the database, if asked for: %s", rows);
	all_copies = false;
}

int
main(int argc, char **argv)
{
	unit_begin("wal_history", argc, argv);
	test_cases(of_table, sizeof(of_table) / sizeof(of_table[0]), &block);
	test_cases(of_map, sizeof(of_map) / sizeof(of_map[0]), &map_block);
	test_rows();
	return unit_finish();
}
