/*
 * elsewhere.h
 *	  A worker that judges another database by rows of the page ledger, which
 *	  it asks the session for.
 */
#ifndef ACCEL_RUN_ELSEWHERE_H
#define ACCEL_RUN_ELSEWHERE_H

#include "run/foreign.h"
#include "run/judge.h"

/* Shared memory.  The OIDs of relations and two queues follow. */
typedef struct ElsewhereShared
{
	ForeignShared foreign;		/* first */
	DigestReading reading;
	Size		nrelids;
} ElsewhereShared;

typedef struct ElsewhereLayout
{
	Size		answers;		/* the queue of the session */
	Size		queue;			/* that of the worker */
	Size		total;
} ElsewhereLayout;

static inline Oid *
elsewhere_relids(ElsewhereShared *shared)
{
	return (Oid *) ((char *) shared + MAXALIGN(sizeof(ElsewhereShared)));
}

static inline ElsewhereLayout
elsewhere_layout(Size nrelids)
{
	ElsewhereLayout place;

	place.answers = MAXALIGN(add_size(MAXALIGN(sizeof(ElsewhereShared)),
									  mul_size(nrelids, sizeof(Oid))));
	place.queue = add_size(place.answers, TASK_QUEUE_BYTES);
	place.total = add_size(place.queue, TASK_QUEUE_BYTES);
	return place;
}

/* The first byte of a message of the worker.  The server's own have others. */
typedef enum ElsewhereMessageKind
{
	ELSEWHERE_ASK = '1',
	ELSEWHERE_FINDING = '2',
	ELSEWHERE_END = '3'
} ElsewhereMessageKind;

typedef struct ElsewhereAsk
{
	char		kind;			/* first */
	LedgerFile	file;
	int64		from;			/* block */
} ElsewhereAsk;

typedef struct ElsewhereFinding
{
	char		kind;			/* first */
	DigestFinding finding;
} ElsewhereFinding;

/*
 * The answer is so many of these, and then a message of one byte, 1 if there are
 * more beyond the range.
 */
typedef struct ElsewhereRow
{
	LedgerRow	row;
	LedgerPage	known[LEDGER_BLOCKS];
} ElsewhereRow;

/* The session's end of it. */
typedef struct Elsewhere Elsewhere;

struct Elsewhere
{
	/* to be filled in */
	void	   *arg;
	Oid			database;
	const Oid  *relids;
	Size		nrelids;
	DigestReading reading;
	Throttle   *throttle;

	/* hands rows to elsewhere_row(), as the ask of a DigestJudge */
	bool		(*ask) (Elsewhere *elsewhere, const LedgerFile *file, int64 from);
	void		(*emit) (Elsewhere *elsewhere, const DigestFinding *finding);

	/* elsewhere_find() sets these */
	const char *name;			/* of the database, as text here */
	int			encoding;

	/* the rest is elsewhere.c's */
	dsm_segment *segment;
	ElsewhereShared *shared;
	shm_mq_handle *queue;
	shm_mq_handle *answers;
	BackgroundWorkerHandle *handle;
	bool		ended;			/* as it should */
	char		error[SCAN_MESSAGE_SIZE];
};

/* Returns false if there is no such database. */
extern bool elsewhere_find(Elsewhere *elsewhere);

/*
 * Judges a database that was found.  Returns NULL, or why that is not done, or "" if there is
 * no such database any more.
 */
extern const char *elsewhere_judge(Elsewhere *elsewhere);

/* To be called by ask for each row. */
extern void elsewhere_row(void *elsewhere, const LedgerRow *row,
						  const LedgerPage *known);

#endif							/* ACCEL_RUN_ELSEWHERE_H */
