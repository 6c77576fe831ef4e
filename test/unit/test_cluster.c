/* needs: kernel cluster */
/*
 * test_cluster.c
 *	  Files of a cluster with a CRC-32C of their own: verdicts of bytes made here.
 *
 * Every kind is made whole, is ok, and is found by its status with each single
 * bit of it flipped, at each shorter length, and with what a valid file of
 * another place says.
 */
#include "unit.h"

#include "cluster/control.h"
#include "cluster/format.h"
#include "cluster/judge.h"
#include "cluster/map.h"
#include "cluster/past.h"
#include "cluster/slru.h"
#include "cluster/state.h"
#include "kernel/checksum.h"

#define ROOM	(CLUSTER_HEAD + 8)

/* A file in memory. */
typedef struct Bytes
{
	uint8_t		data[ROOM];
	ClusterFile file;
} Bytes;

static void
put16(Bytes *b, size_t at, uint16_t v)
{
	memcpy(b->data + at, &v, sizeof(v));
}

static void
put32(Bytes *b, size_t at, uint32_t v)
{
	memcpy(b->data + at, &v, sizeof(v));
}

static void
put64(Bytes *b, size_t at, uint64_t v)
{
	memcpy(b->data + at, &v, sizeof(v));
}

static uint32_t
crc_of(const Bytes *b, size_t from, size_t to)
{
	return checksum_crc32c(CHECKSUM_CRC_INIT, b->data + from, to - from) ^
		CHECKSUM_CRC_INIT;
}

/* What the readers do: extent, CRC, verdict. */
static ClusterVerdict
judged(Bytes *b)
{
	ClusterVerdict verdict = {0};
	ClusterExtent extent;

	b->file.head = b->data;
	if (cluster_judge_extent(&b->file, &extent, &verdict))
		cluster_judge(&b->file, cluster_load32(b->data + extent.crc_at),
					  crc_of(b, extent.from, extent.to), &verdict);
	return verdict;
}

/* ---- whole files ---- */

static void
make(Bytes *b, ClusterKind kind, int major, size_t size, uint32_t magic)
{
	memset(b, 0, sizeof(*b));
	b->file.kind = kind;
	b->file.major = major;
	b->file.size = size;
	put32(b, 0, magic);
}

static size_t
control_crc_at(int major)
{
	return major == 19 ? 308 : major == 18 ? 292 : 288;
}

static void
close_control(Bytes *b, int major)
{
	size_t		at = control_crc_at(major);

	put32(b, at, crc_of(b, 0, at));
}

static void
make_control(Bytes *b, int major)
{
	static const uint32_t versions[] = {1300, 1300, 1700, 1800, 1905};
	static const uint32_t catalogs[] = {
		202209061, 202307071, 202406281, 202506291, 202610061
	};
	size_t		ids = major == 19 ? 72 : 64;

	make(b, CLUSTER_CONTROL, major, CLUSTER_CONTROL_SIZE, 0);
	put64(b, CLUSTER_CONTROL_SYSTEM, unit_random());
	put32(b, CLUSTER_CONTROL_VERSION, versions[major - 15]);
	put32(b, CLUSTER_CONTROL_CATALOG, catalogs[major - 15]);
	put32(b, CLUSTER_CONTROL_STATE, CLUSTER_STATE_IN_PRODUCTION);
	put64(b, CLUSTER_CONTROL_CHECKPOINT, unit_random());
	put64(b, CLUSTER_CONTROL_REDO, unit_random());
	put64(b, ids, (UINT64_C(7) << 32) + 1000);
	put32(b, ids + 12, 90);
	if (major == 19)
		put64(b, ids + 16, UINT64_C(5000000000));
	else
		put32(b, ids + 16, 5000);
	put32(b, ids + (major == 19 ? 24 : 20), 800);
	put32(b, ids + (major == 19 ? 32 : 28), 70);
	close_control(b, major);
}

static void
close_map(Bytes *b)
{
	size_t		covered = (size_t) cluster_map_covered(b->file.size);

	put32(b, covered, crc_of(b, 0, covered));
}

static void
put_mapping(Bytes *b, int n, uint32_t relation, uint32_t file)
{
	put32(b, CLUSTER_MAP_FIRST + 8 * (size_t) n, relation);
	put32(b, CLUSTER_MAP_FIRST + 8 * (size_t) n + 4, file);
}

static void
make_map(Bytes *b, int major, bool shared)
{
	make(b, CLUSTER_RELATION_MAP, major, major == 15 ? 512 : 524,
		 CLUSTER_MAP_MAGIC);
	b->file.shared = shared;
	put32(b, CLUSTER_MAP_COUNT, 3);
	put_mapping(b, 0, shared ? 1262 : 1259, 16384);
	put_mapping(b, 1, shared ? 1260 : 1249, 1249);
	put_mapping(b, 2, shared ? 2671 : 2662, 16385);
	close_map(b);
}

/* Of a kind that ends with its CRC. */
static void
close_at_end(Bytes *b)
{
	size_t		at = (size_t) b->file.size - 4;

	put32(b, at, crc_of(b, 0, at));
}

static void
make_two_phase(Bytes *b, uint32_t xid)
{
	make(b, CLUSTER_TWO_PHASE, 17, 160, CLUSTER_TWO_PHASE_MAGIC);
	b->file.xid = xid;
	put32(b, CLUSTER_TWO_PHASE_LENGTH, 160);
	put32(b, CLUSTER_TWO_PHASE_XID, xid);
	put32(b, CLUSTER_TWO_PHASE_DATABASE, 5);
	put64(b, CLUSTER_TWO_PHASE_PREPARED, 4711);
	put32(b, CLUSTER_TWO_PHASE_OWNER, 10);
	put16(b, CLUSTER_TWO_PHASE_GIDLEN, 4);
	memcpy(b->data + CLUSTER_TWO_PHASE_HEADER, "gid", 4);
	close_at_end(b);
}

static void
close_slot(Bytes *b)
{
	put32(b, CLUSTER_SLOT_CRC, crc_of(b, CLUSTER_SLOT_VERSION, (size_t) b->file.size));
}

static void
make_slot(Bytes *b, const char *name)
{
	make(b, CLUSTER_SLOT, 18, 200, CLUSTER_SLOT_MAGIC);
	b->file.slot = name;
	put32(b, CLUSTER_SLOT_VERSION, 5);
	put32(b, CLUSTER_SLOT_LENGTH, 184);
	memcpy(b->data + CLUSTER_SLOT_NAME, name, strlen(name));
	close_slot(b);
}

static void
make_snapshot(Bytes *b)
{
	make(b, CLUSTER_SNAPSHOT, 18, 300, CLUSTER_SNAPSHOT_MAGIC);
	put32(b, CLUSTER_SNAPSHOT_VERSION, 6);
	put32(b, CLUSTER_SNAPSHOT_LENGTH, 300);
	unit_fill(b->data + 16, 284);
	put32(b, CLUSTER_SNAPSHOT_CRC, crc_of(b, CLUSTER_SNAPSHOT_VERSION, 300));
}

static void
make_origins(Bytes *b)
{
	make(b, CLUSTER_ORIGINS, 15, 4 + 2 * sizeof(ClusterOrigin) + 4,
		 CLUSTER_ORIGINS_MAGIC);
	put16(b, 4, 1);
	put16(b, 4 + sizeof(ClusterOrigin), 2);
	close_at_end(b);
}

static void
make_summary(Bytes *b)
{
	make(b, CLUSTER_SUMMARY, 17, 400, CLUSTER_SUMMARY_MAGIC);
	unit_fill(b->data + 4, 300);
	close_at_end(b);
}

/* ---- all kinds ---- */

static void
flip_all(const char *name, const Bytes *intact)
{
	Bytes		b;
	ClusterVerdict verdict;
	uint64_t	step = unit.scale == UNIT_SMALL && intact->file.size > 1000 ? 17 : 1;

	for (uint64_t bit = 0; bit < 8 * intact->file.size; bit += step)
	{
		b = *intact;
		b.data[bit / 8] ^= (uint8_t) (1 << bit % 8);
		unit_at((size_t) bit, 0, 0);
		verdict = judged(&b);
		check(verdict.status != CLUSTER_OK, "%s: bit %llu flipped is ok", name,
			  (unsigned long long) bit);
		check(verdict.reason != CLUSTER_REASON_NONE, "%s: bit %llu: no reason",
			  name, (unsigned long long) bit);
	}
}

static void
cut_all(const char *name, const Bytes *intact)
{
	Bytes		b;

	for (uint64_t size = 0; size < intact->file.size; size++)
	{
		b = *intact;
		memset(b.data + size, 0, ROOM - size);
		b.file.size = size;
		check(judged(&b).status != CLUSTER_OK, "%s: cut to %llu bytes is ok",
			  name, (unsigned long long) size);
	}
	for (uint64_t more = 1; more < 8; more++)
	{
		b = *intact;
		b.file.size += more;
		check(judged(&b).status != CLUSTER_OK, "%s: %llu bytes more is ok", name,
			  (unsigned long long) more);
	}
}

static void
try_kind(const char *name, Bytes *intact)
{
	ClusterVerdict verdict = judged(intact);
	char		words[CLUSTER_MESSAGE_SIZE];

	cluster_verdict_words(&verdict, intact->file.kind, true, words);
	check(verdict.status == CLUSTER_OK, "%s: intact is %s: %s", name,
		  cluster_status_name(verdict.status), words);
	check(words[0] == '\0', "%s: intact has words", name);
	check(verdict.has_crc && verdict.stored_crc == verdict.computed_crc,
		  "%s: its CRCs", name);
	flip_all(name, intact);
	cut_all(name, intact);
}

/* ---- valid bytes in the wrong place ---- */

static void
expect(const char *what, Bytes *b, ClusterStatus status, const char *expected)
{
	ClusterVerdict verdict = judged(b);
	char		words[CLUSTER_MESSAGE_SIZE];

	cluster_verdict_words(&verdict, b->file.kind, false, words);
	check(verdict.status == status && strcmp(words, expected) == 0,
		  "%s: %s, \"%s\"", what, cluster_status_name(verdict.status), words);
}

/* A sound file becomes one of the same cluster that begins elsewhere. */
static void
try_restart(int major)
{
	size_t		min_recovery = major == 19 ? 144 : 136;
	ClusterRestart restart = {.checkpoint = 0x5000028,.len = 88,.end = 0x70000A8,.end_timeline = 3};
	ClusterControl before;
	ClusterControl after;
	Bytes		b;

	for (uint32_t i = 0; i < restart.len; i++)
		restart.bytes[i] = (uint8_t) (unit_random() & 0xFF);
	make_control(&b, major);
	for (size_t i = 0; i < 33; i++)
		b.data[min_recovery + i] = (uint8_t) (i + 1);
	close_control(&b, major);
	check(cluster_control_read(b.data, &before), "restart: a control file");
	check(cluster_control_restart(b.data, &restart), "restart: made");
	expect("restart: the file", &b, CLUSTER_OK, "");
	check(cluster_control_read(b.data, &after) && after.system == before.system &&
		  after.catalog == before.catalog && after.block_size == before.block_size,
		  "restart: of the same cluster");
	check(after.state == CLUSTER_STATE_IN_ARCHIVE_RECOVERY &&
		  after.checkpoint == restart.checkpoint &&
		  memcmp(b.data + CLUSTER_CONTROL_REDO, restart.bytes, restart.len) == 0 &&
		  after.min_recovery == restart.end && after.min_recovery_timeline == 3,
		  "restart: its fields");
	for (size_t i = 16; i < 33; i++)
		check(b.data[min_recovery + i] == 0, "restart: no backup");
	b.data[CLUSTER_CONTROL_SYSTEM] ^= 1;
	check(!cluster_control_restart(b.data, &restart), "restart: a damaged file");
	b.data[CLUSTER_CONTROL_SYSTEM] ^= 1;
	restart.len = (uint32_t) (min_recovery - CLUSTER_CONTROL_REDO) + 1;
	check(!cluster_control_restart(b.data, &restart), "restart: too long a checkpoint");
}

static void
test_controls(void)
{
	Bytes		b;
	ClusterControl control;

	for (int major = 15; major <= 19; major++)
	{
		make_control(&b, major);
		try_kind("control", &b);
		try_restart(major);
		b.file.major = 0;
		expect("control, release unknown", &b, CLUSTER_OK, "");
		check(cluster_control_read(b.data, &control) &&
			  control.system == cluster_load64(b.data) &&
			  control.state == CLUSTER_STATE_IN_PRODUCTION, "control: its fields");
		check(control.next_xid == 1000 && control.oldest_xid == 800 &&
			  control.next_multi == 90 && control.oldest_multi == 70 &&
			  control.next_offset == (major == 19 ? UINT64_C(5000000000) : 5000),
			  "control: its identifiers");
	}
	make_control(&b, 17);
	b.file.major = 15;
	expect("control of 17 in 15", &b, CLUSTER_FOREIGN,
		   "it is of pg_control version 1700 and catalog version 202406281, not of PostgreSQL 15");
	make_control(&b, 18);
	b.file.major = 15;
	expect("control of 18 in 15", &b, CLUSTER_FOREIGN,
		   "it is of pg_control version 1800 and catalog version 202506291, not of PostgreSQL 15");
	make_control(&b, 16);
	b.file.major = 15;
	expect("control of 16 in 15", &b, CLUSTER_FOREIGN,
		   "it is of pg_control version 1300 and catalog version 202307071, not of PostgreSQL 15");
	put32(&b, CLUSTER_CONTROL_VERSION, 2000);
	b.file.major = 20;
	expect("control of a later release", &b, CLUSTER_UNSUPPORTED_VERSION,
		   "unsupported version 2000 of the format");
	check(!cluster_control_read(b.data, &control), "control: of no known version");
	put32(&b, CLUSTER_CONTROL_VERSION, UINT32_C(0x14050000));
	expect("control of the other byte order", &b, CLUSTER_UNSUPPORTED_VERSION,
		   "written on a machine of the other byte order");
	b.file.major = 15;
	expect("the same, release known", &b, CLUSTER_UNSUPPORTED_VERSION,
		   "written on a machine of the other byte order");
	make_control(&b, 15);
	b.data[5000] = 1;
	expect("control with a byte after it", &b, CLUSTER_BAD_FORMAT,
		   "byte 5000 is not zero, as all bytes after the data are");
}

/* ---- segments of pg_xact and pg_multixact ---- */

/* "FIRST LAST bytes of the last", by paths */
static void
needed(const ClusterControl *control, ClusterSlru slru, uint64_t first_member,
	   const char *expected)
{
	ClusterSlruNeed need;
	char		first[CLUSTER_SLRU_PATH_SIZE];
	char		last[CLUSTER_SLRU_PATH_SIZE];
	char		found[128] = "none";

	if (cluster_slru_need(slru, control, first_member, &need))
	{
		cluster_slru_path(&need, need.first, first);
		cluster_slru_path(&need, need.last, last);
		snprintf(found, sizeof(found), "%s %s %u", first, last,
				 (unsigned) cluster_slru_bytes(&need, need.last));
		check(cluster_slru_needs(&need, need.first) &&
			  cluster_slru_needs(&need, need.last), "the ends are needed");
		check((cluster_slru_next(&need, need.last) == need.first) ==
			  cluster_slru_needs(&need, cluster_slru_next(&need, need.last)),
			  "what is after the last is not");
	}
	check(strcmp(found, expected) == 0, "%s, expected %s", found, expected);
}

static void
test_slru(void)
{
	ClusterControl c = {0};
	uint64_t	at;
	int			width;

	c.block_size = 8192;
	c.oldest_xid = 700;
	c.next_xid = 700;
	c.oldest_multi = c.next_multi = 1;
	needed(&c, CLUSTER_SLRU_XACT, 0, "none");
	needed(&c, CLUSTER_SLRU_OFFSETS, 0, "none");
	needed(&c, CLUSTER_SLRU_MEMBERS, 0, "none");
	c.next_xid = 32768;
	needed(&c, CLUSTER_SLRU_XACT, 0, "pg_xact/0000 pg_xact/0000 8192");
	c.next_xid = 32769;
	needed(&c, CLUSTER_SLRU_XACT, 0, "pg_xact/0000 pg_xact/0000 16384");
	c.next_xid = 1048576;
	needed(&c, CLUSTER_SLRU_XACT, 0, "pg_xact/0000 pg_xact/0000 262144");
	c.next_xid = 1048577;
	needed(&c, CLUSTER_SLRU_XACT, 0, "pg_xact/0000 pg_xact/0001 8192");
	c.oldest_xid = 4293918720;
	c.next_xid = 5;
	needed(&c, CLUSTER_SLRU_XACT, 0, "pg_xact/0FFF pg_xact/0000 8192");
	c.oldest_xid = 6;			/* frozen since the checkpoint */
	needed(&c, CLUSTER_SLRU_XACT, 0, "none");

	c.oldest_multi = 70000;
	c.next_multi = 200000;
	c.next_offset = 60000;
	needed(&c, CLUSTER_SLRU_OFFSETS, 0, "pg_multixact/offsets/0001 pg_multixact/offsets/0003 16384");
	needed(&c, CLUSTER_SLRU_MEMBERS, 5, "pg_multixact/members/0000 pg_multixact/members/0001 40960");
	c.next_offset = 0;			/* they go round */
	needed(&c, CLUSTER_SLRU_MEMBERS, 4294967290, "pg_multixact/members/14078 pg_multixact/members/14078 49152");
	check(cluster_slru_first_member(&c, &at, &width) == 1 && width == 4 &&
		  at == (70000 - 65536) * 4, "the place of the oldest offset");

	c.wide_offsets = true;
	c.next_offset = UINT64_C(52352) * 4294967296 + 1;
	needed(&c, CLUSTER_SLRU_OFFSETS, 0, "pg_multixact/offsets/0002 pg_multixact/offsets/0006 32768");
	needed(&c, CLUSTER_SLRU_MEMBERS, 1, "pg_multixact/members/000000000000000 pg_multixact/members/000000100000000 8192");
	check(cluster_slru_first_member(&c, &at, &width) == 2 && width == 8 &&
		  at == (70000 - 65536) * 8, "the place of the oldest wide offset");
}

static void
test_maps(void)
{
	Bytes		b;

	for (int major = 15; major <= 16; major++)
		for (int shared = 0; shared <= 1; shared++)
		{
			make_map(&b, major, shared != 0);
			try_kind("map", &b);
			check(cluster_map_count(b.data) == 3 &&
				  cluster_map_entry(b.data, 2).file == 16385, "map: entries");
			b.file.shared = !b.file.shared;
			expect("map of the other kind", &b, CLUSTER_FOREIGN, shared ?
				   "it is the map of the shared catalogs, not of a database" :
				   "it is the map of a database, not of the shared catalogs");
		}
	make_map(&b, 16, false);
	put_mapping(&b, 2, 1249, 7);
	close_map(&b);
	expect("twice", &b, CLUSTER_BAD_FORMAT, "relation 1249 is mapped twice");
	put_mapping(&b, 2, 0, 7);
	close_map(&b);
	expect("zero", &b, CLUSTER_BAD_FORMAT, "mapping 2 is of OID 0 to file 7");
	put32(&b, CLUSTER_MAP_COUNT, 65);
	close_map(&b);
	expect("too many", &b, CLUSTER_BAD_FORMAT,
		   "65 mappings, at least 1 and at most 64 are possible");
	make_map(&b, 16, false);
	put_mapping(&b, 0, 1247, 7);
	close_map(&b);
	expect("without pg_class", &b, CLUSTER_BAD_FORMAT, "relation 1259 is not mapped");
	check(cluster_map_never_empty(1259) && !cluster_map_never_empty(2836),
		  "tables that are never empty");
}

static void
test_states(void)
{
	Bytes		b;
	ClusterPrepared prepared;

	make_two_phase(&b, 726);
	try_kind("two-phase", &b);
	prepared = cluster_state_prepared(b.data);
	check(prepared.xid == 726 && prepared.database == 5 &&
		  prepared.owner == 10 && prepared.prepared_at == 4711, "two-phase: fields");
	b.file.xid = 725;
	expect("an older transaction", &b, CLUSTER_FOREIGN,
		   "it is the state of transaction 726, not of 725");
	b.file.xid = 727;
	expect("another transaction", &b, CLUSTER_FOREIGN,
		   "it is the state of transaction 726, not of 727");
	put16(&b, CLUSTER_TWO_PHASE_GIDLEN, 300);
	close_at_end(&b);
	expect("its identifier", &b, CLUSTER_BAD_FORMAT,
		   "length 300 of the transaction's identifier, expected 1 to 200");
	put32(&b, CLUSTER_TWO_PHASE_LENGTH, 156);
	close_at_end(&b);
	expect("its length", &b, CLUSTER_SIZE_MISMATCH, "160 bytes, its header says 156");

	make_slot(&b, "slot");
	try_kind("slot", &b);
	b.file.slot = "slot2";
	expect("another slot", &b, CLUSTER_FOREIGN,
		   "it is the state of another replication slot");
	put32(&b, 0, UINT32_C(0xA11C0501));
	expect("a slot of the other byte order", &b, CLUSTER_UNSUPPORTED_VERSION,
		   "written on a machine of the other byte order");
	put32(&b, 0, 1);
	expect("its magic", &b, CLUSTER_BAD_FORMAT,
		   "wrong magic number 00000001, expected 01051CA1");

	make_snapshot(&b);
	try_kind("snapshot", &b);
	make_origins(&b);
	try_kind("origins", &b);
	b.file.size -= 4;
	close_at_end(&b);
	expect("part of an origin", &b, CLUSTER_SIZE_MISMATCH,
		   sizeof(ClusterOrigin) == 16 ? "36 bytes are no whole number of entries" :
		   "28 bytes are no whole number of entries");
	make_summary(&b);
	try_kind("summary", &b);
}

/* A remedy is said of the running server's files only. */
static void
test_words(void)
{
	ClusterVerdict verdict = {0};
	char		live[CLUSTER_MESSAGE_SIZE];
	char		other[CLUSTER_MESSAGE_SIZE];

	cluster_verdict_set(&verdict, CLUSTER_CHECKSUM_MISMATCH,
						CLUSTER_REASON_CRC, 0, 0);
	for (int kind = 0; kind < CLUSTER_KINDS; kind++)
	{
		cluster_verdict_words(&verdict, (ClusterKind) kind, true, live);
		cluster_verdict_words(&verdict, (ClusterKind) kind, false, other);
		check(strncmp(live, other, strlen(other)) == 0 &&
			  (strlen(live) > strlen(other)) ==
			  (kind != CLUSTER_SNAPSHOT && kind != CLUSTER_SUMMARY &&
			   kind != CLUSTER_SLRU && kind != CLUSTER_RELATION),
			  "%s: \"%s\"", cluster_kind_name((ClusterKind) kind), live);
		check(strlen(live) < CLUSTER_MESSAGE_SIZE - 1, "cut: \"%s\"", live);
	}
}

/* ---- what WAL says of state files ---- */

static ClusterPast past;

#define XACT	1
#define ORIGIN	19

/* A record with main data, of a session with an origin (0: without). */
static void
feed(uint8_t rmgr, uint8_t info, uint16_t origin, const void *main,
	 uint32_t len)
{
	uint8_t		rec[400] = {0};
	uint32_t	at = WAL_REC_HEADER;

	rec[WAL_REC_RMID] = rmgr;
	rec[WAL_REC_INFO] = info;
	if (origin != 0)
	{
		rec[at++] = WAL_ID_ORIGIN;
		memcpy(rec + at, &origin, 2);
		at += 2;
	}
	rec[at++] = WAL_ID_DATA_SHORT;
	rec[at++] = (uint8_t) len;
	memcpy(rec + at, main, len);
	at += len;
	memcpy(rec + WAL_REC_TOT_LEN, &at, 4);
	cluster_past_record(&past, rec, at);
}

static void
feed_set(uint16_t id, uint64_t lsn, bool force)
{
	uint8_t		data[16] = {0};

	memcpy(data, &lsn, 8);
	memcpy(data + 8, &id, 2);
	data[10] = force;
	feed(ORIGIN, 0x00, 0, data, sizeof(data));
}

static void
feed_drop(uint16_t id)
{
	feed(ORIGIN, 0x10, 0, &id, 2);
}

/* What ends a transaction: xid's, if it was prepared. */
static void
feed_end(uint8_t op, uint32_t xid, uint16_t origin, uint64_t lsn)
{
	uint8_t		data[64] = {0};
	uint32_t	xinfo = (xid != 0 ? 0x10 : 0) | (origin != 0 ? 0x20 : 0);
	uint32_t	at = 12;

	memcpy(data + 8, &xinfo, 4);
	if (xid != 0)
	{
		memcpy(data + at, &xid, 4);
		at += 4;
	}
	if (origin != 0)
	{
		memcpy(data + at, &lsn, 8);
		at += 16;
	}
	feed(XACT, op | 0x80, origin, data, at);
}

static void
feed_prepare(uint32_t xid)
{
	Bytes		b;

	make_two_phase(&b, xid);
	feed(XACT, 0x10, 0, b.data, 100);
}

static void
expect_past(const char *what, Bytes *b, ClusterStatus status,
			const char *expected)
{
	ClusterVerdict verdict = {0};
	char		words[CLUSTER_MESSAGE_SIZE];

	if (b != NULL)
		b->file.head = b->data;
	cluster_past_judge(&past, b == NULL ? NULL : &b->file, &verdict);
	cluster_verdict_words(&verdict, CLUSTER_ORIGINS, false, words);
	check(verdict.status == status && strcmp(words, expected) == 0,
		  "%s: %s, \"%s\"", what, cluster_status_name(verdict.status), words);
}

static void
test_past_origins(void)
{
	Bytes		b;

	make_origins(&b);
	put64(&b, 4 + offsetof(ClusterOrigin, lsn), 0x500);
	put64(&b, 4 + sizeof(ClusterOrigin) + offsetof(ClusterOrigin, lsn), 0x600);
	cluster_past_forget(&past);
	expect_past("nothing known, no file", NULL, CLUSTER_OK, "");
	feed_end(0x00, 0, 1, 0x500);
	feed_end(0x30, 77, 2, 0x600);
	feed_end(0x30, 77, 2, 0x400);	/* not back */
	feed_set(2, 0x300, false);
	feed_end(0x00, 0, 65535, 0x900);	/* none */
	feed_end(0x20, 0, 1, 0x900);	/* failed */
	expect_past("as far as it must be", &b, CLUSTER_OK, "");
	expect_past("no file", NULL, CLUSTER_MISSING,
				"the file is not there, and must have replication origin 1 at 0/500 or later");
	feed_set(2, 0x601, false);
	expect_past("further on", &b, CLUSTER_FOREIGN,
				"it is older than pg_wal: replication origin 2 is at 0/600, expected at 0/601 or later");
	b.file.size = CLUSTER_HEAD + 8;
	expect_past("only the start at hand", &b, CLUSTER_OK, "");
	b.file.size = 4 + 2 * sizeof(ClusterOrigin) + 4;
	feed_set(2, 0x100, true);
	expect_past("back by force", &b, CLUSTER_OK, "");
	feed_set(9, 0, true);
	expect_past("one more", &b, CLUSTER_FOREIGN,
				"it is older than pg_wal: it lacks replication origin 9, expected at 0/0 or later");
	feed_drop(9);
	expect_past("dropped", &b, CLUSTER_OK, "");
	feed_set(1, 0x501, false);
	cluster_past_forget(&past);
	expect_past("after a gap", &b, CLUSTER_OK, "");
}

static void
test_past_prepared(void)
{
	cluster_past_forget(&past);
	for (uint32_t xid = 100; xid < 110; xid++)
		feed_prepare(xid);
	feed_end(0x30, 103, 0, 0);
	feed_end(0x40, 101, 0, 0);
	feed_end(0x00, 104, 0, 0);
	check(past.nprepared == 8 && past.prepared[0] == 100 &&
		  past.prepared[1] == 102 && past.prepared[2] == 104,
		  "%d are prepared", past.nprepared);
	for (uint32_t xid = 1000; xid < 1000 + 2 * CLUSTER_PAST_PREPARED; xid++)
		feed_prepare(xid);
	check(past.nprepared == CLUSTER_PAST_PREPARED, "no more than there is room");
	cluster_past_forget(&past);
	check(past.nprepared == 0, "none after a gap");
}

int
main(int argc, char **argv)
{
	unit_begin("test_cluster", argc, argv);
	checksum_init();
	test_controls();
	test_maps();
	test_slru();
	test_states();
	test_words();
	test_past_origins();
	test_past_prepared();
	return unit_finish();
}
