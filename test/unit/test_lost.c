/* needs: kernel wal */
/*
 * test_lost.c
 *	  Lost writes: which references are witnesses, what ends storage, and the
 *	  book that keeps both in bounded memory.
 */
#include "unit.h"

#include "lost/book.h"

#define BLOCK_SIZE	8192

#define MAGIC_15	0xD110
#define MAGIC_16	0xD113
#define MAGIC_17	0xD116
#define MAGIC_18	0xD118
#define MAGIC_19	0xD122

/* ---- records ---- */

typedef struct Record
{
	uint8_t		bytes[20000];
	uint32_t	headers;		/* their end so far */
	uint32_t	data_length;
	uint8_t		data[17000];	/* what follows them */
} Record;

static Record record;

static void
put16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void
put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void
record_begin(uint8_t rmgr, uint8_t info)
{
	memset(&record, 0, sizeof(record));
	record.bytes[WAL_REC_RMID] = rmgr;
	record.bytes[WAL_REC_INFO] = info;
	record.headers = WAL_REC_HEADER;
}

static void
header8(uint8_t v)
{
	record.bytes[record.headers++] = v;
}

static void
header16(uint16_t v)
{
	put16(record.bytes + record.headers, v);
	record.headers += 2;
}

static void
header32(uint32_t v)
{
	put32(record.bytes + record.headers, v);
	record.headers += 4;
}

typedef enum Image
{
	NO_IMAGE, WITH_HOLE, WHOLE, NEW_PAGE, FOR_CHECK, COMPRESSED
} Image;

static void
add_image(Image image)
{
	uint16_t	length = image == WITH_HOLE ? 200 :
		image == COMPRESSED ? 100 : BLOCK_SIZE;
	uint8_t    *page = record.data + record.data_length;

	header16(length);
	header16(image == WITH_HOLE ? 100 : 0);
	header8((image == WITH_HOLE ? WAL_IMAGE_HAS_HOLE : 0) |
			(image == FOR_CHECK ? 0 : WAL_IMAGE_APPLY) |
			(image == COMPRESSED ? WAL_IMAGE_PGLZ : 0));
	if (image == WHOLE || image == FOR_CHECK)
		put16(page + 14, 8000); /* pd_upper */
	record.data_length += length;
}

static void
add_block(uint8_t id, uint8_t fork, Image image, bool will_init)
{
	header8(id);
	header8(fork | (image != NO_IMAGE ? WAL_BLOCK_HAS_IMAGE : 0) |
			(will_init ? WAL_BLOCK_WILL_INIT : 0));
	header16(0);
	if (image != NO_IMAGE)
		add_image(image);
	header32(1663);
	header32(5);
	header32(16384);
	header32(7);
}

static uint32_t
record_end(const void *main, uint32_t len)
{
	uint32_t	total;

	if (len > 0)
	{
		header8(WAL_ID_DATA_LONG);
		header32(len);
		memcpy(record.data + record.data_length, main, len);
		record.data_length += len;
	}
	total = record.headers + record.data_length;
	memcpy(record.bytes + record.headers, record.data, record.data_length);
	put32(record.bytes + WAL_REC_TOT_LEN, total);
	return total;
}

/* ---- witnesses ---- */

static LostProof
proof_of(uint16_t magic, const void *main, uint32_t len)
{
	static WalBlocks blocks;
	LostWitnesses witnesses;
	const LostWitnessRule *rule;
	uint32_t	total = record_end(main, len);

	lost_witnesses_begin(&witnesses, magic);
	if (wal_blocks_decode(&blocks, record.bytes, total, BLOCK_SIZE) != WAL_BLOCKS_OK)
	{
		unit_fail("the record cannot be decoded");
		return LOST_PROOF_NONE;
	}
	rule = lost_witness_rule(&witnesses, record.bytes);
	return rule == NULL ? LOST_PROOF_NONE :
		lost_witness(rule, &blocks, &blocks.refs[blocks.count - 1]);
}

/* One reference, its image, and what it proves. */
typedef struct Case
{
	const char *name;
	uint8_t		rmgr;
	uint8_t		info;
	uint8_t		id;
	uint8_t		fork;
	Image		image;
	uint16_t	magic;
	LostProof	expected;
} Case;

#define NONE		LOST_PROOF_NONE
#define LSN			LOST_PROOF_LSN
#define BUFFERED	LOST_PROOF_LSN_BUFFERED
#define NOT_ZERO	LOST_PROOF_NOT_ZERO

static const Case cases[] = {
	{"an insert", 10, 0x00, 0, 0, NO_IMAGE, MAGIC_15, LSN},
	{"an insert with image", 10, 0x00, 0, 0, WITH_HOLE, MAGIC_15, LSN},
	{"an insert into a page made anew", 10, 0x80, 0, 0, NO_IMAGE, MAGIC_18, LSN},
	{"another block of an insert", 10, 0x00, 1, 0, NO_IMAGE, MAGIC_18, NONE},
	{"the visibility map in an insert, as block 0", 10, 0x00, 0, 2, WHOLE, MAGIC_18, NONE},
	{"the visibility map in an insert", 10, 0x00, 1, 2, WHOLE, MAGIC_18, NOT_ZERO},
	{"the visibility map in an insert, 16", 10, 0x00, 1, 2, WHOLE, MAGIC_16, NONE},
	{"the visibility map in an insert, compressed", 10, 0x80, 1, 2, COMPRESSED, MAGIC_17, NOT_ZERO},
	{"the visibility map in an insert, no image", 10, 0x00, 1, 2, NO_IMAGE, MAGIC_18, NONE},
	{"the visibility map in an insert, for consistency checks", 10, 0x00, 1, 2, FOR_CHECK, MAGIC_19, NONE},
	{"the free space map in an insert", 10, 0x00, 1, 1, WHOLE, MAGIC_18, NONE},
	{"the visibility map in a deletion", 10, 0x10, 1, 2, WHOLE, MAGIC_17, NOT_ZERO},
	{"the visibility map in an update, as block 1", 10, 0x20, 1, 2, WHOLE, MAGIC_17, NONE},
	{"the new page's map in an update", 10, 0x20, 2, 2, WHOLE, MAGIC_17, NOT_ZERO},
	{"the old page's map in an update", 10, 0xA0, 3, 2, WHOLE, MAGIC_19, NOT_ZERO},
	{"the visibility map in a HOT update", 10, 0x40, 3, 2, WHOLE, MAGIC_18, NOT_ZERO},
	{"the visibility map in a confirmation", 10, 0x50, 1, 2, WHOLE, MAGIC_18, NONE},
	{"the visibility map in a lock", 10, 0x60, 1, 2, WHOLE, MAGIC_18, NOT_ZERO},
	{"the visibility map in a lock of an updated row", 9, 0x60, 1, 2, WHOLE, MAGIC_18, NOT_ZERO},
	{"the visibility map in a copy", 9, 0xD0, 1, 2, WHOLE, MAGIC_19, NOT_ZERO},
	{"the visibility map in pruning, 19", 9, 0x20, 1, 2, WHOLE, MAGIC_19, NOT_ZERO},
	{"the visibility map in pruning, 18", 9, 0x20, 1, 2, WHOLE, MAGIC_18, NONE},
	{"the map set visible, 19", 9, 0x40, 0, 2, WHOLE, MAGIC_19, NONE},
	{"the old page of an update", 10, 0x20, 1, 0, NO_IMAGE, MAGIC_19, LSN},
	{"a truncation", 10, 0x30, 0, 0, NO_IMAGE, MAGIC_15, NONE},
	{"a lock of a row", 10, 0x60, 0, 0, NO_IMAGE, MAGIC_15, LSN},
	{"pruning, 18", 9, 0x10, 0, 0, NO_IMAGE, MAGIC_18, LSN},
	{"pruning of nothing, 19", 9, 0x10, 0, 0, WITH_HOLE, MAGIC_19, NONE},
	{"the map set visible", 9, 0x40, 0, 2, NO_IMAGE, MAGIC_15, NONE},
	{"the map set visible, with image", 9, 0x40, 0, 2, WITH_HOLE, MAGIC_15, LSN},
	{"the table's page then", 9, 0x40, 1, 0, WITH_HOLE, MAGIC_15, NONE},
	{"an image", 0, 0xB0, 0, 0, WITH_HOLE, MAGIC_15, BUFFERED},
	{"the last of many images", 0, 0xB0, 32, 0, WITH_HOLE, MAGIC_15, BUFFERED},
	{"an image without a hole", 0, 0xB0, 0, 0, WHOLE, MAGIC_15, BUFFERED},
	{"an image of the map", 0, 0xB0, 0, 2, WHOLE, MAGIC_15, BUFFERED},
	{"an image of the free space map", 0, 0xB0, 0, 1, WHOLE, MAGIC_15, NONE},
	{"an image of an init fork", 0, 0xB0, 0, 3, WITH_HOLE, MAGIC_15, NONE},
	{"an image of a new page", 0, 0xB0, 0, 0, NEW_PAGE, MAGIC_15, NONE},
	{"a compressed image without a hole", 0, 0xB0, 0, 0, COMPRESSED, MAGIC_15, NONE},
	{"an image for consistency checks", 0, 0xB0, 0, 0, FOR_CHECK, MAGIC_15, NONE},
	{"an image for hints", 0, 0xA0, 0, 0, WITH_HOLE, MAGIC_15, NONE},
	{"an image for hints, 19", 0, 0xA0, 0, 0, WITH_HOLE, MAGIC_19, NONE},
	{"a split of btree", 11, 0x30, 3, 0, NO_IMAGE, MAGIC_15, LSN},
	{"a reused page of btree", 11, 0xD0, 0, 0, NO_IMAGE, MAGIC_15, NONE},
	{"the bucket that hash locks", 12, 0x90, 0, 0, NO_IMAGE, MAGIC_15, NONE},
	{"the page that hash cleans", 12, 0x90, 1, 0, NO_IMAGE, MAGIC_15, LSN},
	{"the metapage as hash adds a page", 12, 0x30, 4, 0, WITH_HOLE, MAGIC_15, NONE},
	{"the page that hash squeezes into", 12, 0x80, 1, 0, WITH_HOLE, MAGIC_15, NONE},
	{"a sequence", 15, 0x00, 0, 0, NO_IMAGE, MAGIC_15, LSN},
	{"generic, 15", 20, 0x00, 3, 0, NO_IMAGE, MAGIC_15, NONE},
	{"generic, 16", 20, 0x00, 3, 0, WITH_HOLE, MAGIC_16, NONE},
	{"generic, 17", 20, 0x00, 3, 0, NO_IMAGE, MAGIC_17, LSN},
	{"generic, 19", 20, 0x00, 3, 0, NO_IMAGE, MAGIC_19, LSN},
	{"a resource manager of its own", 130, 0x00, 0, 0, WITH_HOLE, MAGIC_15, NONE},
	{"a version that is not known", 10, 0x00, 0, 0, NO_IMAGE, 0xD10D, NONE},
};

static void
test_witnesses(void)
{
	const uint8_t frozen[2] = {0, 0};
	uint8_t		changed[2];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const Case *c = &cases[i];

		record_begin(c->rmgr, c->info);
		add_block(c->id, c->fork, c->image, false);
		check(proof_of(c->magic, frozen, sizeof(frozen)) == c->expected,
			  "%s", c->name);
	}
	put16(changed, 0x0040);		/* dead items */
	record_begin(9, 0x10);
	add_block(0, 0, NO_IMAGE, false);
	check(proof_of(MAGIC_19, changed, sizeof(changed)) == LSN,
		  "pruning that changes the table, 19");
}

/* Rows are in reach, and none speaks of blocks that no record has. */
static void
test_rows(void)
{
	uint8_t		rmgr;
	uint8_t		info;
	uint64_t	ids;
	size_t		n = 0;

	for (; lost_witness_row(n, &rmgr, &info, &ids); n++)
		check(rmgr < LOST_WITNESS_RMGRS && (info & 0x0F) == 0 && ids != 0,
			  "row %zu is possible", n);
	check(n > 60, "there are rows");
}

/* ---- events ---- */

static LostEvent seen[8];
static int	nseen;

static void
note_event(void *arg, const LostEvent *event)
{
	(void) arg;
	if (nseen < 8)
		seen[nseen] = *event;
	nseen++;
}

static bool
events_of(uint8_t rmgr, uint8_t info, const void *main, uint32_t len,
		  uint32_t cut)
{
	static WalBlocks blocks;
	uint32_t	total;

	record_begin(rmgr, info);
	total = record_end(main, len);
	nseen = 0;
	if (wal_blocks_decode(&blocks, record.bytes, total - cut, BLOCK_SIZE) != WAL_BLOCKS_OK)
		return false;
	return lost_events(record.bytes, &blocks, note_event, NULL);
}

static uint32_t
words(uint8_t *main, const uint32_t *values, int n)
{
	for (int i = 0; i < n; i++)
		put32(main + 4 * i, values[i]);
	return (uint32_t) n * 4;
}

static bool
saw(int n, uint32_t tablespace, uint32_t database, uint32_t relation,
	uint32_t first)
{
	const LostEvent *e = &seen[n];

	return n < nseen && e->tablespace == tablespace &&
		e->database == database && e->relation == relation &&
		e->first == first && e->map_first == first;
}

/* What is said of another fork than the main one. */
static bool
saw_map(uint32_t map_first)
{
	return nseen == 1 && seen[0].relation == 100 &&
		seen[0].first == LOST_STAYS && seen[0].map_first == map_first;
}

static void
test_fork_events(void)
{
	uint8_t		main[20];
	uint32_t	len;

	len = words(main, (uint32_t[]) {1663, 5, 100, 1}, 4);
	check(events_of(2, 0x10, main, len, 0) && nseen == 0,
		  "a free space map is made");
	put32(main + 12, 2);
	check(events_of(2, 0x10, main, len, 0) && saw_map(0),
		  "a visibility map is made");
	put32(main + 12, 3);
	check(events_of(2, 0x10, main, len, 0) && nseen == 1 && saw(0, 1663, 5, 100, 0),
		  "an init fork is made");
	check(!events_of(2, 0x10, main, 12, 0), "a creation that is too short");
	len = words(main, (uint32_t[]) {9, 1663, 5, 100, 2}, 5);
	check(events_of(2, 0x20, main, len, 0) && saw_map(9),
		  "the visibility map is truncated");
	put32(main + 16, 4);
	check(events_of(2, 0x20, main, len, 0) && nseen == 0,
		  "the free space map is truncated");
	put32(main + 16, 1);
	check(events_of(2, 0x20, main, len, 0) && nseen == 1 &&
		  seen[0].first == 9 && seen[0].map_first == LOST_STAYS,
		  "the table alone is truncated");
}

static void
test_events(void)
{
	uint8_t		main[256] = {0};
	uint32_t	len;

	len = words(main, (uint32_t[]) {1663, 5, 100, 0}, 4);
	check(events_of(2, 0x10, main, len, 0) && nseen == 1 && saw(0, 1663, 5, 100, 0),
		  "storage is made");
	len = words(main, (uint32_t[]) {9, 1663, 5, 100, 7}, 5);
	check(events_of(2, 0x20, main, len, 0) && nseen == 1 && saw(0, 1663, 5, 100, 9),
		  "storage is truncated");
	check(!events_of(2, 0x30, main, len, 0), "an unknown record about storage");
	check(!events_of(2, 0x20, main, 12, 0), "one that is too short");
	check(!events_of(2, 0x20, main, len, 4), "one that is cut");

	/* time, xinfo, database, subtransactions, relations */
	len = words(main, (uint32_t[]) {1, 2, 7, 5, 1663, 2, 700, 701, 2, 1663, 5, 100, 1664, 0, 200}, 15);
	for (uint8_t info = 0; info <= 0x40; info += 0x10)
		check(events_of(1, info | 0x80, main, len, 0) &&
			  (info == 0x10 ? nseen == 0 : nseen == 2 && saw(0, 1663, 5, 100, 0) && saw(1, 1664, 0, 200, 0)),
			  "relations that end with a transaction, %02X", info);
	check(events_of(1, 0x00, main, 8, 0) && nseen == 0, "a plain commit");
	check(!events_of(1, 0x80, main, len - 4, 0), "fewer relations than said");
	put32(main + 32, UINT32_MAX);
	check(!events_of(1, 0x80, main, len, 0), "more relations than there can be");

	len = words(main, (uint32_t[]) {5, 1, 1663, 1663}, 4);
	for (uint8_t info = 0; info <= 0x20; info += 0x10)
		check(events_of(4, info, main, len, 0) && nseen == 1 && saw(0, 0, 5, 0, 0),
			  "a database, %02X", info);
	check(events_of(5, 0x10, main, len, 0) && nseen == 1 && saw(0, 5, 0, 0, 0),
		  "a tablespace");
	check(events_of(10, 0x00, main, len, 0) && nseen == 0, "others say nothing");
}

/* ---- the book ---- */

#define MAP_COVERS	32672		/* of blocks of 8 kB */

static WalBlockTag
tag_of(uint32_t relation, uint32_t fork, uint32_t block)
{
	WalBlockTag tag = {1663, 5, relation, fork, block};

	return tag;
}

static void
prove(LostBook *book, uint32_t relation, uint32_t fork, uint32_t block,
	  WalLsn lsn)
{
	WalBlockTag tag = tag_of(relation, fork, block);

	check(lost_book_prove(book, &tag, LSN, lsn), "the book has room");
}

/* Table and map end at the same place. */
#define EVENT(tablespace, database, relation, first) \
	((LostEvent) {tablespace, database, relation, first, first})

static void
end_storage(LostBook *book, LostEvent event, WalLsn lsn)
{
	check(lost_book_end(book, &event, lsn), "the book has room for ends");
}

static bool
has(const LostBook *book, size_t n, uint32_t relation, uint32_t block,
	WalLsn lsn)
{
	return n < book->count && book->entries[n].tag.relation == relation &&
		book->entries[n].tag.block == block && book->entries[n].lsn == lsn;
}

static void
test_book_ends(void)
{
	static uint64_t memory[LOST_BOOK_MIN / 8];
	LostBook	book;

	lost_book_open(&book, memory, sizeof(memory), MAP_COVERS);
	prove(&book, 10, 0, 5, 100);
	prove(&book, 10, 0, 5, 90);
	prove(&book, 10, 0, 20, 100);
	prove(&book, 10, 1, 0, 100);
	prove(&book, 10, 0, 30, 300);
	end_storage(&book, EVENT(1663, 5, 10, 15), 200);
	prove(&book, 11, 0, 1, 100);
	end_storage(&book, EVENT(1663, 5, 11, 0), 100);
	prove(&book, 12, 0, 1, 100);
	end_storage(&book, EVENT(1663, 6, 12, 0), 200);
	prove(&book, 13, 0, 7, 150);
	end_storage(&book, EVENT(1663, 5, 13, 0), 120);
	end_storage(&book, EVENT(1663, 5, 13, 5), 160);
	end_storage(&book, EVENT(1663, 5, 13, 9), 170);
	lost_book_close(&book);
	check(book.count == 4 && has(&book, 0, 10, 5, 100) && has(&book, 1, 10, 30, 300) &&
		  has(&book, 2, 11, 1, 100) && has(&book, 3, 12, 1, 100),
		  "what ended is struck out, the rest in order");
	lost_book_reopen(&book);
	prove(&book, 10, 0, 5, 100);
	end_storage(&book, EVENT(0, 5, 0, 0), 150);
	prove(&book, 10, 0, 6, 160);
	lost_book_close(&book);
	check(book.count == 1 && has(&book, 0, 10, 6, 160), "a database ends");
	lost_book_reopen(&book);
	prove(&book, 10, 0, 5, 100);
	end_storage(&book, EVENT(1663, 0, 0, 0), 150);
	lost_book_close(&book);
	check(book.count == 0, "a tablespace ends");
}

/* Blocks of the visibility map go with all that they cover, other forks whole. */
static void
test_book_maps(void)
{
	static uint64_t memory[LOST_BOOK_MIN / 8];
	LostBook	book;

	lost_book_open(&book, memory, sizeof(memory), MAP_COVERS);
	for (uint32_t relation = 10; relation < 14; relation++)
	{
		uint32_t	firsts[] = {0, 1, MAP_COVERS, MAP_COVERS + 1};

		prove(&book, relation, 1, 0, 100);
		prove(&book, relation, 2, 0, 100);
		prove(&book, relation, 2, 1, 100);
		prove(&book, relation, 2, UINT32_MAX / MAP_COVERS + 2, 100);
		end_storage(&book, EVENT(1663, 5, relation, firsts[relation - 10]), 200);
	}
	lost_book_close(&book);
	check(book.count == 4 && has(&book, 0, 11, 0, 100) && has(&book, 1, 12, 0, 100) &&
		  has(&book, 2, 13, 0, 100) && has(&book, 3, 13, 1, 100),
		  "the map is cut where the table is");
}

/* A fork that ends takes no other with it, whatever else ends later. */
static void
test_book_forks(void)
{
	static uint64_t memory[LOST_BOOK_MIN / 8];
	LostEvent	map = {1663, 5, 10, LOST_STAYS, 0};
	LostEvent	table = {1663, 5, 11, 3, LOST_STAYS};
	LostBook	book;

	lost_book_open(&book, memory, sizeof(memory), MAP_COVERS);
	for (uint32_t relation = 10; relation < 12; relation++)
	{
		prove(&book, relation, 0, 0, 100);
		prove(&book, relation, 0, 4, 100);
		prove(&book, relation, 2, 0, 100);
	}
	check(lost_book_end(&book, &map, 200) && lost_book_end(&book, &table, 200),
		  "the book has room for ends");
	map.map_first = table.first = 1000000;
	check(lost_book_end(&book, &map, 300) && lost_book_end(&book, &table, 300),
		  "the book has room for later ends");
	lost_book_close(&book);
	check(book.count == 4 && has(&book, 0, 10, 0, 100) && has(&book, 1, 10, 4, 100) &&
		  has(&book, 2, 11, 0, 100) && has(&book, 3, 11, 0, 100) &&
		  book.entries[3].tag.fork == 2, "forks end each for itself");
}

static void
prove_map(LostBook *book, uint32_t relation, LostProof proof, WalLsn lsn)
{
	WalBlockTag tag = tag_of(relation, 2, 0);

	check(lost_book_prove(book, &tag, proof, lsn), "the book has room");
}

/* That a map's page is not zeros says less than an LSN of the same storage. */
static void
test_book_kinds(void)
{
	static uint64_t memory[LOST_BOOK_MIN / 8];
	LostBook	book;

	lost_book_open(&book, memory, sizeof(memory), MAP_COVERS);
	prove_map(&book, 10, LSN, 100);
	prove_map(&book, 10, NOT_ZERO, 200);
	prove_map(&book, 11, NOT_ZERO, 100);
	prove_map(&book, 11, NOT_ZERO, 200);
	prove_map(&book, 12, NOT_ZERO, 100);
	prove_map(&book, 12, LSN, 200);
	for (uint32_t relation = 13; relation < 18; relation++)
		prove_map(&book, relation, LSN, 100);
	end_storage(&book, EVENT(1663, 5, 17, 0), 90);
	end_storage(&book, EVENT(1663, 5, 13, 0), 150);
	end_storage(&book, EVENT(1663, 5, 14, 1), 150);
	end_storage(&book, EVENT(1663, 6, 15, 0), 150);
	end_storage(&book, EVENT(0, 7, 0, 0), 160);
	for (uint32_t relation = 13; relation < 18; relation++)
		prove_map(&book, relation, NOT_ZERO, 200);
	end_storage(&book, EVENT(1663, 5, 16, 0), 250);
	lost_book_close(&book);
	check(book.count == 7, "one of each map is left");
	check(has(&book, 0, 10, 0, 100) && book.entries[0].proof == LSN,
		  "the LSN stays");
	check(has(&book, 1, 11, 0, 200), "the newer of two pages counts");
	check(has(&book, 2, 12, 0, 200) && book.entries[2].proof == LSN,
		  "a newer LSN counts");
	check(has(&book, 3, 13, 0, 200) && book.entries[3].proof == NOT_ZERO,
		  "a page of new storage counts");
	check(has(&book, 4, 14, 0, 100) && has(&book, 5, 15, 0, 100) &&
		  has(&book, 6, 17, 0, 100), "storage of others, or cut after it");
}

/* Against a plain list: random proofs and ends, until it is full. */
static void
test_book_random(void)
{
	static uint64_t memory[4096];
	enum
	{
		RELATIONS = 5, BLOCKS = 40
	};
	static WalLsn model[RELATIONS][BLOCKS];
	LostBook	book;
	WalLsn		lsn = 1;

	lost_book_open(&book, memory, sizeof(memory), MAP_COVERS);
	for (int round = 0; round < 200; round++)
	{
		size_t		alive = 0;

		memset(model, 0, sizeof(model));
		for (int i = 0; i < 300; i++)
		{
			uint32_t	relation = (uint32_t) (unit_random() % RELATIONS);
			uint32_t	block = (uint32_t) (unit_random() % BLOCKS);

			lsn++;
			if (unit_random() % 10 > 0)
			{
				prove(&book, relation + 1, 0, block, lsn);
				model[relation][block] = lsn;
				continue;
			}
			end_storage(&book, EVENT(1663, 5, relation + 1, block), lsn);
			for (uint32_t b = block; b < BLOCKS; b++)
				model[relation][b] = 0;
		}
		lost_book_close(&book);
		for (uint32_t r = 0; r < RELATIONS; r++)
			for (uint32_t b = 0; b < BLOCKS; b++)
				if (model[r][b] != 0)
					check(has(&book, alive++, r + 1, b, model[r][b]),
						  "relation %u block %u", r, b);
		check(alive == book.count, "nothing else is in the book");
		lost_book_reopen(&book);
	}
}

static void
test_book_bounds(void)
{
	Arena		arena = arena_make(LOST_BOOK_MIN);
	uint8_t    *memory = arena.end - LOST_BOOK_MIN;
	LostBook	book;
	uint32_t	n = 0;
	LostEvent	event = {1663, 5, 1, 0, 0};
	WalBlockTag tag = tag_of(1, 0, 0);

	lost_book_open(&book, memory, LOST_BOOK_MIN, MAP_COVERS);
	while (tag.block = n, lost_book_prove(&book, &tag, LSN, 10 + n))
		n++;
	check(n == book.most && n > 100, "the book says when it is full: %u", n);
	tag.block = 3;
	check(lost_book_prove(&book, &tag, LSN, 1000), "a known block has its place");
	for (n = 0; lost_book_end(&book, &event, 5); n++)
		;
	check(n == book.ends_room && n > 20, "so it does for ends: %u", n);
	lost_book_close(&book);
	check(book.count == book.most, "it keeps what did not end");
}

int
main(int argc, char **argv)
{
	unit_begin("lost", argc, argv);
	test_witnesses();
	test_rows();
	test_events();
	test_fork_events();
	test_book_ends();
	test_book_maps();
	test_book_forks();
	test_book_kinds();
	test_book_random();
	test_book_bounds();
	return unit_finish();
}
