/*
 * fate.c
 *	  What recovery makes of pages of a backup that are not in order.
 *
 * The formats of records are those of PostgreSQL's xact.h, storage_xlog.h,
 * dbcommands_xlog.h and relmapper.h, the same from 15 to 19.
 */
#include <stdlib.h>

#include "backup/fate.h"

/* resource managers, and the bits of info that tell their records apart */
#define RMGR_XACT			1
#define RMGR_SMGR			2
#define RMGR_DBASE			4
#define RMGR_RELMAP			7

#define XACT_OPERATION		0x70
#define XACT_COMMIT			0x00
#define XACT_ABORT			0x20
#define XACT_COMMIT_PREPARED	0x30
#define XACT_ABORT_PREPARED	0x40
#define XACT_HAS_INFO		0x80

#define XACT_HAS_DATABASE	0x01	/* XACT_XINFO_HAS_DBINFO, ... */
#define XACT_HAS_SUBXACTS	0x02
#define XACT_HAS_RELATIONS	0x04

#define SMGR_TRUNCATE		0x20
#define DBASE_CREATE_COPY	0x00
#define DBASE_DROP			0x20

#define LOCATOR_BYTES		12	/* tablespace, database, relation */

static int
compare_numbers(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/* By relation. */
static int
compare_relations(const WalBlockTag *a, const WalBlockTag *b)
{
	int			order = compare_numbers(a->tablespace, b->tablespace);

	if (order == 0)
		order = compare_numbers(a->database, b->database);
	return order != 0 ? order : compare_numbers(a->relation, b->relation);
}

static int
compare_tags(const WalBlockTag *a, const WalBlockTag *b)
{
	int			order = compare_relations(a, b);

	if (order == 0)
		order = compare_numbers(a->fork, b->fork);
	return order != 0 ? order : compare_numbers(a->block, b->block);
}

static int
compare_suspects(const void *a, const void *b)
{
	return compare_tags(&((const BackupSuspect *) a)->tag,
						&((const BackupSuspect *) b)->tag);
}

void
backup_fates_begin(BackupFates *ctx, BackupSuspect *suspects, size_t count,
				   uint32_t block_size)
{
	ctx->suspects = suspects;
	ctx->count = count;
	ctx->open = count;
	ctx->block_size = block_size;
	for (size_t i = 0; i < count; i++)
	{
		suspects[i].fate = BACKUP_FATE_NONE;
		suspects[i].lsn = 0;
	}
	if (count > 1)
		qsort(suspects, count, sizeof(BackupSuspect), compare_suspects);
}

static void
decide(BackupFates *ctx, BackupSuspect *suspect, BackupFate fate, WalLsn lsn)
{
	if (suspect->fate != BACKUP_FATE_NONE)
		return;
	suspect->fate = fate;
	suspect->lsn = lsn;
	ctx->open--;
}

/* The first suspect that is not before a tag. */
static size_t
first_from(const BackupFates *ctx, const WalBlockTag *tag)
{
	size_t		low = 0;
	size_t		high = ctx->count;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (compare_tags(&ctx->suspects[middle].tag, tag) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- what takes pages away ---- */

/*
 * The relation has no blocks of this fork from this one on.  Forks after it
 * are not meant.
 */
static void
take_blocks(BackupFates *ctx, WalLsn lsn, WalBlockTag from)
{
	size_t		i = first_from(ctx, &from);

	for (; i < ctx->count; i++)
	{
		BackupSuspect *suspect = &ctx->suspects[i];

		if (compare_relations(&suspect->tag, &from) != 0 ||
			suspect->tag.fork != from.fork)
			break;
		decide(ctx, suspect, BACKUP_FATE_GONE, lsn);
	}
}

static void
take_relation(BackupFates *ctx, WalLsn lsn, const uint8_t *locator)
{
	WalBlockTag from = {0};

	from.tablespace = wal_load32(locator);
	from.database = wal_load32(locator + 4);
	from.relation = wal_load32(locator + 8);
	for (from.fork = 0; from.fork <= 3; from.fork++)
		take_blocks(ctx, lsn, from);
}

static void
take_database(BackupFates *ctx, WalLsn lsn, uint32_t tablespace,
			  uint32_t database, BackupFate fate)
{
	WalBlockTag from = {0};
	size_t		i;

	from.tablespace = tablespace;
	from.database = database;
	for (i = first_from(ctx, &from); i < ctx->count; i++)
	{
		BackupSuspect *suspect = &ctx->suspects[i];

		if (suspect->tag.tablespace != tablespace ||
			suspect->tag.database != database)
			break;
		decide(ctx, suspect, fate, lsn);
	}
}

/*
 * Returns a counted array of the record's main data, and moves *at after it.
 */
static const uint8_t *
counted(const uint8_t *data, uint32_t size, uint32_t *at, uint32_t item,
		uint32_t *count)
{
	const uint8_t *items;

	if (*at + 4 > size)
		return NULL;
	*count = wal_load32(data + *at);
	items = data + *at + 4;
	if (*count > (size - *at - 4) / item)
		return NULL;
	*at += 4 + *count * item;
	return items;
}

/*
 * Handles the end of a transaction, with the relations that it drops, or had
 * created.
 */
static void
end_transaction(BackupFates *ctx, WalLsn lsn, uint8_t info,
				const uint8_t *data, uint32_t size)
{
	uint32_t	at = 12;		/* time, then flags */
	uint32_t	flags;
	uint32_t	count;
	const uint8_t *items;

	if ((info & XACT_HAS_INFO) == 0 || size < at)
		return;
	flags = wal_load32(data + 8);
	if (flags & XACT_HAS_DATABASE)
		at += 8;
	if ((flags & XACT_HAS_SUBXACTS) &&
		counted(data, size, &at, 4, &count) == NULL)
		return;
	if ((flags & XACT_HAS_RELATIONS) == 0)
		return;
	items = counted(data, size, &at, LOCATOR_BYTES, &count);
	for (uint32_t i = 0; items != NULL && i < count; i++)
		take_relation(ctx, lsn, items + i * LOCATOR_BYTES);
}

/* Upper pages of an FSM that lie before its first leaf (storage/freespace). */
static uint32_t
upper_pages(uint32_t block_size)
{
	return block_size < 4096 ? 3 : 2;
}

/*
 * Maps are truncated to what is left of them, which is a question of their
 * own.  If a relation becomes empty, the upper pages of its FSM are left.
 */
static void
truncate_relation(BackupFates *ctx, WalLsn lsn, const uint8_t *data,
				  uint32_t size)
{
	WalBlockTag from = {0};
	uint32_t	heap;

	if (size < 4 + LOCATOR_BYTES + 4)
		return;
	heap = wal_load32(data);
	from.tablespace = wal_load32(data + 4);
	from.database = wal_load32(data + 8);
	from.relation = wal_load32(data + 12);
	for (uint32_t fork = 0; fork <= (heap == 0 ? 2u : 0u); fork++)
	{
		static const uint32_t flags[] = {1, 4, 2};	/* heap, FSM, VM */

		from.fork = fork;
		from.block = fork == 1 ? upper_pages(ctx->block_size) : heap;
		if (wal_load32(data + 16) & flags[fork])
			take_blocks(ctx, lsn, from);
	}
}

static void
change_database(BackupFates *ctx, WalLsn lsn, uint8_t operation,
				const uint8_t *data, uint32_t size)
{
	uint32_t	at = 4;
	uint32_t	count;
	const uint8_t *spaces;

	if (size < 8)
		return;
	if (operation == DBASE_CREATE_COPY)
	{
		/* redo copies the files of the source as they are */
		if (size >= 16)
			take_database(ctx, lsn, wal_load32(data + 12),
						  wal_load32(data + 8), BACKUP_FATE_READ);
		take_database(ctx, lsn, wal_load32(data + 4), wal_load32(data),
					  BACKUP_FATE_GONE);
	}
	if (operation != DBASE_DROP)
		return;
	spaces = counted(data, size, &at, 4, &count);
	for (uint32_t i = 0; spaces != NULL && i < count; i++)
		take_database(ctx, lsn, wal_load32(spaces + 4 * i), wal_load32(data),
					  BACKUP_FATE_GONE);
}

/* Redo writes the whole map, without a look at the old one. */
static void
update_map(BackupFates *ctx, WalLsn lsn, const uint8_t *data, uint32_t size)
{
	WalBlockTag tag = {0};

	if (size < 8)
		return;
	tag.database = wal_load32(data);
	tag.tablespace = wal_load32(data + 4);
	for (size_t i = first_from(ctx, &tag); i < ctx->count &&
		 wal_block_tag_equal(&ctx->suspects[i].tag, &tag); i++)
		decide(ctx, &ctx->suspects[i], BACKUP_FATE_RESTORED, lsn);
}

static void
take_away(BackupFates *ctx, WalLsn lsn, const uint8_t *record)
{
	const uint8_t *data = ctx->blocks.main;
	uint32_t	size = ctx->blocks.main_present;
	uint8_t		info = record[WAL_REC_INFO];
	uint8_t		operation = info & WAL_INFO_MASK;

	if (record[WAL_REC_RMID] == RMGR_XACT)
	{
		operation &= XACT_OPERATION;
		if (operation == XACT_COMMIT || operation == XACT_ABORT ||
			operation == XACT_COMMIT_PREPARED ||
			operation == XACT_ABORT_PREPARED)
			end_transaction(ctx, lsn, info, data, size);
	}
	else if (record[WAL_REC_RMID] == RMGR_SMGR && operation == SMGR_TRUNCATE)
		truncate_relation(ctx, lsn, data, size);
	else if (record[WAL_REC_RMID] == RMGR_DBASE)
		change_database(ctx, lsn, operation, data, size);
	else if (record[WAL_REC_RMID] == RMGR_RELMAP && operation == 0)
		update_map(ctx, lsn, data, size);
}

/* ---- records ---- */

static void
refer(BackupFates *ctx, WalLsn lsn, const WalBlockRef *ref)
{
	size_t		i = first_from(ctx, &ref->tag);

	/* the same block of a file may be suspect twice */
	for (; i < ctx->count &&
		 wal_block_tag_equal(&ctx->suspects[i].tag, &ref->tag); i++)
		decide(ctx, &ctx->suspects[i], wal_block_restores(ref) ?
			   BACKUP_FATE_RESTORED : BACKUP_FATE_READ, lsn);
}

void
backup_fates_record(BackupFates *ctx, WalLsn lsn, const uint8_t *record,
					uint32_t present)
{
	if (ctx->open == 0)
		return;
	if (wal_blocks_decode(&ctx->blocks, record, present, ctx->block_size) !=
		WAL_BLOCKS_OK)
	{
		backup_fates_gap(ctx);
		return;
	}
	for (int i = 0; i < ctx->blocks.count; i++)
		refer(ctx, lsn, &ctx->blocks.refs[i]);
	take_away(ctx, lsn, record);
}

void
backup_fates_gap(BackupFates *ctx)
{
	for (size_t i = 0; i < ctx->count; i++)
		decide(ctx, &ctx->suspects[i], BACKUP_FATE_UNKNOWN, 0);
}
