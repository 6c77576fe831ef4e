/*
 * parallel.c
 *	  Numbered tasks shared with parallel workers, results in order.
 *
 * A worker takes the next task that nobody has, does it, sends its results
 * through its own queue, and so on.  Every queue carries rising task numbers.
 * The leader gets order by delivering task after task from the queue that has
 * the present one at its head.  Between deliveries the leader does tasks
 * itself, because starting a worker takes as long as verifying tens of
 * megabytes, and workers may not be available.  Queues are bounded, and so is
 * what the leader keeps for later.  A worker far ahead waits.  The one that
 * has the present task never does, because the leader empties its queue.  So
 * all make progress.
 *
 * Workers are the server's parallel workers rather than background workers of
 * our own.  They join the leader's lock group.  An independent process that
 * asks for AccessShareLock would queue after an unrelated session that waits
 * for AccessExclusiveLock.  That session waits for the leader, which waits for
 * the worker.  The server cannot see this deadlock, because the leader's wait
 * is no lock.  Workers see what the leader's transaction sees, relations that
 * it created included.  Its GUCs hold.  An error or the end of a worker
 * becomes an error of the leader.  The leader's end (a cancel, say) ends its
 * workers.
 */
#include "compat.h"

#include <dlfcn.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "host/build.h"
#include "host/parallel.h"
#include "host/task.h"

/* So many bytes of tasks ahead the leader keeps before it takes no more. */
#define KEPT_BYTES		((Size) 1024 * 1024)

#define KEY_CONTROL		UINT64CONST(1)
#define KEY_SHARED		UINT64CONST(2)
#define KEY_QUEUES		UINT64CONST(3)

/* In shared memory. */
typedef struct ParallelControl
{
	char		build[BUILD_BYTES]; /* first, since another library reads
									 * nothing else */
	uint64		ntasks;
	pg_atomic_uint64 next;		/* the task to be taken next */
} ParallelControl;

/* A message that the leader sent itself ahead of its turn. */
typedef struct KeptMessage
{
	dlist_node	node;
	Size		bytes;
	TaskMessage message;
} KeptMessage;

/* The leader's end of a worker's queue. */
typedef struct WorkerStream
{
	shm_mq_handle *queue;		/* NULL if it is a crew's, or the worker has
								 * detached */
	const TaskMessage *head;	/* NULL if none was received */
} WorkerStream;

typedef struct ParallelState
{
	pg_atomic_uint64 *next;		/* the task to be taken next, NULL without
								 * workers */
	uint64		job;			/* 0 if these workers have no other */
	MemoryContext per_task;
	uint64		task;			/* at work in this process */
	shm_mq_handle *queue;		/* a worker's, to its leader */

	/* the leader's */
	uint64		turn;			/* the task that is being delivered */
	int			nstreams;
	WorkerStream *streams;
	MemoryContext keeping;
	dlist_head	kept;			/* of tasks ahead, in their order */
	Size		kept_bytes;
	bool		all_taken;
} ParallelState;

static ParallelContext *launch(ParallelTasks *tasks, int workers);
static void open_job(ParallelTasks *tasks);
static void create_queues(ParallelState *state, ParallelContext *context,
						  int workers);
static void do_all(ParallelTasks *tasks, ParallelContext *context);
static void begin_no_more(ParallelTasks *tasks);
static bool deliver_streams(ParallelTasks *tasks);
static bool deliver_kept(ParallelTasks *tasks);
static void deliver(ParallelTasks *tasks, const TaskMessage *message);
static bool do_one(ParallelTasks *tasks);
static void do_task(ParallelTasks *tasks, uint64 task);
static void work_all(ParallelTasks *tasks);
static void put(ParallelTasks *tasks, const void *body, Size bytes,
				TaskMessageKind kind);
static void keep(ParallelState *state, const TaskMessage *header,
				 const void *body, Size bytes);

int
parallel_workers(int workers)
{
	if (workers < 0 || workers > PARALLEL_MAX_WORKERS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d is outside the valid range for parameter \"%s\" (%d .. %d)",
						workers, "workers", 0, PARALLEL_MAX_WORKERS)));
	return Min(workers, max_parallel_workers);
}

static MemoryContext
task_context(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "crc32c_accel task",
								 ALLOCSET_DEFAULT_SIZES);
}

void
parallel_run(ParallelTasks *tasks, int workers)
{
	ParallelState state = {0};
	ParallelContext *context = NULL;
	bool		snapshot = false;

	tasks->state = &state;
	state.per_task = task_context();
	state.keeping = task_context();
	dlist_init(&state.kept);
	if (tasks->ntasks < 2 || IsInParallelMode())
		workers = 0;
	if (workers > 0 && tasks->crew != NULL)
		open_job(tasks);
	else if (workers > 0)
	{
		snapshot = !ActiveSnapshotSet();
		if (snapshot)			/* workers inherit one */
			PushActiveSnapshot(GetTransactionSnapshot());
		EnterParallelMode();
		/* the leader takes one task at least */
		context = launch(tasks, (int) Min((uint64) workers,
										  tasks->ntasks - 1));
	}
	do_all(tasks, context);
	if (context != NULL)
	{
		WaitForParallelWorkersToFinish(context);
		DestroyParallelContext(context);
		ExitParallelMode();
		if (snapshot)
			PopActiveSnapshot();
	}
	MemoryContextDelete(state.keeping);
	MemoryContextDelete(state.per_task);
	tasks->state = NULL;
}

static ParallelContext *
launch(ParallelTasks *tasks, int workers)
{
	ParallelState *state = tasks->state;
	ParallelContext *context = CreateParallelContext(parallel_library(),
													 tasks->worker_main,
													 workers);
	ParallelControl *control;
	void	   *shared;

	shm_toc_estimate_chunk(&context->estimator, sizeof(ParallelControl));
	shm_toc_estimate_chunk(&context->estimator, tasks->shared_bytes);
	shm_toc_estimate_chunk(&context->estimator,
						   mul_size(TASK_QUEUE_BYTES, workers));
	shm_toc_estimate_keys(&context->estimator, 3);
	InitializeParallelDSM(context);

	control = shm_toc_allocate(context->toc, sizeof(ParallelControl));
	memcpy(control->build, accel_build, BUILD_BYTES);
	control->ntasks = tasks->ntasks;
	pg_atomic_init_u64(&control->next, 0);
	shm_toc_insert(context->toc, KEY_CONTROL, control);
	state->next = &control->next;
	shared = shm_toc_allocate(context->toc, tasks->shared_bytes);
	memset(shared, 0, tasks->shared_bytes);
	tasks->share(tasks, shared);
	shm_toc_insert(context->toc, KEY_SHARED, shared);
	create_queues(state, context, workers);
	LaunchParallelWorkers(context);
	state->nstreams = context->nworkers_launched;
	for (int i = 0; i < state->nstreams; i++)
		shm_mq_set_handle(state->streams[i].queue,
						  context->worker[i].bgwhandle);
	return context;
}

static void
open_job(ParallelTasks *tasks)
{
	ParallelState *state = tasks->state;
	union
	{
		char		bytes[CREW_JOB_BYTES];
		uint64		align;
	}			shared = {{0}};

	Assert(tasks->shared_bytes <= sizeof(shared));
	tasks->share(tasks, &shared);
	state->nstreams = crew_size(tasks->crew);
	state->streams = palloc0(state->nstreams * sizeof(WorkerStream));
	state->job = crew_open_job(tasks->crew, tasks->ntasks, &shared,
							   tasks->shared_bytes, &state->next);
}

static void
create_queues(ParallelState *state, ParallelContext *context, int workers)
{
	char	   *queues = shm_toc_allocate(context->toc,
										  mul_size(TASK_QUEUE_BYTES, workers));

	shm_toc_insert(context->toc, KEY_QUEUES, queues);
	state->streams = palloc0(workers * sizeof(WorkerStream));
	for (int i = 0; i < context->nworkers; i++)
		state->streams[i].queue = task_queue_create(queues + i * TASK_QUEUE_BYTES,
													context->seg);
}

const char *
parallel_library(void)
{
	Dl_info		info;

	if (dladdr((const void *) parallel_run, &info) != 0 &&
		is_absolute_path(info.dli_fname))
		return info.dli_fname;
	return "crc32c_accel";
}

/* ---------------------------------------------------------------- *
 *		The leader
 * ---------------------------------------------------------------- */

/*
 * Ends when every task has been delivered whole, or by an error.  Whatever
 * happens to a worker, no task is left out silently.
 */
static void
do_all(ParallelTasks *tasks, ParallelContext *context)
{
	ParallelState *state = tasks->state;

	while (state->turn < tasks->ntasks)
	{
		bool		attached = tasks->crew != NULL; /* see crew_receive() */

		CHECK_FOR_INTERRUPTS();
		if (tasks->enough && tasks->enough(tasks))
			begin_no_more(tasks);
		if (state->turn >= tasks->ntasks || deliver_streams(tasks) || deliver_kept(tasks) || do_one(tasks))
			continue;
		for (int i = 0; i < state->nstreams; i++)
			attached |= state->streams[i].queue != NULL;
		if (!attached)
		{
			WaitForParallelWorkersToFinish(context);	/* raises its error */
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("parallel workers ended before their work was done")));
		}
		task_doze();
	}
}

/*
 * The tasks begun are the first ones.  At least one is, or the scan would
 * never end.
 */
static void
begin_no_more(ParallelTasks *tasks)
{
	ParallelState *state = tasks->state;
	uint64		begun;

	if (state->next == NULL)
		return;
	begun = task_claim_rest(state->next, state->job, tasks->ntasks);
	tasks->ntasks = Max(begun, 1);
	if (begun == 0)
		do_task(tasks, 0);
}

/* Returns the head of a stream, or NULL when there is none yet or no more. */
static const TaskMessage *
stream_head(ParallelTasks *tasks, int worker)
{
	WorkerStream *stream = &tasks->state->streams[worker];
	Size		bytes;

	if (stream->head == NULL)
		stream->head = tasks->crew != NULL ? crew_receive(tasks->crew, worker) :
			task_receive(&stream->queue, &bytes);
	return stream->head;
}

/* Delivers what workers have sent of the present task and those after it. */
static bool
deliver_streams(ParallelTasks *tasks)
{
	ParallelState *state = tasks->state;
	bool		delivered = false;

	for (int i = 0; i < state->nstreams; i++)
	{
		WorkerStream *stream = &state->streams[i];
		const TaskMessage *head;

		while ((head = stream_head(tasks, i)) != NULL &&
			   head->task == state->turn)
		{
			CHECK_FOR_INTERRUPTS();
			deliver(tasks, head);
			stream->head = NULL;
			delivered = true;
		}
	}
	return delivered;
}

/* The same of what the leader itself has kept. */
static bool
deliver_kept(ParallelTasks *tasks)
{
	ParallelState *state = tasks->state;
	bool		delivered = false;

	while (!dlist_is_empty(&state->kept))
	{
		KeptMessage *kept = dlist_head_element(KeptMessage, node,
											   &state->kept);

		if (kept->message.task != state->turn)
			break;
		deliver(tasks, &kept->message);
		dlist_delete(&kept->node);
		state->kept_bytes -= kept->bytes;
		pfree(kept);
		delivered = true;
	}
	return delivered;
}

static void
deliver(ParallelTasks *tasks, const TaskMessage *message)
{
	ParallelState *state = tasks->state;
	MemoryContext outer;

	if (message->kind == TASK_DONE)
	{
		state->turn++;
		return;
	}
	outer = MemoryContextSwitchTo(state->per_task);
	tasks->deliver(tasks, message->body);
	MemoryContextSwitchTo(outer);
	MemoryContextReset(state->per_task);
}

/*
 * Lets the leader do a task.  Returns false if none is left, or too much is
 * kept.
 */
static bool
do_one(ParallelTasks *tasks)
{
	ParallelState *state = tasks->state;
	uint64		task;

	if (state->all_taken || state->kept_bytes >= KEPT_BYTES)
		return false;
	task = state->turn;
	state->all_taken = state->next == NULL ? task >= tasks->ntasks :
		!task_claim(state->next, state->job, tasks->ntasks, &task);
	if (!state->all_taken)
		do_task(tasks, task);
	return !state->all_taken;
}

/* ---------------------------------------------------------------- *
 *		Leader and worker
 * ---------------------------------------------------------------- */

static void
do_task(ParallelTasks *tasks, uint64 task)
{
	ParallelState *state = tasks->state;
	MemoryContext outer = MemoryContextSwitchTo(state->per_task);

	state->task = task;
	tasks->work(tasks, task);
	MemoryContextSwitchTo(outer);
	MemoryContextReset(state->per_task);
	put(tasks, NULL, 0, TASK_DONE);
}

void
parallel_send(ParallelTasks *tasks, const void *message, Size bytes)
{
	put(tasks, message, bytes, TASK_RESULT);
}

static void
put(ParallelTasks *tasks, const void *body, Size bytes, TaskMessageKind kind)
{
	ParallelState *state = tasks->state;
	TaskMessage header = {state->job, state->task, kind};

	if (state->queue == NULL)
		keep(state, &header, body, bytes);
	else
		task_send(state->queue, &header, body, bytes, kind == TASK_DONE);
}

/* A task's results are bounded, and so is what is kept (see do_one()). */
static void
keep(ParallelState *state, const TaskMessage *header, const void *body,
	 Size bytes)
{
	Size		size = offsetof(KeptMessage, message) + TASK_HEADER_BYTES + bytes;
	KeptMessage *kept = MemoryContextAlloc(state->keeping, size);

	kept->bytes = size;
	memcpy(&kept->message, header, TASK_HEADER_BYTES);
	if (bytes > 0)
		memcpy(kept->message.body, body, bytes);
	dlist_push_tail(&state->kept, &kept->node);
	state->kept_bytes += size;
}

/* ---------------------------------------------------------------- *
 *		Workers
 * ---------------------------------------------------------------- */

void *
parallel_shared(shm_toc *toc)
{
	ParallelControl *control = shm_toc_lookup(toc, KEY_CONTROL, false);

	if (memcmp(control->build, accel_build, BUILD_BYTES) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the library of crc32c_accel has been replaced since this session loaded it"),
				 errhint("Begin a new session.")));
	return shm_toc_lookup(toc, KEY_SHARED, false);
}

void
parallel_work(ParallelTasks *tasks, dsm_segment *segment, shm_toc *toc)
{
	ParallelState state = {0};
	char	   *queues = shm_toc_lookup(toc, KEY_QUEUES, false);
	ParallelControl *control = shm_toc_lookup(toc, KEY_CONTROL, false);

	state.next = &control->next;
	state.queue = task_queue_join(queues + ParallelWorkerNumber * TASK_QUEUE_BYTES,
								  segment);
	tasks->state = &state;
	tasks->ntasks = control->ntasks;
	work_all(tasks);
	shm_mq_detach(state.queue);
	tasks->state = NULL;
}

void
parallel_work_job(ParallelTasks *tasks, CrewMember *member)
{
	ParallelState state = {0};

	state.job = crew_job(member, &tasks->ntasks, &state.next, &state.queue);
	tasks->state = &state;
	work_all(tasks);
	tasks->state = NULL;
}

static void
work_all(ParallelTasks *tasks)
{
	ParallelState *state = tasks->state;
	bool		begun = tasks->begin == NULL;
	uint64		task;

	state->per_task = task_context();
	while (task_claim(state->next, state->job, tasks->ntasks, &task))
	{
		CHECK_FOR_INTERRUPTS();
		if (!begun)
			tasks->begin(tasks);
		begun = true;
		do_task(tasks, task);
	}
	MemoryContextDelete(state->per_task);
}
