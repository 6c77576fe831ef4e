/* needs: kernel wal */
/*
 * test_wal_blocks.c
 *	  The decoder of block references against records that are made here.
 *
 * Random records of every shape come back as they were made.  A table of
 * malformed records is refused, each for its own reason.  Cut anywhere, or with
 * any byte changed, a record at the edge of a guard page is decoded or refused
 * and never read beyond.  Images give the page that they were made of.
 */
#include "unit.h"
#include "kernel/checksum.h"
#include "wal/block_image.h"

#define BLOCK		8192
#define RECORD_MAX	(128 * 1024)

/* A record being made. */
static uint8_t rec[RECORD_MAX];
static uint32_t headers;		/* bytes of headers so far */
static uint8_t payload[RECORD_MAX];
static uint32_t payloads;

static WalBlocks made;
static WalBlocks found;

static uint32_t
random_below(uint32_t n)
{
	return (uint32_t) (unit_random() % n);
}

static void
put(const void *data, uint32_t n)
{
	memcpy(rec + headers, data, n);
	headers += n;
}

static void
put8(uint8_t value)
{
	put(&value, 1);
}

static void
put16(uint16_t value)
{
	put(&value, 2);
}

static void
put32(uint32_t value)
{
	put(&value, 4);
}

static void
put_payload(uint32_t n)
{
	unit_fill(payload + payloads, n);
	payloads += n;
}

static void
begin(void)
{
	headers = WAL_REC_HEADER;
	payloads = 0;
	memset(&made, 0, sizeof(made));
	unit_fill(rec, WAL_REC_HEADER);
}

static uint32_t
end(void)
{
	uint32_t	len = headers + payloads;

	memcpy(rec + headers, payload, payloads);
	memcpy(rec + WAL_REC_TOT_LEN, &len, 4);
	return len;
}

static WalBlocksReason
decode(uint32_t len)
{
	return wal_blocks_decode(&found, rec, len, BLOCK);
}

/* ---- records of every shape ---- */

static uint8_t
image_info(const WalImage *image, bool apply)
{
	static const uint8_t bits[] = {0, WAL_IMAGE_PGLZ, WAL_IMAGE_LZ4, WAL_IMAGE_ZSTD};

	return (uint8_t) (bits[image->compression] | (apply ? WAL_IMAGE_APPLY : 0) |
					  (image->hole_length > 0 ? WAL_IMAGE_HAS_HOLE : 0));
}

static void
make_image(WalBlockRef *ref)
{
	WalImage   *image = &ref->image;
	bool		hole = random_below(2) == 0;

	image->compression = (WalImageMethod) random_below(4);
	image->hole_length = hole ? (uint16_t) (1 + random_below(8000)) : 0;
	image->hole_offset = hole ? (uint16_t) (1 + random_below(BLOCK - image->hole_length)) : 0;
	image->length = image->compression == WAL_METHOD_NONE ?
		(uint16_t) (BLOCK - image->hole_length) : (uint16_t) (1 + random_below(BLOCK - 1));
	ref->apply = random_below(3) > 0;
	put16(image->length);
	put16(image->hole_offset);
	put8(image_info(image, ref->apply));
	if (hole && image->compression != WAL_METHOD_NONE)
		put16(image->hole_length);
	put_payload(image->length);
}

static void
make_tag(WalBlockTag *tag, const WalBlockTag *before)
{
	if (before != NULL)
	{
		tag->tablespace = before->tablespace;
		tag->database = before->database;
		tag->relation = before->relation;
	}
	else
	{
		put32(tag->tablespace = (uint32_t) unit_random());
		put32(tag->database = (uint32_t) unit_random());
		put32(tag->relation = (uint32_t) unit_random());
	}
	put32(tag->block = (uint32_t) unit_random());
}

static void
make_block(uint8_t id)
{
	WalBlockRef *ref = &made.refs[made.count];
	bool		same = made.count > 0 && random_below(2) == 0;

	ref->id = id;
	ref->tag.fork = random_below(4);
	ref->has_image = payloads < 30000 && random_below(3) == 0;
	ref->will_init = random_below(4) == 0;
	ref->has_data = random_below(2) == 0;
	ref->data_length = ref->has_data ? (uint16_t) (1 + random_below(300)) : 0;
	put8(id);
	put8((uint8_t) (ref->tag.fork | (ref->has_image ? WAL_BLOCK_HAS_IMAGE : 0) |
					(ref->has_data ? WAL_BLOCK_HAS_DATA : 0) |
					(ref->will_init ? WAL_BLOCK_WILL_INIT : 0) |
					(same ? WAL_BLOCK_SAME_REL : 0)));
	put16(ref->data_length);
	if (ref->has_image)
		make_image(ref);
	make_tag(&ref->tag, same ? &made.refs[made.count - 1].tag : NULL);
	put_payload(ref->data_length);
	made.count++;
}

static void
make_origin(void)
{
	made.has_origin = true;
	put8(WAL_ID_ORIGIN);
	put16(made.origin = (uint16_t) unit_random());
}

static void
make_top_xid(void)
{
	made.has_top_xid = true;
	put8(WAL_ID_TOP_XID);
	put32(made.top_xid = (uint32_t) unit_random());
}

static void
make_main(void)
{
	bool		is_long = random_below(4) == 0;

	made.main_length = random_below(is_long ? 3000 : 256);
	put8(is_long ? WAL_ID_DATA_LONG : WAL_ID_DATA_SHORT);
	if (is_long)
		put32(made.main_length);
	else
		put8((uint8_t) made.main_length);
	put_payload(made.main_length);
}

/*
 * As the server writes them the blocks lead; its reader takes the other headers
 * anywhere before the main data, so they stand anywhere here.  Without main
 * data the payload must not be taken for headers.
 */
static uint32_t
make_record(void)
{
	uint32_t	wanted = random_below(8) == 0 ? WAL_BLOCKS_MAX : random_below(5);
	uint32_t	id = wanted == WAL_BLOCKS_MAX ? 0 : random_below(4);

	begin();
	if (random_below(4) == 0)
		make_origin();
	for (uint32_t i = 0; i < wanted && id <= WAL_BLOCK_MAX_ID; i++)
	{
		make_block((uint8_t) id);
		id += wanted == WAL_BLOCKS_MAX ? 1 : 1 + random_below(3);
		if (random_below(6) == 0)
			make_origin();
		if (random_below(6) == 0)
			make_top_xid();
	}
	if (payloads == 0 || random_below(3) > 0)
		make_main();
	return end();
}

static bool
same_tag(const WalBlockRef *a, const WalBlockRef *b)
{
	return a->id == b->id && a->tag.tablespace == b->tag.tablespace &&
		a->tag.database == b->tag.database &&
		a->tag.relation == b->tag.relation && a->tag.fork == b->tag.fork &&
		a->tag.block == b->tag.block && wal_block_tag_equal(&a->tag, &b->tag);
}

static bool
same_image(const WalBlockRef *a, const WalBlockRef *b)
{
	return !a->has_image ||
		(a->apply == b->apply && a->image.length == b->image.length &&
		 a->image.hole_offset == b->image.hole_offset &&
		 a->image.hole_length == b->image.hole_length &&
		 a->image.compression == b->image.compression);
}

/* Do the places found hold the payload, piece by piece? */
static bool
same_payload(void)
{
	const uint8_t *p = rec + headers;

	for (int i = 0; i < made.count; i++)
	{
		const WalBlockRef *ref = &found.refs[i];

		if (ref->has_image && ref->image.data != p)
			return false;
		p += ref->has_image ? ref->image.length : 0;
		if (ref->has_data && ref->data != p)
			return false;
		p += ref->data_length;
	}
	return found.main == p && found.main_present == made.main_length &&
		p + made.main_length == rec + headers + payloads;
}

static bool
same_record(void)
{
	if (made.count != found.count || made.main_length != found.main_length ||
		made.has_origin != found.has_origin ||
		made.has_top_xid != found.has_top_xid ||
		(made.has_origin && made.origin != found.origin) ||
		(made.has_top_xid && made.top_xid != found.top_xid))
		return false;
	for (int i = 0; i < made.count; i++)
	{
		const WalBlockRef *a = &made.refs[i];
		const WalBlockRef *b = &found.refs[i];

		if (!same_tag(a, b) || !same_image(a, b) ||
			a->has_image != b->has_image || a->will_init != b->will_init ||
			a->has_data != b->has_data || a->data_length != b->data_length)
			return false;
	}
	return same_payload();
}

/* What is seen without decoding is what decoding gives. */
static bool
single_is_same(const uint8_t *data, uint32_t n, WalBlocksReason reason,
			   uint32_t *seen)
{
	const WalBlockRef *ref = &found.refs[0];
	WalBlockTag tag;
	uint8_t		id;

	if (!wal_blocks_single(data, n, &tag, &id))
		return reason != WAL_BLOCKS_OK || found.count != 1 ||
			ref->has_image || found.has_origin || found.has_top_xid ||
			found.main_length == 0 || found.main_length > UINT8_MAX ||
			data[WAL_BLOCK_SECOND] != WAL_ID_DATA_SHORT ||
			found.main_present < found.main_length;
	(*seen)++;
	return reason == WAL_BLOCKS_OK && found.count == 1 && ref->id == id &&
		!ref->has_image && wal_block_tag_equal(&ref->tag, &tag) &&
		found.main_present == found.main_length;
}

static uint32_t singles;

static void
test_random(void)
{
	uint32_t	cases = unit.scale == UNIT_SMALL ? 2000 : 50000;

	for (uint32_t i = 0; i < cases; i++)
	{
		uint32_t	len = make_record();
		bool		restores = false;

		unit_at(i, len, (size_t) made.count);
		for (int b = 0; b < made.count; b++)
			restores |= wal_block_restores(&made.refs[b]) || made.refs[b].has_image;
		check(decode(len) == WAL_BLOCKS_OK && same_record(),
			  "case %u: %d blocks, %u bytes", i, made.count, len);
		check(!restores || !wal_blocks_restore_nothing(rec, len),
			  "case %u: passed over, but it restores a block", i);
		check(single_is_same(rec, len, WAL_BLOCKS_OK, &singles),
			  "case %u: a single block that is another", i);
	}
	check(singles > cases / 1000, "%u records with a single block", singles);
}

/* ---- cut and changed ---- */

/* The record cut to n bytes, at the edge of a page that nobody may touch. */
static WalBlocksReason
decode_at_edge(const Arena *arena, const uint8_t *data, uint32_t n)
{
	uint8_t    *place = arena->end - n;
	WalBlocksReason reason;
	volatile uint8_t sum = 0;

	memcpy(place, data, n);
	reason = wal_blocks_decode(&found, place, n, BLOCK);
	(void) wal_blocks_restore_nothing(place, n);
	check(single_is_same(place, n, reason, &singles), "a single block of %u bytes", n);
	if (reason != WAL_BLOCKS_OK)
		return reason;
	for (int i = 0; i < found.count; i++)
		if (found.refs[i].has_image)
			for (uint32_t at = 0; at < found.refs[i].image.length; at++)
				sum = (uint8_t) (sum + found.refs[i].image.data[at]);
	for (uint32_t at = 0; at < found.main_present; at++)
		sum = (uint8_t) (sum + found.main[at]);
	return reason;
}

/* Cut within its main data a record still gives its blocks; elsewhere none. */
static void
test_cut(const Arena *arena)
{
	uint32_t	len = make_record();
	uint32_t	main_at = len - made.main_length;
	int			count = made.count;

	for (uint32_t n = 0; n <= len; n += 1 + len / 2000)
	{
		WalBlocksReason reason = decode_at_edge(arena, rec, n);

		unit_at(n, len, (size_t) count);
		check(n < main_at ? reason != WAL_BLOCKS_OK :
			  reason == WAL_BLOCKS_OK && found.count == count &&
			  found.main_present == n - main_at,
			  "a record of %u bytes cut to %u: %s", len, n,
			  wal_blocks_words(reason));
	}
}

static void
test_changed(const Arena *arena)
{
	uint32_t	len = make_record();

	for (uint32_t at = 0; at < headers; at++)
	{
		uint8_t		before = rec[at];

		unit_at(at, len, 0);
		rec[at] = (uint8_t) unit_random();
		(void) decode_at_edge(arena, rec, len);
		check(found.count <= WAL_BLOCKS_MAX, "%d blocks", found.count);
		rec[at] = before;
	}
}

/* ---- refused ---- */

/* A block of relation 1/2/3, and the main data that the case ends with. */
static void
put_block(uint8_t id, uint8_t flags, uint16_t data)
{
	put8(id);
	put8(flags);
	put16(data);
}

static void
put_tag(void)
{
	put32(1);
	put32(2);
	put32(3);
	put32(4);
}

static void
put_image(uint16_t length, uint16_t hole_offset, uint8_t info)
{
	put_block(0, WAL_BLOCK_HAS_IMAGE, 0);
	put16(length);
	put16(hole_offset);
	put8(info);
}

static void
refused(WalBlocksReason reason, const char *what)
{
	uint32_t	len = end();
	WalBlocksReason got = decode(len);

	check(got == reason, "%s: \"%s\", expected \"%s\"", what,
		  wal_blocks_words(got), wal_blocks_words(reason));
}

static void
refused_image(WalBlocksReason reason, uint16_t length, uint16_t hole_offset,
			  uint8_t info, int hole_length, const char *what)
{
	begin();
	put_image(length, hole_offset, info);
	if (hole_length >= 0)
		put16((uint16_t) hole_length);
	put_tag();
	put_payload(length);
	refused(reason, what);
}

static void
test_refused_images(void)
{
	const uint8_t hole = WAL_IMAGE_HAS_HOLE;
	const uint8_t lz4 = WAL_IMAGE_LZ4;

	refused_image(WAL_BLOCKS_OK, BLOCK, 0, 0, -1, "a whole page");
	refused_image(WAL_BLOCKS_OK, 8000, 100, hole, -1, "a page with a hole");
	refused_image(WAL_BLOCKS_OK, 10, 100, hole | lz4, BLOCK - 100, "a hole up to the end");
	refused_image(WAL_BLOCKS_IMAGE_FLAGS, BLOCK, 0, 0x20, -1, "an unknown bit");
	refused_image(WAL_BLOCKS_IMAGE_FLAGS, 10, 0, lz4 | WAL_IMAGE_ZSTD, -1, "two compressions");
	refused_image(WAL_BLOCKS_HOLE, 8000, 0, hole, -1, "a hole at 0");
	refused_image(WAL_BLOCKS_HOLE, 8000, 8001, hole, -1, "a hole beyond the page");
	refused_image(WAL_BLOCKS_HOLE, BLOCK, 1, hole, -1, "a hole of 0");
	refused_image(WAL_BLOCKS_HOLE, 10, 100, hole | lz4, 0, "a hole of 0, compressed");
	refused_image(WAL_BLOCKS_HOLE, 10, 100, hole | lz4, BLOCK - 99, "a hole beyond the page, compressed");
	refused_image(WAL_BLOCKS_HOLE, 10, 65535, hole | lz4, 65535, "a hole that overflows");
	refused_image(WAL_BLOCKS_HOLE, BLOCK, 1, 0, -1, "an offset without hole");
	refused_image(WAL_BLOCKS_HOLE, 10, 1, lz4, -1, "an offset without hole, compressed");
	refused_image(WAL_BLOCKS_IMAGE_LENGTH, BLOCK - 1, 0, 0, -1, "a page too short");
	refused_image(WAL_BLOCKS_IMAGE_LENGTH, BLOCK + 1, 0, 0, -1, "a page too long");
	refused_image(WAL_BLOCKS_IMAGE_LENGTH, 65535, 1, hole, -1, "a hole of negative length");
	refused_image(WAL_BLOCKS_IMAGE_LENGTH, BLOCK, 0, lz4, -1, "compressed to as much");
	refused_image(WAL_BLOCKS_IMAGE_LENGTH, 0, 0, lz4, -1, "compressed to nothing");
}

static void
test_refused_headers(void)
{
	begin();
	put8(33);
	refused(WAL_BLOCKS_UNKNOWN_ID, "an id of nothing");

	begin();
	put8(251);
	put_payload(50);
	refused(WAL_BLOCKS_UNKNOWN_ID, "another id of nothing");

	begin();
	put_block(0, 4, 0);
	put_tag();
	refused(WAL_BLOCKS_FORK, "fork 4");

	begin();
	put_block(0, WAL_BLOCK_HAS_DATA, 0);
	put_tag();
	refused(WAL_BLOCKS_DATA_FLAG, "data of length 0");

	begin();
	put_block(0, 0, 1);
	put_tag();
	put_payload(1);
	refused(WAL_BLOCKS_DATA_FLAG, "data without the flag");

	begin();
	put_block(0, WAL_BLOCK_SAME_REL, 0);
	put32(1);
	refused(WAL_BLOCKS_NO_RELATION, "no relation before");

	begin();
	make_origin();
	put_block(0, WAL_BLOCK_SAME_REL, 0);
	put32(1);
	refused(WAL_BLOCKS_NO_RELATION, "an origin before is no relation");
}

static void
test_refused_order(void)
{
	for (uint8_t id = 0; id < 2; id++)
	{
		begin();
		put_block(1, 0, 0);
		put_tag();
		put_block(id, 0, 0);
		put_tag();
		refused(WAL_BLOCKS_ID_ORDER, "ids that do not ascend");
	}
	begin();
	put_block(0, WAL_BLOCK_HAS_DATA, 500);
	put_tag();
	put8(WAL_ID_DATA_SHORT);
	put8(9);
	put_payload(508);
	refused(WAL_BLOCKS_DATA_LENGTH, "one byte of payload missing");

	begin();
	put8(WAL_ID_DATA_SHORT);
	put8(9);
	put_payload(10);
	refused(WAL_BLOCKS_DATA_LENGTH, "one byte of payload too many");

	begin();
	put8(WAL_ID_DATA_LONG);
	put32(0xFFFFFFFF);
	put_payload(3);
	refused(WAL_BLOCKS_DATA_LENGTH, "main data of 4 GB");
}

static void
test_lengths(void)
{
	uint32_t	len;

	begin();
	make_main();
	len = end();
	check(decode(WAL_REC_HEADER - 1) == WAL_BLOCKS_HEADER, "shorter than a header");
	check(decode(0) == WAL_BLOCKS_HEADER, "nothing");
	check(decode(len + 1) == WAL_BLOCKS_LENGTH, "more bytes than the record");
	begin();
	len = end();
	check(decode(len) == WAL_BLOCKS_OK && found.count == 0 &&
		  found.main_length == 0, "a header alone, as of XLOG_SWITCH");
	for (int reason = 0; reason <= WAL_BLOCKS_NREASONS; reason++)
		check((wal_blocks_words((WalBlocksReason) reason)[0] == '\0') ==
			  (reason == 0 || reason == WAL_BLOCKS_NREASONS), "words of reason %d", reason);
}

/* ---- images ---- */

/* A compression of the test's own: every byte inverted, one byte before them. */
static bool
decompress(const uint8_t *data, uint32_t len, uint8_t *out, uint32_t raw)
{
	if (len != raw + 1 || data[0] != 42)
		return false;
	for (uint32_t i = 0; i < raw; i++)
		out[i] = (uint8_t) ~data[i + 1];
	return true;
}

/* An image of the page without its hole, which is zero. */
static void
shrink(WalImage *image, uint8_t *stored, const uint8_t *page)
{
	uint32_t	hole_end = (uint32_t) image->hole_offset + image->hole_length;
	uint32_t	raw = BLOCK - image->hole_length;
	bool		inverted = image->compression != WAL_METHOD_NONE;

	memcpy(stored + inverted, page, image->hole_offset);
	memcpy(stored + inverted + image->hole_offset, page + hole_end, BLOCK - hole_end);
	for (uint32_t i = 1; inverted && i <= raw; i++)
		stored[i] = (uint8_t) ~stored[i];
	if (inverted)
		stored[0] = 42;
	image->data = stored;
	image->length = (uint16_t) (raw + inverted);
}

static void
test_image(WalImageMethod compression, uint16_t offset, uint16_t length)
{
	static const WalDecompressors mine = {{NULL, NULL, decompress, NULL}};
	static uint8_t page[BLOCK];
	static uint8_t stored[BLOCK + 1];
	Arena		arena = arena_make(BLOCK);
	WalImage	image = {NULL, 0, offset, length, compression};
	WalImageResult result;

	unit_at(offset, length, (size_t) compression);
	unit_fill(page, BLOCK);
	memset(page + offset, 0, length);
	shrink(&image, stored, page);
	memset(arena.start, 0x55, BLOCK);
	result = wal_block_image_restore(&image, BLOCK, &mine, arena.start);
	if (compression == WAL_METHOD_PGLZ)
		check(result == WAL_IMAGE_UNAVAILABLE, "a compression that is not there");
	else
		check(result == WAL_IMAGE_RESTORED && memcmp(page, arena.start, BLOCK) == 0,
			  "%s, hole of %u at %u", wal_image_method_name(compression), length, offset);
	if (compression == WAL_METHOD_LZ4)
	{
		stored[0] = 41;
		check(wal_block_image_restore(&image, BLOCK, &mine, arena.start) == WAL_IMAGE_DAMAGED,
			  "an image that does not decompress");
	}
	munmap(arena.start, BLOCK);
}

static void
test_images(void)
{
	for (int compression = 0; compression <= WAL_METHOD_LZ4; compression++)
	{
		test_image((WalImageMethod) compression, 0, 0);
		test_image((WalImageMethod) compression, 1, 1);
		test_image((WalImageMethod) compression, 24, BLOCK - 24);
		test_image((WalImageMethod) compression, BLOCK - 1, 1);
		test_image((WalImageMethod) compression, 100, 300);
		test_image((WalImageMethod) compression, 4000, 4000);
	}
}

int
main(int argc, char **argv)
{
	Arena		arena;

	unit_begin("wal_blocks", argc, argv);
	arena = arena_make(RECORD_MAX);
	test_random();
	for (int i = 0; i < (unit.scale == UNIT_SMALL ? 20 : 300); i++)
	{
		test_cut(&arena);
		test_changed(&arena);
	}
	test_refused_images();
	test_refused_headers();
	test_refused_order();
	test_lengths();
	test_images();
	return unit_finish();
}
