/*
 * fate.c
 *	  What recovery makes of pages of a backup that are not in order.
 *
 * The record that updates a map is that of PostgreSQL's relmapper.h, the same
 * from 15 to 19.
 */
#include <stdlib.h>

#include "backup/fate.h"
#include "cluster/format.h"
#include "cluster/map.h"
#include "page/format.h"
#include "wal/storage.h"

#define RMGR_RELMAP			7
#define MAP_RECORD_HEADER	12	/* database, tablespace, bytes of the map */

#define PLACE_BIT(place)	((uint32_t) 1 << (place))
#define OWN_PLACE			PLACE_BIT(0)

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

/* By tag, and the most certain kind of a file first. */
static int
compare_suspects(const void *a, const void *b)
{
	const BackupSuspect *one = a;
	const BackupSuspect *other = b;
	int			order = compare_tags(&one->tag, &other->tag);

	return order != 0 ? order : (int) other->kind - (int) one->kind;
}

void
backup_fates_begin(BackupFates *ctx, BackupSuspect *suspects, size_t count,
				   uint32_t block_size)
{
	ctx->suspects = suspects;
	ctx->count = count;
	ctx->open = count;
	ctx->block_size = block_size;
	ctx->place = 0;
	ctx->ncopies = 0;
	ctx->crowded = false;
	for (size_t i = 0; i < count; i++)
	{
		suspects[i].fate = BACKUP_FATE_NONE;
		suspects[i].lsn = 0;
		suspects[i].places = OWN_PLACE;
	}
	if (count > 1)
		qsort(suspects, count, sizeof(BackupSuspect), compare_suspects);
}

/* Is it decided in this place? */
static bool
is_decided(const BackupSuspect *suspect, uint32_t place)
{
	return suspect->fate != BACKUP_FATE_NONE ||
		(suspect->places & PLACE_BIT(place)) == 0;
}

static void
settle(BackupFates *ctx, BackupSuspect *suspect, BackupFate fate)
{
	suspect->fate = fate;
	suspect->lsn = ctx->lsn;
	ctx->open--;
}

/* In the place at work.  It is in order when it is so in every place. */
static void
decide(BackupFates *ctx, BackupSuspect *suspect, BackupFate fate)
{
	if (is_decided(suspect, ctx->place))
		return;
	if (fate != BACKUP_FATE_READ)
		suspect->places &= ~PLACE_BIT(ctx->place);
	if (fate == BACKUP_FATE_READ || suspect->places == 0)
		settle(ctx, suspect, fate);
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
 * A missing file does not count where all of its relation goes.  What cuts off
 * its end leaves the question open.
 */
static bool
is_left(const BackupSuspect *suspect, WalStorageKind kind, WalBlockTag from)
{
	return kind == WAL_STORAGE_TRUNCATED &&
		(suspect->kind == BACKUP_SUSPECT_MAPPED ||
		 suspect->kind == BACKUP_SUSPECT_NAMED ||
		 (suspect->kind == BACKUP_SUSPECT_FILE && from.block > 0));
}

/*
 * The relation has no blocks of this fork from this one on.  Forks after it
 * are not meant.
 */
static void
drop_blocks(BackupFates *ctx, WalStorageKind kind, WalBlockTag from)
{
	size_t		i = first_from(ctx, &from);

	for (; i < ctx->count; i++)
	{
		BackupSuspect *suspect = &ctx->suspects[i];

		if (compare_relations(&suspect->tag, &from) != 0 ||
			suspect->tag.fork != from.fork)
			break;
		if (!is_left(suspect, kind, from))
			decide(ctx, suspect, BACKUP_FATE_GONE);
	}
}

/* Upper pages of an FSM that lie before its first leaf (storage/freespace). */
static uint32_t
upper_pages(uint32_t block_size)
{
	return block_size < 4096 ? 3 : 2;
}

/*
 * Returns the first block of a fork that goes.  Maps are truncated to what is
 * left of them, which is a question of their own.  If a relation becomes empty,
 * the upper pages of its FSM are left.
 */
static uint32_t
first_taken(const BackupFates *ctx, const WalStorageEvent *event,
			uint32_t fork)
{
	if (event->kind == WAL_STORAGE_DROPPED || fork == WAL_FORK_MAIN)
		return event->block;
	if (event->block > 0)
		return UINT32_MAX;		/* no block has this number */
	return fork == WAL_FORK_FREE_SPACE ? upper_pages(ctx->block_size) : 0;
}

static void
drop_relation(BackupFates *ctx, WalBlockTag from, const void *arg)
{
	const WalStorageEvent *event = arg;

	for (; from.fork <= WAL_FORK_MAX; from.fork++)
	{
		from.block = first_taken(ctx, event, from.fork);
		if ((event->forks & WAL_FORK_BIT(from.fork)) != 0)
			drop_blocks(ctx, event->kind, from);
	}
}

/* Is suspect i there, and in the database of a tag? */
static bool
is_in_database(const BackupFates *ctx, size_t i, const WalBlockTag *tag)
{
	return i < ctx->count &&
		ctx->suspects[i].tag.tablespace == tag->tablespace &&
		ctx->suspects[i].tag.database == tag->database;
}

static void
drop_database(BackupFates *ctx, WalBlockTag from, const void *arg)
{
	(void) arg;
	for (size_t i = first_from(ctx, &from); is_in_database(ctx, i, &from); i++)
		decide(ctx, &ctx->suspects[i], BACKUP_FATE_GONE);
}

/* ---- what makes files ---- */

static void
restore(BackupFates *ctx, WalBlockTag tag, BackupSuspectKind kind)
{
	for (size_t i = first_from(ctx, &tag); i < ctx->count &&
		 wal_block_tag_equal(&ctx->suspects[i].tag, &tag); i++)
		if (ctx->suspects[i].kind == kind)
			decide(ctx, &ctx->suspects[i], BACKUP_FATE_RESTORED);
}

static void
create_relation(BackupFates *ctx, WalBlockTag tag, const void *arg)
{
	const WalStorageEvent *event = arg;

	tag.block = PAGE_BLOCK_MAX;
	for (; tag.fork <= WAL_FORK_MAX; tag.fork++)
	{
		if ((event->forks & WAL_FORK_BIT(tag.fork)) == 0)
			continue;
		restore(ctx, tag, BACKUP_SUSPECT_MAPPED);
		restore(ctx, tag, BACKUP_SUSPECT_NAMED);
	}
}

static void
create_database(BackupFates *ctx, WalBlockTag tag, const void *arg)
{
	(void) arg;
	restore(ctx, tag, BACKUP_SUSPECT_VERSION);
}

/* ---- copies ---- */

/* What a record does to pages with a tag, or from one on. */
typedef void (*BackupAct) (BackupFates *ctx, WalBlockTag tag, const void *arg);

static bool
is_at(const BackupCopy *copy, BackupFolder folder)
{
	return copy->live && copy->folder.tablespace == folder.tablespace &&
		copy->folder.database == folder.database;
}

/* Does it to suspects that are there, and to those of which copies are. */
static void
act(BackupFates *ctx, WalBlockTag tag, BackupAct does, const void *arg)
{
	BackupFolder folder = {tag.tablespace, tag.database};
	uint32_t	ncopies = ctx->ncopies;

	does(ctx, tag, arg);
	for (uint32_t i = 0; i < ncopies; i++)
	{
		const BackupCopy *copy = &ctx->copies[i];

		if (!is_at(copy, folder))
			continue;
		tag.tablespace = copy->source.tablespace;
		tag.database = copy->source.database;
		ctx->place = i + 1;
		does(ctx, tag, arg);
	}
	ctx->place = 0;
}

static void
remove_folder(BackupFates *ctx, uint32_t tablespace, uint32_t database)
{
	WalBlockTag from = {tablespace, database, 0, 0, 0};
	BackupFolder folder = {tablespace, database};

	act(ctx, from, drop_database, NULL);
	for (uint32_t i = 0; i < ctx->ncopies; i++)
		if (is_at(&ctx->copies[i], folder))
			ctx->copies[i].live = false;
}

/* Returns where to keep one more, or NULL.  No suspect has a dead one's bit. */
static BackupCopy *
room_for_copy(BackupFates *ctx)
{
	for (uint32_t i = 0; i < ctx->ncopies; i++)
		if (!ctx->copies[i].live)
			return &ctx->copies[i];
	return ctx->ncopies < BACKUP_COPIES_MAX ? &ctx->copies[ctx->ncopies++] : NULL;
}

/* Returns NULL if there is no room. */
static BackupCopy *
add_copy(BackupFates *ctx, const WalStorageEvent *event, BackupFolder source)
{
	BackupCopy *copy = room_for_copy(ctx);

	if (copy == NULL)
	{
		ctx->crowded = true;
		return NULL;
	}
	copy->live = true;
	copy->folder.tablespace = event->tablespace;
	copy->folder.database = event->database;
	copy->source = source;
	copy->lsn = ctx->lsn;
	return copy;
}

/*
 * Redo copies the files of the source as they are.  What the backup has of a
 * folder that redo has filled is gone.
 */
static void
copy_folder(BackupFates *ctx, WalBlockTag from, const void *arg)
{
	BackupFolder source = {from.tablespace, from.database};
	const BackupCopy *copy = add_copy(ctx, arg, source);

	for (size_t i = first_from(ctx, &from); is_in_database(ctx, i, &from); i++)
	{
		BackupSuspect *suspect = &ctx->suspects[i];

		if (copy == NULL)
			decide(ctx, suspect, BACKUP_FATE_READ);
		else if (!is_decided(suspect, ctx->place))
			suspect->places |= PLACE_BIT(copy - ctx->copies + 1);
	}
}

/* ---- what a record says of storage, and of maps ---- */

static void
on_event(void *arg, const WalStorageEvent *event)
{
	BackupFates *ctx = arg;
	WalBlockTag tag = {event->tablespace, event->database, event->relation,
	0, 0};
	WalBlockTag source = {event->source_tablespace, event->source_database,
	0, 0, 0};

	switch (event->kind)
	{
		case WAL_STORAGE_CREATED:
			act(ctx, tag, create_relation, event);
			break;
		case WAL_DATABASE_CREATED:
			act(ctx, tag, create_database, NULL);
			break;
		case WAL_STORAGE_TRUNCATED:
		case WAL_STORAGE_DROPPED:
			act(ctx, tag, drop_relation, event);
			break;
		case WAL_DATABASE_COPIED:
			remove_folder(ctx, event->tablespace, event->database);
			act(ctx, source, copy_folder, event);
			break;
		case WAL_DATABASE_DROPPED:
			for (uint32_t i = 0; i < event->ntablespaces; i++)
				remove_folder(ctx, wal_load32(event->tablespaces + 4 * i),
							  event->database);
			break;
		default:
			break;
	}
}

/* Does the map of a record name this file?  If it is not at hand, it may. */
static bool
names_file(const WalBlocks *blocks, uint32_t file)
{
	const uint8_t *map = blocks->main + MAP_RECORD_HEADER;
	uint32_t	bytes = blocks->main_present - MAP_RECORD_HEADER;
	uint32_t	count = bytes < CLUSTER_MAP_FIRST ? UINT32_MAX :
		(uint32_t) cluster_map_count(map);

	if (count > CLUSTER_MAP_MAX || bytes < CLUSTER_MAP_FIRST + 8 * count)
		return true;
	for (uint32_t i = 0; i < count; i++)
		if (cluster_map_entry(map, (int) i).file == file)
			return true;
	return false;
}

/*
 * Redo writes the whole map, without a look at the old one.  A file that only
 * that named does not count then.
 */
static void
update_map(BackupFates *ctx, WalBlockTag tag, const void *arg)
{
	(void) arg;
	for (size_t i = first_from(ctx, &tag); is_in_database(ctx, i, &tag); i++)
	{
		BackupSuspect *suspect = &ctx->suspects[i];

		if (suspect->kind == BACKUP_SUSPECT_MAP ||
			(suspect->kind == BACKUP_SUSPECT_MAPPED &&
			 !names_file(&ctx->blocks, suspect->tag.relation)))
			decide(ctx, suspect, BACKUP_FATE_RESTORED);
	}
}

static void
on_map(BackupFates *ctx)
{
	const uint8_t *data = ctx->blocks.main;
	WalBlockTag tag = {0};

	if (ctx->blocks.main_present < MAP_RECORD_HEADER)
		return;
	tag.database = wal_load32(data);
	tag.tablespace = wal_load32(data + 4);
	act(ctx, tag, update_map, NULL);
}

/* ---- records ---- */

static void
refer(BackupFates *ctx, WalBlockTag tag, const void *arg)
{
	const WalBlockRef *ref = arg;
	size_t		i = first_from(ctx, &tag);

	/* the same block of a file may be suspect twice */
	for (; i < ctx->count &&
		 wal_block_tag_equal(&ctx->suspects[i].tag, &tag); i++)
		decide(ctx, &ctx->suspects[i], wal_block_restores(ref) ?
			   BACKUP_FATE_RESTORED : BACKUP_FATE_READ);
}

void
backup_fates_record(BackupFates *ctx, WalLsn lsn, const uint8_t *record,
					uint32_t present)
{
	ctx->lsn = lsn;
	if (wal_blocks_decode(&ctx->blocks, record, present, ctx->block_size) !=
		WAL_BLOCKS_OK)
	{
		backup_fates_gap(ctx);
		return;
	}
	for (int i = 0; i < ctx->blocks.count; i++)
		act(ctx, ctx->blocks.refs[i].tag, refer, &ctx->blocks.refs[i]);
	if (record[WAL_REC_RMID] == RMGR_RELMAP &&
		(record[WAL_REC_INFO] & WAL_INFO_MASK) == 0)
		on_map(ctx);
	if (!wal_storage_events(record, &ctx->blocks, on_event, ctx))
		backup_fates_gap(ctx);
}

void
backup_fates_gap(BackupFates *ctx)
{
	ctx->lsn = 0;
	for (size_t i = 0; i < ctx->count; i++)
		if (ctx->suspects[i].fate == BACKUP_FATE_NONE)
			settle(ctx, &ctx->suspects[i], BACKUP_FATE_UNKNOWN);
}

void
backup_fates_end(BackupFates *ctx)
{
	for (size_t i = 0; i < ctx->count; i++)
	{
		BackupSuspect *suspect = &ctx->suspects[i];
		uint32_t	copies = suspect->places & ~OWN_PLACE;

		if (suspect->fate != BACKUP_FATE_NONE || copies == 0)
			continue;
		ctx->lsn = ctx->copies[__builtin_ctz(copies) - 1].lsn;
		settle(ctx, suspect, BACKUP_FATE_READ);
	}
}
