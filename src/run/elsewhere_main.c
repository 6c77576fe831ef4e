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
#include "libpq/pqmq.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "host/parallel.h"
#include "kernel/checksum.h"
#include "run/deputy.h"
#include "run/elsewhere.h"
#include "run/foreign.h"
#include "run/lock.h"

/* How often to look who wants the database, in microseconds. */
#define YIELD_INTERVAL	(USECS_PER_SEC / 20)

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
static void ask_session(DigestJudge *judge, int64 from);
static void emit_finding(DigestJudge *judge, const DigestFinding *finding);
static bool note_enough(ScanSink *sink);
static void lock_relation(Oid relid);

/* The session may have gone, whatever the reason. */
static void
send_message(ElsewhereWorker *worker, const void *message, Size bytes)
{
	if (shm_mq_send(worker->queue, bytes, message, false, true) != SHM_MQ_SUCCESS)
		proc_exit(0);
}

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
	judge_begin(&worker->judge, worker->shared->workers, worker->shared->max_rate);
	throttle_copy(&worker->judge.scan.throttle, &worker->shared->throttle);
	for (Size i = 0; i < worker->shared->nrelids; i++)
		judge_one(worker, elsewhere_relids(worker->shared)[i]);
	throttle_copy(&worker->shared->throttle, &worker->judge.scan.throttle);
	send_message(worker, &end, 1);
	scan_run_end(&worker->judge.scan);
	proc_exit(0);
}

static void
check_shared(const ElsewhereShared *shared)
{
	if (memcmp(shared->build, accel_build, BUILD_BYTES) != 0 ||
		strcmp(shared->library, parallel_library()) != 0)
		ereport(ERROR,
				(errmsg("crc32c_accel: a worker has loaded another library than its leader")));
}

static ElsewhereWorker *
join(Datum handle)
{
	ElsewhereWorker *worker = palloc0(sizeof(ElsewhereWorker));
	ElsewhereShared *shared;
	ElsewhereLayout place;
	dsm_segment *segment;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	segment = dsm_attach(DatumGetUInt32(handle));
	if (segment == NULL)
		proc_exit(0);			/* the session has ended its statement */
	dsm_pin_mapping(segment);
	worker->shared = shared = dsm_segment_address(segment);
	check_shared(shared);
	place = elsewhere_layout(shared->nrelids);
	worker->queue = task_queue_join((char *) shared + place.queue, segment);
	shm_mq_set_receiver((shm_mq *) ((char *) shared + place.answers), MyProc);
	worker->answers = shm_mq_attach((shm_mq *) ((char *) shared + place.answers),
									segment, NULL);
	pq_redirect_to_shm_mq(segment, worker->queue);
	BackgroundWorkerInitializeConnectionByOid(shared->database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	foreign_set_options(0, shared->lock_timeout);
	checksum_use(&checksum_kernel_table[shared->page_kernel]);
	pgstat_report_activity(STATE_RUNNING, "crc32c_accel: judging a database");
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

static const ElsewhereRow *
receive_row(ElsewhereWorker *worker)
{
	Size		bytes;
	void	   *message;

	if (shm_mq_receive(worker->answers, &bytes, &message, false) != SHM_MQ_SUCCESS)
		proc_exit(0);
	return bytes == sizeof(ElsewhereRow) ? message : NULL;
}

static void
ask_session(DigestJudge *judge, int64 from)
{
	ElsewhereWorker *worker = (ElsewhereWorker *) judge;
	ElsewhereAsk question;
	const ElsewhereRow *row;

	memset(&question, 0, sizeof(question));
	question.kind = ELSEWHERE_ASK;
	question.file = judge->file;
	question.from = from;
	send_message(worker, &question, sizeof(question));
	while ((row = receive_row(worker)) != NULL)
		judge_row(judge, &row->row, row->known);
}

static void
emit_finding(DigestJudge *judge, const DigestFinding *finding)
{
	ElsewhereFinding message;

	memset(&message, 0, sizeof(message));
	message.kind = ELSEWHERE_FINDING;
	message.finding = *finding;
	send_message((ElsewhereWorker *) judge, &message, sizeof(message));
}

/* ---------------------------------------------------------------- *
 *		Who else wants the database
 * ---------------------------------------------------------------- */

/* DROP DATABASE and the like wait for 5 s, see deputy.c. */
static void
leave_if_wanted(void)
{
	if (deputy_database_wanted(MyDatabaseId))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("the database is wanted by another session")));
}

static bool
note_enough(ScanSink *sink)
{
	ElsewhereWorker *worker = (ElsewhereWorker *) sink;
	TimestampTz now = GetCurrentTimestamp();

	if (now >= worker->next_look)
	{
		worker->next_look = now + YIELD_INTERVAL;
		leave_if_wanted();
	}
	return false;
}

/* No queue is joined, since the database may be wanted meanwhile. */
static void
lock_relation(Oid relid)
{
	TimestampTz start = GetCurrentTimestamp();

	while (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		leave_if_wanted();
		if (LockTimeout > 0 &&
			TimestampDifferenceExceeds(start, GetCurrentTimestamp(), LockTimeout))
			run_lock_fail(relid);
		run_lock_pause();
	}
}
