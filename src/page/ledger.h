/*
 * ledger.h
 *	  What the page ledger knows of blocks, and what a copy's disk makes of it.
 *
 * This room knows no server.  Facts come in, and verdicts go out.
 */
#ifndef ACCEL_PAGE_LEDGER_H
#define ACCEL_PAGE_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "page/status.h"

/* A row of the ledger is about so many blocks. */
#define LEDGER_BLOCKS		1024
#define LEDGER_LSN_BYTES	8	/* at most */
#define LEDGER_DIGEST_BYTES 4

/* A page has an LSN of its own from here on.  Builds of indexes write 0 and 1. */
#define LEDGER_FIRST_LSN	2

/* What a read has found of a block. */
typedef enum LedgerDisk
{
	LEDGER_UNREAD,				/* not read, or damaged */
	LEDGER_NOTHING,				/* all zeros, or beyond the end of the file */
	LEDGER_PAGE
} LedgerDisk;

typedef struct LedgerPage
{
	uint64_t	lsn;			/* less than LEDGER_FIRST_LSN if not recorded */
	uint32_t	digest;			/* masked */
	LedgerDisk	disk;			/* of what was read */
} LedgerPage;

/* What is the relation?  It decides what may be cut off. */
typedef enum LedgerKind
{
	LEDGER_TABLE,
	LEDGER_INDEX,
	LEDGER_SEQUENCE
} LedgerKind;

/* Why something is not verifiable. */
#define LEDGER_REASON_LIST \
	LEDGER_REASON(LEDGER_NO_REASON, NULL) \
	LEDGER_REASON(LEDGER_NONE_RECORDED, "no digests of its present file are recorded") \
	LEDGER_REASON(LEDGER_FOREIGN_SYSTEM, "the digests were recorded in a cluster with another system identifier") \
	LEDGER_REASON(LEDGER_OTHER_HISTORY, "the digests were recorded at an LSN that is not in this server's history") \
	LEDGER_REASON(LEDGER_OTHER_MASK, "the digests were recorded with the mask of another release") \
	LEDGER_REASON(LEDGER_IN_FLIGHT, "changed after the redo point of the last checkpoint or restartpoint: run CHECKPOINT and ask again") \
	LEDGER_REASON(LEDGER_WITHOUT_LSN, "the page on disk has no LSN, as a bulk load without WAL leaves it") \
	LEDGER_REASON(LEDGER_MAYBE_CUT, "not in the file any more, or empty: VACUUM may have cut it off") \
	LEDGER_REASON(LEDGER_MAYBE_REUSED, "not in the file, of which no page is as old as the digests") \
	LEDGER_REASON(LEDGER_DAMAGED, "damaged or unreadable: see verify_relation()")

typedef enum LedgerReason
{
#define LEDGER_REASON(id, words) id,
	LEDGER_REASON_LIST
#undef LEDGER_REASON
	LEDGER_REASONS				/* how many */
} LedgerReason;

/* All that a verdict on a block takes. */
typedef struct LedgerFacts
{
	LedgerKind	kind;
	LedgerPage	known;			/* recorded */
	LedgerPage	read;			/* from this copy's disk, after redo */
	uint64_t	redo;			/* all up to here was put on this disk */
	bool		initialized;	/* the visibility map has the block */
	bool		same_file;		/* see ledger.c */
} LedgerFacts;

typedef struct LedgerVerdict
{
	LedgerStatus status;
	LedgerReason reason;		/* if it is not verifiable */
} LedgerVerdict;

extern LedgerVerdict ledger_judge(const LedgerFacts *facts);

/* Under which circumstances a row was recorded, or a copy is judged. */
typedef struct LedgerOrigin
{
	uint64_t	system;			/* identifier */
	uint32_t	timeline;
	uint32_t	mask;			/* version of the mask */
	uint64_t	taken;			/* end of WAL, after the pages were read */
} LedgerOrigin;

/*
 * Why a row is no evidence here, or LEDGER_NO_REASON.  here->taken is the end
 * of WAL, and here->timeline the one whose WAL has the LSN at row->taken.  A
 * row of another system is evidence if pg_upgrade has made this one of it.
 */
extern LedgerReason ledger_refuse(const LedgerOrigin *row,
								  const LedgerOrigin *here, bool upgraded);

extern const char *ledger_reason_words(LedgerReason reason);

/*
 * Brings what is known of LEDGER_BLOCKS blocks up to date by what was read of
 * them, see ledger.c.  Returns true if that changed something.
 */
extern bool ledger_merge(LedgerPage *known, const LedgerPage *read,
						 LedgerKind kind);

/*
 * The arrays of a row.  The LSNs begin with the oldest one, in
 * LEDGER_LSN_BYTES.  Each block then has how far its LSN is after that, plus 1,
 * in as many bytes as the largest one takes, or 0 if it is not recorded.
 */
typedef struct LedgerArrays
{
	size_t		lsn_bytes;
	size_t		digest_bytes;
	uint8_t		lsns[(1 + LEDGER_BLOCKS) * LEDGER_LSN_BYTES];
	uint8_t		digests[LEDGER_BLOCKS * LEDGER_DIGEST_BYTES];
} LedgerArrays;

/*
 * Makes the arrays of what is known, up to its last block.  The other direction
 * says false if the arrays do not fit each other.
 */
extern void ledger_pack(const LedgerPage *known, LedgerArrays *arrays);
extern bool ledger_unpack(LedgerPage *known, const uint8_t *lsns,
						  size_t lsn_bytes, const uint8_t *digests,
						  size_t digest_bytes);

#endif							/* ACCEL_PAGE_LEDGER_H */
