/*
 * neighbour.c
 *	  The records over the borders of a segment, with the segments around it.
 *
 * To find where the record begins that crosses the start of a segment, its
 * pages are looked at backwards.  To complete the one that crosses the end,
 * its pages are walked forwards.  For a record over k segments both would be
 * done k times.  So a walker that ends within a healthy record hands over to
 * that of the next segment, which would have found the same.  What completed a
 * record for one segment completes it for the next.  Only the last of its
 * pages is walked again, by that segment's own rules.  The other pages are not
 * read again for their own segments either, see wal/ahead.h.  Where no
 * beginning can be found, the next segment looks back to this one only.
 */
#include "kernel/checksum.h"
#include "wal/neighbour.h"
#include "wal/source.h"

/* ---- files ---- */

static bool
read_header(const WalBorders *ctx, WalFile *file,
			uint8_t header[WAL_PAGE_LONG])
{
	WalSource	source = wal_source_file(file, ctx->buffer);
	size_t		len;
	const uint8_t *piece = wal_source_piece(&source, 0, WAL_PAGE_LONG, &len);

	if (len < WAL_PAGE_LONG)
		return false;
	memcpy(header, piece, WAL_PAGE_LONG);
	return true;
}

/* Where WAL of two clusters came together, neither goes on in the other. */
static WalNeighbour
judge_neighbour(const WalBorders *ctx, WalFile *file)
{
	uint8_t		header[WAL_PAGE_LONG];
	WalIdentity id;

	if (wal_file_size(file) < ctx->id->segment_size)
		return WAL_NEIGHBOUR_SHORT;
	if (!read_header(ctx, file, header))
		return WAL_NEIGHBOUR_UNREADABLE;
	wal_identify(&id, header, sizeof(header), ctx->id->segment_size,
				 ctx->id->page_size, ctx->id->segment_size);
	if (id.has_system && ctx->id->has_system && id.system != ctx->id->system)
		return WAL_NEIGHBOUR_FOREIGN;
	return WAL_NEIGHBOUR_OK;
}

/* *file is set if the state is WAL_NEIGHBOUR_OK. */
static WalNeighbour
open_neighbour(const WalBorders *ctx, uint64_t segno, uint32_t timeline,
			   WalFile **file)
{
	WalName		name = wal_name_of(timeline, segno, ctx->id->segment_size,
								   WAL_KIND_SEGMENT);
	FileScanResult opened;
	WalNeighbour state;

	wal_directory_find(ctx->dir, &name);
	*file = wal_files_open(ctx->files, &name, &opened);
	if (*file == NULL)
		return opened == FILE_SCAN_MISSING ? WAL_NEIGHBOUR_MISSING :
			WAL_NEIGHBOUR_UNREADABLE;
	state = judge_neighbour(ctx, *file);
	if (state != WAL_NEIGHBOUR_OK)
		wal_files_close(ctx->files, *file);
	return state;
}

/* Opens the segment before, of this timeline, else of the one that it left. */
static WalNeighbour
open_previous(const WalBorders *ctx, uint64_t segno, WalFile **file)
{
	WalPath		path = wal_timelines_path(&ctx->dir->timelines, ctx->timeline);
	uint32_t	timeline = wal_path_at(&path, (segno + 1) * ctx->id->segment_size - 1);
	WalNeighbour state = open_neighbour(ctx, segno, ctx->timeline, file);

	if (state != WAL_NEIGHBOUR_OK && timeline != 0 &&
		timeline != ctx->timeline)
		state = open_neighbour(ctx, segno, timeline, file);
	return state;
}

/*
 * Opens the segment after, of this timeline, else of one that left it there,
 * whose path *path then is.
 */
static WalNeighbour
open_next(const WalBorders *ctx, uint64_t segno, WalFile **file,
		  WalPath *path)
{
	WalLsn		begin = segno * ctx->id->segment_size;
	WalNeighbour state = open_neighbour(ctx, segno, ctx->timeline, file);
	WalDescent	descent = {ctx->timeline, begin, begin + ctx->id->segment_size, 0, 0, false};
	WalPath		other;

	while (state != WAL_NEIGHBOUR_OK &&
		   wal_timelines_descend(&ctx->dir->timelines, &descent, &other))
	{
		WalNeighbour found = open_neighbour(ctx, segno, other.timeline, file);

		if (found == WAL_NEIGHBOUR_OK)
			*path = other;
		if (found != WAL_NEIGHBOUR_MISSING)
			state = found;
	}
	return state;
}

bool
wal_borders_next_is_written(WalBorders *ctx)
{
	WalLsn		next = (ctx->segno + 1) * ctx->id->segment_size;
	uint8_t		header[WAL_PAGE_LONG];
	WalFile    *file;
	bool		written;

	if (open_neighbour(ctx, ctx->segno + 1, ctx->timeline, &file) != WAL_NEIGHBOUR_OK)
		return false;
	written = read_header(ctx, file, header) && wal_page_is_at(header, next) &&
		wal_load32(header + WAL_PAGE_TLI) == ctx->timeline;
	wal_files_close(ctx->files, file);
	return written;
}

/* ---- the record over the start ---- */

/* A search for the last page of a segment in which a record starts. */
typedef struct LookBack
{
	WalSource  *source;
	WalLsn		begin;			/* of the segment */
	int64_t		page;			/* its offset, -1 if none so far, -2 if the
								 * segment was not written or cannot be read */
	bool		gaps;			/* there are pages that are no WAL */
	bool		short_head;		/* the first page begins with the rest of what
								 * may be an XLOG_SWITCH */
} LookBack;

/*
 * Does a record start in the page?  Zeros follow the last one and, after a
 * switch, what a recycled file held.  None of that is a record.
 */
static bool
has_record(const WalBorders *ctx, LookBack *look, const uint8_t *page,
		   int64_t offset)
{
	WalLsn		address = look->begin + (uint64_t) offset;
	uint32_t	rem_len = wal_load32(page + WAL_PAGE_REM_LEN);
	uint64_t	start = wal_align(wal_page_header_size(address, ctx->id->segment_size) +
								  (uint64_t) rem_len);

	if (offset == 0 && wal_page_is_at(page, address))
		look->short_head = rem_len > 0 && rem_len <= WAL_REC_HEADER;
	if (wal_page_starts_record(page, ctx->id->page_size, address) &&
		start < ctx->id->page_size && wal_load32(page + start) != 0)
		return true;
	look->gaps |= start < ctx->id->page_size || !wal_page_is_at(page, address);
	return false;
}

/* Looks at the pages offset .. offset + len. */
static void
look_at(const WalBorders *ctx, LookBack *look, int64_t offset, int64_t len)
{
	int64_t		page_size = ctx->id->page_size;
	size_t		got;
	const uint8_t *piece = wal_source_piece(look->source, (uint64_t) offset,
											(uint64_t) len, &got);
	int64_t		found = -1;

	for (int64_t at = len - page_size; at >= 0 && found < 0; at -= page_size)
		if ((int64_t) got == len && has_record(ctx, look, piece + at, offset + at))
			found = offset + at;
	if ((int64_t) got < len)
		look->page = -2;
	else if (found >= 0)
		look->page = found;
}

/*
 * Was the segment written at all?  To be asked if no record starts in its last
 * page.
 */
static bool
is_written(const WalBorders *ctx, const LookBack *look)
{
	size_t		got;
	const uint8_t *page = wal_source_piece(look->source, 0, ctx->id->page_size, &got);

	return got == ctx->id->page_size && wal_page_is_at(page, look->begin);
}

/*
 * Looks at a segment's pages, backwards as far as they are at hand.  Those
 * that would have to be decompressed again are looked at forwards.
 */
static void
look_at_segment(const WalBorders *ctx, LookBack *look)
{
	int64_t		offset = ctx->id->segment_size;
	int64_t		wanted = ctx->id->page_size;	/* mostly it is the last one */
	int64_t		kept = 0;
	int64_t		end;

	for (; look->page == -1 && offset > kept; wanted = WAL_PIECE_BYTES)
	{
		if (wanted > offset - kept)
			wanted = offset - kept;
		offset -= wanted;
		look_at(ctx, look, offset, wanted);
		kept = (int64_t) wal_source_kept(look->source);
		if (wanted == ctx->id->page_size && look->gaps && !is_written(ctx, look))
			look->page = -2;
	}
	if (look->page != -1)
		return;
	end = offset;
	for (offset = 0; look->page != -2 && offset < end; offset += WAL_PIECE_BYTES)
		look_at(ctx, look, offset,
				end - offset < WAL_PIECE_BYTES ? end - offset : WAL_PIECE_BYTES);
}

/*
 * Returns the offset of the last page of segment segno in which a record
 * starts.  It is -1 if there is none, so that the one looked for may begin
 * before it, and -2 if it does not.
 */
static int64_t
last_record_page(const WalBorders *ctx, WalSource *source, uint64_t segno)
{
	LookBack	look = {source, segno * ctx->id->segment_size, -1, false, false};

	look_at_segment(ctx, &look);
	return look.page == -1 && look.gaps && !look.short_head ? -2 : look.page;
}

/*
 * Has an earlier segment of this run looked back from here in vain?  Its own
 * next pass does it anew.
 */
static bool
is_lost(const WalBorders *ctx, uint64_t segno)
{
	const WalCarry *carry = ctx->carry;

	return carry->has_lost && segno < ctx->segno &&
		segno >= carry->lost_first && segno <= carry->lost_last &&
		carry->lost_timeline == ctx->timeline &&
		ctx->id->has_system && carry->lost_system == ctx->id->system;
}

/* Notes for the segments after this one that looking back is in vain. */
static void
note_lost(WalBorders *ctx, bool carried)
{
	WalCarry   *carry = ctx->carry;

	if (!carried)
		carry->lost_first = ctx->segno;
	carry->has_lost = ctx->id->has_system;
	carry->lost_last = ctx->segno;
	carry->lost_timeline = ctx->timeline;
	carry->lost_system = ctx->id->system;
	carry->lost_before = ctx->before;
}

/*
 * Returns the last page of segment segno in which a record starts, as above.
 */
static int64_t
look_into(WalBorders *ctx, uint64_t segno)
{
	WalFile    *file;
	WalSource	source;
	int64_t		page;

	ctx->before = open_previous(ctx, segno, &file);
	if (ctx->before != WAL_NEIGHBOUR_OK)
		return -2;
	source = wal_source_file(file, ctx->buffer);
	page = last_record_page(ctx, &source, segno);
	wal_files_close(ctx->files, file);
	return page;
}

/*
 * Where does the record begin that crosses the start of the segment?  Sets the
 * segment and returns the offset of a page there from which a walk can start,
 * or -1 if that cannot be found.
 */
static int64_t
find_start(WalBorders *ctx, uint64_t *segno)
{
	uint32_t	size = ctx->id->segment_size;
	int64_t		page = -1;
	bool		lost = false;

	*segno = ctx->segno;
	while (*segno > 0 && page == -1 && !lost &&
		   (ctx->segno - *segno) * size < WAL_REC_MAX)
	{
		lost = is_lost(ctx, *segno);
		if (!lost)
			page = look_into(ctx, --*segno);
	}
	if (lost)
		ctx->before = ctx->carry->lost_before;
	if (page >= 0)
		return page;
	note_lost(ctx, lost);
	return -1;
}

/* Walks the pages of a segment from an offset on. */
static void
walk_segment(WalBorders *ctx, WalWalker *walker, WalFile *file,
			 uint64_t offset)
{
	WalSource	source = wal_source_file(file, ctx->buffer);

	while (offset < ctx->id->segment_size)
	{
		size_t		len;
		const uint8_t *piece = wal_source_piece(&source, offset,
												ctx->id->segment_size - offset, &len);

		if (len < ctx->id->page_size)
			break;
		for (size_t at = 0; at + ctx->id->page_size <= len; at += ctx->id->page_size)
			wal_walk_page(walker, piece + at);
		offset += len;
	}
}

/* Walks from the page where the record begins up to the segment. */
static void
walk_to_segment(WalBorders *ctx, WalWalker *walker,
				const WalWalkOptions *options)
{
	uint64_t	segno;
	int64_t		page = find_start(ctx, &segno);
	WalFile    *file;

	wal_walk_begin(walker, options, page < 0 ? options->segment_start :
				   segno * ctx->id->segment_size + (uint64_t) page);
	for (; page >= 0 && segno < ctx->segno; segno++, page = 0)
	{
		ctx->before = open_previous(ctx, segno, &file);
		if (ctx->before != WAL_NEIGHBOUR_OK)
			break;
		walk_segment(ctx, walker, file, (uint64_t) page);
		wal_files_close(ctx->files, file);
	}
	if (walker->page != options->segment_start)
		wal_walk_begin(walker, options, options->segment_start);
}

static bool
can_take_over(const WalBorders *ctx, const WalWalkOptions *options)
{
	const WalCarry *carry = ctx->carry;

	return carry->has_start &&
		carry->walker.segment_end == options->segment_start &&
		carry->walker.opt.path.timeline == ctx->timeline &&
		carry->walker.opt.segment_size == options->segment_size &&
		carry->walker.opt.page_size == options->page_size &&
		carry->magic == ctx->id->magic &&
		ctx->id->has_system && carry->system == ctx->id->system;
}

/* Goes on where the walk that completed the record for another segment was. */
static void
resume(WalBorders *ctx, WalWalker *walker, const WalWalkOptions *options)
{
	const WalCarry *carry = ctx->carry;
	const WalAheadNote *note = wal_ahead_find(&carry->ahead, walker, ctx->file);
	WalPending	pending = carry->pending;

	if (ctx->again || ctx->whole || note == NULL || !carry->has_end ||
		walker->pending.kind == WAL_PENDING_NONE ||
		carry->segno >= ctx->segno ||
		pending.lsn != walker->pending.lsn ||
		pending.len != walker->pending.len ||
		options->limit < options->segment_start + note->offset)
		return;
	pending.mismatch.reason = WAL_REASON_NONE;
	pending.got = note->got;
	pending.reg = note->reg;
	wal_walk_resume(walker, &pending, note->offset, note->last_timeline);
	ctx->walked = note->offset;
	ctx->crc = note->crc;
}

void
wal_borders_enter(WalBorders *ctx, WalWalker *walker,
				  const WalWalkOptions *options)
{
	ctx->before = WAL_NEIGHBOUR_OK;
	ctx->walked = 0;
	ctx->crc = CHECKSUM_CRC_INIT;
	if (ctx->dir == NULL)
	{
		ctx->before = WAL_NEIGHBOUR_ALONE;
		wal_walk_begin(walker, options, options->segment_start);
	}
	else if (can_take_over(ctx, options))
	{
		wal_walk_take_over(walker, options, &ctx->carry->walker);
		resume(ctx, walker, options);
	}
	else
		walk_to_segment(ctx, walker, options);
}

/* ---- the record over the end ---- */

/* Notes how far the record was brought, for the segments after this one. */
static void
note_progress(WalBorders *ctx, const WalWalker *walker)
{
	ctx->carry->has_end = true;
	ctx->carry->segno = ctx->segno;
	ctx->carry->timeline = ctx->timeline;
	ctx->carry->after = WAL_NEIGHBOUR_OK;
	ctx->carry->path = walker->path;
	ctx->carry->pending = walker->pending;
	ctx->carry->page = walker->page;
}

/* A file that was walked to its end is the whole segment and nothing else. */
static void
check_end(WalBorders *ctx, WalSource *source)
{
	wal_source_measure(source, ctx->id->segment_size);
	if (source->size != ctx->id->segment_size ||
		source->failed.reason != WAL_REASON_NONE)
		wal_ahead_forget(&ctx->carry->ahead);
}

/* Walks the pages of the next segment that the record needs. */
static void
walk_on(WalBorders *ctx, WalWalker *walker, WalFile *file, bool note)
{
	WalSource	source = wal_source_file(file, ctx->buffer);
	uint64_t	offset = walker->page % ctx->id->segment_size;
	uint64_t	wanted = ctx->id->page_size;	/* mostly that is all */

	while (offset < ctx->id->segment_size && wal_walk_wants_more(walker))
	{
		size_t		len;
		const uint8_t *piece;

		if (wanted > ctx->id->segment_size - offset)
			wanted = ctx->id->segment_size - offset;
		piece = wal_source_piece(&source, offset, wanted, &len);
		if (len < wanted)
		{
			ctx->after = WAL_NEIGHBOUR_UNREADABLE;
			break;
		}
		for (size_t at = 0; at < len && wal_walk_wants_more(walker); at += ctx->id->page_size)
		{
			if (note)
				note_progress(ctx, walker);
			wal_walk_page(walker, piece + at);
			if (note)
				wal_ahead_page(&ctx->carry->ahead, walker, piece + at);
		}
		offset += len;
		wanted = WAL_PIECE_BYTES;
	}
	if (note && offset == ctx->id->segment_size)
		check_end(ctx, &source);
}

/*
 * Has an earlier segment of this run completed the same record?  Its own next
 * pass does it anew.  A last page that disagrees on the record's length is not
 * judged yet.  The next page does that.
 */
static bool
is_carried(const WalBorders *ctx, const WalWalker *walker)
{
	const WalCarry *carry = ctx->carry;

	return carry->has_end && carry->segno < ctx->segno &&
		carry->timeline == ctx->timeline &&
		walker->pending.mismatch.reason == WAL_REASON_NONE &&
		carry->pending.lsn == walker->pending.lsn &&
		carry->pending.len == walker->pending.len &&
		carry->pending.got >= walker->pending.got &&
		carry->page >= walker->page;
}

/* Walks on until the record is complete, or there are no pages to do so. */
static void
complete_record(WalBorders *ctx, WalWalker *walker, bool note)
{
	WalFile    *file;

	if (note)
		wal_ahead_begin(&ctx->carry->ahead, walker, ctx->timeline);
	while (ctx->after == WAL_NEIGHBOUR_OK && wal_walk_wants_more(walker))
	{
		WalPath		path = walker->path;

		if (note)
			note_progress(ctx, walker);
		ctx->after = open_next(ctx, walker->page / ctx->id->segment_size,
							   &file, &path);
		if (ctx->after != WAL_NEIGHBOUR_OK)
			break;
		wal_walk_follow(walker, &path);
		if (note)
			wal_ahead_file(&ctx->carry->ahead, walker, file);
		walk_on(ctx, walker, file, note);
		wal_files_close(ctx->files, file);
	}
	if (note)
		ctx->carry->after = ctx->after;
}

void
wal_borders_leave(WalBorders *ctx, WalWalker *walker)
{
	bool		carried;

	ctx->after = WAL_NEIGHBOUR_OK;
	if (ctx->dir == NULL)
		ctx->after = WAL_NEIGHBOUR_ALONE;
	if (ctx->dir == NULL || !wal_walk_wants_more(walker))
		return;
	carried = is_carried(ctx, walker);
	if (carried)
	{
		wal_walk_skip(walker, &ctx->carry->pending, ctx->carry->page);
		wal_walk_follow(walker, &ctx->carry->path);
		ctx->after = ctx->carry->after;
	}
	complete_record(ctx, walker, !carried);
}
