/*
 * wal_neighbour.c
 *	  The records over the borders of a segment, with the segments around it.
 *
 * To find where the record begins that crosses the start of a segment, its
 * pages are looked at backwards; to complete the one that crosses the end, its
 * pages are walked forwards.  For a record over k segments both would be done k
 * times.  So a walker that has been within one healthy record for all of its
 * segment hands over to that of the next one, which would have found the same;
 * and what completed a record for one segment completes it for the next:
 * only the last of its pages is walked again, by that segment's own rules.
 * Where no beginning can be found, the next segment looks back to this one only.
 */
#include "scan/wal_neighbour.h"
#include "scan/wal_source.h"

/* ---- files ---- */

static bool
read_header(FileScan *file, uint8_t header[WAL_PAGE_LONG])
{
	return file_scan_read(file, header, WAL_PAGE_LONG, 0) == WAL_PAGE_LONG;
}

/* Where WAL of two clusters came together, neither goes on in the other. */
static WalNeighbour
judge_neighbour(const WalBorders *ctx, FileScan *file)
{
	uint8_t		header[WAL_PAGE_LONG];
	WalIdentity id;

	if ((uint64_t) file->size < ctx->id->segment_size)
		return WAL_NEIGHBOUR_SHORT;
	if (!read_header(file, header))
		return WAL_NEIGHBOUR_UNREADABLE;
	wal_identify(&id, header, sizeof(header), (uint64_t) file->size,
				 ctx->id->page_size, ctx->id->segment_size);
	if (id.has_system && ctx->id->has_system && id.system != ctx->id->system)
		return WAL_NEIGHBOUR_FOREIGN;
	return WAL_NEIGHBOUR_OK;
}

static WalNeighbour
open_neighbour(const WalBorders *ctx, uint64_t segno, uint32_t timeline,
			   FileScan *file)
{
	WalName		name = wal_name_of(timeline, segno, ctx->id->segment_size,
								   WAL_KIND_SEGMENT);
	char	   *path = wal_directory_file(ctx->dir, &name);
	FileScanResult opened = file_scan_open(file, path);
	WalNeighbour state = opened == FILE_SCAN_MISSING ?
		WAL_NEIGHBOUR_MISSING : WAL_NEIGHBOUR_UNREADABLE;

	if (opened == FILE_SCAN_OK)
	{
		state = judge_neighbour(ctx, file);
		if (state != WAL_NEIGHBOUR_OK)
			file_scan_close(file);
	}
	wal_host_free(path);
	return state;
}

/* The segment before: of this timeline, else of the one that it left. */
static WalNeighbour
open_previous(const WalBorders *ctx, uint64_t segno, FileScan *file)
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
 * The segment after: of this timeline, else of one that left it there, whose
 * path *path then is.
 */
static WalNeighbour
open_next(const WalBorders *ctx, uint64_t segno, FileScan *file,
		  WalPath *path)
{
	WalLsn		begin = segno * ctx->id->segment_size;
	WalNeighbour state = open_neighbour(ctx, segno, ctx->timeline, file);
	WalPath		other;

	for (int n = 0; state != WAL_NEIGHBOUR_OK &&
		 wal_timelines_descendant(&ctx->dir->timelines, ctx->timeline, begin,
								  begin + ctx->id->segment_size, n, &other);
		 n++)
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
	FileScan	file;
	bool		written;

	if (open_neighbour(ctx, ctx->segno + 1, ctx->timeline, &file) != WAL_NEIGHBOUR_OK)
		return false;
	written = read_header(&file, header) && wal_page_is_at(header, next) &&
		wal_load32(header + WAL_PAGE_TLI) == ctx->timeline;
	file_scan_close(&file);
	return written;
}

/* ---- the record over the start ---- */

/*
 * The offset of the last page of segment segno in which a record starts; the
 * segment size if there is none, -1 if the pages are not all valid.
 */
static int64_t
last_record_page(const WalBorders *ctx, WalSource *source, uint64_t segno)
{
	int64_t		page_size = ctx->id->page_size;
	int64_t		offset = ctx->id->segment_size;
	int64_t		wanted = page_size; /* mostly it is the last one */

	while (offset > 0)
	{
		size_t		len;
		const uint8_t *piece;

		wanted = wanted < offset ? wanted : offset;
		offset -= wanted;
		piece = wal_source_piece(source, (uint64_t) offset, (uint64_t) wanted, &len);
		if ((int64_t) len < wanted)
			return -1;
		for (int64_t at = wanted - page_size; at >= 0; at -= page_size)
		{
			WalLsn		address = segno * ctx->id->segment_size + (uint64_t) (offset + at);

			if (!wal_page_is_at(piece + at, address))
				return -1;
			if (wal_page_starts_record(piece + at, (uint32_t) page_size, address))
				return offset + at;
		}
		wanted = WAL_PIECE_BYTES;
	}
	return ctx->id->segment_size;
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

/* The last page of segment segno in which a record starts, as above. */
static int64_t
look_into(WalBorders *ctx, uint64_t segno)
{
	FileScan	file;
	WalSource	source;
	int64_t		page;

	ctx->before = open_previous(ctx, segno, &file);
	if (ctx->before != WAL_NEIGHBOUR_OK)
		return -1;
	source = wal_source_file(&file, ctx->buffer);
	page = last_record_page(ctx, &source, segno);
	file_scan_close(&file);
	return page;
}

/*
 * Where does the record begin that crosses the start of the segment?  Sets the
 * segment and returns the offset of a page there from which a walk can start;
 * -1: that cannot be found.
 */
static int64_t
find_start(WalBorders *ctx, uint64_t *segno)
{
	uint32_t	size = ctx->id->segment_size;
	int64_t		page = size;
	bool		lost = false;

	*segno = ctx->segno;
	while (*segno > 0 && page == size && !lost &&
		   (ctx->segno - *segno) * size < WAL_REC_MAX)
	{
		lost = is_lost(ctx, *segno);
		if (!lost)
			page = look_into(ctx, --*segno);
	}
	if (lost)
		ctx->before = ctx->carry->lost_before;
	if (page >= 0 && page < size)
		return page;
	note_lost(ctx, lost);
	return -1;
}

/* Walks the pages of a segment from an offset on. */
static void
walk_segment(WalBorders *ctx, WalWalker *walker, FileScan *file,
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
	FileScan	file;

	wal_walk_begin(walker, options, page < 0 ? options->segment_start :
				   segno * ctx->id->segment_size + (uint64_t) page);
	for (; page >= 0 && segno < ctx->segno; segno++, page = 0)
	{
		ctx->before = open_previous(ctx, segno, &file);
		if (ctx->before != WAL_NEIGHBOUR_OK)
			break;
		walk_segment(ctx, walker, &file, (uint64_t) page);
		file_scan_close(&file);
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

void
wal_borders_enter(WalBorders *ctx, WalWalker *walker,
				  const WalWalkOptions *options)
{
	ctx->before = WAL_NEIGHBOUR_OK;
	if (ctx->dir == NULL)
	{
		ctx->before = WAL_NEIGHBOUR_ALONE;
		wal_walk_begin(walker, options, options->segment_start);
	}
	else if (can_take_over(ctx, options))
		wal_walk_take_over(walker, options, &ctx->carry->walker);
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

/* Walks the pages of the next segment that the record needs. */
static void
walk_on(WalBorders *ctx, WalWalker *walker, FileScan *file, bool note)
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
		}
		offset += len;
		wanted = WAL_PIECE_BYTES;
	}
}

/*
 * Has an earlier segment of this run completed the same record?  Its own next
 * pass does it anew.  A last page that disagrees on the record's length is not
 * judged yet: the next page does that.
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
	FileScan	file;

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
		walk_on(ctx, walker, &file, note);
		file_scan_close(&file);
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
