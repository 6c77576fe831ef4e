/*
 * reason.h
 *	  What is said of WAL, as data, by a reason and its numbers.
 *
 * The walker and the readers return verdicts.  One function turns them into
 * words, for SQL rows, logs and tests alike.
 */
#ifndef ACCEL_WAL_REASON_H
#define ACCEL_WAL_REASON_H

#include "page/status.h"
#include "wal/format.h"

#define WAL_MESSAGE_SIZE	320

typedef enum WalReason
{
	WAL_REASON_NONE,
#define WAL_REASON(id, name, ...) WAL_REASON_##id,
#include "wal/reason.def"
#undef WAL_REASON
	WAL_REASONS					/* how many */
} WalReason;

/* Why a record over a border could not be checked with the neighbour. */
typedef enum WalNeighbour
{
	WAL_NEIGHBOUR_OK,			/* it could */
	WAL_NEIGHBOUR_MISSING,
	WAL_NEIGHBOUR_DAMAGED,		/* its pages or records */
	WAL_NEIGHBOUR_SHORT,		/* shorter than a segment */
	WAL_NEIGHBOUR_FOREIGN,		/* of another system */
	WAL_NEIGHBOUR_UNREADABLE,	/* open or read fails */
	WAL_NEIGHBOUR_ALONE			/* bytes, which have none */
} WalNeighbour;

typedef struct WalVerdict
{
	WalReason	reason;
	WalLsn		at;				/* the place, in the segment or before it */
	uint64_t	value;			/* found */
	uint64_t	expected;
	uint64_t	more;			/* see wal/reason.def */
} WalVerdict;

/* Returns "" for WAL_REASON_NONE. */
extern const char *wal_reason_name(WalReason reason);

/* Did a file fail in a way that says nothing of what it holds? */
extern bool wal_reason_unreadable(WalReason reason);
extern void wal_verdict_words(const WalVerdict *verdict,
							  char words[WAL_MESSAGE_SIZE]);

/* The same, or the name of the status if that says all. */
extern void wal_trouble_words(const WalVerdict *verdict, WalStatus status,
							  char words[WAL_MESSAGE_SIZE]);

typedef struct WalFinding
{
	WalLsn		lsn;			/* in the segment that is judged */
	uint64_t	file_offset;
	WalStatus	status;
	WalVerdict	verdict;
} WalFinding;

typedef void (*WalFindingFn) (void *arg, const WalFinding *finding);

#endif							/* ACCEL_WAL_REASON_H */
