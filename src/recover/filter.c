/*
 * filter.c
 *	  Takes out of WAL what does not matter to some blocks.
 *
 * A set of blocks is tracked, at first those that are wanted.  What redo makes
 * of a tracked block depends on the records that name it, and on what the
 * block was before.  It does not depend on other blocks, as a server may
 * find those ahead of the record.  Each record that names a tracked block is
 * kept.  Each page lies in an empty file, and is zero up to the first record
 * that makes all of it.  Redo passes over a page of zeros, as over a block
 * that does not exist, where the record only changes the page
 * (ignore_invalid_pages).  So from that record on the page is that of the
 * cluster, by induction over the records.
 *
 * A kept record may make other blocks, too.  One that it initialises is
 * tracked from there on, since all of its history is seen.  If it were not, a
 * later kept record would change it after others that were taken out, and redo
 * would fail.  One that it restores by an image could be tracked likewise.
 * Heap and B-tree pass over it instead if the image is not to be applied
 * (BKPIMAGE_APPLY), and the block stays empty.  So a busy table does not join
 * bit by bit.  Other resource managers insist on their images.
 *
 * Records of XLOG, CLOG, MultiXact and CommitTs are kept for the server's own
 * sake, since it ends recovery with a look at the newest transaction.  Records
 * that make or cut storage are kept for relations with a tracked block.  A
 * transaction's end is not.  The files that it drops do no harm.
 *
 * A run of records that are taken out does not become one long NOOP.  No file
 * would be shorter, since positions stay.  Redo of 340 MB took 0.5 s as 3 million
 * short records that do nothing, and 0.2 s as 340 long ones, on 15.  All of
 * recover takes some 10 s for a GB of WAL, so it would gain less than a tenth.
 *
 * Where tables are recovered, relations are tracked as a whole: those that are
 * wanted, and all that initdb made in their database and for all databases.
 * These are the catalogs, since later relations get higher numbers.  Their
 * files begin as those of the backup.  Each record that names a block of them
 * is kept as it is, and so are the ends of transactions, which make rows
 * visible, and maps of relations.  So the server does with these files what a
 * restore of the whole backup does.
 *
 * Facts are those of PostgreSQL's xlogrecord.h, rmgrlist.h and pg_control.h,
 * the same from 15 to 19.
 */
#include <stdio.h>

#include "cluster/format.h"
#include "recover/filter.h"
#include "wal/record.h"
#include "wal/storage.h"

#define RM_XACT			1
#define RM_SMGR			2
#define RM_CLOG			3
#define RM_MULTIXACT	6
#define RM_RELMAP		7
#define RM_HEAP2		9
#define RM_HEAP			10
#define RM_BTREE		11
#define RM_COMMIT_TS	18

#define XLOG_NOOP			0x20
#define XLOG_FPI_FOR_HINT	0xA0
#define XLOG_FPI			0xB0
#define CHECK_CONSISTENCY	0x02	/* XLR_CHECK_CONSISTENCY, of any xl_info */

#define NOOP_BYTES	(WAL_REC_HEADER + 5)

/* ---- what is tracked ---- */

static RecoverBlock *
track(RecoverFilter *ctx, const WalBlockTag *tag)
{
	WalBlockTag fork = *tag;
	RecoverBlock *item;

	fork.block = 0;
	item = recover_set_add(&ctx->forks, &fork);
	if (item->highest < tag->block)
		item->highest = tag->block;
	return recover_set_add(&ctx->blocks, tag);
}

void
recover_filter_want(RecoverFilter *ctx, const WalBlockTag *tag)
{
	track(ctx, tag)->wanted = true;
}

static WalBlockTag
main_fork(const WalBlockTag *tag)
{
	return (WalBlockTag)
	{
		tag->tablespace, tag->database, tag->relation, WAL_FORK_MAIN, 0
	};
}

void
recover_filter_want_relation(RecoverFilter *ctx, const WalBlockTag *tag)
{
	WalBlockTag fork = main_fork(tag);

	recover_set_add(&ctx->relations, &fork);
}

bool
recover_filter_is_whole(const RecoverFilter *ctx, const WalBlockTag *tag)
{
	WalBlockTag fork = main_fork(tag);

	if (ctx->database == 0 ||
		(tag->database != 0 && tag->database != ctx->database))
		return false;
	return tag->relation < CLUSTER_FIRST_NORMAL ||
		recover_set_find(&ctx->relations, &fork) != NULL;
}

static bool
tracks(const RecoverFilter *ctx, const WalBlockTag *tag)
{
	return recover_set_find(&ctx->blocks, tag) != NULL ||
		recover_filter_is_whole(ctx, tag);
}

/* ---- storage ---- */

/* Does the fact end a block? */
static bool
ends(const WalStorageEvent *event, const WalBlockTag *tag)
{
	bool		same = event->database == tag->database;

	switch (event->kind)
	{
		case WAL_STORAGE_CREATED:
		case WAL_STORAGE_TRUNCATED:
		case WAL_STORAGE_DROPPED:
			return same && event->relation == tag->relation &&
				event->tablespace == tag->tablespace &&
				(event->forks & WAL_FORK_BIT(tag->fork)) != 0 &&
				(tag->fork != WAL_FORK_MAIN || event->block <= tag->block);
		case WAL_DATABASE_COPIED:
			return same && event->tablespace == tag->tablespace;
		case WAL_DATABASE_DROPPED:
			return same;
		default:
			return false;
	}
}

static RecoverEnding
ending_of(WalStorageKind kind)
{
	switch (kind)
	{
		case WAL_STORAGE_CREATED:
			return RECOVER_MADE_ANEW;
		case WAL_STORAGE_TRUNCATED:
			return RECOVER_CUT_OFF;
		case WAL_DATABASE_COPIED:
			return RECOVER_COPIED;
		default:
			return RECOVER_DROPPED;
	}
}

/* Is a fork of the relation tracked? */
static bool
knows_relation(const RecoverFilter *ctx, const WalStorageEvent *event)
{
	WalBlockTag tag = {event->tablespace, event->database, event->relation,
	0, 0};

	if (recover_filter_is_whole(ctx, &tag))
		return true;
	for (; tag.fork <= WAL_FORK_MAX; tag.fork++)
		if (recover_set_find(&ctx->forks, &tag) != NULL)
			return true;
	return false;
}

static void
on_storage(void *arg, const WalStorageEvent *event)
{
	RecoverFilter *ctx = arg;

	if (event->relation != 0 && !knows_relation(ctx, event))
		return;
	if (event->relation == 0 && ctx->database != 0 &&
		event->database == ctx->database)
		ctx->database_ended = true;
	ctx->storage = true;
	for (size_t i = 0; i < ctx->blocks.count; i++)
	{
		RecoverBlock *block = &ctx->blocks.items[i];

		if (!ends(event, &block->tag))
			continue;
		block->restored = false;
		block->last = 0;
		block->ending = ending_of(event->kind);
		block->ended = ctx->record->end;
	}
}

/* ---- blocks ---- */

static bool
names_tracked(const RecoverFilter *ctx)
{
	for (int i = 0; i < ctx->refs.count; i++)
		if (tracks(ctx, &ctx->refs.refs[i].tag))
			return true;
	return false;
}

static bool
may_skip_images(uint8_t rmid)
{
	return rmid == RM_HEAP || rmid == RM_HEAP2 || rmid == RM_BTREE;
}

/* Tracks what the record makes, and notes what it does to tracked blocks. */
static void
note_blocks(RecoverFilter *ctx)
{
	bool		skips = may_skip_images(ctx->record->bytes[WAL_REC_RMID]);

	for (int i = 0; i < ctx->refs.count; i++)
	{
		const WalBlockRef *ref = &ctx->refs.refs[i];
		RecoverBlock *block = recover_set_find(&ctx->blocks, &ref->tag);

		if (block == NULL && wal_block_restores(ref) &&
			(ref->will_init || !skips))
			block = track(ctx, &ref->tag);
		if (block == NULL)
			continue;
		block->last = ctx->record->end;
		if (wal_block_restores(ref))
			block->restored = true;
	}
}

/* ---- what takes a record's place ---- */

static uint8_t *
copy_record(RecoverFilter *ctx, uint32_t bytes)
{
	if (ctx->room < bytes)
	{
		ctx->room = bytes;
		ctx->copy = host_grow(ctx->copy, bytes);
	}
	memcpy(ctx->copy, ctx->record->bytes, bytes);
	return ctx->copy;
}

/* Seals the record, whose body is count bytes of it and then zeros. */
static void
seal(uint8_t *rec, uint32_t count, uint32_t len)
{
	static const uint8_t zeros[8192];
	uint32_t	reg = checksum_crc32c(CHECKSUM_CRC_INIT, rec + WAL_REC_HEADER,
									  count - WAL_REC_HEADER);
	uint32_t	crc;

	while (count < len)
	{
		uint32_t	n = len - count < sizeof(zeros) ? len - count : sizeof(zeros);

		reg = checksum_crc32c(reg, zeros, n);
		count += n;
	}
	crc = wal_record_crc(reg, rec);
	memcpy(rec + WAL_REC_CRC, &crc, sizeof(crc));
}

/*
 * Takes out the images of blocks that are not tracked, and the request to
 * compare pages with images (wal_consistency_checking), which pages that are
 * still empty would fail.
 */
static void
skip_images(RecoverFilter *ctx, RecoverRewrite *rewrite)
{
	uint32_t	len = ctx->record->len;
	uint8_t    *rec = copy_record(ctx, len);

	rec[WAL_REC_INFO] &= (uint8_t) ~CHECK_CONSISTENCY;
	for (int i = 0; i < ctx->refs.count; i++)
	{
		const WalBlockRef *ref = &ctx->refs.refs[i];

		if (ref->has_image && !tracks(ctx, &ref->tag))
			rec[ref->info_at] &= (uint8_t) ~WAL_IMAGE_APPLY;
	}
	if (memcmp(rec, ctx->record->bytes, len) == 0)
		return;
	seal(rec, len, len);
	rewrite->bytes = rec;
	rewrite->count = len;
	ctx->changed++;
}

/*
 * Makes it an XLOG_NOOP, whose main data are zeros.  It keeps its transaction,
 * of which the server notes the highest.
 */
static const char *
clear(RecoverFilter *ctx, RecoverRewrite *rewrite)
{
	uint32_t	len = ctx->record->len;
	uint32_t	body = len - WAL_REC_HEADER;
	uint8_t    *rec;

	if (body == 1)
		return "a record of this length has no main data";
	if (ctx->room < NOOP_BYTES)
		ctx->copy = host_grow(ctx->copy, ctx->room = NOOP_BYTES);
	rec = ctx->copy;
	memcpy(rec, ctx->record->bytes, WAL_REC_HEADER);
	rec[WAL_REC_RMID] = WAL_RMGR_XLOG;
	rec[WAL_REC_INFO] = XLOG_NOOP;
	rewrite->count = WAL_REC_HEADER;
	if (body - 2 <= UINT8_MAX)
	{
		rec[rewrite->count++] = WAL_ID_DATA_SHORT;
		rec[rewrite->count++] = (uint8_t) (body - 2);
	}
	else if (body > 0)
	{
		body -= 5;
		rec[rewrite->count++] = WAL_ID_DATA_LONG;
		memcpy(rec + rewrite->count, &body, sizeof(body));
		rewrite->count += sizeof(body);
	}
	seal(rec, rewrite->count, len);
	rewrite->bytes = rec;
	ctx->cleared++;
	return NULL;
}

/* ---- records ---- */

/* A map of relations has the database first in its main data. */
static bool
is_for_tables(const RecoverFilter *ctx, const WalBlockRecord *record)
{
	uint32_t	database;

	if (record->bytes[WAL_REC_RMID] == RM_XACT)
		return true;
	if (record->bytes[WAL_REC_RMID] != RM_RELMAP || ctx->refs.main_present < sizeof(database))
		return false;
	database = wal_load32(ctx->refs.main);
	return database == 0 || database == ctx->database;
}

/* Does the server need it, whatever blocks are tracked? */
static bool
is_for_server(const uint8_t *rec)
{
	uint8_t		operation = rec[WAL_REC_INFO] & WAL_INFO_MASK;

	switch (rec[WAL_REC_RMID])
	{
		case WAL_RMGR_XLOG:
			return operation != XLOG_FPI && operation != XLOG_FPI_FOR_HINT;
		case RM_CLOG:
		case RM_MULTIXACT:
		case RM_COMMIT_TS:
			return true;
		default:
			return false;
	}
}

/* Does what most records need.  Returns false if this one must be decoded. */
static bool
is_of_others(const RecoverFilter *ctx, const WalBlockRecord *record)
{
	WalBlockTag tag;
	uint8_t		id;

	return !wal_storage_possible(record->bytes) &&
		!is_for_server(record->bytes) &&
		wal_blocks_single(record->bytes, record->present, &tag, &id) &&
		!tracks(ctx, &tag);
}

const char *
recover_filter_record(RecoverFilter *ctx, const WalBlockRecord *record,
					  RecoverRewrite *rewrite)
{
	const uint8_t *rec = record->bytes;
	WalBlocksReason reason;

	rewrite->bytes = NULL;
	ctx->record = record;
	if (is_of_others(ctx, record))
		return clear(ctx, rewrite);
	reason = wal_blocks_decode(&ctx->refs, rec, record->present,
							   ctx->block_size);
	if (reason != WAL_BLOCKS_OK)
		return wal_blocks_words(reason);
	ctx->storage = false;
	if (!wal_storage_events(rec, &ctx->refs, on_storage, ctx))
		return "what it says of storage cannot be understood";
	if (ctx->database_ended)
		return "it makes or drops the database";
	if (names_tracked(ctx))
	{
		if (rec[WAL_REC_RMID] >= WAL_RMGR_CUSTOM)
			return "a block that is needed is changed by a custom resource manager, which only its extension can replay";
		if (record->present < record->len)
			return "a record with blocks is too long";
		if (ctx->database == 0)
			note_blocks(ctx);
		skip_images(ctx, rewrite);
	}
	else if (!is_for_server(rec) &&
			 !(ctx->database != 0 && is_for_tables(ctx, record)) &&
			 !(ctx->storage && rec[WAL_REC_RMID] == RM_SMGR))
		return clear(ctx, rewrite);
	ctx->kept++;
	return NULL;
}

void
recover_filter_end(RecoverFilter *ctx)
{
	recover_set_free(&ctx->blocks);
	recover_set_free(&ctx->forks);
	recover_set_free(&ctx->relations);
	host_free(ctx->copy);
	ctx->copy = NULL;
	ctx->room = 0;
}
