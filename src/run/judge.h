/*
 * judge.h
 *	  Judges relations of the database at hand by rows of the page ledger,
 *	  wherever these come from.
 */
#ifndef ACCEL_RUN_JUDGE_H
#define ACCEL_RUN_JUDGE_H

#include "compat.h"

#include "datatype/timestamp.h"
#include "utils/relcache.h"

#include "page/finding.h"
#include "page/scan_run.h"
#include "run/ledger.h"

/* So many blocks are judged at a time, with what is known of them in memory. */
#define RANGE_ROWS		128
#define RANGE_BLOCKS	((int64) RANGE_ROWS * LEDGER_BLOCKS)

/* A name, maybe converted from the encoding of another database. */
#define DIGEST_NAME_SIZE	(4 * NAMEDATALEN)

/* What is said of a block, or of blocks that are not verifiable. */
typedef struct DigestFinding
{
	Oid			relid;			/* 0 if nothing is recorded */
	bool		shared;			/* of all databases */
	bool		of_index;
	char		schema[DIGEST_NAME_SIZE];
	char		name[DIGEST_NAME_SIZE];
	LedgerStatus status;

	/* if it is not verifiable */
	LedgerReason reason;
	int64		blocks;

	/* if it is a finding */
	BlockNumber blkno;
	char		path[SCAN_PATH_SIZE];
	XLogRecPtr	disk_lsn;		/* 0 if there is no page on disk */
	XLogRecPtr	known_lsn;
	TimestampTz recorded_at;
} DigestFinding;

typedef struct DigestJudge DigestJudge;

struct DigestJudge
{
	ScanSink	sink;			/* first */
	ScanRun		scan;
	MemoryContext context;		/* of a range */

	/*
	 * Hands to judge_row() the rows of judge->file from there on that are
	 * about a range of blocks, in their order.  The range begins with the
	 * first one.  Returns false if there is none beyond it.
	 */
	bool		(*ask) (DigestJudge *judge, int64 from);
	void		(*emit) (DigestJudge *judge, const DigestFinding *finding);

	/* locks a relation, or NULL to wait for it as any other session */
	void		(*lock) (Oid relid);

	/* the relation at work */
	Relation	rel;
	LedgerFile	file;
	XLogRecPtr	redo;			/* before it was locked */
	bool		same_file;		/* some page is as old as a row, see ledger.c */
	int64		unjudged[LEDGER_REASONS];	/* blocks by reason */

	/* its range at work */
	int64		first;			/* -1 if none */
	int64		blocks;			/* up to the end of its last row */
	LedgerRow	rows[RANGE_ROWS];

	/* of RANGE_BLOCKS, zeros between two ranges, and beyond the blocks */
	LedgerPage *known;
	LedgerPage *read;
};

typedef struct DigestReading
{
	int			workers;
	int			max_rate;		/* kB per second, 0 for no bound */
	bool		direct;			/* of the device, past the page cache */
} DigestReading;

extern void judge_begin(DigestJudge *judge, const DigestReading *how);

/* If it is not required, a relation that is not there is passed over. */
extern void judge_relation(DigestJudge *judge, Oid relid, bool required);

/* A row, as ledger_read() gives it. */
extern void judge_row(DigestJudge *judge, const LedgerRow *row,
					  const LedgerPage *known);

#endif							/* ACCEL_RUN_JUDGE_H */
