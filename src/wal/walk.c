/*
 * walk.c
 *	  Judges WAL segments, page by page, record by record.
 *
 * A record lies in one page, or goes on in the next ones, whose headers then
 * say how much of it is still to come.  The walker checks records where they
 * lie.  The CRC register is carried from piece to piece, while the header,
 * which the CRC covers last, waits in a small copy.
 *
 * A stop is the first thing that does not fit, be it a broken record, a broken
 * page header, or zeros.  It is damage as soon as WAL with the right addresses
 * goes on after it.  If nothing does, it may be the end of WAL, and the
 * caller's options decide.  After a broken record its length is given one
 * chance.  If the next record's prev-link leads back to it, only this record
 * is lost.  Else the walk goes on at the next page in which a record starts,
 * as the server's reader does.
 */
#include "kernel/checksum.h"
#include "wal/record.h"
#include "wal/walk.h"

#define unlikely_(x)	__builtin_expect((x) != 0, 0)

static void process_page(WalWalker *ctx, const uint8_t *page);
static void switched_bytes(WalWalker *ctx, const uint8_t *page, uint32_t from);
static void seek_page(WalWalker *ctx, const uint8_t *page, WalVerdict *why);
static uint32_t pass_records(WalWalker *ctx, const uint8_t *page, uint32_t pos)
			__attribute__((noinline));
static void walk_records(WalWalker *ctx, const uint8_t *page, uint32_t pos);
static bool check_header(WalWalker *ctx, const uint8_t *page,
						 WalVerdict *verdict);
static void stop_at(WalWalker *ctx, WalLsn end, const WalVerdict *verdict);
static void damage(WalWalker *ctx, const WalVerdict *verdict);
static void confirm_stop(WalWalker *ctx);
static void emit(WalWalker *ctx, const WalVerdict *verdict);
static bool beyond_limit(const WalWalker *ctx, WalLsn lsn, WalLsn end);

/*
 * The newest comes first, as the server looks it up.  A recovery that was to
 * follow a timeline may end before that one began, as in "1 X, 2 Y" with Y
 * before X.  What lies from Y on is the new timeline's.
 */
uint32_t
wal_path_at(const WalPath *path, WalLsn lsn)
{
	uint32_t	timeline = path->timeline;

	if (!path->known)
		return 0;
	for (int i = path->nancestors - 1;
		 i >= 0 && lsn < path->ancestors[i].end; i--)
		timeline = path->ancestors[i].timeline;
	return timeline;
}

void
wal_walk_begin(WalWalker *ctx, const WalWalkOptions *options,
			   WalLsn first_page)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->opt = *options;
	ctx->path = options->path;
	ctx->version = wal_version_supported(options->magic);
	ctx->segment_end = options->segment_start + options->segment_size;
	ctx->end = options->segment_start;
	ctx->page = first_page;
	ctx->phase = WAL_WALK_SEEK;
}

void
wal_walk_take_over(WalWalker *ctx, const WalWalkOptions *options,
				   const WalWalker *before)
{
	wal_walk_begin(ctx, options, options->segment_start);
	ctx->version = before->version;
	ctx->phase = before->phase;
	ctx->last_timeline = before->last_timeline;
	ctx->prev = before->prev;
	ctx->before = before->before;
	ctx->pending = before->pending;
	ctx->pending.inside = 0;
}

/*
 * Of a record that starts in the segment the whole header must lie in one
 * page.  Then it was checked with its prev-link, which a walk that begins at
 * this page may not know.  After a switch that was seen, its LSN is all that
 * there is.
 */
bool
wal_walk_hands_over(const WalWalker *ctx)
{
	WalLsn		lsn = ctx->pending.lsn;
	bool		within = wal_walk_wants_more(ctx) &&
		(lsn < ctx->opt.segment_start ||
		 lsn % ctx->opt.page_size + WAL_REC_HEADER <= ctx->opt.page_size) &&
		ctx->pending.mismatch.reason == WAL_REASON_NONE;
	bool		switched = ctx->phase == WAL_WALK_SWITCHED && ctx->prev != 0;

	return (within || switched) && ctx->page == ctx->segment_end &&
		ctx->stop.verdict.reason == WAL_REASON_NONE &&
		ctx->counts.errors == 0 && !ctx->prev_invalid && !ctx->overwrite;
}

void
wal_walk_follow(WalWalker *ctx, const WalPath *path)
{
	ctx->path = *path;
}

void
wal_walk_skip(WalWalker *ctx, const WalPending *pending, WalLsn page)
{
	uint32_t	inside = ctx->pending.inside;

	ctx->pending = *pending;
	ctx->pending.inside = inside;
	ctx->page = page;
}

void
wal_walk_resume(WalWalker *ctx, const WalPending *pending, uint32_t offset,
				uint32_t last_timeline)
{
	uint32_t	pages = offset / ctx->opt.page_size;
	uint32_t	headers = WAL_PAGE_LONG + (pages - 1) * WAL_PAGE_SHORT;

	ctx->counts.pages += pages;
	ctx->counts.bytes_verified += headers;
	ctx->pending = *pending;
	ctx->pending.inside = offset - headers;
	ctx->last_timeline = last_timeline;
	ctx->page = ctx->opt.segment_start + offset;
}

static uint32_t
header_size(const WalWalker *ctx)
{
	return wal_page_header_size(ctx->page, ctx->opt.segment_size);
}

/* Does the page at work belong to the segment? */
static inline bool
is_inside(const WalWalker *ctx)
{
	return ctx->page >= ctx->opt.segment_start &&
		ctx->page < ctx->segment_end;
}

static void
count_inside(const WalWalker *ctx, uint64_t *counter, uint64_t bytes)
{
	if (is_inside(ctx))
		*counter += bytes;
}

void
wal_walk_page(WalWalker *ctx, const uint8_t *page)
{
	WalVerdict	why;

	if (ctx->phase == WAL_WALK_SWITCHED &&
		ctx->page % ctx->opt.segment_size == 0)
		ctx->phase = WAL_WALK_RECORDS;

	if (ctx->phase == WAL_WALK_SWITCHED)
		switched_bytes(ctx, page, 0);
	else if (ctx->phase == WAL_WALK_ENDED)
	{
		if (is_inside(ctx) && wal_is_zero(page, ctx->opt.page_size))
			ctx->counts.zero_bytes += ctx->opt.page_size;
	}
	else if (!check_header(ctx, page, &why))
		seek_page(ctx, page, &why);
	else
	{
		count_inside(ctx, &ctx->counts.pages, 1);
		count_inside(ctx, &ctx->counts.bytes_verified, header_size(ctx));
		process_page(ctx, page);
	}
	ctx->page += ctx->opt.page_size;
}

/* ---- verdicts ---- */

static WalVerdict
verdict_of(WalReason reason, WalLsn at, uint64_t value, uint64_t expected)
{
	WalVerdict	verdict = {reason, at, value, expected, 0};

	return verdict;
}

/* ---- page headers ---- */

static void
note_page(WalWalker *ctx, const uint8_t *page)
{
	uint32_t	timeline = wal_load32(page + WAL_PAGE_TLI);

	/* one page is broken, not all that follow */
	if (timeline >= 1 && timeline <= ctx->path.timeline)
		ctx->last_timeline = timeline;
}

/* Is the header of this page valid?  Notes what the next ones must agree with. */
static bool
check_header(WalWalker *ctx, const uint8_t *page, WalVerdict *verdict)
{
	uint32_t	timeline = wal_path_at(&ctx->path, ctx->page);
	WalPageExpectation expect;
	bool		valid;

	expect.lsn = ctx->page;
	expect.segment_size = ctx->opt.segment_size;
	expect.page_size = ctx->opt.page_size;
	expect.version = ctx->version;
	expect.timeline = timeline;
	expect.timeline_least = ctx->last_timeline;
	expect.timeline_most = ctx->path.timeline;
	valid = wal_page_check(&expect, page, verdict);
	if (valid && ctx->version == NULL)
		ctx->version = wal_version_supported(wal_load16(page + WAL_PAGE_MAGIC));
	if (timeline == 0 &&
		(valid || verdict->reason == WAL_REASON_PAGE_TIMELINE ||
		 verdict->reason == WAL_REASON_PAGE_TIMELINE_ORDER))
		note_page(ctx, page);
	return valid;
}

static bool
is_announced(const WalWalker *ctx, const uint8_t *page)
{
	return (wal_load16(page + WAL_PAGE_INFO) &
			ctx->version->overwrite_flag) != 0;
}

/*
 * Does the pending record, which goes on in this page, reach beyond the limit
 * at whose place one ends?  Then its length is wrong.
 */
static bool
overshoots(const WalWalker *ctx, WalLsn page)
{
	return ctx->pending.kind == WAL_PENDING_WHOLE &&
		ctx->opt.limit_exact && page >= ctx->opt.limit &&
		!beyond_limit(ctx, ctx->pending.lsn, page + 1);
}

/*
 * Counts bytes of the segment that are passed over without a verdict of their
 * own.
 */
static void
count_passed(WalWalker *ctx, uint32_t bytes, bool zero)
{
	if (!is_inside(ctx))
		return;
	if (ctx->phase == WAL_WALK_ENDED)
		ctx->counts.zero_bytes += zero ? bytes : 0;
	else if (zero)
		ctx->stop.zero_bytes += bytes;
	else
		ctx->stop.other_bytes += bytes;
}

/* Everything in a page without a valid header is lost. */
static void
seek_page(WalWalker *ctx, const uint8_t *page, WalVerdict *why)
{
	bool		zero = wal_is_zero(page, ctx->opt.page_size);
	WalLsn		end = ctx->page + header_size(ctx) + 1;
	bool		whole = ctx->pending.kind == WAL_PENDING_WHOLE;

	if (ctx->page >= ctx->segment_end)
	{
		ctx->phase = WAL_WALK_SEEK; /* the neighbour's damage, not ours */
		return;
	}
	if (overshoots(ctx, ctx->page))
	{
		*why = verdict_of(WAL_REASON_BEYOND_END, ctx->pending.lsn,
						  ctx->pending.len, 0);
		end = ctx->pending.lsn;
	}
	else if (zero && whole)
		*why = verdict_of(WAL_REASON_CONTRECORD_ZERO, ctx->pending.lsn,
						  ctx->page, 0);
	if (why->at != ctx->page || ctx->stop.verdict.reason == WAL_REASON_NONE)
		stop_at(ctx, end, why);
	if (ctx->pending.kind != WAL_PENDING_NONE)
	{
		ctx->stop.other_bytes += ctx->pending.inside;
		ctx->pending.kind = WAL_PENDING_NONE;
	}
	if (ctx->phase != WAL_WALK_ENDED)
		ctx->phase = WAL_WALK_SEEK;
	count_passed(ctx, ctx->opt.page_size, zero);
}

/* ---- the zero tail after a switch ---- */

static void
switched_bytes(WalWalker *ctx, const uint8_t *page, uint32_t from)
{
	uint32_t	rest = ctx->opt.page_size - from;
	uint32_t	at = from;
	WalVerdict	verdict;

	if (wal_is_zero(page + from, rest))
	{
		count_inside(ctx, &ctx->counts.zero_bytes, rest);
		ctx->tail_reported = false;
		return;
	}

	/*
	 * A server that stops between writing the switch record and the last of
	 * the zeros leaves what the recycled file held.  Recovery goes on in the
	 * next segment and nobody ever looks here again.
	 */
	if (from == 0 &&
		wal_page_is_recycled(page, ctx->page, ctx->opt.segment_size))
	{
		count_inside(ctx, &ctx->counts.recycled_bytes, rest);
		ctx->tail_reported = false;
		return;
	}
	while (page[at] == 0)
		at++;
	count_inside(ctx, &ctx->counts.skipped_bytes, rest);
	verdict = verdict_of(WAL_REASON_SWITCH_TAIL, ctx->page + at, page[at], 0);
	if (!ctx->tail_reported)	/* one finding for a run of pages */
		damage(ctx, &verdict);
	ctx->tail_reported = true;
}

/* ---- records ---- */

/* Is a record header possible here? */
static bool
check_record(const WalWalker *ctx, const uint8_t *rec, WalLsn lsn,
			 WalVerdict *verdict)
{
	WalRecordExpectation expect;

	expect.lsn = lsn;
	expect.prev = ctx->prev;
	expect.overwrite = ctx->overwrite;
	expect.last_rmgr = ctx->version->last_rmgr;
	return wal_record_check(&expect, rec, verdict);
}

/* The length of a broken record gets one chance, see the head of the file. */
static void
record_failed(WalWalker *ctx, WalLsn lsn, WalLsn end, uint64_t inside,
			  const WalVerdict *why)
{
	ctx->overwrite = false;
	stop_at(ctx, end, why);
	ctx->stop.other_bytes += inside;
	ctx->prev = lsn;
	ctx->prev_invalid = true;
}

static void
pending_begin(WalWalker *ctx, int kind, WalLsn lsn, uint32_t len)
{
	ctx->pending.kind = kind;
	ctx->pending.lsn = lsn;
	ctx->pending.len = len;
	ctx->pending.got = 0;
	ctx->pending.inside = 0;
	ctx->pending.mismatch.reason = WAL_REASON_NONE;
	ctx->pending.reg = CHECKSUM_CRC_INIT;
}

/* Does a record count that starts here? */
static bool
starts_inside(const WalWalker *ctx, WalLsn lsn)
{
	return lsn >= ctx->opt.segment_start && lsn < ctx->segment_end;
}

static void
pending_extend(WalWalker *ctx, const uint8_t *data, uint32_t n)
{
	uint32_t	got = ctx->pending.got;
	uint32_t	header = 0;

	ctx->pending.got += n;
	if (is_inside(ctx))
		ctx->pending.inside += n;
	if (ctx->pending.kind != WAL_PENDING_WHOLE)
		return;
	if (ctx->opt.records != NULL && starts_inside(ctx, ctx->pending.lsn))
		ctx->opt.records->piece(ctx->opt.records->arg, data, got, n);
	if (got < sizeof(ctx->pending.start))
	{
		uint32_t	room = (uint32_t) sizeof(ctx->pending.start) - got;

		memcpy(ctx->pending.start + got, data, n < room ? n : room);
	}
	if (got < WAL_REC_HEADER)
		header = n < WAL_REC_HEADER - got ? n : WAL_REC_HEADER - got;
	if (n > header)
		ctx->pending.reg = checksum_crc32c(ctx->pending.reg, data + header,
										   n - header);
}

/* The pending record, whose start was not seen, ends. */
static void
finish_unseen(WalWalker *ctx, uint64_t inside)
{
	if (ctx->pending.kind == WAL_PENDING_HEAD)
		ctx->counts.head_bytes += inside;
	else
		ctx->counts.skipped_bytes += inside;
	ctx->pending.kind = WAL_PENDING_NONE;
	ctx->prev = 0;
	ctx->before = ctx->pending.len <= WAL_REC_HEADER ?
		WAL_BEFORE_SHORT : WAL_BEFORE_ANY;
}

static bool
pending_check(const WalWalker *ctx, WalVerdict *why)
{
	const uint8_t *rec = ctx->pending.start;
	uint32_t	crc = wal_record_crc(ctx->pending.reg, rec);

	if (!check_record(ctx, rec, ctx->pending.lsn, why))
		return false;
	if (crc == wal_load32(rec + WAL_REC_CRC))
		return true;
	wal_record_blame_crc(why, ctx->pending.lsn, crc, rec);
	return false;
}

/*
 * The pending record is complete and ends on this page at pos.  The next one
 * starts at padded.
 */
static void
pending_finish(WalWalker *ctx, uint32_t pos, uint32_t padded)
{
	const uint8_t *rec = ctx->pending.start;
	WalLsn		lsn = ctx->pending.lsn;
	uint32_t	seen = ctx->pending.len < sizeof(ctx->pending.start) ?
		ctx->pending.len : (uint32_t) sizeof(ctx->pending.start);
	uint64_t	inside = ctx->pending.inside +
		(is_inside(ctx) ? padded - pos : 0);
	WalVerdict	why;

	if (ctx->pending.kind != WAL_PENDING_WHOLE)
	{
		finish_unseen(ctx, inside);
		return;
	}
	ctx->pending.kind = WAL_PENDING_NONE;
	if (!pending_check(ctx, &why))
	{
		if (why.reason == WAL_REASON_RECORD_CRC || !ctx->prev_invalid)
			record_failed(ctx, lsn, ctx->page + pos, inside, &why);
		else
		{
			ctx->stop.other_bytes += inside;	/* reported already */
			ctx->prev = lsn;
		}
		return;
	}
	ctx->prev_invalid = false;
	ctx->overwrite = false;
	ctx->counts.bytes_verified += inside;
	if (starts_inside(ctx, lsn))
	{
		ctx->counts.records++;
		ctx->counts.fpi_bytes += wal_fpi_bytes(rec, seen);
		ctx->counts.copies += wal_record_copies(rec);
		if (ctx->opt.records != NULL)
			ctx->opt.records->record(ctx->opt.records->arg, lsn,
									 ctx->page + padded, NULL,
									 ctx->pending.len);
	}
	ctx->prev = lsn;
	ctx->end = ctx->page + padded;
	if (wal_record_is(rec, WAL_XLOG_SWITCH))
		ctx->phase = WAL_WALK_SWITCHED;
}

/*
 * Goes on with the record that is pending, as the page's header has it.
 * Returns where to look for the next record, or page_size.
 */
static uint32_t
pending_continue(WalWalker *ctx, const uint8_t *page, uint32_t rem_len)
{
	uint32_t	pos = header_size(ctx);
	uint32_t	room = ctx->opt.page_size - pos;
	uint32_t	n = rem_len < room ? rem_len : room;
	uint32_t	padded;
	WalVerdict	verdict;

	pending_extend(ctx, page + pos, n);
	if (n < rem_len)
		return ctx->opt.page_size;
	pos += n;
	padded = (uint32_t) wal_align(pos);
	if (padded > ctx->opt.page_size)
		padded = ctx->opt.page_size;
	if (!wal_padding_is_zero(page, pos, padded) &&
		ctx->pending.kind != WAL_PENDING_LOST)
	{
		verdict = verdict_of(WAL_REASON_RECORD_PADDING, ctx->page + pos, 0, 0);
		damage(ctx, &verdict);
	}
	pending_finish(ctx, pos, padded);
	return padded;
}

/*
 * The pending record does not go on, the page announces rem_len bytes of one.
 * That is legal when a crash cut the record off and the server said so in this
 * page's flag.
 */
static void
pending_drop(WalWalker *ctx, uint32_t rem_len, bool aborted)
{
	uint32_t	left = ctx->pending.len - ctx->pending.got;
	WalVerdict	why;

	why = verdict_of(WAL_REASON_CONTRECORD_LENGTH, ctx->pending.lsn, rem_len,
					 left);
	why.more = ctx->page;
	if (rem_len == 0)
		why = verdict_of(WAL_REASON_CONTRECORD_MISSING, ctx->pending.lsn,
						 ctx->page, left);
	if (ctx->pending.kind != WAL_PENDING_WHOLE)
		why.at = ctx->page;
	ctx->counts.skipped_bytes += ctx->pending.inside;
	ctx->pending.kind = WAL_PENDING_NONE;
	if (aborted)
	{
		ctx->counts.aborted++;
		return;
	}
	if (!ctx->prev_invalid)		/* else reported already */
		stop_at(ctx, ctx->page + header_size(ctx) + 1, &why);
	if (ctx->phase != WAL_WALK_ENDED)
		confirm_stop(ctx);		/* since this page is valid */
	ctx->prev = 0;
	ctx->before = WAL_BEFORE_ANY;
	ctx->prev_invalid = true;	/* the page's word may be the broken one */
}

/*
 * The page disagrees with the pending record on how much remains.  Is the
 * record right?  Its CRC tells if it ends here.  If both say that it goes on,
 * the next page will.
 */
static bool
pending_crc_matches(WalWalker *ctx, const uint8_t *page, uint32_t rem_len)
{
	uint32_t	pos = header_size(ctx);
	uint32_t	room = ctx->opt.page_size - pos;
	uint32_t	left = ctx->pending.len - ctx->pending.got;
	uint8_t		header[WAL_REC_HEADER];
	uint32_t	missing = 0;
	uint32_t	reg;

	if (rem_len == 0 || ctx->pending.kind != WAL_PENDING_WHOLE ||
		ctx->pending.mismatch.reason != WAL_REASON_NONE)
		return false;
	if (left > room)
		return rem_len > room;
	if (ctx->pending.got < WAL_REC_HEADER)
		missing = WAL_REC_HEADER - ctx->pending.got;
	memcpy(header, ctx->pending.start, WAL_REC_HEADER - missing);
	memcpy(header + WAL_REC_HEADER - missing, page + pos, missing);
	reg = checksum_crc32c(ctx->pending.reg, page + pos + missing,
						  left - missing);
	return wal_record_crc(reg, header) == wal_load32(header + WAL_REC_CRC);
}

static void
report_rem_len_mismatch(WalWalker *ctx)
{
	if (ctx->pending.mismatch.at >= ctx->opt.segment_start)
		damage(ctx, &ctx->pending.mismatch);
	ctx->pending.mismatch.reason = WAL_REASON_NONE;
}

/*
 * Does the record at rec say that the pending one was aborted?  If it says so
 * of another one, the pending one is broken.  If it is broken itself, it says
 * nothing.
 */
static bool
is_overwrite_of_pending(const WalWalker *ctx, const uint8_t *rec,
						uint32_t room)
{
	uint32_t	len = wal_load32(rec + WAL_REC_TOT_LEN);

	if (ctx->pending.kind != WAL_PENDING_WHOLE ||
		len < WAL_OVERWRITE_LSN + 8 || len > room ||
		!wal_record_crc_fits(rec, len))
		return true;
	return wal_record_is(rec, WAL_XLOG_OVERWRITE) &&
		wal_load64(rec + WAL_OVERWRITE_LSN) == ctx->pending.lsn;
}

/*
 * Matches what the page says of the pending record with what the record says.
 * Returns how much of it remains.
 */
static uint32_t
match_pending(WalWalker *ctx, const uint8_t *page, uint32_t rem_len)
{
	uint32_t	left = ctx->pending.len - ctx->pending.got;
	uint32_t	pos = header_size(ctx);

	if (rem_len != 0 && rem_len == left)
	{
		if (ctx->pending.mismatch.reason != WAL_REASON_NONE)
			report_rem_len_mismatch(ctx);	/* of the page before */
		return rem_len;
	}
	if (pending_crc_matches(ctx, page, rem_len))
	{
		ctx->pending.mismatch = verdict_of(WAL_REASON_CONTRECORD_LENGTH,
										   ctx->page, rem_len, left);
		ctx->pending.mismatch.more = ctx->page;
		if (left <= ctx->opt.page_size - pos)
			report_rem_len_mismatch(ctx);
		return left;
	}
	pending_drop(ctx, rem_len, is_announced(ctx, page) &&
				 is_overwrite_of_pending(ctx, page + pos,
										 ctx->opt.page_size - pos));
	return rem_len;
}

/*
 * The page goes on with a record that is not pending.  That is expected where
 * the walk starts anew.  Returns false if it is the end of WAL.
 */
static bool
begin_unseen(WalWalker *ctx, uint32_t rem_len, bool expected)
{
	if (!expected && !ctx->prev_invalid)
	{
		WalVerdict	why = verdict_of(WAL_REASON_CONTRECORD_UNEXPECTED,
									 ctx->page, rem_len, 0);

		stop_at(ctx, ctx->page + header_size(ctx) + 1, &why);
		if (ctx->phase == WAL_WALK_ENDED)
			return false;
		confirm_stop(ctx);
		ctx->prev_invalid = true;
	}
	pending_begin(ctx, ctx->page == ctx->opt.segment_start ?
				  WAL_PENDING_HEAD : WAL_PENDING_LOST, ctx->page, rem_len);
	return true;
}

/* Processes a page with a valid header. */
static void
process_page(WalWalker *ctx, const uint8_t *page)
{
	uint32_t	rem_len = wal_load32(page + WAL_PAGE_REM_LEN);
	uint32_t	pos = header_size(ctx);
	bool		anew = ctx->phase == WAL_WALK_SEEK;

	if (anew)
	{
		confirm_stop(ctx);
		ctx->phase = WAL_WALK_RECORDS;
		ctx->prev = 0;
		ctx->prev_invalid = false;
	}
	if (ctx->pending.kind != WAL_PENDING_NONE)
	{
		rem_len = match_pending(ctx, page, rem_len);
		if (ctx->phase == WAL_WALK_ENDED)
			return;
		anew |= ctx->pending.kind == WAL_PENDING_NONE;
	}
	if (rem_len != 0 && ctx->pending.kind == WAL_PENDING_NONE &&
		!begin_unseen(ctx, rem_len, anew))
		return;
	ctx->overwrite = is_announced(ctx, page);
	if (ctx->pending.kind != WAL_PENDING_NONE)
		pos = pending_continue(ctx, page, rem_len);
	if (ctx->phase == WAL_WALK_RECORDS)
		walk_records(ctx, page, pos);
	else if (ctx->phase == WAL_WALK_SWITCHED && pos < ctx->opt.page_size)
		switched_bytes(ctx, page, pos);
}

/* Leaves the rest of a page in which no record can be found any more. */
static void
leave_page(WalWalker *ctx, const uint8_t *page, uint32_t pos)
{
	uint32_t	rest = ctx->opt.page_size - pos;

	if (ctx->phase == WAL_WALK_RECORDS)
		ctx->phase = WAL_WALK_SEEK;
	if (rest > 0)
		count_passed(ctx, rest, wal_is_zero(page + pos, rest));
}

/*
 * No record can start at pos with its length.  Zeros after a record that may
 * have been a switch are its own segment's only.  To another one they prove no
 * switch.
 */
static void
skip_invalid_length(WalWalker *ctx, const uint8_t *page, uint32_t pos,
					const WalVerdict *why)
{
	if (ctx->prev == 0 && ctx->before == WAL_BEFORE_SHORT && is_inside(ctx) &&
		wal_load32(page + pos) == 0)
	{
		ctx->phase = WAL_WALK_SWITCHED;
		switched_bytes(ctx, page, pos);
		return;
	}
	if (!ctx->prev_invalid)
		stop_at(ctx, ctx->page + pos + 1, why);
	ctx->overwrite = false;
	leave_page(ctx, page, pos);
}

/*
 * Skips a record whose header cannot be right.  Returns where to try the next
 * one, page_size for nowhere in this page.
 */
static uint32_t
skip_invalid_record(WalWalker *ctx, const uint8_t *page, uint32_t pos,
					const WalVerdict *why)
{
	WalLsn		lsn = ctx->page + pos;
	uint32_t	len = wal_load32(page + pos + WAL_REC_TOT_LEN);
	uint32_t	room = ctx->opt.page_size - pos;
	uint32_t	padded = (uint32_t) wal_align(len);

	if (!ctx->prev_invalid && len <= room)
	{
		record_failed(ctx, lsn, lsn + len, is_inside(ctx) ? padded : 0, why);
		pos += padded;
		if (ctx->phase == WAL_WALK_RECORDS)
			return pos;
	}
	else if (!ctx->prev_invalid)
	{
		stop_at(ctx, lsn + len, why);
		ctx->overwrite = false;
	}
	leave_page(ctx, page, pos);
	return ctx->opt.page_size;
}

/*
 * Skips a record in one piece whose CRC is wrong.  Returns what
 * skip_invalid_record() does.
 */
static uint32_t
skip_wrong_crc(WalWalker *ctx, const uint8_t *page, uint32_t pos)
{
	const uint8_t *rec = page + pos;
	uint32_t	len = wal_load32(rec + WAL_REC_TOT_LEN);
	uint32_t	body = checksum_crc32c(CHECKSUM_CRC_INIT,
									   rec + WAL_REC_HEADER,
									   len - WAL_REC_HEADER);
	WalLsn		lsn = ctx->page + pos;
	WalVerdict	why;

	wal_record_blame_crc(&why, lsn, wal_record_crc(body, rec), rec);
	pos += (uint32_t) wal_align(len);
	record_failed(ctx, lsn, lsn + len, is_inside(ctx) ? wal_align(len) : 0,
				  &why);
	if (ctx->phase == WAL_WALK_RECORDS)
		return pos;
	leave_page(ctx, page, pos);
	return ctx->opt.page_size;
}

/* Counts whole records that take up so many bytes. */
static void
count_records(WalWalker *ctx, uint64_t records, uint64_t bytes, uint64_t fpi)
{
	count_inside(ctx, &ctx->counts.records, records);
	count_inside(ctx, &ctx->counts.bytes_verified, bytes);
	count_inside(ctx, &ctx->counts.fpi_bytes, fpi);
}

/* Hands out the records of the page from pos up to end, which were passed. */
static void
hand_out(const WalWalker *ctx, const uint8_t *page, uint32_t pos, uint32_t end)
{
	const WalRecordSink *sink = ctx->opt.records;

	while (pos < end)
	{
		uint32_t	len = wal_load32(page + pos + WAL_REC_TOT_LEN);
		uint32_t	next = pos + (uint32_t) wal_align(len);

		sink->record(sink->arg, ctx->page + pos, ctx->page + next, page + pos,
					 len);
		pos = next;
	}
}

/*
 * The fast path passes over the records from pos on that lie wholly in the
 * page and are in order.  It returns where the first other one starts.  It
 * judges nothing.  What it does not pass is left to walk_records(), which
 * would have passed all that this does, and counts copies of databases.  So its
 * branches fall the same way for every record.  Apart from its caller, it keeps
 * its state in registers.
 */
static uint32_t
pass_records(WalWalker *ctx, const uint8_t *page, uint32_t pos)
{
	const uint32_t page_size = ctx->opt.page_size;
	const uint8_t last_rmgr = ctx->version->last_rmgr;
	const WalLsn base = ctx->page;
	const uint32_t begin = pos;
	WalLsn		prev = ctx->prev;
	uint64_t	records = 0;
	uint64_t	fpi = 0;

	if (prev == 0 || ctx->prev_invalid || ctx->overwrite)
		return pos;
	while (page_size - pos >= WAL_REC_HEADER)
	{
		const uint8_t *rec = page + pos;
		uint32_t	len = wal_load32(rec + WAL_REC_TOT_LEN);
		uint32_t	padded = (uint32_t) wal_align(len);

		if (unlikely_(len - WAL_REC_HEADER > page_size - pos - WAL_REC_HEADER ||
					  wal_load64(rec + WAL_REC_PREV) != prev ||
					  !wal_rmgr_exists(rec[WAL_REC_RMID], last_rmgr) ||
					  ((rec[WAL_REC_RMID] & ~WAL_RMGR_DATABASE) == WAL_RMGR_XLOG &&
					   (wal_record_copies(rec) || wal_record_is(rec, WAL_XLOG_SWITCH)))))
			break;
		if (unlikely_(!wal_record_crc_fits(rec, len) ||
					  !wal_padding_is_zero(rec, len, padded)))
			break;
		prev = base + pos;
		pos += padded;
		records++;
		fpi += wal_fpi_bytes(rec, len);
	}
	if (records == 0)
		return pos;
	ctx->prev = prev;
	ctx->end = base + pos;
	count_records(ctx, records, pos - begin, fpi);
	if (ctx->opt.records != NULL && is_inside(ctx))
		hand_out(ctx, page, begin, pos);
	return pos;
}

/*
 * Passes a record in one piece whose CRC is right, even if its padding is not.
 * Returns where the next one starts, page_size after a switch.
 */
static uint32_t
pass_record(WalWalker *ctx, const uint8_t *page, uint32_t pos)
{
	const uint8_t *rec = page + pos;
	uint32_t	len = wal_load32(rec + WAL_REC_TOT_LEN);
	uint32_t	padded = (uint32_t) wal_align(len);

	if (!wal_padding_is_zero(rec, len, padded))
	{
		WalVerdict	why = verdict_of(WAL_REASON_RECORD_PADDING,
									 ctx->page + pos + len, 0, 0);

		damage(ctx, &why);
	}
	ctx->prev = ctx->page + pos;
	pos += padded;
	ctx->overwrite = false;
	ctx->end = ctx->page + pos;
	count_records(ctx, 1, padded, wal_fpi_bytes(rec, len));
	count_inside(ctx, &ctx->counts.copies, wal_record_copies(rec));
	if (ctx->opt.records != NULL && is_inside(ctx))
		hand_out(ctx, page, pos - padded, pos);
	if (!wal_record_is(rec, WAL_XLOG_SWITCH))
		return pos;
	ctx->phase = WAL_WALK_SWITCHED;
	if (pos < ctx->opt.page_size)
		switched_bytes(ctx, page, pos);
	return ctx->opt.page_size;
}

/* Walks the records that start in this page from pos on. */
static void
walk_records(WalWalker *ctx, const uint8_t *page, uint32_t pos)
{
	const uint32_t page_size = ctx->opt.page_size;

	while ((pos = pass_records(ctx, page, pos)) < page_size)
	{
		const uint8_t *rec = page + pos;
		uint32_t	room = page_size - pos;
		uint32_t	len = wal_load32(rec + WAL_REC_TOT_LEN);
		WalLsn		lsn = ctx->page + pos;
		WalVerdict	why;

		if (!wal_record_length_check(lsn, rec, room, &why))
		{
			skip_invalid_length(ctx, page, pos, &why);
			break;
		}
		if (room >= WAL_REC_HEADER && !check_record(ctx, rec, lsn, &why))
		{
			pos = skip_invalid_record(ctx, page, pos, &why);
			continue;
		}
		if (room >= WAL_REC_HEADER && ctx->prev_invalid)
		{
			confirm_stop(ctx);	/* the chain goes on, so only that one is lost */
			ctx->prev_invalid = false;
		}
		if (len > room || room < WAL_REC_HEADER)
		{
			pending_begin(ctx, WAL_PENDING_WHOLE, lsn, len);
			pending_extend(ctx, rec, room);
			break;
		}
		pos = wal_record_crc_fits(rec, len) ?
			pass_record(ctx, page, pos) : skip_wrong_crc(ctx, page, pos);
	}
}

/* ---- findings ---- */

static void
emit(WalWalker *ctx, const WalVerdict *verdict)
{
	WalLsn		lsn = verdict->at;
	WalFinding	finding;

	if (lsn < ctx->opt.segment_start)
		lsn = ctx->opt.segment_start;
	if (lsn >= ctx->segment_end || lsn < ctx->opt.from)
		return;
	finding.lsn = lsn;
	finding.file_offset = lsn - ctx->opt.segment_start;
	finding.status = WAL_CORRUPT;
	finding.verdict = *verdict;
	if (ctx->counts.errors++ == 0)
	{
		ctx->counts.first_error = lsn;
		ctx->counts.first_verdict = *verdict;
	}
	if (ctx->opt.finding != NULL)
		ctx->opt.finding(ctx->opt.arg, &finding);
}

/* Reports damage that no end of WAL explains. */
static void
damage(WalWalker *ctx, const WalVerdict *verdict)
{
	if (verdict->at < ctx->opt.limit && ctx->page >= ctx->opt.segment_start)
		emit(ctx, verdict);
}

/*
 * Does what lies from lsn up to end reach beyond the limit?  A server writes
 * up to the end of a record or of a page.  Where a record ends, none that
 * starts before can go on.
 */
static bool
beyond_limit(const WalWalker *ctx, WalLsn lsn, WalLsn end)
{
	if (ctx->opt.limit_exact &&
		ctx->opt.limit % ctx->opt.page_size > WAL_PAGE_LONG)
		return lsn >= ctx->opt.limit;
	return end > ctx->opt.limit;
}

/*
 * Something does not fit, and end is the first byte that must not matter.
 * Beyond the limit this is the end of WAL, no more and no less.
 */
static void
stop_at(WalWalker *ctx, WalLsn end, const WalVerdict *verdict)
{
	if (ctx->page < ctx->opt.segment_start)
	{
		ctx->phase = WAL_WALK_SEEK;
		return;
	}
	confirm_stop(ctx);
	ctx->stop.verdict = *verdict;
	if (beyond_limit(ctx, verdict->at, end))
	{
		ctx->outcome = WAL_OUTCOME_ENDED;
		ctx->phase = WAL_WALK_ENDED;
	}
}

/* WAL goes on after the stop, so it is damage. */
static void
confirm_stop(WalWalker *ctx)
{
	if (ctx->stop.verdict.reason != WAL_REASON_NONE)
		emit(ctx, &ctx->stop.verdict);
	ctx->counts.skipped_bytes += ctx->stop.zero_bytes + ctx->stop.other_bytes;
	ctx->stop.verdict.reason = WAL_REASON_NONE;
	ctx->stop.zero_bytes = 0;
	ctx->stop.other_bytes = 0;
}

/* A record of a later segment is wanted only where it can confirm a stop. */
bool
wal_walk_wants_more(const WalWalker *ctx)
{
	return ctx->pending.kind == WAL_PENDING_WHOLE &&
		ctx->phase == WAL_WALK_RECORDS &&
		(ctx->pending.lsn < ctx->segment_end ||
		 ctx->stop.verdict.reason != WAL_REASON_NONE);
}

/*
 * Where does a record of len bytes that starts at lsn end?  The headers of the
 * pages that it crosses are not among its bytes.
 */
static WalLsn
record_end(const WalWalker *ctx, WalLsn lsn, uint64_t len)
{
	WalLsn		page = lsn - lsn % ctx->opt.page_size;
	uint64_t	room = page + ctx->opt.page_size - lsn;

	while (len > room)
	{
		len -= room;
		page += ctx->opt.page_size;
		lsn = page + wal_page_header_size(page, ctx->opt.segment_size);
		room = page + ctx->opt.page_size - lsn;
	}
	return lsn + len;
}

/* The segment ends within a record that could not be completed. */
static void
finish_open_record(WalWalker *ctx)
{
	WalLsn		lsn = ctx->pending.lsn;

	if (ctx->pending.kind == WAL_PENDING_HEAD)
		ctx->counts.head_bytes += ctx->pending.inside;
	else if (ctx->pending.kind == WAL_PENDING_LOST)
		ctx->counts.skipped_bytes += ctx->pending.inside;
	if (ctx->pending.kind != WAL_PENDING_WHOLE)
		return;
	ctx->counts.tail_bytes += ctx->pending.inside;
	ctx->end = lsn;
	if (overshoots(ctx, ctx->segment_end))
	{
		WalVerdict	why = verdict_of(WAL_REASON_BEYOND_END, lsn,
									 ctx->pending.len, 0);

		emit(ctx, &why);
	}
	if (beyond_limit(ctx, lsn, record_end(ctx, lsn, ctx->pending.len)) ||
		lsn >= ctx->opt.earliest_end)
		ctx->outcome = WAL_OUTCOME_ENDED;
}

void
wal_walk_finish(WalWalker *ctx)
{
	bool		ended = ctx->outcome == WAL_OUTCOME_ENDED;
	bool		stopped = ctx->stop.verdict.reason != WAL_REASON_NONE;

	if (!stopped || (!ended && ctx->stop.verdict.at < ctx->opt.earliest_end))
		confirm_stop(ctx);
	else
	{
		ctx->outcome = WAL_OUTCOME_ENDED;
		ctx->counts.zero_bytes += ctx->stop.zero_bytes;
	}
	if (ctx->phase == WAL_WALK_SWITCHED && ctx->page <= ctx->segment_end)
		ctx->outcome = WAL_OUTCOME_SWITCHED;
	if (!stopped && !ended && ctx->pending.kind != WAL_PENDING_NONE &&
		ctx->pending.inside > 0)
		finish_open_record(ctx);
	else if (!stopped && !ended && ctx->page >= ctx->segment_end)
		ctx->end = ctx->segment_end;
	if (ctx->end > ctx->segment_end)
		ctx->end = ctx->segment_end;
	if (ctx->end < ctx->opt.segment_start)
		ctx->end = ctx->opt.segment_start;
}
