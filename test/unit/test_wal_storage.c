/* needs: kernel wal */
/*
 * test_wal_storage.c
 *	  Facts about storage in records that are made here.
 *
 * A table of records gives exactly the facts that each was made of.  A record
 * that is cut anywhere before its last fact is refused, and nothing is read
 * beyond its end, where a guard page lies.
 */
#include "unit.h"

#include "wal/storage.h"

#define RM_XACT		1
#define RM_SMGR		2
#define RM_DBASE	4
#define RM_TBLSPC	5

#define MAIN_BYTES_MAX	64
#define SEEN_MAX		4

static Arena arena;
static WalStorageEvent seen[SEEN_MAX];
static int	nseen;

static void
note_event(void *arg, const WalStorageEvent *event)
{
	(void) arg;
	if (nseen < SEEN_MAX)
		seen[nseen] = *event;
	nseen++;
}

/* Reads a record of so many bytes of main data, of which present are at hand. */
static bool
read_record(uint8_t rmgr, uint8_t info, const uint32_t *words, uint32_t bytes,
			uint32_t present)
{
	static WalBlocks blocks;
	uint32_t	headers = WAL_REC_HEADER + 2;
	uint32_t	total = headers + bytes;
	uint8_t    *record = arena.end - headers - present;

	memset(record, 0, headers);
	memcpy(record + WAL_REC_TOT_LEN, &total, 4);
	record[WAL_REC_RMID] = rmgr;
	record[WAL_REC_INFO] = info;
	record[WAL_REC_HEADER] = WAL_ID_DATA_SHORT;
	record[WAL_REC_HEADER + 1] = (uint8_t) bytes;
	memcpy(record + headers, words, present);
	nseen = 0;
	if (wal_blocks_decode(&blocks, record, headers + present, 8192) != WAL_BLOCKS_OK)
	{
		unit_fail("the record cannot be decoded");
		return false;
	}
	return wal_storage_events(record, &blocks, note_event, NULL);
}

typedef struct Case
{
	const char *name;
	uint8_t		rmgr;
	uint8_t		info;
	uint32_t	nwords;			/* of main data */
	uint32_t	words[MAIN_BYTES_MAX / 4];
	uint32_t	needed;			/* words up to the last fact */
	int			nevents;
	WalStorageEvent last;		/* but for the list of tablespaces */
} Case;

#define ALL		WAL_FORKS_ALL

static const Case cases[] = {
	{"an init fork is created", RM_SMGR, 0x10, 4, {1663, 5, 100, 3}, 4,
	1, {.kind = WAL_STORAGE_CREATED, 1663, 5, 100, 8}},
	{"all forks are truncated", RM_SMGR, 0x20, 5, {9, 1663, 5, 100, 7}, 5,
	1, {.kind = WAL_STORAGE_TRUNCATED, 1663, 5, 100, 7, 9}},
	{"the main fork is truncated", RM_SMGR, 0x20, 5, {9, 1663, 5, 100, 1}, 5,
	1, {.kind = WAL_STORAGE_TRUNCATED, 1663, 5, 100, 1, 9}},
	{"the map is truncated", RM_SMGR, 0x20, 5, {9, 1663, 5, 100, 2}, 5,
	1, {.kind = WAL_STORAGE_TRUNCATED, 1663, 5, 100, 4, 9}},
	{"the free space map is truncated", RM_SMGR, 0x20, 5, {9, 1663, 5, 100, 4}, 5,
	1, {.kind = WAL_STORAGE_TRUNCATED, 1663, 5, 100, 2, 9}},
	{"a database is copied", RM_DBASE, 0x00, 4, {5, 1663, 6, 1664}, 4,
	1, {.kind = WAL_DATABASE_COPIED, 1663, 5, 0, ALL, 0, 1664, 6}},
	{"a database is created", RM_DBASE, 0x10, 2, {5, 1663}, 2,
	1, {.kind = WAL_DATABASE_CREATED, 1663, 5, 0, ALL}},
	{"a database is dropped", RM_DBASE, 0x20, 4, {5, 2, 1663, 1700}, 4,
	1, {.kind = WAL_DATABASE_DROPPED, 0, 5, 0, ALL, 0, 0, 0, 2}},
	{"a tablespace is created", RM_TBLSPC, 0x00, 2, {1700, 0}, 1,
	1, {.kind = WAL_TABLESPACE_CREATED, 1700, 0, 0, ALL}},
	{"a tablespace is dropped", RM_TBLSPC, 0x10, 1, {1700}, 1,
	1, {.kind = WAL_TABLESPACE_DROPPED, 1700, 0, 0, ALL}},
	/* time, xinfo, database, subtransactions, relations, and what follows */
	{"a commit drops two", RM_XACT, 0x80, 16,
		{1, 2, 7, 5, 1663, 2, 700, 701, 2, 1663, 5, 100, 1664, 0, 200, 9}, 15,
	2, {.kind = WAL_STORAGE_DROPPED, 1664, 0, 200, ALL}},
	{"an abort drops one", RM_XACT, 0xA0, 7, {1, 2, 4, 1, 1663, 5, 100}, 7,
	1, {.kind = WAL_STORAGE_DROPPED, 1663, 5, 100, ALL}},
	{"a prepared one commits", RM_XACT, 0xB0, 9, {1, 2, 5, 5, 1663, 1, 1663, 5, 100}, 9,
	1, {.kind = WAL_STORAGE_DROPPED, 1663, 5, 100, ALL}},
	{"a prepared one aborts", RM_XACT, 0xC0, 8, {1, 2, 6, 0, 1, 1663, 5, 100}, 8,
	1, {.kind = WAL_STORAGE_DROPPED, 1663, 5, 100, ALL}},
	{"a commit drops nothing", RM_XACT, 0x80, 5, {1, 2, 1, 5, 1663}, 5, 0, {0}},
	{"a plain commit", RM_XACT, 0x00, 2, {1, 2}, 0, 0, {0}},
	{"a transaction is prepared", RM_XACT, 0x90, 2, {1, 2}, 0, 0, {0}},
	{"invalidations", RM_XACT, 0xE0, 2, {1, 2}, 0, 0, {0}},
	{"a record of another manager", 10, 0x00, 2, {1, 2}, 0, 0, {0}}
};

static bool
is_last(const WalStorageEvent *e)
{
	const WalStorageEvent *s = &seen[nseen - 1];

	return s->kind == e->kind && s->tablespace == e->tablespace &&
		s->database == e->database && s->relation == e->relation &&
		s->forks == e->forks && s->block == e->block &&
		s->source_tablespace == e->source_tablespace &&
		s->source_database == e->source_database &&
		s->ntablespaces == e->ntablespaces;
}

static void
test_case(const Case *c)
{
	uint32_t	bytes = c->nwords * 4;

	check(read_record(c->rmgr, c->info, c->words, bytes, bytes) &&
		  nseen == c->nevents && (nseen == 0 || is_last(&c->last)),
		  "%s", c->name);
	for (uint32_t present = 0; present < bytes; present++)
		check(read_record(c->rmgr, c->info, c->words, bytes, present) ==
			  (present >= c->needed * 4),
			  "%s, %u of %u bytes at hand", c->name, present, bytes);
}

static void
test_lists(void)
{
	check(read_record(RM_DBASE, 0x20, (uint32_t[]) {5, 2, 1663, 1700}, 16, 16) &&
		  wal_load32(seen[0].tablespaces) == 1663 &&
		  wal_load32(seen[0].tablespaces + 4) == 1700, "tablespaces of a database");
	check(read_record(RM_XACT, 0x80, (uint32_t[]) {1, 2, 4, 2, 1663, 5, 100, 1664, 0, 200}, 40, 40) &&
		  nseen == 2 && seen[0].relation == 100 && seen[1].relation == 200,
		  "relations of a transaction");
}

/* What no server writes is refused. */
static void
test_refused(void)
{
	const uint32_t many = UINT32_MAX / 12 + 2;	/* times 12 it is small */

	check(!read_record(RM_SMGR, 0x30, (uint32_t[]) {9, 1663, 5, 100, 7}, 20, 20),
		  "an unknown record about relations");
	check(!read_record(RM_SMGR, 0x10, (uint32_t[]) {1663, 5, 100, 4}, 16, 16),
		  "a fork that does not exist");
	check(!read_record(RM_DBASE, 0x30, (uint32_t[]) {5, 1663}, 8, 8),
		  "an unknown record about databases");
	check(!read_record(RM_TBLSPC, 0x20, (uint32_t[]) {5, 1663}, 8, 8),
		  "an unknown record about tablespaces");
	check(!read_record(RM_XACT, 0x80, (uint32_t[]) {1, 2, 4, many, 1663, 5, 100}, 28, 28) && nseen == 0,
		  "more relations than there can be");
	check(!read_record(RM_XACT, 0x80, (uint32_t[]) {1, 2, 2, UINT32_MAX, 1}, 20, 20),
		  "more subtransactions than there can be");
}

int
main(int argc, char **argv)
{
	unit_begin("wal_storage", argc, argv);
	arena = arena_make(4096);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		test_case(&cases[i]);
	test_lists();
	test_refused();
	return unit_finish();
}
