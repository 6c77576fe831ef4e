/*
 * ledger.h
 *	  The page ledger in its table, internal_page_digests.
 */
#ifndef ACCEL_RUN_LEDGER_H
#define ACCEL_RUN_LEDGER_H

#include "compat.h"

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

#include "page/digest.h"
#include "page/ledger.h"
#include "run/history.h"

/* What scans of a run are asked for, to record it or to judge by it. */
#define LEDGER_DIGESTS	((PageDigestOptions) {1, true, true})

/* What was read of a main fork in one transaction. */
typedef struct LedgerBatch
{
	LedgerPage *pages;			/* of the blocks first to next - 1 */
	int64		first;
	int64		next;
	int64		room;
	XLogRecPtr	taken;			/* end of WAL when that was read, 0 if it was
								 * not */
	bool		whole;			/* it ends where the fork ends */
} LedgerBatch;

/* The pages follow in the current memory context, if there are any. */
extern void ledger_batch_begin(LedgerBatch *batch, BlockNumber first);
extern void ledger_batch_add(LedgerBatch *batch, const DigestRow *row);

/* Those that follow, in the same context. */
extern void ledger_batch_append(LedgerBatch *batch, const LedgerPage *pages,
								int64 count);

/* The relation is still locked. */
extern void ledger_batch_end(LedgerBatch *batch, bool whole);

/* The file that rows are about. */
typedef struct LedgerFile
{
	Oid			database;
	Oid			tablespace;
	Oid			number;
	Oid			relid;
	LedgerKind	kind;
} LedgerFile;

/* Those about the main fork of a relation. */
extern void ledger_file_of(Relation rel, LedgerFile *file);

/* What this server is, to hold rows against it. */
typedef struct LedgerServer
{
	LedgerOrigin origin;
	List	   *history;		/* of its timeline */
	bool		upgraded;		/* by pg_upgrade, from the one that rows are
								 * of */
} LedgerServer;

extern void ledger_server(LedgerServer *server);

/* A row as the table has it. */
typedef struct LedgerRow
{
	int64		first;			/* block */
	LedgerOrigin origin;
	TimestampTz recorded_at;
	LedgerReason refused;		/* LEDGER_NO_REASON if it is evidence */
} LedgerRow;

/*
 * Selects the rows of a file that are about the blocks first to next - 1, and
 * leaves them in SPI_tuptable.  Returns how many.  The plan is kept there,
 * unless that is NULL.
 */
extern uint64 ledger_select(const History *history, SPIPlanPtr *kept,
							const LedgerFile *file, int64 first, int64 next);

/* The same of blocks from first on, at most so many rows. */
extern uint64 ledger_select_some(const History *history, SPIPlanPtr *kept,
								 const LedgerFile *file, int64 first, int64 rows);

extern int64 ledger_first_block(HeapTuple tuple);

/* Reads one of them, with LEDGER_BLOCKS pages that it knows of. */
extern void ledger_read(HeapTuple tuple, const LedgerFile *file,
						const LedgerServer *server, LedgerRow *row,
						LedgerPage *known);

/* The state of a run that records. */
typedef struct LedgerRun
{
	const History *history;
	LedgerServer server;
	bool		begun;
	SPIPlanPtr	select;
	SPIPlanPtr	insert;
	SPIPlanPtr	update;
	SPIPlanPtr	cut_off;
} LedgerRun;

/*
 * Writes what a batch has read, where that changes what is known.  Wants an
 * active snapshot.
 */
extern void ledger_write(LedgerRun *run, const LedgerFile *file,
						 const LedgerBatch *batch);
extern void ledger_end(LedgerRun *run);

/* Deletes rows that were recorded before then, and returns how many. */
extern int64 ledger_prune(const History *history, TimestampTz limit);

#endif							/* ACCEL_RUN_LEDGER_H */
