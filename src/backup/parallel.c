/*
 * parallel.c
 *	  Reads the files of a backup here and in parallel workers.
 *
 * A task of host/parallel.c is a file.  The largest come first, so that workers
 * end at about the same time.
 */
#include "compat.h"

#include "pgstat.h"
#include "utils/memutils.h"

#include "backup/parallel.h"
#include "host/parallel.h"
#include "host/throttle.h"

/* This lies in shared memory, and arrays follow in this order. */
typedef struct SharedFiles
{
	char		root[MAXPGPATH];
	uint32		count;
	bool		stored;
	uint64		names;			/* bytes */
	BackupJudgeRules judge;
	bool		has_throttle;
	Throttle	throttle;
	bool		direct;
} SharedFiles;

typedef struct FileMessage
{
	bool		totals;			/* the last of a task */
	union
	{
		BackupFileFinding finding;
		BackupFileTotals totals;
	}			body;
} FileMessage;

typedef struct FileTasks
{
	ParallelTasks tasks;		/* first */
	const BackupList *list;
	BackupFileOptions options;
	BackupFileReader reader;

	/* the leader's */
	BackupFileFindingFn finding;
	void	   *arg;
	MemoryContext memory;		/* of finding(), whose results are kept */
	BackupFileTotals *sum;
	Throttle   *throttle;		/* the caller's, which goes on after this */
} FileTasks;

extern PGDLLEXPORT void accel_backup_worker_main(dsm_segment *segment,
												 shm_toc *toc);

/* ---- files ---- */

static void
send_finding(void *arg, const BackupFileFinding *finding)
{
	FileMessage message;

	memset(&message, 0, sizeof(message));
	message.body.finding = *finding;
	parallel_send(arg, &message, sizeof(message));
}

static void
verify_file(ParallelTasks *parallel, uint64 task)
{
	FileTasks  *tasks = (FileTasks *) parallel;
	uint32		entry = tasks->list->by_size[task];
	FileMessage message = {true};

	if (tasks->list->entries[entry].ignored)
		return;
	backup_files_read(&tasks->reader, entry, &message.body.totals);
	parallel_send(parallel, &message, sizeof(message));
}

static void
deliver_message(ParallelTasks *parallel, const void *data)
{
	FileTasks  *tasks = (FileTasks *) parallel;
	const FileMessage *message = data;
	MemoryContext outer;

	if (message->totals)
	{
		backup_totals_add(tasks->sum, &message->body.totals);
		backup_progress(tasks->options.progress, message->body.totals.bytes);
		if (tasks->throttle != NULL)
			throttle_copy(tasks->throttle, tasks->options.throttle);
		return;
	}
	outer = MemoryContextSwitchTo(tasks->memory);
	tasks->finding(tasks->arg, &message->body.finding);
	MemoryContextSwitchTo(outer);
}

/* ---- workers ---- */

static Size
entries_bytes(uint32 count)
{
	return MAXALIGN(mul_size(count, sizeof(BackupEntry)));
}

static Size
order_bytes(uint32 count)
{
	return MAXALIGN(mul_size(count, sizeof(uint32)));
}

static Size
stored_bytes(uint32 count)
{
	return MAXALIGN(mul_size(count, sizeof(BackupStored)));
}

static Size
shared_bytes(const BackupList *list)
{
	Size		bytes = MAXALIGN(sizeof(SharedFiles));

	bytes = add_size(bytes, entries_bytes(list->count));
	bytes = add_size(bytes, order_bytes(list->count));
	if (list->stored != NULL)
		bytes = add_size(bytes, stored_bytes(list->count));
	return add_size(bytes, list->names_used);
}

/* From now on the leader takes its turns among those of its workers. */
static void
share_throttle(FileTasks *tasks, SharedFiles *shared)
{
	shared->has_throttle = tasks->options.throttle != NULL;
	if (!shared->has_throttle)
		return;
	throttle_copy(&shared->throttle, tasks->options.throttle);
	tasks->options.throttle = &shared->throttle;
	if (tasks->reader.window != NULL)
		tasks->reader.window->throttle = &shared->throttle;
	if (tasks->reader.stored != NULL)
		tasks->reader.stored->throttle = &shared->throttle;
}

static void
share_files(ParallelTasks *parallel, void *shared_memory)
{
	FileTasks  *tasks = (FileTasks *) parallel;
	const BackupList *list = tasks->list;
	SharedFiles *shared = shared_memory;
	char	   *at = (char *) shared + MAXALIGN(sizeof(SharedFiles));

	strlcpy(shared->root, tasks->options.root, sizeof(shared->root));
	shared->count = list->count;
	shared->stored = list->stored != NULL;
	shared->names = list->names_used;
	shared->judge = tasks->options.judge;
	share_throttle(tasks, shared);
	shared->direct = tasks->options.direct;
	memcpy(at, list->entries, list->count * sizeof(BackupEntry));
	at += entries_bytes(list->count);
	memcpy(at, list->by_size, list->count * sizeof(uint32));
	at += order_bytes(list->count);
	if (list->stored != NULL)
	{
		memcpy(at, list->stored, list->count * sizeof(BackupStored));
		at += stored_bytes(list->count);
	}
	memcpy(at, list->names, list->names_used);
}

void
backup_parallel_verify(const BackupList *list,
					   const BackupFileOptions *options,
					   BackupFileFindingFn finding, void *arg,
					   BackupFileTotals *totals)
{
	FileTasks	tasks = {{0}};

	memset(totals, 0, sizeof(*totals));
	tasks.list = list;
	tasks.options = *options;
	tasks.finding = finding;
	tasks.arg = arg;
	tasks.memory = CurrentMemoryContext;
	tasks.sum = totals;
	tasks.throttle = options->throttle;
	backup_files_begin(&tasks.reader, list, &tasks.options, send_finding, &tasks);
	tasks.tasks.ntasks = list->count;
	tasks.tasks.work = verify_file;
	tasks.tasks.deliver = deliver_message;
	tasks.tasks.worker_main = "accel_backup_worker_main";
	tasks.tasks.shared_bytes = shared_bytes(list);
	tasks.tasks.share = share_files;
	parallel_run(&tasks.tasks,
				 strlen(options->root) < MAXPGPATH ? options->workers : 0);
	backup_files_end(&tasks.reader);
}

void
accel_backup_worker_main(dsm_segment *segment, shm_toc *toc)
{
	SharedFiles *shared = parallel_shared(toc);
	char	   *at = (char *) shared + MAXALIGN(sizeof(SharedFiles));
	FileTasks	tasks = {{0}};
	BackupList	list = {0};

	pgstat_report_activity(STATE_RUNNING,
						   psprintf("crc32c_accel: verifying backup in \"%s\"",
									shared->root));
	list.count = shared->count;
	list.entries = (BackupEntry *) at;
	at += entries_bytes(list.count);
	list.by_size = (uint32 *) at;
	at += order_bytes(list.count);
	if (shared->stored)
	{
		list.stored = (BackupStored *) at;
		at += stored_bytes(list.count);
	}
	list.names = at;
	tasks.list = &list;
	tasks.options.root = shared->root;
	tasks.options.judge = shared->judge;
	if (shared->has_throttle)
		tasks.options.throttle = &shared->throttle;
	tasks.options.direct = shared->direct;
	backup_files_begin(&tasks.reader, &list, &tasks.options, send_finding, &tasks);
	tasks.tasks.work = verify_file;
	parallel_work(&tasks.tasks, segment, toc);
}
