/*
 * progress.c
 *	  What every backend is verifying at present, for all to see.
 *
 * One slot a backend, found by its place in the array of processes.  Only its
 * backend writes a slot, many may read it: a spinlock makes a row whole.  The
 * server's own progress reporting cannot serve, its commands are a fixed list.
 */
#include "compat.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "scan/progress.h"

typedef struct ProgressSlot
{
	slock_t		mutex;
	uint64		run;			/* counts the runs of this slot */
	ProgressRow row;
} ProgressSlot;

typedef struct ProgressArea
{
	int			nslots;
	ProgressSlot slots[FLEXIBLE_ARRAY_MEMBER];
} ProgressArea;

/* Ends a run when the memory of the query that it belongs to goes. */
typedef struct ProgressGuard
{
	MemoryContextCallback callback;
	uint64		run;
} ProgressGuard;

static ProgressArea *progress_area = NULL;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

static void request_memory(void);
static void startup_memory(void);
static Size area_size(void);
static ProgressSlot *my_slot(void);
static void guard_reset(void *arg);

void
progress_request(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_memory;
}

static Size
area_size(void)
{
	return add_size(offsetof(ProgressArea, slots),
					mul_size(MaxBackends, sizeof(ProgressSlot)));
}

static void
request_memory(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(area_size());
}

static void
startup_memory(void)
{
	bool		found;

	if (next_startup_hook)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	progress_area = ShmemInitStruct("crc32c_accel progress", area_size(),
									&found);
	if (!found)
	{
		memset(progress_area, 0, area_size());
		progress_area->nslots = MaxBackends;
		for (int i = 0; i < progress_area->nslots; i++)
			SpinLockInit(&progress_area->slots[i].mutex);
	}
	LWLockRelease(AddinShmemInitLock);
}

/* Auxiliary processes stand behind the backends and have no slot. */
static ProgressSlot *
my_slot(void)
{
	int			index;

	if (progress_area == NULL || MyProc == NULL)
		return NULL;
	index = (int) (MyProc - ProcGlobal->allProcs);
	return index < progress_area->nslots ? &progress_area->slots[index] : NULL;
}

void
progress_begin(void)
{
	ProgressSlot *slot = my_slot();
	ProgressGuard *guard;
	TimestampTz started;

	if (slot == NULL)
		return;
	guard = palloc0(sizeof(ProgressGuard));
	started = GetCurrentTimestamp();
	SpinLockAcquire(&slot->mutex);
	guard->run = ++slot->run;
	memset(&slot->row, 0, sizeof(slot->row));
	slot->row.pid = MyProcPid;
	slot->row.datid = MyDatabaseId;
	slot->row.started = started;
	SpinLockRelease(&slot->mutex);
	guard->callback.func = guard_reset;
	guard->callback.arg = guard;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &guard->callback);
}

void
progress_end(void)
{
	ProgressSlot *slot = my_slot();

	if (slot == NULL)
		return;
	SpinLockAcquire(&slot->mutex);
	slot->row.pid = 0;
	SpinLockRelease(&slot->mutex);
}

static void
guard_reset(void *arg)
{
	ProgressSlot *slot = my_slot();

	if (slot != NULL && slot->run == ((ProgressGuard *) arg)->run)
		progress_end();
}

void
progress_fork(const ForkSummary *summary)
{
	ProgressSlot *slot = my_slot();

	if (slot == NULL)
		return;
	SpinLockAcquire(&slot->mutex);
	slot->row.relid = summary->relid;
	slot->row.fork = summary->fork;
	slot->row.blocks_total = summary->blocks;
	slot->row.blocks_done = 0;
	SpinLockRelease(&slot->mutex);
}

void
progress_blocks(int64 blocks)
{
	ProgressSlot *slot = my_slot();

	if (slot == NULL)
		return;
	SpinLockAcquire(&slot->mutex);
	slot->row.blocks_done += blocks;
	SpinLockRelease(&slot->mutex);
}

void
progress_finding(void)
{
	ProgressSlot *slot = my_slot();

	if (slot == NULL)
		return;
	SpinLockAcquire(&slot->mutex);
	slot->row.findings++;
	SpinLockRelease(&slot->mutex);
}

int
progress_slots(void)
{
	return progress_area == NULL ? -1 : progress_area->nslots;
}

bool
progress_read(int slot, ProgressRow *row)
{
	ProgressSlot *source = &progress_area->slots[slot];

	SpinLockAcquire(&source->mutex);
	*row = source->row;
	SpinLockRelease(&source->mutex);
	return row->pid != 0;
}
