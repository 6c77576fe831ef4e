/*
 * wal.c
 *	  Judges write-ahead log segments, page by page, record by record.
 *
 * A record lies in one page, or goes on in the next ones, whose headers then
 * say how much of it is still to come.  The walker checks records where they
 * lie: the CRC register is carried from piece to piece, the header (which the
 * CRC covers last) waits in a small copy.
 *
 * A stop is the first thing that does not fit: a broken record, a broken page
 * header, zeros.  It is damage as soon as log with the right addresses goes on
 * behind it; if nothing does, it may be the end of WAL, and the caller's
 * options decide.  After a broken record its length is given one chance: if
 * the next record's link leads back to it, only this record is lost.  Else the
 * walk goes on at the next page in which a record starts, as the server's
 * reader does.
 */
#include <stdarg.h>
#include <stdio.h>

#include "kernel/checksum.h"
#include "verify/wal.h"

#define LSN_FORMAT		"%X/%X"
#define LSN_ARGS(lsn)	(unsigned) ((lsn) >> 32), (unsigned) (lsn)

#define unlikely_(x)	__builtin_expect((x) != 0, 0)

static void records_page(WalWalker *ctx, const uint8_t *page);
static void switched_bytes(WalWalker *ctx, const uint8_t *page, uint32_t from);
static void seek_page(WalWalker *ctx, const uint8_t *page, const char *why);
static uint32_t pass_records(WalWalker *ctx, const uint8_t *page, uint32_t pos)
			__attribute__((noinline));
static void walk_records(WalWalker *ctx, const uint8_t *page, uint32_t pos);
static const char *check_header(WalWalker *ctx, const uint8_t *page,
								char message[WAL_MESSAGE_SIZE]);
static void stop_at(WalWalker *ctx, WalLsn lsn, WalLsn behind,
					const char *format,...)
			__attribute__((format(printf, 4, 5)));
static void damage(WalWalker *ctx, WalLsn lsn, const char *message);
static void confirm_stop(WalWalker *ctx);
static void emit(WalWalker *ctx, WalLsn lsn, const char *message);
static bool beyond_limit(const WalWalker *ctx, WalLsn lsn, WalLsn behind);

bool
wal_is_zero(const uint8_t *data, size_t len)
{
	return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

void
wal_walk_begin(WalWalker *ctx, const WalWalkOptions *options,
			   WalLsn first_page)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->opt = *options;
	ctx->segment_end = options->segment_start + options->segment_size;
	ctx->end = options->segment_start;
	ctx->page = first_page;
	ctx->state = WAL_WALK_SEEK;
}

static uint32_t
header_size(const WalWalker *ctx)
{
	return ctx->page % ctx->opt.segment_size == 0 ?
		WAL_PAGE_LONG : WAL_PAGE_SHORT;
}

static void
count_inside(const WalWalker *ctx, uint64_t *counter, uint64_t bytes)
{
	if (ctx->inside)
		*counter += bytes;
}

void
wal_walk_page(WalWalker *ctx, const uint8_t *page)
{
	char		message[WAL_MESSAGE_SIZE];
	const char *why;

	ctx->inside = ctx->page >= ctx->opt.segment_start &&
		ctx->page < ctx->segment_end;
	if (ctx->state == WAL_WALK_SWITCHED &&
		ctx->page % ctx->opt.segment_size == 0)
		ctx->state = WAL_WALK_RECORDS;

	if (ctx->state == WAL_WALK_SWITCHED)
		switched_bytes(ctx, page, 0);
	else if (ctx->state == WAL_WALK_ENDED)
	{
		if (ctx->inside && wal_is_zero(page, ctx->opt.page_size))
			ctx->counts.zero_bytes += ctx->opt.page_size;
	}
	else if ((why = check_header(ctx, page, message)) != NULL)
		seek_page(ctx, page, why);
	else
	{
		count_inside(ctx, &ctx->counts.pages, 1);
		count_inside(ctx, &ctx->counts.bytes_verified, header_size(ctx));
		records_page(ctx, page);
	}
	ctx->page += ctx->opt.page_size;
}

/* ---- page headers ---- */

/* The timeline that wrote the page at an address; 0: unknown. */
static uint32_t
timeline_at(const WalWalker *ctx, WalLsn address)
{
	for (int i = 0; i < ctx->opt.nhistory; i++)
		if (address < ctx->opt.history[i].end)
			return ctx->opt.history[i].timeline;
	return 0;
}

static bool
timeline_fits(WalWalker *ctx, uint32_t tli)
{
	uint32_t	expected = timeline_at(ctx, ctx->page);
	bool		fits;

	if (expected != 0)
		return tli == expected;
	fits = tli >= 1 && tli <= ctx->opt.timeline && tli >= ctx->last_tli;
	if (tli >= 1 && tli <= ctx->opt.timeline)
		ctx->last_tli = tli;	/* one page is broken, not all that follow */
	return fits;
}

static bool
flags_fit(const WalWalker *ctx, uint16_t info, uint32_t rem_len)
{
	bool		contrecord = (info & WAL_FLAG_CONTRECORD) != 0;

	if ((info & ~WAL_FLAGS) != 0)
		return false;
	if (((info & WAL_FLAG_LONG) != 0) !=
		(ctx->page % ctx->opt.segment_size == 0))
		return false;
	if (contrecord && (info & WAL_FLAG_OVERWRITE) != 0)
		return false;
	return contrecord == (rem_len != 0);
}

/* Why the header of this page is not valid, NULL when it is. */
static const char *
check_header(WalWalker *ctx, const uint8_t *page,
			 char message[WAL_MESSAGE_SIZE])
{
	uint16_t	magic = wal_load16(page + WAL_PAGE_MAGIC);
	uint16_t	info = wal_load16(page + WAL_PAGE_INFO);
	uint32_t	tli = wal_load32(page + WAL_PAGE_TLI);
	WalLsn		address = wal_load64(page + WAL_PAGE_ADDR);
	uint32_t	rem_len = wal_load32(page + WAL_PAGE_REM_LEN);
	size_t		size = WAL_MESSAGE_SIZE;

	if (magic == 0 && wal_is_zero(page, ctx->opt.page_size))
		return "page is all zero";
	if (ctx->opt.magic != 0 ? magic != ctx->opt.magic :
		!wal_version_supported(magic))
		snprintf(message, size, "magic number of the page is %04X", magic);
	else if (address != ctx->page)
		snprintf(message, size, "address of the page is " LSN_FORMAT,
				 LSN_ARGS(address));
	else if (!flags_fit(ctx, info, rem_len))
		snprintf(message, size,
				 "flags %04X of the page do not fit (%u bytes of a record to come)",
				 info, rem_len);
	else if (wal_load32(page + WAL_PAGE_PADDING) != 0)
		snprintf(message, size, "padding of the page header is not zero");
	else if ((info & WAL_FLAG_LONG) != 0 &&
			 wal_load32(page + WAL_PAGE_SEG_SIZE) != ctx->opt.segment_size)
		snprintf(message, size, "page header gives %u as segment size",
				 wal_load32(page + WAL_PAGE_SEG_SIZE));
	else if ((info & WAL_FLAG_LONG) != 0 &&
			 wal_load32(page + WAL_PAGE_BLCKSZ) != ctx->opt.page_size)
		snprintf(message, size, "page header gives %u as block size",
				 wal_load32(page + WAL_PAGE_BLCKSZ));
	else if (!timeline_fits(ctx, tli))
		snprintf(message, size, "timeline of the page is %u", tli);
	else
	{
		ctx->opt.magic = magic;
		return NULL;
	}
	return message;
}

/*
 * Does the pending record go on beyond the limit, at whose place one ends?
 * Then its length is wrong.
 */
static bool
overshoots(const WalWalker *ctx, WalLsn page)
{
	return ctx->pending.active && !ctx->pending.unchecked &&
		ctx->opt.limit_exact && page >= ctx->opt.limit &&
		!beyond_limit(ctx, ctx->pending.lsn,
					  ctx->pending.lsn + ctx->pending.len);
}

/* A page without a valid header: everything in it is lost. */
static void
seek_page(WalWalker *ctx, const uint8_t *page, const char *why)
{
	bool		zero = wal_is_zero(page, ctx->opt.page_size);

	if (ctx->page >= ctx->segment_end)
	{
		ctx->state = WAL_WALK_SEEK; /* the neighbour's damage, not ours */
		return;
	}
	if (overshoots(ctx, ctx->page))
		stop_at(ctx, ctx->pending.lsn, ctx->pending.lsn,
				"record reaches beyond the end of WAL");
	else if (zero && ctx->pending.active && !ctx->pending.unchecked)
		stop_at(ctx, ctx->pending.lsn, ctx->page + header_size(ctx) + 1,
				"record is not continued at " LSN_FORMAT ": %s",
				LSN_ARGS(ctx->page), why);
	else if (!ctx->stop.set)
		stop_at(ctx, ctx->page, ctx->page + header_size(ctx) + 1, "%s", why);
	if (ctx->pending.active)
	{
		ctx->stop.other_bytes += ctx->pending.inside;
		ctx->pending.active = false;
	}
	if (ctx->state != WAL_WALK_ENDED)
		ctx->state = WAL_WALK_SEEK;
	if (!ctx->inside)
		return;
	if (ctx->state == WAL_WALK_ENDED)
		ctx->counts.zero_bytes += zero ? ctx->opt.page_size : 0;
	else if (zero)
		ctx->stop.zero_bytes += ctx->opt.page_size;
	else
		ctx->stop.other_bytes += ctx->opt.page_size;
}

/* ---- the zero tail behind a switch ---- */

/*
 * Is this what a recycled file held here before?  A server that stops between
 * writing the switch record and the last of the zeros leaves it so; recovery
 * goes on in the next segment and nobody ever looks here again.
 */
static bool
is_former_page(const WalWalker *ctx, const uint8_t *page)
{
	WalLsn		address = wal_load64(page + WAL_PAGE_ADDR);

	return wal_version_supported(wal_load16(page + WAL_PAGE_MAGIC)) &&
		(wal_load16(page + WAL_PAGE_INFO) & ~WAL_FLAGS) == 0 &&
		address < ctx->page &&
		(ctx->page - address) % ctx->opt.segment_size == 0;
}

static void
switched_bytes(WalWalker *ctx, const uint8_t *page, uint32_t from)
{
	uint32_t	at = from;

	if (wal_is_zero(page + from, ctx->opt.page_size - from))
	{
		count_inside(ctx, &ctx->counts.zero_bytes, ctx->opt.page_size - from);
		ctx->dirty = false;
		return;
	}
	if (from == 0 && is_former_page(ctx, page))
	{
		count_inside(ctx, &ctx->counts.former_bytes, ctx->opt.page_size);
		ctx->dirty = false;
		return;
	}
	while (page[at] == 0)
		at++;
	count_inside(ctx, &ctx->counts.skipped_bytes, ctx->opt.page_size - from);
	if (!ctx->dirty)			/* one finding for a run of pages */
		damage(ctx, ctx->page + at,
			   "not zero behind the end of a switched segment");
	ctx->dirty = true;
}

/* ---- records ---- */

/*
 * Bytes of full-page images, from the block references that lead a record, of
 * which the first len bytes are at hand.  The references end where as much is
 * left as they announced data, or where another kind of header begins: a
 * record without main data has no mark between headers and data.
 */
static inline uint32_t
fpi_bytes(const uint8_t *rec, uint32_t len)
{
	uint32_t	total = wal_load32(rec + WAL_REC_TOT_LEN);
	uint32_t	at = WAL_REC_HEADER;
	uint32_t	images = 0;
	uint32_t	data = 0;

	/* most records: one block of a relation named in full, no image */
	if (len > WAL_BLOCK_SECOND && rec[WAL_BLOCK_SECOND] > WAL_BLOCK_MAX_ID &&
		(rec[WAL_REC_HEADER + 1] & (WAL_BLOCK_HAS_IMAGE | WAL_BLOCK_SAME_REL)) == 0)
		return 0;
	while (at + 4 <= len && total - at > data + images &&
		   rec[at] <= WAL_BLOCK_MAX_ID)
	{
		uint8_t		flags = rec[at + 1];

		data += wal_load16(rec + at + 2);
		at += 4;
		if (flags & WAL_BLOCK_HAS_IMAGE)
		{
			if (at + 5 > len)
				break;
			images += wal_load16(rec + at);
			at += 5 + ((rec[at + 4] & WAL_IMAGE_HAS_HOLE) &&
					   (rec[at + 4] & WAL_IMAGE_COMPRESSED) ? 2 : 0);
		}
		at += (flags & WAL_BLOCK_SAME_REL) ? 4 : 16;
	}
	return images;
}

static inline bool
rmgr_exists(uint8_t rmid)
{
	return rmid <= WAL_RMGR_LAST || rmid >= WAL_RMGR_CUSTOM;
}

/*
 * Is a record header possible here?  Returns what is wrong with it.  Its link
 * must lead to the record before or, where that is unknown, backwards.
 */
static const char *
check_record(const WalWalker *ctx, const uint8_t *rec, WalLsn lsn, WalLsn prev)
{
	WalLsn		link = wal_load64(rec + WAL_REC_PREV);
	uint8_t		rmid = rec[WAL_REC_RMID];

	if (prev != 0 ? link != prev : link >= lsn)
		return "link to the record before is wrong";
	if (!rmgr_exists(rmid))
		return "resource manager does not exist";
	if (ctx->overwrite &&
		(rmid != WAL_RMGR_XLOG ||
		 (rec[WAL_REC_INFO] & WAL_INFO_MASK) != WAL_XLOG_OVERWRITE))
		return "page claims an abandoned record, but its first record does not tell of one";
	return NULL;
}

/* Is the CRC of a record right that lies in one piece? */
static inline bool
crc_fits(const uint8_t *rec, uint32_t len)
{
	uint32_t	reg = checksum_crc32c(CHECKSUM_CRC_INIT, rec + WAL_REC_HEADER,
									  len - WAL_REC_HEADER);

	return (checksum_crc32c(reg, rec, WAL_REC_CRC) ^ CHECKSUM_CRC_INIT) ==
		wal_load32(rec + WAL_REC_CRC);
}

static inline bool
is_switch(const uint8_t *rec)
{
	return rec[WAL_REC_RMID] == WAL_RMGR_XLOG &&
		(rec[WAL_REC_INFO] & WAL_INFO_MASK) == WAL_XLOG_SWITCH;
}

/* A record is broken: its length gets one chance, see the head of the file. */
static void
record_failed(WalWalker *ctx, WalLsn lsn, WalLsn behind, uint64_t inside,
			  const char *why)
{
	ctx->overwrite = false;
	stop_at(ctx, lsn, behind, "%s", why);
	ctx->stop.other_bytes += inside;
	ctx->prev = lsn;
	ctx->suspect = true;
}

static void
begin_pending(WalWalker *ctx, const uint8_t *rec, uint32_t here, WalLsn lsn,
			  uint32_t len)
{
	uint32_t	keep = here < sizeof(ctx->pending.start) ?
		here : (uint32_t) sizeof(ctx->pending.start);

	ctx->pending.active = true;
	ctx->pending.unchecked = false;
	ctx->pending.head = false;
	ctx->pending.lsn = lsn;
	ctx->pending.len = len;
	ctx->pending.got = here;
	ctx->pending.inside = ctx->inside ? here : 0;
	ctx->pending.mismatch = 0;
	ctx->pending.reg = CHECKSUM_CRC_INIT;
	memcpy(ctx->pending.start, rec, keep);
	if (here > WAL_REC_HEADER)
		ctx->pending.reg = checksum_crc32c(CHECKSUM_CRC_INIT,
										   rec + WAL_REC_HEADER,
										   here - WAL_REC_HEADER);
}

static void
extend_pending(WalWalker *ctx, const uint8_t *data, uint32_t n)
{
	uint32_t	got = ctx->pending.got;
	uint32_t	header = 0;

	ctx->pending.got += n;
	if (ctx->inside)
		ctx->pending.inside += n;
	if (ctx->pending.unchecked)
		return;
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

/*
 * The pending record is complete and ends on this page at pos; padded is
 * where the next one starts.
 */
static void
finish_pending(WalWalker *ctx, uint32_t pos, uint32_t padded)
{
	const uint8_t *rec = ctx->pending.start;
	WalLsn		lsn = ctx->pending.lsn;
	WalLsn		behind = ctx->page + pos;
	uint64_t	inside = ctx->pending.inside + (ctx->inside ? padded - pos : 0);
	const char *why;

	ctx->pending.active = false;
	if (ctx->pending.unchecked)
	{
		if (ctx->pending.head)
			ctx->counts.head_bytes += inside;
		else
			ctx->counts.skipped_bytes += inside;
		ctx->prev = 0;
		ctx->maybe_switch = ctx->pending.len <= WAL_REC_HEADER;
		return;
	}
	why = check_record(ctx, rec, lsn, ctx->prev);
	if (why != NULL && ctx->suspect)
	{
		ctx->stop.other_bytes += inside;	/* told already */
		ctx->prev = lsn;
		return;
	}
	if (why == NULL &&
		(checksum_crc32c(ctx->pending.reg, rec, WAL_REC_CRC) ^
		 CHECKSUM_CRC_INIT) != wal_load32(rec + WAL_REC_CRC))
		why = "CRC of the record does not match";
	if (why != NULL)
	{
		record_failed(ctx, lsn, behind, inside, why);
		return;
	}
	ctx->suspect = false;
	ctx->overwrite = false;
	ctx->counts.bytes_verified += inside;
	if (lsn >= ctx->opt.segment_start && lsn < ctx->segment_end)
	{
		ctx->counts.records++;
		ctx->counts.fpi_bytes += fpi_bytes(rec, ctx->pending.len < sizeof(ctx->pending.start) ?
										   ctx->pending.len : (uint32_t) sizeof(ctx->pending.start));
	}
	ctx->prev = lsn;
	ctx->end = ctx->page + padded;
	if (is_switch(rec))
		ctx->state = WAL_WALK_SWITCHED;
}

/*
 * Zeros up to the next position of a record?  The server leaves them there.
 * One load, no branch on the length: it is different for every record.
 */
static inline bool
padding_is_zero(const uint8_t *page, uint32_t pos, uint32_t padded)
{
	uint64_t	last = wal_load64(page + padded - WAL_REC_ALIGN);
	uint32_t	bits = 63 - 8 * (padded - pos);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (last << 1) << bits == 0;
#else
	return (last >> 1) >> bits == 0;
#endif
}

/*
 * Goes on with the record that is pending, as the page's header has it.
 * Returns where to look for the next record, or page_size.
 */
static uint32_t
continue_pending(WalWalker *ctx, const uint8_t *page, uint32_t rem_len)
{
	uint32_t	pos = header_size(ctx);
	uint32_t	room = ctx->opt.page_size - pos;
	uint32_t	n = rem_len < room ? rem_len : room;
	uint32_t	padded;

	extend_pending(ctx, page + pos, n);
	if (n < rem_len)
		return ctx->opt.page_size;
	pos += n;
	padded = (uint32_t) wal_align(pos);
	if (padded > ctx->opt.page_size)
		padded = ctx->opt.page_size;
	if (!padding_is_zero(page, pos, padded) &&
		(!ctx->pending.unchecked || ctx->pending.head))
		damage(ctx, ctx->page + pos, "padding behind a record is not zero");
	finish_pending(ctx, pos, padded);
	return padded;
}

/* A record goes on here whose start is not known. */
static void
begin_unchecked(WalWalker *ctx, uint32_t rem_len, bool head)
{
	ctx->pending.active = true;
	ctx->pending.unchecked = true;
	ctx->pending.head = head;
	ctx->pending.lsn = ctx->page;
	ctx->pending.len = rem_len;
	ctx->pending.got = 0;
	ctx->pending.inside = 0;
	ctx->pending.mismatch = 0;
}

/*
 * The pending record does not go on.  That is legal when a crash cut it off
 * and the server said so in this page's flag.
 */
static void
drop_pending(WalWalker *ctx, bool abandoned)
{
	WalLsn		lsn = ctx->pending.lsn;

	ctx->counts.skipped_bytes += ctx->pending.inside;
	ctx->pending.active = false;
	if (abandoned)
	{
		ctx->counts.abandoned++;
		return;
	}
	if (ctx->suspect)
		;						/* already told */
	else if (ctx->pending.unchecked)
		stop_at(ctx, ctx->page, ctx->page + header_size(ctx) + 1,
				"page does not go on with the record of the page before");
	else
		stop_at(ctx, lsn, ctx->page + header_size(ctx) + 1,
				"record is not continued at " LSN_FORMAT " as its length says",
				LSN_ARGS(ctx->page));
	if (ctx->state != WAL_WALK_ENDED)
		confirm_stop(ctx);		/* since this page is valid */
	ctx->prev = 0;
	ctx->suspect = true;		/* the page's word may be the broken one */
}

/*
 * The page disagrees with the pending record on how much is to come.  Is the
 * record right?  Its CRC tells if it ends here; if both say that it goes on,
 * the next page will.
 */
static bool
record_is_right(WalWalker *ctx, const uint8_t *page, uint32_t rem_len)
{
	uint32_t	pos = header_size(ctx);
	uint32_t	room = ctx->opt.page_size - pos;
	uint32_t	left = ctx->pending.len - ctx->pending.got;
	uint8_t		header[WAL_REC_HEADER];
	uint32_t	missing = 0;
	uint32_t	reg;

	if (rem_len == 0 || ctx->pending.unchecked || ctx->pending.mismatch != 0)
		return false;
	if (left > room)
		return rem_len > room;
	if (ctx->pending.got < WAL_REC_HEADER)
		missing = WAL_REC_HEADER - ctx->pending.got;
	memcpy(header, ctx->pending.start, WAL_REC_HEADER - missing);
	memcpy(header + WAL_REC_HEADER - missing, page + pos, missing);
	reg = checksum_crc32c(ctx->pending.reg, page + pos + missing,
						  left - missing);
	return (checksum_crc32c(reg, header, WAL_REC_CRC) ^ CHECKSUM_CRC_INIT) ==
		wal_load32(header + WAL_REC_CRC);
}

static void
blame_page(WalWalker *ctx)
{
	if (ctx->pending.mismatch >= ctx->opt.segment_start)
		damage(ctx, ctx->pending.mismatch,
			   "page disagrees with its record on how much of it is to come");
	ctx->pending.mismatch = 0;
}

/*
 * Does the record at rec say that the pending one was abandoned?  If it says
 * so of another one, the pending one is broken; if it is broken itself, it
 * says nothing.
 */
static bool
tells_of(const WalWalker *ctx, const uint8_t *rec, uint32_t room)
{
	uint32_t	len = wal_load32(rec + WAL_REC_TOT_LEN);

	if (ctx->pending.unchecked || len < WAL_OVERWRITE_LSN + 8 || len > room ||
		!crc_fits(rec, len))
		return true;
	return rec[WAL_REC_RMID] == WAL_RMGR_XLOG &&
		(rec[WAL_REC_INFO] & WAL_INFO_MASK) == WAL_XLOG_OVERWRITE &&
		wal_load64(rec + WAL_OVERWRITE_LSN) == ctx->pending.lsn;
}

/* A page with a valid header. */
static void
records_page(WalWalker *ctx, const uint8_t *page)
{
	uint16_t	info = wal_load16(page + WAL_PAGE_INFO);
	uint32_t	rem_len = wal_load32(page + WAL_PAGE_REM_LEN);
	uint32_t	pos = header_size(ctx);
	bool		seeking = ctx->state == WAL_WALK_SEEK;

	if (seeking)
	{
		confirm_stop(ctx);
		ctx->state = WAL_WALK_RECORDS;
		ctx->prev = 0;
		ctx->suspect = false;
	}
	if (ctx->pending.active && rem_len != 0 &&
		rem_len == ctx->pending.len - ctx->pending.got)
	{
		if (ctx->pending.mismatch != 0)
			blame_page(ctx);	/* the one before */
	}
	else if (ctx->pending.active && record_is_right(ctx, page, rem_len))
	{
		ctx->pending.mismatch = ctx->page;
		rem_len = ctx->pending.len - ctx->pending.got;
		if (rem_len <= ctx->opt.page_size - pos)
			blame_page(ctx);
	}
	else if (ctx->pending.active)
	{
		drop_pending(ctx, (info & WAL_FLAG_OVERWRITE) != 0 &&
					 tells_of(ctx, page + pos, ctx->opt.page_size - pos));
		if (ctx->state == WAL_WALK_ENDED)
			return;
		seeking = true;
	}
	if (rem_len != 0 && !ctx->pending.active)
	{
		if (!seeking && !ctx->suspect)
		{
			stop_at(ctx, ctx->page, ctx->page + pos + 1,
					"page goes on with a record where none is open");
			if (ctx->state == WAL_WALK_ENDED)
				return;
			confirm_stop(ctx);
			ctx->suspect = true;
		}
		begin_unchecked(ctx, rem_len, ctx->page == ctx->opt.segment_start);
	}
	ctx->overwrite = (info & WAL_FLAG_OVERWRITE) != 0;
	if (ctx->pending.active)
		pos = continue_pending(ctx, page, rem_len);
	if (ctx->state == WAL_WALK_RECORDS)
		walk_records(ctx, page, pos);
	else if (ctx->state == WAL_WALK_SWITCHED && pos < ctx->opt.page_size)
		switched_bytes(ctx, page, pos);
}

/* The rest of a page in which no record can be found any more. */
static void
leave_page(WalWalker *ctx, const uint8_t *page, uint32_t pos)
{
	uint32_t	rest = ctx->opt.page_size - pos;
	bool		zero = wal_is_zero(page + pos, rest);

	if (ctx->state == WAL_WALK_RECORDS)
		ctx->state = WAL_WALK_SEEK;
	if (!ctx->inside)
		return;
	if (ctx->state == WAL_WALK_ENDED)
		ctx->counts.zero_bytes += zero ? rest : 0;
	else if (zero)
		ctx->stop.zero_bytes += rest;
	else
		ctx->stop.other_bytes += rest;
}

/* No record can start at pos with this length. */
static void
bad_length(WalWalker *ctx, const uint8_t *page, uint32_t pos, uint32_t len)
{
	WalLsn		lsn = ctx->page + pos;

	if (ctx->maybe_switch && ctx->prev == 0 && len == 0)
	{
		ctx->state = WAL_WALK_SWITCHED;
		switched_bytes(ctx, page, pos);
		return;
	}
	if (!ctx->suspect)
	{
		if (wal_is_zero(page + pos, ctx->opt.page_size - pos))
			stop_at(ctx, lsn, lsn + 1, "zeros where a record should start");
		else
			stop_at(ctx, lsn, lsn + 1, "length of the record is %u", len);
	}
	ctx->overwrite = false;
	leave_page(ctx, page, pos);
}

/*
 * A record whose header cannot be right.  Returns where to try the next one,
 * page_size for nowhere in this page.
 */
static uint32_t
bad_header(WalWalker *ctx, const uint8_t *page, uint32_t pos, uint32_t len,
		   const char *why)
{
	WalLsn		lsn = ctx->page + pos;
	uint32_t	room = ctx->opt.page_size - pos;
	uint32_t	padded = (uint32_t) wal_align(len);
	bool		told = ctx->suspect;

	if (!told && len <= room)
	{
		record_failed(ctx, lsn, lsn + len, ctx->inside ? padded : 0, why);
		if (ctx->state == WAL_WALK_RECORDS)
			return pos + padded;
		pos += padded;
	}
	else if (!told)
	{
		stop_at(ctx, lsn, lsn + len, "%s", why);
		ctx->overwrite = false;
	}
	if (pos < ctx->opt.page_size)
		leave_page(ctx, page, pos);
	return ctx->opt.page_size;
}

/* Counts a whole record, or several that take up so many bytes. */
static void
count_records(WalWalker *ctx, uint64_t records, uint64_t bytes, uint64_t fpi)
{
	count_inside(ctx, &ctx->counts.records, records);
	count_inside(ctx, &ctx->counts.bytes_verified, bytes);
	count_inside(ctx, &ctx->counts.fpi_bytes, fpi);
}

/*
 * The fast path: passes over the records from pos on that lie wholly in the
 * page and are in order, and returns where the first other one starts.  It
 * judges nothing: what it does not pass is walk_records()'s, which would have
 * passed all that this does.  So its branches fall the same way for every
 * record; apart from its caller, it keeps its state in registers.
 */
static uint32_t
pass_records(WalWalker *ctx, const uint8_t *page, uint32_t pos)
{
	const uint32_t page_size = ctx->opt.page_size;
	const WalLsn base = ctx->page;
	const uint32_t begin = pos;
	WalLsn		prev = ctx->prev;
	uint64_t	records = 0;
	uint64_t	fpi = 0;

	if (prev == 0 || ctx->suspect || ctx->overwrite)
		return pos;
	while (page_size - pos >= WAL_REC_HEADER)
	{
		const uint8_t *rec = page + pos;
		uint32_t	len = wal_load32(rec + WAL_REC_TOT_LEN);
		uint32_t	padded = (uint32_t) wal_align(len);

		if (unlikely_(len - WAL_REC_HEADER > page_size - pos - WAL_REC_HEADER ||
					  wal_load64(rec + WAL_REC_PREV) != prev ||
					  !rmgr_exists(rec[WAL_REC_RMID]) || is_switch(rec)))
			break;
		if (unlikely_(!crc_fits(rec, len) ||
					  !padding_is_zero(rec, len, padded)))
			break;
		prev = base + pos;
		pos += padded;
		records++;
		fpi += fpi_bytes(rec, len);
	}
	if (records == 0)
		return pos;
	ctx->prev = prev;
	ctx->end = base + pos;
	count_records(ctx, records, pos - begin, fpi);
	return pos;
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
		const char *why;

		if (len < WAL_REC_HEADER || len > WAL_REC_MAX)
		{
			bad_length(ctx, page, pos, len);
			break;
		}
		if (room < WAL_REC_HEADER)
		{
			begin_pending(ctx, rec, room, lsn, len);
			break;
		}
		why = check_record(ctx, rec, lsn, ctx->prev);
		if (why != NULL)
		{
			pos = bad_header(ctx, page, pos, len, why);
			continue;
		}
		if (ctx->suspect)
		{
			confirm_stop(ctx);	/* the chain goes on: only that one is lost */
			ctx->suspect = false;
		}
		if (len > room)
		{
			begin_pending(ctx, rec, room, lsn, len);
			break;
		}
		ctx->prev = lsn;
		pos += (uint32_t) wal_align(len);
		if (!crc_fits(rec, len))
		{
			record_failed(ctx, lsn, lsn + len,
						  ctx->inside ? wal_align(len) : 0,
						  "CRC of the record does not match");
			if (ctx->state == WAL_WALK_RECORDS)
				continue;
			if (pos < page_size)
				leave_page(ctx, page, pos);
			break;
		}
		if (!padding_is_zero(rec, len, (uint32_t) wal_align(len)))
			damage(ctx, lsn + len, "padding behind a record is not zero");
		ctx->overwrite = false;
		ctx->end = ctx->page + pos;
		count_records(ctx, 1, wal_align(len), fpi_bytes(rec, len));
		if (is_switch(rec))
		{
			ctx->state = WAL_WALK_SWITCHED;
			if (pos < page_size)
				switched_bytes(ctx, page, pos);
			break;
		}
	}
}

/* ---- findings ---- */

static void
emit(WalWalker *ctx, WalLsn lsn, const char *message)
{
	WalFinding	finding;

	if (lsn < ctx->opt.segment_start)
		lsn = ctx->opt.segment_start;
	if (lsn >= ctx->segment_end || lsn < ctx->opt.from)
		return;
	finding.lsn = lsn;
	finding.file_offset = lsn - ctx->opt.segment_start;
	finding.status = WAL_CORRUPT;
	snprintf(finding.message, sizeof(finding.message), "%s", message);
	if (ctx->counts.errors++ == 0)
	{
		ctx->counts.first_error = lsn;
		snprintf(ctx->counts.first_message,
				 sizeof(ctx->counts.first_message), "%s", message);
	}
	if (ctx->opt.finding != NULL)
		ctx->opt.finding(ctx->opt.arg, &finding);
}

/* Damage that no end of WAL explains. */
static void
damage(WalWalker *ctx, WalLsn lsn, const char *message)
{
	if (lsn < ctx->opt.limit && ctx->page >= ctx->opt.segment_start)
		emit(ctx, lsn, message);
}

/*
 * Does what lies from lsn up to behind reach beyond the limit?  A server
 * writes up to the end of a record or of a page: where a record ends, none
 * that starts before can go on.
 */
static bool
beyond_limit(const WalWalker *ctx, WalLsn lsn, WalLsn behind)
{
	if (ctx->opt.limit_exact &&
		ctx->opt.limit % ctx->opt.page_size > WAL_PAGE_LONG)
		return lsn >= ctx->opt.limit;
	return behind > ctx->opt.limit;
}

/*
 * Something does not fit at lsn; behind is the first byte that must not
 * matter.  Beyond the limit this is the end of WAL, no more and no less.
 */
static void
stop_at(WalWalker *ctx, WalLsn lsn, WalLsn behind, const char *format,...)
{
	va_list		args;

	if (ctx->page < ctx->opt.segment_start)
	{
		ctx->state = WAL_WALK_SEEK;
		return;
	}
	confirm_stop(ctx);
	ctx->stop.set = true;
	ctx->stop.lsn = lsn;
	va_start(args, format);
	vsnprintf(ctx->stop.message, sizeof(ctx->stop.message), format, args);
	va_end(args);
	if (beyond_limit(ctx, lsn, behind))
	{
		ctx->ended = true;
		ctx->state = WAL_WALK_ENDED;
	}
}

/* The log goes on behind the stop, so it is damage. */
static void
confirm_stop(WalWalker *ctx)
{
	if (ctx->stop.set)
		emit(ctx, ctx->stop.lsn, ctx->stop.message);
	ctx->counts.skipped_bytes += ctx->stop.zero_bytes + ctx->stop.other_bytes;
	ctx->stop.set = false;
	ctx->stop.zero_bytes = 0;
	ctx->stop.other_bytes = 0;
}

bool
wal_walk_wants_more(const WalWalker *ctx)
{
	return ctx->pending.active && !ctx->pending.unchecked &&
		ctx->state == WAL_WALK_RECORDS;
}

/* The segment ends within a record that could not be completed. */
static void
finish_open_record(WalWalker *ctx)
{
	uint64_t   *counter = &ctx->counts.tail_bytes;

	if (ctx->pending.unchecked)
		counter = ctx->pending.head ?
			&ctx->counts.head_bytes : &ctx->counts.skipped_bytes;
	*counter += ctx->pending.inside;
	if (ctx->pending.unchecked)
		return;
	ctx->end = ctx->pending.lsn;
	if (overshoots(ctx, ctx->segment_end))
		emit(ctx, ctx->pending.lsn, "record reaches beyond the end of WAL");
	if (beyond_limit(ctx, ctx->pending.lsn,
					 ctx->pending.lsn + ctx->pending.len) ||
		ctx->pending.lsn >= ctx->opt.may_end_from)
		ctx->ended = true;
}

void
wal_walk_finish(WalWalker *ctx)
{
	bool		stopped = ctx->stop.set || ctx->ended;

	if (!ctx->stop.set ||
		(!ctx->ended && ctx->stop.lsn < ctx->opt.may_end_from))
		confirm_stop(ctx);
	else
	{
		ctx->ended = true;
		ctx->counts.zero_bytes += ctx->stop.zero_bytes;
	}
	ctx->switched = ctx->state == WAL_WALK_SWITCHED &&
		ctx->page <= ctx->segment_end;
	if (!stopped && ctx->pending.active && ctx->pending.inside > 0)
		finish_open_record(ctx);
	else if (!stopped && ctx->page >= ctx->segment_end)
		ctx->end = ctx->segment_end;
	if (ctx->end > ctx->segment_end)
		ctx->end = ctx->segment_end;
	if (ctx->end < ctx->opt.segment_start)
		ctx->end = ctx->opt.segment_start;
}
