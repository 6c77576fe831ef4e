/*
 * ahead.c
 *	  How far segments were walked to complete the record of an earlier one.
 *
 * Only pages without anything to say are noted, on which the record goes on
 * and the header agrees with it.  What is not so is left to the segment's own
 * walk.
 */
#include "kernel/checksum.h"
#include "wal/ahead.h"

static uint64_t
segno_of(const WalWalker *walker, WalLsn lsn)
{
	return lsn / walker->opt.segment_size;
}

void
wal_ahead_begin(WalAhead *ctx, const WalWalker *walker, uint32_t timeline)
{
	ctx->timeline = timeline;
	ctx->record = walker->pending.lsn;
	ctx->first = segno_of(walker, walker->page);
	ctx->count = 0;
}

void
wal_ahead_file(WalAhead *ctx, const WalWalker *walker, const WalFile *file)
{
	WalAheadNote *note = &ctx->notes[ctx->count];

	if (ctx->count == WAL_AHEAD_MAX ||
		walker->page != (ctx->first + ctx->count) * walker->opt.segment_size)
		return;
	ctx->count++;
	memset(note, 0, sizeof(*note));
	note->device = file->scan.device;
	note->inode = file->scan.inode;
	note->size = file->scan.size;
	note->crc = CHECKSUM_CRC_INIT;
}

void
wal_ahead_page(WalAhead *ctx, const WalWalker *walker, const uint8_t *page)
{
	uint64_t	segno = ctx->first + ctx->count - 1;
	WalAheadNote *note = &ctx->notes[ctx->count > 0 ? ctx->count - 1 : 0];
	WalLsn		next = segno * walker->opt.segment_size + note->offset;

	if (ctx->count == 0 || walker->page != next + walker->opt.page_size ||
		!wal_walk_wants_more(walker) || walker->pending.lsn != ctx->record ||
		walker->pending.mismatch.reason != WAL_REASON_NONE)
		return;
	note->offset += walker->opt.page_size;
	note->crc = checksum_crc32c(note->crc, page, walker->opt.page_size);
	note->got = walker->pending.got;
	note->reg = walker->pending.reg;
	note->last_timeline = walker->last_timeline;
}

void
wal_ahead_forget(WalAhead *ctx)
{
	if (ctx->count > 0)
		ctx->notes[ctx->count - 1].offset = 0;
}

const WalAheadNote *
wal_ahead_find(const WalAhead *ctx, const WalWalker *walker,
			   const WalFile *file)
{
	uint64_t	n = segno_of(walker, walker->page) - ctx->first;
	const WalAheadNote *note = &ctx->notes[n < ctx->count ? n : 0];

	if (n >= ctx->count || ctx->record != walker->pending.lsn ||
		ctx->timeline != walker->opt.path.timeline || note->offset == 0 ||
		note->device != file->scan.device ||
		note->inode != file->scan.inode || note->size != file->scan.size)
		return NULL;
	return note;
}
