/*
 * block_history.c
 *	  What records and gaps of WAL make of one block, as rows in their order.
 */
#include <stdio.h>

#include "wal/block_history.h"
#include "wal/storage.h"

bool
wal_block_row_has_image(const WalBlockRow *row)
{
	return row->kind == WAL_ROW_IMAGE || row->kind == WAL_ROW_CHECK;
}

const char *
wal_row_kind_name(WalRowKind kind)
{
	static const char *const names[] = {
#define WAL_ROW_KIND(id, name) name,
		WAL_ROW_KINDS(WAL_ROW_KIND)
#undef WAL_ROW_KIND
	};

	return names[kind];
}

/* ---- rows ---- */

/* Begins the next row.  The one before it was not the last. */
static WalBlockRow *
next_row(WalBlockHistory *ctx, WalRowKind kind, WalLsn lsn, WalLsn end,
		 const WalName *segment)
{
	WalBlockRow *row = &ctx->row;

	if (ctx->has_row)
		ctx->emit(ctx->arg, row, false, false);
	ctx->has_row = true;
	ctx->dropped = false;
	row->kind = kind;
	row->lsn = lsn;
	row->end = end;
	row->segment = *segment;
	row->compression = WAL_METHOD_NONE;
	return row;
}

static WalBlockRow *
next_record(WalBlockHistory *ctx, WalRowKind kind)
{
	const WalBlockRecord *record = ctx->record;
	WalBlockRow *row = next_row(ctx, kind, record->lsn, record->end,
								record->segment);

	row->rmid = record->bytes[WAL_REC_RMID];
	row->info = record->bytes[WAL_REC_INFO];
	return row;
}

/* The CRC of the record is right, and what it says is not. */
static void
refuse_record(WalBlockHistory *ctx, const char *why)
{
	WalBlockRow *row = next_record(ctx, WAL_ROW_GAP);

	snprintf(row->message, sizeof(row->message), "invalid record: %s", why);
}

void
wal_block_history_gap(void *arg, const WalBlockGap *gap)
{
	WalBlockHistory *ctx = arg;
	bool		open = gap->end == WAL_LSN_MAX;
	WalBlockRow *row;

	if (gap->begin >= ctx->until)
		return;
	row = next_row(ctx, WAL_ROW_GAP, gap->begin, open ? 0 : gap->end,
				   &gap->segment);
	if (gap->verdict.reason == WAL_REASON_NONE && gap->status == WAL_MISSING)
		strcpy(row->message, "no WAL was found here");
	else
		wal_trouble_words(&gap->verdict, gap->status, row->message);
}

void
wal_block_history_end(WalBlockHistory *ctx, bool complete)
{
	if (ctx->has_row)
		ctx->emit(ctx->arg, &ctx->row, true, complete && !ctx->dropped &&
				  wal_block_row_has_image(&ctx->row));
}

/* ---- storage ---- */

static bool
is_same_relation(const WalBlockTag *tag, const WalStorageEvent *event)
{
	return tag->tablespace == event->tablespace &&
		tag->database == event->database && tag->relation == event->relation;
}

/*
 * Maps are cut at another place than the table, so any cut of theirs counts.
 */
static bool
is_within(const WalBlockTag *tag, const WalStorageEvent *event)
{
	return is_same_relation(tag, event) &&
		(event->forks & WAL_FORK_BIT(tag->fork)) != 0 &&
		(tag->fork != WAL_FORK_MAIN || event->block <= tag->block);
}

static bool
is_within_database(const WalBlockTag *tag, const WalStorageEvent *event)
{
	bool		within = false;

	for (uint32_t i = 0; i < event->ntablespaces; i++)
		within |= wal_load32(event->tablespaces + 4 * i) == tag->tablespace;
	return within && tag->database == event->database;
}

static void
on_event(void *arg, const WalStorageEvent *event)
{
	WalBlockHistory *ctx = arg;
	const WalBlockTag *tag = &ctx->tag;

	switch (event->kind)
	{
		case WAL_STORAGE_CREATED:
			if (is_within(tag, event))
				next_record(ctx, WAL_ROW_CREATED);
			break;
		case WAL_STORAGE_TRUNCATED:
			if (is_within(tag, event))
				next_record(ctx, WAL_ROW_TRUNCATED);
			break;
		case WAL_STORAGE_DROPPED:
			ctx->dropped |= is_within(tag, event);
			break;
		case WAL_DATABASE_COPIED:
			/* of interest only as the end of an earlier history */
			if ((ctx->has_row || ctx->all_copies) &&
				tag->database == event->database &&
				tag->tablespace == event->tablespace)
				next_record(ctx, WAL_ROW_CREATED);
			break;
		case WAL_DATABASE_DROPPED:
			ctx->dropped |= is_within_database(tag, event);
			break;
		default:
			break;
	}
}

/* ---- records ---- */

static WalRowKind
kind_of(const WalBlockRef *ref)
{
	if (ref->has_image)
		return ref->apply ? WAL_ROW_IMAGE : WAL_ROW_CHECK;
	return ref->will_init ? WAL_ROW_INIT : WAL_ROW_CHANGE;
}

/* Does what most records need.  Returns false if this one must be decoded. */
static inline bool
is_of_others(const WalBlockHistory *ctx, const WalBlockRecord *record)
{
	WalBlockTag tag;
	uint8_t		id;

	return !wal_storage_possible(record->bytes) &&
		wal_blocks_single(record->bytes, record->present, &tag, &id) &&
		!wal_block_tag_equal(&tag, &ctx->tag);
}

void
wal_block_history_record(void *arg, const WalBlockRecord *record)
{
	WalBlockHistory *ctx = arg;
	WalBlocks  *blocks = &ctx->blocks;
	WalBlocksReason reason;

	if (is_of_others(ctx, record))
		return;
	ctx->record = record;
	reason = wal_blocks_decode(blocks, record->bytes, record->present,
							   ctx->block_size);
	if (reason != WAL_BLOCKS_OK)
	{
		refuse_record(ctx, wal_blocks_words(reason));
		return;
	}
	if (!wal_storage_events(record->bytes, blocks, on_event, ctx))
		refuse_record(ctx, "what it says of storage cannot be understood");
	for (int i = 0; i < blocks->count; i++)
	{
		const WalBlockRef *ref = &blocks->refs[i];

		if (wal_block_tag_equal(&ref->tag, &ctx->tag))
			next_record(ctx, kind_of(ref))->compression =
				ref->has_image ? ref->image.compression : WAL_METHOD_NONE;
	}
}
