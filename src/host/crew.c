/*
 * crew.c
 *	  Workers of a whole run, which outlive its transactions.
 *
 * The server's parallel workers end with the transaction that started them,
 * and a run of a database has one for each relation.  To start workers each
 * time would cost more than most relations do.  These are background workers,
 * started once.
 *
 * They join the leader's lock group, as parallel workers do.  The leader may
 * hold AccessShareLock on a relation for which an unrelated session waits for
 * AccessExclusiveLock.  A worker still gets its lock.  They connect as the
 * bootstrap superuser, and no SQL runs in them.
 *
 * Items are taken by a counter and so in order, at most CREW_WINDOW ahead of
 * the leader's turn.  What comes early is kept.  Nobody depends on a worker.
 * An item without a result is the leader's, whether the worker could not do it
 * or has gone.  A job whose worker goes away fails by an error.
 *
 * The leader receives whenever it waits, so that no worker waits for it for long.
 */
#include "compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procsignal.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "host/build.h"
#include "host/crew.h"
#include "kernel/checksum.h"

/* How far workers may be ahead, and after how many turns they learn of it. */
#define CREW_WINDOW		256
#define CREW_STRIDE		(CREW_WINDOW / 2)

/* For how long workers that shall end are waited for, in microseconds. */
#define LEAVE_TIME		(2 * USECS_PER_SEC)

/*
 * A worker empties its caches after so many items, since the server never
 * does.
 */
#define CACHED_ITEMS	500

/* The number that messages about items have for a job. */
#define ITEMS			PG_UINT64_MAX

/* An item's taker is a worker's number + 1, or this. */
#define TAKER_LEADER	PG_UINT32_MAX

/* In shared memory, where three arrays follow. */
typedef struct CrewShared
{
	char		build[BUILD_BYTES]; /* first, since another library reads
									 * nothing else */
	char		library[MAXPGPATH]; /* nor does another copy */
	PGPROC	   *leader;
	int			leader_pid;
	Oid			database;
	int			page_kernel;	/* the leader's, maybe by its own SET */
	Throttle	throttle;
	bool		direct;
	pg_atomic_uint32 over;

	slock_t		lock;			/* of these */
	uint64		job;			/* 0 if there is none yet */
	uint64		ntasks;
	char		description[CREW_JOB_BYTES];

	pg_atomic_uint64 next_task; /* see task_claim() */

	uint64		nitems;
	pg_atomic_uint64 next_item;
	pg_atomic_uint64 limit;		/* items from here on are too far ahead */
	pg_atomic_uint32 takers[CREW_WINDOW];	/* 0 if not told yet */

	int			nworkers;
	PGPROC	   *workers[FLEXIBLE_ARRAY_MEMBER]; /* NULL if not there yet */
} CrewShared;

/* Where the other two are. */
typedef struct CrewLayout
{
	Size		queues;
	Size		items;
	Size		total;
} CrewLayout;

typedef struct CrewWorker
{
	BackgroundWorkerHandle *handle;
	shm_mq_handle *queue;		/* NULL if it has gone */
} CrewWorker;

/* The result of an item before its turn. */
typedef struct KeptResult
{
	bool		there;
	void	   *result;			/* NULL if the leader has to do it */
} KeptResult;

struct Crew
{
	dsm_segment *segment;
	CrewShared *shared;
	const Oid  *items;
	int			nworkers;
	CrewWorker *workers;
	MemoryContext context;
	uint64		job;
	uint64		turn;			/* items before this one are dealt with */
	KeptResult	kept[CREW_WINDOW];
	void	   *present;		/* result of the last turn */
};

struct CrewMember
{
	dsm_segment *segment;
	CrewShared *shared;
	const Oid  *items;
	int			number;
	shm_mq_handle *queue;
	MemoryContext context;		/* of an item or a job */
	uint64		job;			/* the last one done */
	uint64		ntasks;
	char		description[CREW_JOB_BYTES];
	uint64		at;				/* item at work */
	uint64		nitems;			/* that it has done */
	void	   *result;			/* of the item, to be sent */
	Size		bytes;			/* 0 if there is no result */
};

/* Why a job failed, as a worker tells it. */
typedef struct CrewError
{
	int			sqlerrcode;
	char		message[256];
} CrewError;

static CrewShared *share(Crew *crew, const Throttle *throttle,
						 const Oid *items, uint64 nitems);
static void launch(Crew *crew, const char *worker_main);
static void dismiss(dsm_segment *segment, Datum shared);
static void wake(CrewShared *shared);
static bool claim_item(CrewShared *shared, uint32 taker, uint64 *number);
static void advance(Crew *crew, uint64 number);
static bool lead_ahead(Crew *crew, CrewAhead ahead, void *arg);
static bool may_come(Crew *crew, uint64 number);
static void drain(Crew *crew);
static const TaskMessage *receive(Crew *crew, int worker);
static CrewMember *join(Datum segment, const char *library);
static bool serve_job(CrewMember *member, const CrewDuties *duties);
static bool serve_item(CrewMember *member, const CrewDuties *duties);
static ErrorData *attempt(CrewMember *member, const CrewDuties *duties,
						  bool job);

static CrewLayout
layout(int workers, uint64 nitems)
{
	CrewLayout	result;

	result.queues = MAXALIGN(offsetof(CrewShared, workers) +
							 workers * sizeof(PGPROC *));
	result.items = result.queues + workers * TASK_QUEUE_BYTES;
	result.total = add_size(result.items, mul_size(nitems, sizeof(Oid)));
	return result;
}

/* ---------------------------------------------------------------- *
 *		The leader's beginning and end
 * ---------------------------------------------------------------- */

Crew *
crew_start(int workers, const char *library, const char *worker_main,
		   const Throttle *throttle, bool direct, const Oid *items,
		   uint64 nitems)
{
	Crew	   *crew = palloc0(sizeof(Crew));

	crew->context = CurrentMemoryContext;
	crew->nworkers = workers;
	crew->segment = dsm_create(layout(workers, nitems).total,
							   DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (crew->segment == NULL)
		return NULL;
	dsm_pin_mapping(crew->segment); /* for more than this transaction */
	crew->workers = palloc0(workers * sizeof(CrewWorker));
	crew->shared = share(crew, throttle, items, nitems);
	crew->shared->direct = direct;
	strlcpy(crew->shared->library, library, MAXPGPATH);
	on_dsm_detach(crew->segment, dismiss, PointerGetDatum(crew->shared));
	BecomeLockGroupLeader();
	launch(crew, worker_main);
	if (crew->nworkers > 0)
		return crew;
	dsm_detach(crew->segment);
	return NULL;
}

static CrewShared *
share(Crew *crew, const Throttle *throttle, const Oid *items, uint64 nitems)
{
	CrewLayout	place = layout(crew->nworkers, nitems);
	char	   *base = dsm_segment_address(crew->segment);
	CrewShared *shared = (CrewShared *) base;

	memset(shared, 0, place.queues);
	memcpy(shared->build, accel_build, BUILD_BYTES);
	shared->leader = MyProc;
	shared->leader_pid = MyProcPid;
	shared->database = MyDatabaseId;
	shared->page_kernel = (int) (checksum_selected(CHECKSUM_page) -
								 checksum_kernel_table);
	throttle_copy(&shared->throttle, throttle);
	pg_atomic_init_u32(&shared->over, 0);
	SpinLockInit(&shared->lock);
	pg_atomic_init_u64(&shared->next_task, 0);
	pg_atomic_init_u64(&shared->next_item, 0);
	pg_atomic_init_u64(&shared->limit, CREW_WINDOW);
	for (int i = 0; i < CREW_WINDOW; i++)
		pg_atomic_init_u32(&shared->takers[i], 0);
	shared->nitems = nitems;
	shared->nworkers = crew->nworkers;
	if (nitems > 0)
		memcpy(base + place.items, items, nitems * sizeof(Oid));
	crew->items = (const Oid *) (base + place.items);
	for (int i = 0; i < crew->nworkers; i++)
		crew->workers[i].queue = task_queue_create(base + place.queues +
												   i * TASK_QUEUE_BYTES,
												   crew->segment);
	return shared;
}

/*
 * A path too long for servers up to 16 is left to dynamic_library_path.  See
 * join() for what that may find.
 */
void
crew_describe_worker(BackgroundWorker *worker, const char *library,
					 const char *worker_main, dsm_segment *segment)
{
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_ConsistentState;
	worker->bgw_restart_time = BGW_NEVER_RESTART;
	worker->bgw_notify_pid = MyProcPid;
	worker->bgw_main_arg = UInt32GetDatum(dsm_segment_handle(segment));
	snprintf(worker->bgw_name, BGW_MAXLEN, "crc32c_accel worker for PID %d", MyProcPid);
	strlcpy(worker->bgw_type, "crc32c_accel worker", BGW_MAXLEN);
	if (strlen(library) >= sizeof(worker->bgw_library_name))
		library = "crc32c_accel";
	strlcpy(worker->bgw_library_name, library, sizeof(worker->bgw_library_name));
	strlcpy(worker->bgw_function_name, worker_main, BGW_MAXLEN);
}

/* Starts as many as the server has room for, and waits for none. */
static void
launch(Crew *crew, const char *worker_main)
{
	BackgroundWorker worker = {0};
	int			started = 0;

	crew_describe_worker(&worker, crew->shared->library, worker_main, crew->segment);
	worker.bgw_flags |= BGWORKER_CLASS_PARALLEL;
	for (; started < crew->nworkers; started++)
	{
		CrewWorker *started_worker = &crew->workers[started];

		memcpy(worker.bgw_extra, &started, sizeof(started));
		if (!RegisterDynamicBackgroundWorker(&worker, &started_worker->handle))
			break;
		shm_mq_set_handle(started_worker->queue, started_worker->handle);
	}
	crew->nworkers = started;
}

void
crew_stop(Crew *crew, bool at_once)
{
	TimestampTz until = GetCurrentTimestamp() + LEAVE_TIME;
	pid_t		pid;

	if (at_once)
		for (int i = 0; i < crew->nworkers; i++)
			TerminateBackgroundWorker(crew->workers[i].handle);
	dsm_detach(crew->segment);
	for (int i = 0; i < crew->nworkers && !at_once; i++)
	{
		BackgroundWorkerHandle *handle = crew->workers[i].handle;

		while (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED &&
			   GetCurrentTimestamp() < until)
			task_doze();
		TerminateBackgroundWorker(handle);
	}
}

/* The leader goes, whatever the reason. */
static void
dismiss(dsm_segment *segment, Datum arg)
{
	CrewShared *shared = (CrewShared *) DatumGetPointer(arg);

	pg_atomic_write_u32(&shared->over, 1);
	wake(shared);
}

static void
wake(CrewShared *shared)
{
	pg_memory_barrier();
	for (int i = 0; i < shared->nworkers; i++)
		if (shared->workers[i] != NULL)
			SetLatch(&shared->workers[i]->procLatch);
}

Throttle *
crew_throttle(Crew *crew)
{
	return &crew->shared->throttle;
}

int
crew_size(const Crew *crew)
{
	return crew->nworkers;
}

/* ---------------------------------------------------------------- *
 *		The leader's items
 * ---------------------------------------------------------------- */

const void *
crew_turn(Crew *crew, uint64 number, TimestampTz deadline, CrewAhead ahead,
		  void *arg)
{
	KeptResult *kept = &crew->kept[number % CREW_WINDOW];
	uint64		next = number;

	advance(crew, number);
	if (pg_atomic_compare_exchange_u64(&crew->shared->next_item, &next,
									   number + 1) ||
		!OidIsValid(crew->items[number]))
		return NULL;
	for (;;)
	{
		drain(crew);
		if (kept->there)
			break;
		if (!may_come(crew, number))	/* all that a worker sent before it
										 * went has been read */
			return NULL;
		if (deadline != 0 && GetCurrentTimestamp() >= deadline)
			return NULL;
		if (lead_ahead(crew, ahead, arg))
			continue;
		task_doze();
	}
	crew->present = kept->result;
	kept->there = false;
	kept->result = NULL;
	return crew->present;
}

/*
 * Notes that items before number are dealt with, so that others may be taken.
 */
static void
advance(Crew *crew, uint64 number)
{
	CrewShared *shared = crew->shared;

	if (crew->present != NULL)
		pfree(crew->present);
	crew->present = NULL;
	for (; crew->turn < number; crew->turn++)
		pg_atomic_write_u32(&shared->takers[crew->turn % CREW_WINDOW], 0);
	if (pg_atomic_read_u64(&shared->limit) - number > CREW_WINDOW - CREW_STRIDE)
		return;
	pg_memory_barrier();
	pg_atomic_write_u64(&shared->limit, number + CREW_WINDOW);
	wake(shared);
}

static bool
claim_item(CrewShared *shared, uint32 taker, uint64 *number)
{
	uint64		next = pg_atomic_read_u64(&shared->next_item);

	do
	{
		if (next >= shared->nitems ||
			next >= pg_atomic_read_u64(&shared->limit))
			return false;
	} while (!pg_atomic_compare_exchange_u64(&shared->next_item, &next,
											 next + 1));
	pg_atomic_write_u32(&shared->takers[next % CREW_WINDOW], taker);
	*number = next;
	return true;
}

/* Lets the leader do an item to come.  Returns false if none is to be had. */
static bool
lead_ahead(Crew *crew, CrewAhead ahead, void *arg)
{
	uint64		number;

	if (!claim_item(crew->shared, TAKER_LEADER, &number))
		return false;
	if (!OidIsValid(crew->items[number]))
		return true;
	ahead(arg, crew->items[number], number);
	if (!crew->kept[number % CREW_WINDOW].there)
		crew_keep(crew, number, NULL, 0);
	return true;
}

/* Keeps an item's result, which is none if it has no bytes. */
void
crew_keep(Crew *crew, uint64 number, const void *result, Size bytes)
{
	KeptResult *kept = &crew->kept[number % CREW_WINDOW];

	kept->there = true;
	kept->result = NULL;
	if (bytes == 0)
		return;
	kept->result = MemoryContextAlloc(crew->context, bytes);
	memcpy(kept->result, result, bytes);
}

/* Is the worker that took the item still there? */
static bool
may_come(Crew *crew, uint64 number)
{
	uint32		taker = pg_atomic_read_u32(&crew->shared->takers[number % CREW_WINDOW]);

	return taker == 0 || taker == TAKER_LEADER ||
		crew->workers[taker - 1].queue != NULL;
}

static void
drain(Crew *crew)
{
	for (int i = 0; i < crew->nworkers; i++)
		while (receive(crew, i) != NULL)
			;					/* of a job that has failed */
}

/*
 * Keeps what is about items, and returns the first message about a job, or
 * NULL if none is there.
 */
static const TaskMessage *
receive(Crew *crew, int worker)
{
	const TaskMessage *message;
	Size		bytes;

	while ((message = task_receive(&crew->workers[worker].queue, &bytes)) != NULL)
	{
		if (message->job != ITEMS)
			return message;
		crew_keep(crew, message->task, message->body,
				  bytes - TASK_HEADER_BYTES);
	}
	return NULL;
}

/* ---------------------------------------------------------------- *
 *		The leader's jobs
 * ---------------------------------------------------------------- */

uint64
crew_open_job(Crew *crew, uint64 ntasks, const void *description, Size bytes,
			  pg_atomic_uint64 **counter)
{
	CrewShared *shared = crew->shared;

	Assert(bytes <= CREW_JOB_BYTES && ntasks < (uint64) 1 << TASK_BITS);
	crew->job++;
	/* first, so that whoever knows of the job finds its tasks */
	pg_atomic_write_u64(&shared->next_task, crew->job << TASK_BITS);
	SpinLockAcquire(&shared->lock);
	shared->job = crew->job;
	shared->ntasks = ntasks;
	memcpy(shared->description, description, bytes);
	SpinLockRelease(&shared->lock);
	*counter = &shared->next_task;
	wake(shared);
	return crew->job;
}

/*
 * A user who cancels or ends a worker means that one, so the batch is tried
 * again.
 */
static void
raise_failure(const CrewError *error)
{
	bool		of_worker = ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
		ERRCODE_OPERATOR_INTERVENTION;

	ereport(ERROR,
			(errcode(of_worker ? ERRCODE_TRANSACTION_ROLLBACK : error->sqlerrcode),
			 errmsg_internal("%s", error->message),
			 errcontext("worker of this run")));
}

const TaskMessage *
crew_receive(Crew *crew, int worker)
{
	CrewWorker *from = &crew->workers[worker];
	bool		there = from->queue != NULL;
	const TaskMessage *message;

	do
		message = receive(crew, worker);
	while (message != NULL && message->job != crew->job);
	if (message != NULL && message->kind == TASK_FAILED)
		raise_failure((const CrewError *) message->body);
	/* the relation's batch is tried again, without all that have gone */
	if (there && from->queue == NULL)
	{
		drain(crew);
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_ROLLBACK),
				 errmsg("a worker of this run ended before its work was done")));
	}
	return message;
}

/* ---------------------------------------------------------------- *
 *		Workers
 * ---------------------------------------------------------------- */

void
crew_serve(Datum segment, const char *library, const CrewDuties *duties)
{
	CrewMember *member = join(segment, library);

	while (pg_atomic_read_u32(&member->shared->over) == 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (serve_job(member, duties) || serve_item(member, duties))
			continue;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	proc_exit(0);
}

static CrewMember *
join(Datum handle, const char *library)
{
	CrewMember *member = palloc0(sizeof(CrewMember));
	CrewLayout	place;
	char	   *base;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	memcpy(&member->number, MyBgworkerEntry->bgw_extra, sizeof(member->number));
	member->segment = dsm_attach(DatumGetUInt32(handle));
	if (member->segment == NULL)
		proc_exit(0);			/* the run has ended */
	base = dsm_segment_address(member->segment);
	member->shared = (CrewShared *) base;
	if (memcmp(member->shared->build, accel_build, BUILD_BYTES) != 0 ||
		strcmp(member->shared->library, library) != 0)
	{
		ereport(LOG,
				(errmsg("crc32c_accel: a worker has loaded another library than its leader, and ends")));
		proc_exit(0);
	}
	place = layout(member->shared->nworkers, member->shared->nitems);
	member->items = (const Oid *) (base + place.items);
	if (!BecomeLockGroupMember(member->shared->leader,
							   member->shared->leader_pid))
		proc_exit(0);
	member->queue = task_queue_join(base + place.queues +
									member->number * TASK_QUEUE_BYTES,
									member->segment);
	BackgroundWorkerInitializeConnectionByOid(member->shared->database,
											  InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	checksum_use(&checksum_kernel_table[member->shared->page_kernel]);
	pgstat_report_activity(STATE_RUNNING, "crc32c_accel: verifying relations");
	member->context = AllocSetContextCreate(TopMemoryContext, "crc32c_accel work",
											ALLOCSET_DEFAULT_SIZES);
	member->shared->workers[member->number] = MyProc;
	pg_memory_barrier();		/* before we look for work */
	return member;
}

static bool
serve_job(CrewMember *member, const CrewDuties *duties)
{
	CrewShared *shared = member->shared;
	uint64		job;
	ErrorData  *error;

	SpinLockAcquire(&shared->lock);
	job = shared->job;
	member->ntasks = shared->ntasks;
	memcpy(member->description, shared->description, CREW_JOB_BYTES);
	SpinLockRelease(&shared->lock);
	if (job == member->job)
		return false;
	member->job = job;
	error = attempt(member, duties, true);
	if (error != NULL)
	{
		TaskMessage header = {job, 0, TASK_FAILED};
		CrewError	told = {error->sqlerrcode};

		strlcpy(told.message, error->message, sizeof(told.message));
		task_send(member->queue, &header, &told, sizeof(told), true);
	}
	MemoryContextReset(member->context);
	return true;
}

static bool
serve_item(CrewMember *member, const CrewDuties *duties)
{
	TaskMessage header = {ITEMS, 0, TASK_RESULT};

	if (!claim_item(member->shared, member->number + 1, &member->at))
		return false;
	if (!OidIsValid(member->items[member->at]))
		return true;
	member->bytes = 0;
	if (attempt(member, duties, false) != NULL)
		member->bytes = 0;

	/*
	 * after the commit, so that we hold no lock while the leader takes its
	 * time
	 */
	header.task = member->at;
	task_send(member->queue, &header, member->result, member->bytes, true);
	MemoryContextReset(member->context);
	if (++member->nitems % CACHED_ITEMS == 0)
		InvalidateSystemCaches();
	return true;
}

/*
 * Works in a transaction of its own.  Returns the error it failed by, or NULL.
 */
static ErrorData *
attempt(CrewMember *member, const CrewDuties *duties, bool job)
{
	MemoryContext outer = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		DISABLE_TRANSACTION_TIMEOUT();
		MemoryContextSwitchTo(member->context);
		if (job)
			duties->job(member, member->description);
		else
			duties->item(member, member->items[member->at]);
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(member->context);
		error = CopyErrorData();
		FlushErrorState();
		AbortCurrentTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(outer);
	return error;
}

void
crew_send_result(CrewMember *member, const void *result, Size bytes)
{
	member->result = MemoryContextAlloc(member->context, bytes);
	memcpy(member->result, result, bytes);
	member->bytes = bytes;
}

uint64
crew_job(CrewMember *member, uint64 *ntasks, pg_atomic_uint64 **counter,
		 shm_mq_handle **queue)
{
	*ntasks = member->ntasks;
	*counter = &member->shared->next_task;
	*queue = member->queue;
	return member->job;
}

Throttle *
crew_member_throttle(CrewMember *member)
{
	return member->shared->throttle.pace.paid > 0 ? &member->shared->throttle : NULL;
}

bool
crew_member_direct(const CrewMember *member)
{
	return member->shared->direct;
}
