/*
 * block_walk.c
 *	  The records of a range of WAL, one by one, and where some are missing.
 *
 * Segments are judged one after the other, and the walker hands over the
 * records that start in each.  Only the first pass over a file counts.  What a
 * second one finds more is in a gap all the same.
 *
 * The file of an older timeline may go on after the switch point, where its
 * records are of no server that the range belongs to.  The file of the newer
 * one begins with a copy of what the older wrote in that segment.  So a record
 * counts if the timeline that wrote its last byte, along the history, is not
 * newer than its file.
 */
#include "wal/block_walk.h"
#include "wal/record.h"

/* A walk at work. */
typedef struct Walk
{
	const WalBlockWalk *options;
	WalBlockWalkEnd *end;
	WalPath		path;
	WalLsn		limit;			/* the end of this server's WAL, and records
								 * beyond it do not count */
	WalLsn		wanted;			/* records before it are expected */
	const WalName *segment;		/* at work */
	WalLsn		same_until;		/* records that end there or before are of the
								 * history as the last one asked about was */
	bool		of_history;
	bool		stopped;		/* nothing more is wanted */
	bool		beyond;			/* a record after the range was seen, and
								 * nothing before it is missing */

	/* the chain */
	WalLsn		last;			/* the last record seen, or 0 */
	WalLsn		last_end;
	bool		troubled;		/* since then, and by what */
	WalBlockGap trouble;

	/* a record in pieces */
	uint8_t    *buffer;
	uint32_t	room;
	uint32_t	gathered;
	WalFiles   *files;			/* that are open */
} Walk;

/* ---- gaps ---- */

/* Only what was wrong first since the last record counts. */
static void
note_trouble(Walk *ctx, WalStatus status, const WalVerdict *verdict)
{
	if (ctx->troubled)
		return;
	ctx->troubled = true;
	if (ctx->segment != NULL)
		ctx->trouble.segment = *ctx->segment;
	ctx->trouble.status = status;
	ctx->trouble.verdict = *verdict;
}

static void
report_gap(Walk *ctx, WalLsn end)
{
	static const WalVerdict none = {WAL_REASON_NONE};

	if (!ctx->troubled)
		note_trouble(ctx, WAL_MISSING, &none);
	ctx->trouble.begin = ctx->last != 0 && ctx->last_end > ctx->end->begin ?
		ctx->last_end : ctx->end->begin;
	ctx->trouble.end = end;
	ctx->end->gaps++;
	if (ctx->options->gap != NULL)
		ctx->options->gap(ctx->options->arg, &ctx->trouble);
}

static void
on_finding(void *arg, const WalFinding *finding)
{
	note_trouble(arg, finding->status, &finding->verdict);
}

/* ---- records ---- */

/* Takes a piece of a record that is not verified yet. */
static void
on_walked_piece(void *arg, const uint8_t *data, uint32_t offset, uint32_t n)
{
	Walk	   *ctx = arg;
	uint32_t	most = WAL_BLOCK_WALK_RECORD_MAX;

	if (offset == 0)
		ctx->gathered = 0;
	if (ctx->gathered != offset || offset >= most)
		return;
	if (n > most - offset)
		n = most - offset;
	while (offset + n > ctx->room)
	{
		ctx->room = ctx->room == 0 ? 64 * 1024 : ctx->room * 2;
		ctx->buffer = host_grow(ctx->buffer, ctx->room);
	}
	memcpy(ctx->buffer + offset, data, n);
	ctx->gathered += n;
}

/* Returns up to where the path has the timeline that it has at lsn. */
static WalLsn
end_of_timeline(const WalPath *path, WalLsn lsn)
{
	WalLsn		end = WAL_LSN_MAX;

	for (int i = 0; path->known && i < path->nancestors; i++)
		if (path->ancestors[i].end > lsn && path->ancestors[i].end < end)
			end = path->ancestors[i].end;
	return end;
}

/* Did the history that is walked write it?  To be asked in a file's order. */
static inline bool
is_of_history(Walk *ctx, WalLsn end)
{
	if (end > ctx->same_until)
	{
		ctx->same_until = end_of_timeline(&ctx->path, end - 1);
		ctx->of_history = wal_path_at(&ctx->path, end - 1) <=
			ctx->segment->timeline;
	}
	return ctx->of_history;
}

/* Does the record follow on the last one seen, or on the start of the range? */
static inline bool
is_chained(const Walk *ctx, const uint8_t *rec)
{
	WalLsn		prev = wal_load64(rec + WAL_REC_PREV);

	return ctx->last != 0 ? prev == ctx->last : prev < ctx->end->begin;
}

static inline void
hand_out(Walk *ctx, const WalBlockRecord *record, WalLsn end)
{
	ctx->end->records++;
	ctx->end->end = end;
	if (ctx->options->record(ctx->options->arg, record))
		return;
	ctx->stopped = true;
	wal_files_stop(ctx->files);
}

/*
 * Takes a record whose bytes are in one piece now.  lsn and end are its own.
 * They come in registers, since what was stored in two parts is slow to load as
 * one.
 */
static inline void
on_record(Walk *ctx, const WalBlockRecord *record, WalLsn lsn, WalLsn end)
{
	bool		inside = lsn >= ctx->end->begin;

	if (ctx->stopped || ctx->beyond || end > ctx->limit ||
		lsn <= ctx->last || !is_of_history(ctx, end))
		return;
	if (inside && !is_chained(ctx, record->bytes))
		report_gap(ctx, lsn);
	ctx->last = lsn;
	ctx->last_end = end;
	ctx->troubled = false;
	if (end > ctx->options->to)
		ctx->beyond = true;
	else if (inside)
		hand_out(ctx, record, end);
}

/* After a switch the next record starts in the next segment. */
static WalLsn
end_of_switch(const Walk *ctx, WalLsn lsn)
{
	uint32_t	size = ctx->options->dir->limits.segment_size;

	return (lsn / size + 1) * size;
}

static void
on_walked_record(void *arg, WalLsn lsn, WalLsn end, const uint8_t *rec, uint32_t len)
{
	Walk	   *ctx = arg;
	WalBlockRecord record;

	record.bytes = rec != NULL ? rec : ctx->buffer;
	record.len = len;
	record.present = rec != NULL ? len : ctx->gathered;
	record.segment = ctx->segment;
	if (wal_record_is(record.bytes, WAL_XLOG_SWITCH))
		end = end_of_switch(ctx, lsn);
	record.lsn = lsn;
	record.end = end;
	on_record(ctx, &record, lsn, end);
}

/* ---- segments ---- */

/* Did the walker go through all that the segment should hold? */
static bool
is_sound(WalStatus status)
{
	switch (status)
	{
		case WAL_OK:
		case WAL_OK_SWITCHED:
		case WAL_OK_END_OF_WAL:
		case WAL_OK_PARTIAL:
		case WAL_OK_RECYCLED:
		case WAL_OK_UNUSED:
			return true;
		default:
			return false;
	}
}

/* Does the WAL end in such a segment only because nothing follows? */
static bool
is_open_end(const Walk *ctx, WalStatus status)
{
	WalLsn		limit;

	return status != WAL_OK && status != WAL_OK_SWITCHED && is_sound(status) &&
		!wal_live_limit(&ctx->options->dir->limits, ctx->segment->timeline,
						&limit);
}

/* If the oldest segment goes while it is read, the range begins after it. */
static bool
begins_later(Walk *ctx, const WalSegmentResult *result)
{
	uint32_t	size = ctx->options->dir->limits.segment_size;

	if (ctx->options->from != 0 || ctx->last != 0 ||
		(result->status != WAL_MISSING &&
		 result->status != WAL_OK_REMOVED))
		return false;
	ctx->end->begin = (wal_name_segno(ctx->segment, size) + 1) * size;
	ctx->end->end = ctx->end->begin;
	return true;
}

static void
walk_segment(Walk *ctx, WalSession *session, const WalName *name)
{
	WalSegmentResult result;

	ctx->segment = name;
	ctx->same_until = 0;
	wal_segment_judge_entry(session, name, &result);
	if (begins_later(ctx, &result))
		return;
	ctx->end->segment = *name;
	ctx->end->certain_end = !is_open_end(ctx, result.status);
	/* the findings of one that was walked were noted as they came */
	if (!is_sound(result.status) && !result.has_counts)
		note_trouble(ctx, result.status, &result.message);
}

/* ---- the range ---- */

/* Finds where the walk begins.  "The oldest" is the first file of the list. */
static size_t
find_begin(Walk *ctx, const WalNames *list)
{
	uint32_t	size = ctx->options->dir->limits.segment_size;
	size_t		first = 0;

	ctx->end->begin = ctx->options->from;
	if (ctx->options->from == 0)
	{
		while (first < list->count && list->names[first].kind == WAL_KIND_MISSING)
			first++;
		if (first < list->count)
			ctx->end->begin = wal_name_segno(&list->names[first], size) * size;
	}
	ctx->end->end = ctx->end->begin;
	return first;
}

/* Finds how far the WAL of the range is wanted, and how far it can count. */
static void
find_limits(Walk *ctx, uint32_t timeline)
{
	WalLsn		live;

	ctx->limit = WAL_LSN_MAX;
	ctx->wanted = ctx->options->to;
	if (!wal_live_limit(&ctx->options->dir->limits, timeline, &live))
		return;
	ctx->limit = live;
	if (live < ctx->wanted)
		ctx->wanted = live;
}

/* Is what lies after the last record of the range accounted for? */
static void
judge_end(Walk *ctx)
{
	bool		reached = ctx->beyond || ctx->last_end >= ctx->wanted;
	bool		open = !ctx->end->certain_end && ctx->wanted != WAL_LSN_MAX;

	if (!ctx->stopped && !reached && (ctx->troubled || open))
		report_gap(ctx, ctx->wanted);
}

static WalSession
begin_session(Walk *ctx, const WalRecordSink *sink)
{
	const WalBlockWalk *options = ctx->options;
	WalRange	range = WAL_RANGE_ALL;
	WalSession	session;

	/* the walker's range is for findings, and those are wanted from the start */
	wal_session_begin(&session, options->dir, range);
	if (options->system != 0 && options->system != session.server.system)
	{
		session.server.system = options->system;
		session.server.magic = 0;
	}
	session.records = sink;
	ctx->files = session.files;
	wal_files_throttle(session.files, options->throttle);
	return session;
}

void
wal_block_walk(const WalBlockWalk *walk, WalBlockWalkEnd *end)
{
	WalRange	range = {walk->from, walk->to};
	Walk		ctx = {walk, end};
	WalRecordSink sink = {on_walked_record, on_walked_piece, on_finding, &ctx};
	WalSession	session;
	WalNames	list;

	memset(end, 0, sizeof(*end));
	end->certain_end = true;
	wal_list_range(walk->dir, range, walk->timeline, walk->rest_elsewhere, &list);
	ctx.path = wal_list_path(walk->dir, walk->timeline);
	find_limits(&ctx, ctx.path.timeline);
	session = begin_session(&ctx, &sink);
	for (size_t i = find_begin(&ctx, &list);
		 i < list.count && !ctx.stopped && !ctx.beyond; i++)
		walk_segment(&ctx, &session, &list.names[i]);
	if (list.count > 0)
		judge_end(&ctx);
	wal_session_end(&session);
	host_free(ctx.buffer);
	host_free(list.names);
}
