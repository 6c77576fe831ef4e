/*
 * elsewhere_main.c
 *	  A worker that judges its database by rows of the page ledger.
 *
 * The rows are in the database of the session that started it.  It connects
 * as the bootstrap superuser and executes no SQL, as a deputy does.  There is
 * a transaction per relation.
 */
#include "compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "run/elsewhere.h"
#include "run/foreign.h"
#include "run/lock.h"

typedef struct ElsewhereWorker
{
	DigestJudge judge;			/* first */
	ElsewhereShared *shared;
	shm_mq_handle *queue;
	shm_mq_handle *answers;
	TimestampTz next_look;
} ElsewhereWorker;

extern PGDLLEXPORT void accel_elsewhere_main(Datum segment);

static ElsewhereWorker *join(Datum handle);
static void judge_one(ElsewhereWorker *worker, Oid relid);
static bool ask_session(DigestJudge *judge, int64 from);
static void emit_finding(DigestJudge *judge, const DigestFinding *finding);
static bool note_enough(ScanSink *sink);
static void lock_relation(Oid relid);

void
accel_elsewhere_main(Datum segment)
{
	ElsewhereWorker *worker = join(segment);
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "crc32c_accel judge",
												  ALLOCSET_DEFAULT_SIZES);
	char		end = ELSEWHERE_END;

	worker->judge.ask = ask_session;
	worker->judge.emit = emit_finding;
	worker->judge.lock = lock_relation;
	worker->judge.sink.enough = note_enough;
	MemoryContextSwitchTo(context);
	judge_begin(&worker->judge, &worker->shared->reading);
	throttle_copy(&worker->judge.scan.throttle, &worker->shared->foreign.throttle);
	for (Size i = 0; i < worker->shared->nrelids; i++)
		judge_one(worker, elsewhere_relids(worker->shared)[i]);
	throttle_copy(&worker->shared->foreign.throttle, &worker->judge.scan.throttle);
	foreign_send(worker->queue, &end, 1);
	scan_run_end(&worker->judge.scan);
	proc_exit(0);
}

static ElsewhereWorker *
join(Datum handle)
{
	ElsewhereWorker *worker = palloc0(sizeof(ElsewhereWorker));
	dsm_segment *segment = foreign_attach(handle);
	char	   *base = dsm_segment_address(segment);
	ElsewhereLayout place;

	worker->shared = (ElsewhereShared *) base;
	place = elsewhere_layout(worker->shared->nrelids);
	worker->queue = task_queue_join(base + place.queue, segment);
	shm_mq_set_receiver((shm_mq *) (base + place.answers), MyProc);
	worker->answers = shm_mq_attach((shm_mq *) (base + place.answers), segment, NULL);
	foreign_connect(segment, worker->queue, "crc32c_accel: judging a database");
	return worker;
}

static void
judge_one(ElsewhereWorker *worker, Oid relid)
{
	CHECK_FOR_INTERRUPTS();
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	judge_relation(&worker->judge, relid, false);
	PopActiveSnapshot();
	CommitTransactionCommand();
}

/* ---------------------------------------------------------------- *
 *		Questions and findings
 * ---------------------------------------------------------------- */

/* Returns NULL at the end of the answer. */
static const ElsewhereRow *
receive_row(ElsewhereWorker *worker, bool *more)
{
	Size		bytes;
	void	   *message;

	if (shm_mq_receive(worker->answers, &bytes, &message, false) != SHM_MQ_SUCCESS)
		proc_exit(0);
	if (bytes == sizeof(ElsewhereRow))
		return message;
	*more = *(const char *) message != 0;
	return NULL;
}

static bool
ask_session(DigestJudge *judge, int64 from)
{
	ElsewhereWorker *worker = (ElsewhereWorker *) judge;
	ElsewhereAsk question;
	const ElsewhereRow *row;
	bool		more = false;

	memset(&question, 0, sizeof(question));
	question.kind = ELSEWHERE_ASK;
	question.file = judge->file;
	question.from = from;
	foreign_send(worker->queue, &question, sizeof(question));
	while ((row = receive_row(worker, &more)) != NULL)
		judge_row(judge, &row->row, row->known);
	return more;
}

static void
emit_finding(DigestJudge *judge, const DigestFinding *finding)
{
	ElsewhereFinding message;

	memset(&message, 0, sizeof(message));
	message.kind = ELSEWHERE_FINDING;
	message.finding = *finding;
	foreign_send(((ElsewhereWorker *) judge)->queue, &message, sizeof(message));
}

/* ---------------------------------------------------------------- *
 *		Who else wants the database
 * ---------------------------------------------------------------- */

/* DROP DATABASE and the like wait for 5 s, see foreign.c. */
static bool
leave_if_wanted(void *arg)
{
	if (foreign_database_wanted(MyDatabaseId))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("the database is wanted by another session")));
	return false;
}

static bool
note_enough(ScanSink *sink)
{
	ElsewhereWorker *worker = (ElsewhereWorker *) sink;
	TimestampTz now = GetCurrentTimestamp();

	if (now < worker->next_look)
		return false;
	worker->next_look = now + FOREIGN_YIELD_INTERVAL;
	return leave_if_wanted(NULL);
}

/* No queue is joined, since the database may be wanted meanwhile. */
static void
lock_relation(Oid relid)
{
	run_lock_relation(relid, 0, leave_if_wanted, NULL);
}
