/*
 * end.c
 *	  Where a backup ends, from the records of its WAL.
 */
#include "backup/end.h"

/* resource manager XLOG, and the bits of info that tell its records apart */
#define RMGR_XLOG			0
#define XLOG_SHUTDOWN		0x00
#define XLOG_ONLINE			0x10
#define XLOG_SWITCH			0x40
#define XLOG_BACKUP_END		0x50

/*
 * Reads the location that main data begin with, a checkpoint's redo or a
 * backup's start.
 */
static bool
first_location(BackupEnd *ctx, const uint8_t *record, uint32_t present,
			   WalLsn *location)
{
	/* these records name no block, so that its size does not matter */
	if (wal_blocks_decode(&ctx->blocks, record, present, 8192) != WAL_BLOCKS_OK ||
		ctx->blocks.main_present < sizeof(*location))
		return false;
	*location = wal_load64(ctx->blocks.main);
	return true;
}

static void
on_end(BackupEnd *ctx, WalLsn began, WalLsn end)
{
	if (ctx->end != 0 || (ctx->start != 0 && began != ctx->start))
		return;
	ctx->began = began;
	ctx->end = end;
}

bool
backup_end_record(BackupEnd *ctx, WalLsn lsn, WalLsn end,
				  const uint8_t *record, uint32_t present)
{
	uint8_t		operation = record[WAL_REC_INFO] & WAL_INFO_MASK;
	WalLsn		location;

	ctx->switched = false;
	if (record[WAL_REC_RMID] != RMGR_XLOG)
		return true;
	ctx->switched = operation == XLOG_SWITCH;
	if (operation != XLOG_BACKUP_END &&
		(lsn != ctx->checkpoint ||
		 (operation != XLOG_SHUTDOWN && operation != XLOG_ONLINE)))
		return true;
	if (!first_location(ctx, record, present, &location))
		return true;
	if (operation == XLOG_BACKUP_END)
		on_end(ctx, location, end);
	else
		ctx->has_checkpoint = location == ctx->start;
	return ctx->start == 0 || ctx->end == 0;
}
