/*
 * deputy.h
 *	  A worker that verifies another database for a run, and tells the run what
 *	  it may record.
 */
#ifndef ACCEL_RUN_DEPUTY_H
#define ACCEL_RUN_DEPUTY_H

#include "run/database_run.h"
#include "run/foreign.h"

/* What the history knows of a relation's file. */
typedef struct DeputyKnown
{
	Oid			relid;
	Oid			tablespace;
	Oid			number;			/* of the file, 0 if read in part */
	TimestampTz at;				/* when it was last verified or read */
} DeputyKnown;

/* Shared memory.  The known, the positions and the queue follow. */
typedef struct DeputyShared
{
	ForeignShared foreign;		/* first */
	RunOptions	options;		/* their arrays are not for the deputy */
	TimestampTz started;
	TimestampTz deadline;
	bool		advanced;		/* the run has verified something */
	bool		recording;
	bool		checksums_off;	/* that has been said */
	pg_atomic_uint32 over;
	Size		nknown;
	Size		npositions;
} DeputyShared;

/* Where the others are. */
typedef struct DeputyLayout
{
	Size		positions;
	Size		queue;
	Size		total;
} DeputyLayout;

static inline DeputyLayout
deputy_layout(Size nknown, Size npositions)
{
	DeputyLayout place;

	place.positions = add_size(MAXALIGN(sizeof(DeputyShared)),
							   mul_size(nknown, sizeof(DeputyKnown)));
	place.queue = add_size(MAXALIGN(place.positions),
						   mul_size(npositions, sizeof(RunRelation)));
	place.positions = MAXALIGN(place.positions);
	place.queue = MAXALIGN(place.queue);
	place.total = add_size(place.queue, TASK_QUEUE_BYTES);
	return place;
}

/*
 * The first byte of a message.  The server's own messages, as parallel workers
 * send them, have others.
 */
typedef enum DeputyMessageKind
{
	DEPUTY_BEGIN = '1',			/* what was found since the last one is void */
	DEPUTY_FINDING = '2',
	DEPUTY_BATCH = '3',			/* to be recorded */
	DEPUTY_COMPLETE = '4',		/* the same, the last one of its relation */
	DEPUTY_END = '5',
	DEPUTY_LOST = '6',			/* a lost write */
	DEPUTY_LOST_END = '7',		/* to be recorded, all of a relation */
	DEPUTY_DIGESTS = '8'		/* of a batch, before its end */
} DeputyMessageKind;

#define DEPUTY_OWNER_SIZE	(4 * NAMEDATALEN + 8)
#define DEPUTY_KIND_SIZE	24

typedef struct DeputyMessage
{
	char		kind;			/* first */
	bool		stopped;		/* of the end, as these four */
	bool		yielded;
	bool		checksums_off;
	RunPosition stopped_at;
	RunRelation relation;		/* its pointers are not valid */
	char		schema[NAMEDATALEN];	/* "" if unknown, as is the rest */
	char		name[NAMEDATALEN];
	char		owner[DEPUTY_OWNER_SIZE];
	char		kind_name[DEPUTY_KIND_SIZE];
	RunTotals	totals;			/* of the deputy */
	ProgressRow progress;
	LedgerBatch read;			/* its pages came before */
} DeputyMessage;

typedef struct DeputyFinding
{
	char		kind;			/* first */
	PageFinding finding;
} DeputyFinding;

typedef struct DeputyLost
{
	char		kind;			/* first */
	LostFinding finding;		/* up to the end of its message */
} DeputyLost;

/* The next ones, up to the end of the message. */
typedef struct DeputyDigests
{
	char		kind;			/* first */
	int64		count;
	LedgerPage	pages[LEDGER_BLOCKS];
} DeputyDigests;

/* The deputy's end of it. */
typedef struct Deputy
{
	DeputyShared *shared;
	const DeputyKnown *known;	/* by relid, then the latest first */
	shm_mq_handle *queue;
} Deputy;

/* All do nothing but in a deputy, and end it where its run has ended. */
extern void deputy_send_begin(DatabaseRun *run);
extern void deputy_send_finding(DatabaseRun *run, const PageFinding *finding);
extern void deputy_send_batch(DatabaseRun *run, bool complete);
extern void deputy_send_end(DatabaseRun *run);
extern void deputy_send_lost(DatabaseRun *run, const LostFinding *finding);
extern void deputy_send_lost_end(DatabaseRun *run);

/*
 * Is the run to end here?  It may be over, time may be up, or somebody wants
 * the database for himself.
 */
extern bool deputy_must_end(DatabaseRun *run);

/*
 * Locks a relation, which takes its patience in milliseconds, 0 for any.  No
 * queue is joined, since the database may be wanted meanwhile.
 */
extern void deputy_lock(DatabaseRun *run, Oid relid, int patience);

#endif							/* ACCEL_RUN_DEPUTY_H */
