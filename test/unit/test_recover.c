/* needs: kernel wal recover */
/*
 * test_recover.c
 *	  WAL is filtered for some blocks.
 *
 * Each case is a list of records that are made here, and what becomes of each:
 * k it is kept, c it is changed, n it becomes an XLOG_NOOP.  What takes a
 * record's place must have its length and a right CRC, and may not be changed
 * by a second pass.  Random records compare the filter with a simple model of
 * it.
 */
#include "unit.h"
#include "host_memory.h"
#include "record_maker.h"

#include "host/host.h"
#include "recover/filter.h"
#include "wal/record.h"

#define BLOCK_SIZE	8192

static const WalBlockTag wanted = {1663, 5, 100, WAL_FORK_MAIN, 7};
static const WalBlockTag other = {1663, 5, 100, WAL_FORK_MAIN, 8};
static const WalBlockTag third = {1663, 5, 200, WAL_FORK_MAIN, 9};

/* ---- records ---- */

static RecoverFilter filter;
static WalLsn now;
static uint8_t before[sizeof(made)];
static const char *refused;

/* A reference to a block.  An image has a hole of all but 100 bytes. */
static void
put_block(uint8_t id, const WalBlockTag *tag, uint8_t flags, uint8_t image)
{
	put8(id);
	put8((uint8_t) (tag->fork | flags));
	put16(0);
	if (flags & WAL_BLOCK_HAS_IMAGE)
	{
		put16(100);
		put16(100);
		put8(image | WAL_IMAGE_HAS_HOLE);
	}
	put_locator(tag);
	put32(tag->block);
}

/* The data of images, and no main data, or short ones. */
static void
put_rest(int images)
{
	if (images == 0)
	{
		put_main(0);
		return;
	}
	memset(made + made_bytes, 0xAB, (size_t) images * 100);
	made_bytes += (uint32_t) images * 100;
}

static void
seal_record(void)
{
	uint32_t	crc;

	put_end();
	crc = wal_record_crc(checksum_crc32c(CHECKSUM_CRC_INIT, made + WAL_REC_HEADER,
										 made_bytes - WAL_REC_HEADER), made);
	memcpy(made + WAL_REC_CRC, &crc, 4);
}

/* Does the record that takes the place of the other one fit there? */
static void
check_place(const RecoverRewrite *rewrite)
{
	memcpy(before, made, made_bytes);
	memcpy(made, rewrite->bytes, rewrite->count);
	memset(made + rewrite->count, 0, made_bytes - rewrite->count);
	check(memcmp(made, before, WAL_REC_INFO) == 0, "length, transaction and prev-link stay");
	check(wal_record_crc_fits(made, made_bytes), "the CRC of what takes a record's place is right");
}

/* Returns what became of the record that was made. */
static char
pass(RecoverFilter *ctx)
{
	static const WalName segment = {.timeline = 1};
	WalBlockRecord record = {now, now + 50, made, made_bytes, made_bytes, &segment};
	RecoverRewrite rewrite;
	uint64_t	changed = ctx->changed;

	refused = recover_filter_record(ctx, &record, &rewrite);
	if (refused != NULL)
		return '!';
	if (rewrite.bytes == NULL)
		return 'k';
	check_place(&rewrite);
	return ctx->changed > changed ? 'c' : 'n';
}

static char
hand_over(void)
{
	char		became;

	seal_record();
	became = pass(&filter);
	now += 100;
	return became;
}

static char
words(uint8_t rmgr, uint8_t info, uint32_t n, const uint32_t *values)
{
	make_record(rmgr, info);
	put_main((uint8_t) (n * 4));
	for (uint32_t i = 0; i < n; i++)
		put32(values[i]);
	return hand_over();
}

#define WORDS(rmgr, info, ...) \
	words(rmgr, info, sizeof((uint32_t[]) {__VA_ARGS__}) / 4, (uint32_t[]) {__VA_ARGS__})

static char
one_block(uint8_t rmgr, const WalBlockTag *tag, uint8_t flags, uint8_t image)
{
	make_record(rmgr, 0);
	put_block(0, tag, flags, image);
	put_rest((flags & WAL_BLOCK_HAS_IMAGE) != 0);
	return hand_over();
}

/* The wanted block is changed, and another one likewise, or as flags say. */
static char
two_blocks(uint8_t rmgr, uint8_t info, const WalBlockTag *tag, uint8_t flags, uint8_t image)
{
	make_record(rmgr, info);
	put_block(0, &wanted, 0, 0);
	put_block(1, tag, flags, image);
	put_rest((flags & WAL_BLOCK_HAS_IMAGE) != 0);
	return hand_over();
}

static void
begin(void)
{
	recover_filter_end(&filter);
	memset(&filter, 0, sizeof(filter));
	filter.block_size = BLOCK_SIZE;
	recover_filter_want(&filter, &wanted);
	now = 1000;
}

static const RecoverBlock *
block(const WalBlockTag *tag)
{
	return recover_set_find(&filter.blocks, tag);
}

#define expect(what, became) \
	do { \
		char got = (became); \
		check(got == *(what), "line %d: %c instead of %s", __LINE__, got, what); \
	} while (0)

/* ---- what is kept ---- */

static void
test_blocks(void)
{
	begin();
	expect("n", one_block(10, &other, 0, 0));
	check(wal_load32(made + WAL_REC_TOT_LEN) == made_bytes && made[WAL_REC_RMID] == WAL_RMGR_XLOG &&
		  made[WAL_REC_INFO] == 0x20, "it is an XLOG_NOOP");
	expect("n", one_block(10, &other, WAL_BLOCK_HAS_IMAGE, WAL_IMAGE_APPLY));
	expect("k", one_block(10, &wanted, 0, 0));
	check(!block(&wanted)->restored && block(&wanted)->last == now - 50, "a change restores nothing");
	expect("k", one_block(10, &wanted, WAL_BLOCK_HAS_IMAGE, 0));
	check(!block(&wanted)->restored, "nor does an image that is only compared");
	expect("k", one_block(10, &wanted, WAL_BLOCK_HAS_IMAGE, WAL_IMAGE_APPLY));
	check(block(&wanted)->restored && block(&wanted)->last == now - 50, "an image does");
	expect("k", two_blocks(10, 0, &other, 0, 0));
	check(block(&other) == NULL, "a block that a kept record only changes is not tracked");
	expect("n", one_block(10, &other, 0, 0));
	expect("k", two_blocks(11, 0, &other, WAL_BLOCK_WILL_INIT, 0));
	check(block(&other) != NULL && block(&other)->restored && !block(&other)->wanted,
		  "one that it makes is");
	expect("k", one_block(10, &other, 0, 0));
	check(filter.forks.count == 1 && filter.forks.items[0].highest == 8, "the fork's highest block");
}

static void
test_images(void)
{
	static const uint8_t skipping[] = {9, 10, 11};
	static const uint8_t insisting[] = {0, 12, 13, 14, 16, 17, 20};

	for (size_t i = 0; i < sizeof(skipping); i++)
	{
		begin();
		expect("c", two_blocks(skipping[i], 0, &third, WAL_BLOCK_HAS_IMAGE, WAL_IMAGE_APPLY));
		check(block(&third) == NULL, "rmgr %d: the image is passed over", skipping[i]);
		expect("n", one_block(10, &third, 0, 0));
	}
	for (size_t i = 0; i < sizeof(insisting); i++)
	{
		begin();
		expect("k", two_blocks(insisting[i], 0xB0, &third, WAL_BLOCK_HAS_IMAGE, WAL_IMAGE_APPLY));
		check(block(&third) != NULL, "rmgr %d: the block joins", insisting[i]);
	}
	begin();
	expect("c", two_blocks(10, 0x02, &other, 0, 0));
	check((made[WAL_REC_INFO] & 0x02) == 0, "pages are not compared with images");
}

static void
test_server(void)
{
	begin();
	expect("k", WORDS(0, 0x10, 1, 2, 3));	/* a checkpoint */
	expect("k", WORDS(0, 0x50, 1, 2));	/* the end of a backup */
	expect("k", WORDS(3, 0, 1));
	expect("k", WORDS(6, 0, 1));
	expect("k", WORDS(18, 0, 1));
	expect("n", WORDS(1, 0, 1, 2));	/* COMMIT */
	expect("n", WORDS(8, 0x10, 1, 2));
	make_record(0, 0xB0);
	put_block(0, &third, WAL_BLOCK_HAS_IMAGE, WAL_IMAGE_APPLY);
	put_rest(1);
	expect("n", hand_over());
	make_record(0, 0xA0);
	put_block(0, &wanted, WAL_BLOCK_HAS_IMAGE, WAL_IMAGE_APPLY);
	put_rest(1);
	expect("k", hand_over());
}

/* Where tables are recovered, rows become visible by the ends of transactions. */
static void
test_tables(void)
{
	begin();
	filter.database = 5;
	expect("k", WORDS(1, 0, 1, 2)); /* COMMIT */
	expect("k", WORDS(1, 0x20, 1, 2));	/* ABORT */
	expect("k", WORDS(7, 0, 5, 512));	/* the database's map */
	expect("k", WORDS(7, 0, 0, 512));	/* that of all databases */
	expect("n", WORDS(7, 0, 6, 512));
	filter.database = 0;
}

static void
test_custom(void)
{
	begin();
	expect("n", one_block(200, &other, 0, 0));
	expect("!", one_block(200, &wanted, 0, 0));
	check(refused != NULL && strstr(refused, "custom resource manager") != NULL, "it says why");
	make_record(10, 0);
	put8(100);
	expect("!", hand_over());
}

/* ---- storage ---- */

static void
test_storage(void)
{
	begin();
	one_block(10, &wanted, WAL_BLOCK_WILL_INIT, 0);
	expect("n", WORDS(2, 0x20, 0, 1663, 5, 999, 7));	/* of another relation */
	expect("k", WORDS(2, 0x20, 8, 1663, 5, 100, 7));	/* after the block */
	check(block(&wanted)->restored, "it is still there");
	expect("k", WORDS(2, 0x20, 7, 1663, 5, 100, 7));
	check(!block(&wanted)->restored && block(&wanted)->last == 0 &&
		  block(&wanted)->ending == RECOVER_CUT_OFF && block(&wanted)->ended == now - 50, "it was cut off");
	one_block(10, &wanted, WAL_BLOCK_WILL_INIT, 0);
	expect("k", WORDS(2, 0x20, 0, 1663, 5, 100, 2));	/* the map alone */
	check(block(&wanted)->restored, "it is made again");
	expect("k", WORDS(2, 0x10, 1663, 5, 100, 0));
	check(!block(&wanted)->restored && block(&wanted)->ending == RECOVER_MADE_ANEW, "its storage was made anew");
	one_block(10, &wanted, WAL_BLOCK_WILL_INIT, 0);
	expect("n", WORDS(1, 0x80, 0, 0, 4, 1, 1663, 5, 100));	/* COMMIT that drops it */
	check(!block(&wanted)->restored && block(&wanted)->ending == RECOVER_DROPPED, "it was dropped");
	one_block(10, &wanted, WAL_BLOCK_WILL_INIT, 0);
	expect("n", WORDS(4, 0, 5, 1663, 1, 1663));
	check(!block(&wanted)->restored && block(&wanted)->ending == RECOVER_COPIED, "its database was copied");
	expect("!", WORDS(2, 0x20, 7));
}

/* ---- lengths ---- */

static void
test_lengths(void)
{
	begin();
	for (uint32_t n = 0; n < 600; n++)
	{
		make_record(21, 0);
		if (n > 255)
		{
			put8(WAL_ID_DATA_LONG);
			put32(n);
		}
		else if (n > 0)
			put_main((uint8_t) n);
		memset(made + made_bytes, 0x5A, n);
		made_bytes += n;
		expect("n", hand_over());
	}
	check(filter.cleared == 600 && filter.kept == 0, "all are counted");
}

/* ---- by chance ---- */

/* A second pass over what came out keeps all, and says the same of blocks. */
static void
test_random(void)
{
	RecoverFilter again = {.block_size = BLOCK_SIZE};
	static const uint8_t rmgrs[] = {0, 9, 10, 11, 12, 13, 14, 17};
	int			records = unit.scale == UNIT_FULL ? 200000 : 20000;

	begin();
	recover_filter_want(&again, &wanted);
	for (int i = 0; i < records; i++)
	{
		int			nblocks = 1 + (int) (unit_random() % 3);
		int			images = 0;

		make_record(rmgrs[unit_random() % sizeof(rmgrs)], 0xB0);
		for (int k = 0; k < nblocks; k++)
		{
			WalBlockTag tag = {1663, 5, (uint32_t) (100 + unit_random() % 3), WAL_FORK_MAIN, (uint32_t) (unit_random() % 200)};
			static const uint8_t flags[] = {0, 0, 0, 0, WAL_BLOCK_HAS_IMAGE, WAL_BLOCK_WILL_INIT};
			uint8_t		flag = flags[unit_random() % sizeof(flags)];

			images += (flag & WAL_BLOCK_HAS_IMAGE) != 0;
			put_block((uint8_t) k, &tag, flag, unit_random() % 4 ? WAL_IMAGE_APPLY : 0);
		}
		put_rest(images);
		seal_record();
		pass(&filter);
		if (pass(&again) != 'k')
			unit_fail("record %d is changed by a second pass", i);
		else
			unit.passed++;
		now += 100;
	}
	check(again.kept == (uint64_t) records, "all of them are kept");
	for (size_t i = 0; i < filter.blocks.count; i++)
	{
		const RecoverBlock *first = &filter.blocks.items[i];
		const RecoverBlock *second = recover_set_find(&again.blocks, &first->tag);

		check(second != NULL && second->last == first->last && second->restored == first->restored,
			  "block %u is the same in both passes", first->tag.block);
	}
	recover_filter_end(&again);
}

int
main(int argc, char **argv)
{
	unit_begin("test_recover", argc, argv);
	checksum_init();
	test_blocks();
	test_images();
	test_server();
	test_tables();
	test_custom();
	test_storage();
	test_lengths();
	test_random();
	recover_filter_end(&filter);
	return unit_finish();
}
