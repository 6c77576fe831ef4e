/*
 * walk.h
 *	  Judges WAL segments from their pages, in counts and findings.
 *
 * The walker checks everything that the format lets one check, in place and
 * without an allocation.  These are page headers, and of each record its
 * length, its prev-link, its resource manager and its CRC-32C.  It needs no
 * server.  One walk judges one segment.  Pages of its neighbours may be fed
 * before and after so that the records over its borders are whole.
 *
 *	  wal_identify()		what is this file? version, sizes, system
 *	  wal_walk_begin()
 *	  wal_walk_page()		page by page, of consecutive addresses
 *	  wal_walk_finish()		the verdict is in the counts and in ->outcome
 */
#ifndef ACCEL_WAL_WALK_H
#define ACCEL_WAL_WALK_H

#include "wal/page.h"
#include "wal/reason.h"

/* The timeline wrote what lies before end, and before those of newer ones. */
typedef struct WalHistory
{
	uint32_t	timeline;
	WalLsn		end;
} WalHistory;

/* A timeline and those that it descends from, oldest first. */
typedef struct WalPath
{
	uint32_t	timeline;
	bool		known;			/* its ancestors are, of which there may be
								 * none */
	int			nancestors;
	const WalHistory *ancestors;
} WalPath;

/*
 * Returns the timeline of the path that wrote the byte at lsn, 0 if unknown.
 */
extern uint32_t wal_path_at(const WalPath *path, WalLsn lsn);

typedef struct WalCounts
{
	uint64_t	records;		/* that start in the segment, CRC verified */
	uint64_t	fpi_bytes;		/* full-page images within them, as stored */
	/* bytes of the segment */
	uint64_t	bytes_verified; /* whole records, headers, padding */
	uint64_t	head_bytes;		/* of a record begun before, not checkable */
	uint64_t	tail_bytes;		/* of one that ends after it, likewise */
	uint64_t	zero_bytes;		/* after a switch or the end of WAL */
	uint64_t	skipped_bytes;	/* damaged, or passed over after damage */
	uint64_t	recycled_bytes; /* recycled contents after a switch, where
								 * zeros were never written */
	uint64_t	aborted;		/* contrecords that a crash cut off, legally */
	uint64_t	pages;			/* with a valid header */
	uint64_t	copies;			/* records that copy a database */
	uint32_t	errors;
	WalLsn		first_error;	/* valid if errors > 0, as the next one */
	WalVerdict	first_verdict;
} WalCounts;

/*
 * This wants the records that start in the segment, once they are verified, in
 * order.  Those that lie in several pages come in pieces first.
 */
typedef struct WalRecordSink
{
	/* If rec is NULL, it was in pieces.  The next one may start at end. */
	void		(*record) (void *arg, WalLsn lsn, WalLsn end,
						   const uint8_t *rec, uint32_t len);

	/* Takes n bytes at an offset of a record.  At 0 one begins. */
	void		(*piece) (void *arg, const uint8_t *data, uint32_t offset,
						  uint32_t n);

	/* of the segment, before the records after it */
	WalFindingFn finding;
	void	   *arg;
} WalRecordSink;

typedef struct WalWalkOptions
{
	WalPath		path;			/* of the timeline in the file's name */
	WalLsn		segment_start;
	uint32_t	segment_size;	/* bytes */
	uint32_t	page_size;		/* bytes */
	uint16_t	magic;			/* 0 if that of the first valid page */
	WalLsn		from;			/* findings wholly before it do not count */
	WalLsn		limit;			/* everything before it must be whole, what
								 * follows may end anywhere */
	bool		limit_exact;	/* a record ends at the limit, or a page, as
								 * the server writes it */
	WalLsn		earliest_end;	/* a stop at or after it is the end of WAL if
								 * nothing follows, WAL_LSN_MAX if none is */
	WalFindingFn finding;		/* may be NULL */
	void	   *arg;
	const WalRecordSink *records;	/* may be NULL */
} WalWalkOptions;

typedef enum WalOutcome
{
	WAL_OUTCOME_FULL,			/* the WAL goes on after the segment */
	WAL_OUTCOME_ENDED,			/* it ends here, legally */
	WAL_OUTCOME_SWITCHED		/* by an XLOG_SWITCH record */
} WalOutcome;

/* The record that goes on in the next page. */
typedef struct WalPending
{
	enum
	{
		WAL_PENDING_NONE,
		WAL_PENDING_WHOLE,		/* seen from its start on */
		WAL_PENDING_HEAD,		/* begun before the segment, unseen */
		WAL_PENDING_LOST		/* its start was lost by damage */
	}			kind;
	WalLsn		lsn;
	uint32_t	len;			/* of what was seen */
	uint32_t	got;
	uint32_t	reg;			/* raw CRC register over the body */
	uint32_t	inside;			/* bytes of it within the segment */
	WalVerdict	mismatch;		/* of a page that disagreed on its length */
	uint8_t		start[1024];	/* its first bytes, with all its headers */
} WalPending;

/* It is the caller's, and has no pointer to free. */
typedef struct WalWalker
{
	/* the whole walk */
	WalWalkOptions opt;			/* as it began */
	WalLsn		segment_end;
	WalPath		path;			/* wal_walk_follow() changes it */
	const WalVersion *version;	/* NULL if none seen yet */
	WalCounts	counts;
	WalLsn		end;			/* after the last whole record */
	WalOutcome	outcome;

	/* where it stands */
	WalLsn		page;
	enum
	{
		WAL_WALK_SEEK,			/* for a valid page header */
		WAL_WALK_RECORDS,
		WAL_WALK_SWITCHED,		/* zeros up to the end of the segment */
		WAL_WALK_ENDED
	}			phase;
	uint32_t	last_timeline;	/* of the last valid page, 0 if none */
	bool		tail_reported;	/* of the zeros after a switch */

	/* the chain of records */
	WalLsn		prev;			/* start of the record before, 0 if unknown */
	enum
	{
		WAL_BEFORE_ANY,
		WAL_BEFORE_SHORT		/* prev was not seen, but short enough for an
								 * XLOG_SWITCH */
	}			before;
	bool		prev_invalid;	/* that one is broken, its length too maybe,
								 * and reported */
	bool		overwrite;		/* the next one must be an
								 * OVERWRITE_CONTRECORD */
	WalPending	pending;

	/*
	 * This is a stop that may be the end of WAL.  It is damage once WAL
	 * follows.
	 */
	struct
	{
		WalVerdict	verdict;
		uint64_t	zero_bytes; /* since then */
		uint64_t	other_bytes;
	}			stop;
} WalWalker;

extern void wal_walk_begin(WalWalker *ctx, const WalWalkOptions *options,
						   WalLsn first_page);

/*
 * Begins at the start of a segment with what another walker holds that has
 * walked up to there.  See wal_walk_hands_over().
 */
extern void wal_walk_take_over(WalWalker *ctx, const WalWalkOptions *options,
							   const WalWalker *before);

/*
 * To be asked at the end of its segment.  Is ctx, which has found nothing
 * there, within a record that goes on, or after a switch?  Another walk that
 * begins where that record does would know the same of it.
 */
extern bool wal_walk_hands_over(const WalWalker *ctx);

/*
 * Walks the page at ctx->page, of page_size bytes and any alignment.  Pages
 * before the segment prepare the record that crosses its start and count
 * nothing.
 */
extern void wal_walk_page(WalWalker *ctx, const uint8_t *page);

/* After the segment, is there still a record of it to complete? */
extern bool wal_walk_wants_more(const WalWalker *ctx);

/*
 * After the segment, the pages to come are of this path.  It must outlive the
 * walk.
 */
extern void wal_walk_follow(WalWalker *ctx, const WalPath *path);

/*
 * After the segment, goes on at a page up to which another walk has brought
 * the same record.
 */
extern void wal_walk_skip(WalWalker *ctx, const WalPending *pending,
						  WalLsn page);

/*
 * At the start of the segment, within a record, goes on at the page at offset.
 * Another walk of the segment has brought it up to there and found nothing.
 */
extern void wal_walk_resume(WalWalker *ctx, const WalPending *pending,
							uint32_t offset, uint32_t last_timeline);

extern void wal_walk_finish(WalWalker *ctx);

#endif							/* ACCEL_WAL_WALK_H */
