/*
 * wal.h
 *	  Judges write-ahead log segments: bytes in, counts and findings out.
 *
 * The walker checks everything that the format lets one check, in place and
 * without an allocation: page headers, and of each record its length, its
 * link to the record before, its resource manager and its CRC-32C.  It needs
 * no server.  One walk judges one segment; pages of its neighbours may be fed
 * before and behind so that the records over its borders are whole.
 *
 *	  wal_identify()		what is this file? version, sizes, system
 *	  wal_walk_begin()
 *	  wal_walk_page()		page by page, of consecutive addresses
 *	  wal_walk_finish()		the verdict is in the counts and in ->ended
 *
 * LSNs are byte positions of the log, 64 bits.
 */
#ifndef WAL_H
#define WAL_H

#include "verify/finding.h"
#include "verify/wal_format.h"

#pragma GCC visibility push(hidden)

typedef uint64_t WalLsn;

#define WAL_LSN_MAX		UINT64_MAX
#define WAL_MESSAGE_SIZE	256
#define WAL_NAME_SIZE	40		/* segment name, ".partial", terminator */

/* A segment's name, taken apart. */
typedef struct WalName
{
	uint32_t	timeline;
	uint32_t	log;
	uint32_t	seg;
	bool		partial;
} WalName;

/* The timeline's log holds what lies before end. */
typedef struct WalHistory
{
	uint32_t	timeline;
	WalLsn		end;
} WalHistory;

typedef struct WalFinding
{
	WalLsn		lsn;
	uint64_t	file_offset;	/* in the segment that is judged */
	WalStatus	status;
	char		message[WAL_MESSAGE_SIZE];
} WalFinding;

typedef void (*WalFindingFn) (void *arg, const WalFinding *finding);

typedef struct WalCounts
{
	uint64_t	records;		/* that start in the segment, CRC verified */
	uint64_t	fpi_bytes;		/* full-page images within them, as stored */
	/* bytes of the segment: */
	uint64_t	bytes_verified; /* whole records, headers, padding */
	uint64_t	head_bytes;		/* of a record begun before, not checkable */
	uint64_t	tail_bytes;		/* of a record that ends behind, likewise */
	uint64_t	zero_bytes;		/* after a switch or the end of WAL */
	uint64_t	skipped_bytes;	/* damaged, or passed over after damage */
	uint64_t	former_bytes;	/* older log behind a switch, where zeros were
								 * never written */
	uint64_t	abandoned;		/* records that a crash cut off, legally */
	uint64_t	pages;			/* with a valid header */
	uint32_t	errors;
	WalLsn		first_error;	/* valid if errors > 0 */
	char		first_message[WAL_MESSAGE_SIZE];
} WalCounts;

typedef struct WalWalkOptions
{
	uint32_t	timeline;		/* of the file's name */
	WalLsn		segment_start;
	uint32_t	segment_size;	/* bytes */
	uint32_t	page_size;		/* bytes */
	uint16_t	magic;			/* 0: of the first page that is valid */
	WalLsn		from;			/* findings wholly before it do not count */
	WalLsn		limit;			/* everything before it must be whole; what
								 * follows may end anywhere */
	bool		limit_exact;	/* a record ends at the limit, or a page: as
								 * the server writes it */
	WalLsn		may_end_from;	/* a stop at or behind it is the end of WAL if
								 * nothing follows; WAL_LSN_MAX: never */
	const WalHistory *history;	/* oldest first, ends with the file's own
								 * timeline; NULL: unknown */
	int			nhistory;
	WalFindingFn finding;		/* may be NULL */
	void	   *arg;
} WalWalkOptions;

/* Caller-owned, no pointer to free. */
typedef struct WalWalker
{
	/* the whole walk */
	WalWalkOptions opt;
	WalLsn		segment_end;
	WalCounts	counts;
	WalLsn		end;			/* behind the last whole record */
	bool		ended;			/* the log ends here, legally */
	bool		switched;		/* by a switch record */

	/* the page at work */
	WalLsn		page;
	bool		inside;			/* it belongs to the segment */

	/* the chain */
	enum
	{
		WAL_WALK_SEEK,			/* for a valid page header */
		WAL_WALK_RECORDS,
		WAL_WALK_SWITCHED,		/* zeros up to the end of the segment */
		WAL_WALK_ENDED
	}			state;
	WalLsn		prev;			/* start of the record before; 0: unknown */
	bool		suspect;		/* that one is broken, its length too maybe */
	bool		overwrite;		/* the next record must tell of an abandoned
								 * one */
	uint32_t	last_tli;		/* of the last valid page; 0: none */
	bool		dirty;			/* the last page of the zero tail was not */
	bool		maybe_switch;	/* the record before was not seen, and is
								 * short enough for a switch */

	/* the record that goes on in the next page */
	struct
	{
		bool		active;
		bool		unchecked;	/* its start was not seen */
		bool		head;		/* it began before the segment */
		WalLsn		lsn;
		uint32_t	len;		/* of what was seen */
		uint32_t	got;
		uint32_t	reg;		/* raw CRC register over the body */
		uint32_t	inside;		/* bytes of it within the segment */
		WalLsn		mismatch;	/* page that disagreed on its length; 0: none */
		uint8_t		start[1024];	/* its first bytes: all its headers */
	}			pending;

	/* a stop that may be the end of WAL: damage once something follows */
	struct
	{
		bool		set;
		WalLsn		lsn;
		uint64_t	zero_bytes; /* since then */
		uint64_t	other_bytes;
		char		message[WAL_MESSAGE_SIZE];
	}			stop;
} WalWalker;

extern void wal_walk_begin(WalWalker *ctx, const WalWalkOptions *options,
						   WalLsn first_page);

/*
 * The page at ctx->page, page_size bytes, any alignment.  Pages before the
 * segment prepare the record that crosses its start and count nothing.
 */
extern void wal_walk_page(WalWalker *ctx, const uint8_t *page);

/* Behind the segment: is there still a record to complete? */
extern bool wal_walk_wants_more(const WalWalker *ctx);
extern void wal_walk_finish(WalWalker *ctx);

/* What a file says of itself. */
typedef struct WalIdentity
{
	WalStatus	status;			/* ok; unsupported_version: known, or all
								 * pages agree on an unknown magic */
	uint16_t	magic;			/* 0: no page could be recognised */
	uint32_t	page_size;
	uint32_t	segment_size;	/* a valid one always */
	bool		has_long_header;	/* the field below comes from it */
	bool		has_system;
	uint64_t	system;			/* any value: a damaged header may hold 0 */
	bool		zero;			/* the first page is all zero */
	WalLsn		address;		/* of the first page by its own word; 0:
								 * unknown */
	uint32_t	timeline;		/* likewise */
	WalLsn		second_address; /* the same by the second page's word: in a
								 * recycled file, an older one */
	char		message[WAL_MESSAGE_SIZE];
} WalIdentity;

/*
 * Looks at the first len bytes of a file of file_size bytes (two pages are
 * enough, all of what is shorter).  The sizes given are those to fall back to.
 */
extern void wal_identify(WalIdentity *id, const uint8_t *data, size_t len,
						 uint64_t file_size, uint32_t page_size,
						 uint32_t segment_size);

/*
 * Where does the record begin that crosses the end of a segment?  Given the
 * pages of it from the last one backwards: true if a record starts on this
 * one, so that a walk can start there.
 */
extern bool wal_page_starts_record(const uint8_t *page, uint32_t page_size,
								   WalLsn address);

/* Is this a page with this very address, of a version that is known? */
extern bool wal_page_is_at(const uint8_t *page, WalLsn address);

/* "15" for D110 and so on; NULL for a magic that is not known */
extern const char *wal_version_name(uint16_t magic);
extern bool wal_version_supported(uint16_t magic);

extern bool wal_is_zero(const uint8_t *data, size_t len);

/* 24 upper-case hexadecimal digits and nothing, or ".partial", behind. */
extern bool wal_parse_name(const char *name, WalName *result);

/*
 * false: the name cannot occur with segments of this size, or the segment would
 * end beyond the last LSN.
 */
extern bool wal_name_segno(const WalName *name, uint32_t segment_size,
						   uint64_t *segno);
extern void wal_format_name(char buffer[WAL_NAME_SIZE], uint32_t timeline,
							uint64_t segno, uint32_t segment_size);

#pragma GCC visibility pop

#endif							/* WAL_H */
