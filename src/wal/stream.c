/*
 * stream.c
 *	  This server's own WAL as one stream of records, out of two directories.
 *
 * The question is whose WAL it is.  The system identifier does not tell, since
 * clones of a server share it.  After each was promoted they may share the
 * timeline's number, too.  WAL of another history would name writes that this
 * server never made.  Where two histories have parted, no segment after that
 * holds the same records.  Records tell of times, transactions and places, and
 * carry the CRC of all that.  So the newest segment that both directories have
 * tells for all before it.
 */
#include "kernel/checksum.h"
#include "wal/list.h"
#include "wal/stream.h"

/* The records of one segment, as their headers have them. */
typedef struct Digest
{
	uint64_t	records;
	uint32_t	crc;			/* raw register */
	bool		broken;
} Digest;

/* ---- reading ---- */

static bool
on_record(void *arg, const WalBlockRecord *record)
{
	WalStream  *ctx = arg;

	if (ctx->joint && wal_load64(record->bytes + WAL_REC_PREV) != ctx->last)
	{
		WalBlockGap gap = {record->lsn, record->lsn, *record->segment,
		WAL_CORRUPT};

		gap.verdict.reason = WAL_REASON_PREV_LINK;
		gap.verdict.at = record->lsn;
		gap.verdict.value = wal_load64(record->bytes + WAL_REC_PREV);
		gap.verdict.expected = ctx->last;
		ctx->broken(ctx->arg, &gap);
	}
	ctx->joint = false;
	ctx->last = record->lsn;
	ctx->record(ctx->arg, record);
	return !ctx->stop;
}

/* The part that is missing up to the end is looked for in pg_wal. */
static void
on_gap(void *arg, const WalBlockGap *gap)
{
	WalStream  *ctx = arg;

	if (gap->end >= ctx->to)
	{
		ctx->complete = false;
		ctx->rest = *gap;
		return;
	}
	ctx->joint = false;
	ctx->broken(ctx->arg, gap);
}

static WalLsn
walk(WalStream *ctx, const WalDirectory *dir, WalLsn from)
{
	WalBlockWalk options = {0};
	WalBlockWalkEnd end;

	options.dir = dir;
	options.from = from;
	options.to = ctx->to;
	options.timeline = ctx->timeline;
	options.rest_elsewhere = dir != ctx->own;
	options.record = on_record;
	options.gap = on_gap;
	options.arg = ctx;
	options.throttle = ctx->throttle;
	ctx->complete = true;
	wal_block_walk(&options, &end);
	/* no segment of the range at all */
	if (end.segment.timeline == 0)
		ctx->complete = dir == ctx->own;
	return end.end;
}

WalLsn
wal_stream_read(WalStream *ctx, WalLsn from, WalLsn to)
{
	ctx->to = to;
	ctx->last = 0;
	ctx->joint = false;
	ctx->stop = false;
	if (ctx->dir != ctx->own)
	{
		from = walk(ctx, ctx->dir, from);
		if (ctx->complete)
			return from;
		ctx->joint = ctx->last != 0;
	}
	return walk(ctx, ctx->own, from);
}

/* ---- whose it is ---- */

static bool
digest_record(void *arg, const WalBlockRecord *record)
{
	Digest	   *digest = arg;

	digest->records++;
	digest->crc = checksum_crc32c(digest->crc, record->bytes, WAL_REC_HEADER);
	return true;
}

static void
digest_gap(void *arg, const WalBlockGap *gap)
{
	Digest	   *digest = arg;

	(void) gap;
	digest->broken = true;
}

static Digest
digest_of(const WalDirectory *dir, uint32_t timeline, WalLsn from, WalLsn to)
{
	Digest		digest = {0, CHECKSUM_CRC_INIT, false};
	WalBlockWalk options = {0};
	WalBlockWalkEnd end;

	options.dir = dir;
	options.from = from;
	options.to = to;
	options.timeline = timeline;
	options.record = digest_record;
	options.gap = digest_gap;
	options.arg = &digest;
	wal_block_walk(&options, &end);
	return digest;
}

static void
digest_own_record(void *arg, const WalBlockRecord *record)
{
	(void) digest_record(arg, record);
}

static WalStreamHistory
compare_digests(const Digest *theirs, const Digest *ours)
{
	if (ours->broken || theirs->broken || theirs->records == 0)
		return WAL_STREAM_UNKNOWN;
	return theirs->records == ours->records && theirs->crc == ours->crc ?
		WAL_STREAM_SAME : WAL_STREAM_OTHER;
}

WalStreamHistory
wal_stream_compare(WalStream *stream, const WalDirectory *other,
				   uint32_t timeline, WalLsn from, WalLsn to)
{
	Digest		theirs = digest_of(other, timeline, from, to);
	Digest		ours = {0, CHECKSUM_CRC_INIT, false};

	stream->record = digest_own_record;
	stream->broken = digest_gap;
	stream->arg = &ours;
	wal_stream_read(stream, from, to);
	ours.broken |= !stream->complete;
	return compare_digests(&theirs, &ours);
}

/*
 * Returns up to where the server's own WAL of the segment counts, or 0 if it
 * does not.
 */
static WalLsn
own_end(const WalDirectory *own, uint32_t timeline, const WalName *name)
{
	uint32_t	size = own->limits.segment_size;
	WalLsn		start = wal_name_segno(name, size) * size;
	WalLsn		limit;

	if (name->timeline != timeline ||
		!wal_live_limit(&own->limits, timeline, &limit) || limit <= start)
		return 0;
	return limit < start + size ? limit : start + size;
}

/* Is the segment the same in both?  If UNKNOWN, another one may tell. */
static WalStreamHistory
compare_segment(const WalDirectory *dir, const WalDirectory *own,
				uint32_t timeline, const WalName *name, bool *gone)
{
	uint32_t	size = own->limits.segment_size;
	WalLsn		start = wal_name_segno(name, size) * size;
	WalLsn		end = own_end(own, timeline, name);
	Digest		theirs;
	Digest		ours;

	if (end == 0 || name->kind == WAL_KIND_MISSING)
		return WAL_STREAM_UNKNOWN;
	theirs = digest_of(dir, timeline, start, end);
	ours = digest_of(own, timeline, start, end);
	*gone = ours.broken;		/* and older ones are, too */
	return compare_digests(&theirs, &ours);
}

WalStreamHistory
wal_stream_history(const WalDirectory *dir, const WalDirectory *own,
				   uint32_t timeline, WalName *name)
{
	WalStreamHistory history = WAL_STREAM_UNKNOWN;
	bool		gone = false;
	WalNames	list;

	wal_list_names(dir, NULL, NULL, &list);
	for (size_t i = list.count;
		 i-- > 0 && !gone && history == WAL_STREAM_UNKNOWN;)
	{
		host_interrupts();
		*name = list.names[i];
		history = compare_segment(dir, own, timeline, name, &gone);
	}
	host_free(list.names);
	return history;
}
