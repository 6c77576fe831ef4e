/*
 * files.c
 *	  Reads the files of a backup once for sizes, checksums and pages.
 *
 * A file is read in pieces that stay in a core's own cache.  Its checksum and
 * its pages are computed of the same piece.  A task of parallel.c is a file.
 * The largest come first, so that workers end at about the same time.
 */
#include "compat.h"

#include "miscadmin.h"
#include "pgstat.h"

#include "backup/files.h"
#include "host/file_scan.h"
#include "host/parallel.h"

/* This lies in shared memory, and arrays follow in this order. */
typedef struct SharedFiles
{
	char		root[MAXPGPATH];
	uint32		count;
	uint64		names;			/* bytes */
	BackupJudgeRules judge;
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
	char	   *buffer;			/* BACKUP_PIECE_BYTES, aligned */
	FileWindow *window;			/* for reads past the page cache, else NULL */

	/* the leader's */
	void		(*finding) (void *arg, const BackupFileFinding *finding);
	void	   *arg;
	BackupFileTotals *sum;
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

/*
 * Reads it to the end that it had at open.  Returns false if it could not be
 * read.
 */
static bool
read_pieces(FileTasks *tasks, BackupJudge *judge, FileScan *scan)
{
	Throttle   *throttle = tasks->options.throttle;
	size_t		piece = Min(throttle->pace.max_piece, BACKUP_PIECE_BYTES);

	for (int64 offset = 0; offset < scan->size;)
	{
		size_t		wanted = (size_t) Min(scan->size - offset, (int64) piece);
		ssize_t		got;

		if (scan->window == NULL)
			throttle_wait(throttle, (uint32) wanted);
		got = file_scan_read(scan, tasks->buffer, wanted, offset);
		if (got < (ssize_t) wanted)
		{
			backup_judge_failure(judge, got < 0 ? errno : 0, offset);
			return false;
		}
		backup_judge_piece(judge, tasks->buffer, wanted);
		offset += got;
	}
	return true;
}

static void
verify_file(ParallelTasks *parallel, uint64 task)
{
	FileTasks  *tasks = (FileTasks *) parallel;
	const BackupList *list = tasks->list;
	uint32		entry = list->by_size[task];
	BackupJudge judge = {&tasks->options.judge, list, send_finding, tasks};
	FileMessage message = {true};
	FileScan	scan;
	FileScanResult opened;
	char	   *path;

	if (list->entries[entry].ignored)
		return;
	path = psprintf("%s/%s", tasks->options.root,
					backup_list_path(list, entry));
	opened = file_scan_open_direct(&scan, path, tasks->window);
	judge.entry = entry;
	judge.totals.files = 1;
	judge.watch = tasks->options.watch;
	if (opened == FILE_SCAN_OK)
	{
		if (backup_judge_begin(&judge, scan.size))
			backup_judge_end(&judge, read_pieces(tasks, &judge, &scan));
		file_scan_close(&scan);
	}
	else if (opened == FILE_SCAN_MISSING)
		backup_judge_missing(&judge);
	else
		backup_judge_failure(&judge, opened == FILE_SCAN_IRREGULAR ? 0 : errno, -1);
	message.body.totals = judge.totals;
	parallel_send(parallel, &message, sizeof(message));
}

static void
deliver_message(ParallelTasks *parallel, const void *data)
{
	FileTasks  *tasks = (FileTasks *) parallel;
	const FileMessage *message = data;

	if (!message->totals)
	{
		tasks->finding(tasks->arg, &message->body.finding);
		return;
	}
	backup_totals_add(tasks->sum, &message->body.totals);
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

static void
share_files(ParallelTasks *parallel, void *shared_memory)
{
	FileTasks  *tasks = (FileTasks *) parallel;
	const BackupList *list = tasks->list;
	SharedFiles *shared = shared_memory;
	char	   *at = (char *) shared + MAXALIGN(sizeof(SharedFiles));

	strlcpy(shared->root, tasks->options.root, sizeof(shared->root));
	shared->count = list->count;
	shared->names = list->names_used;
	shared->judge = tasks->options.judge;
	throttle_copy(&shared->throttle, tasks->options.throttle);
	tasks->options.throttle = &shared->throttle;
	if (tasks->window != NULL)
		tasks->window->throttle = &shared->throttle;
	shared->direct = tasks->options.direct;
	memcpy(at, list->entries, list->count * sizeof(BackupEntry));
	at += entries_bytes(list->count);
	memcpy(at, list->by_size, list->count * sizeof(uint32));
	at += order_bytes(list->count);
	memcpy(at, list->names, list->names_used);
}

void
backup_files_verify(const BackupList *list, const BackupFileOptions *options,
					void (*finding) (void *arg,
									 const BackupFileFinding *finding),
					void *arg, BackupFileTotals *totals)
{
	FileTasks	tasks = {{0}};

	memset(totals, 0, sizeof(*totals));
	tasks.list = list;
	tasks.options = *options;
	tasks.buffer = palloc(BACKUP_PIECE_BYTES);
	if (options->direct)
		tasks.window = file_window_new(options->throttle);
	tasks.finding = finding;
	tasks.arg = arg;
	tasks.sum = totals;
	tasks.tasks.ntasks = list->count;
	tasks.tasks.work = verify_file;
	tasks.tasks.deliver = deliver_message;
	tasks.tasks.worker_main = "accel_backup_worker_main";
	tasks.tasks.shared_bytes = MAXALIGN(sizeof(SharedFiles));
	tasks.tasks.shared_bytes = add_size(tasks.tasks.shared_bytes,
										entries_bytes(list->count));
	tasks.tasks.shared_bytes = add_size(tasks.tasks.shared_bytes,
										order_bytes(list->count));
	tasks.tasks.shared_bytes = add_size(tasks.tasks.shared_bytes,
										list->names_used);
	tasks.tasks.share = share_files;
	parallel_run(&tasks.tasks,
				 strlen(options->root) < MAXPGPATH ? options->workers : 0);
	file_window_free(tasks.window);
	pfree(tasks.buffer);
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
	list.names = at + order_bytes(list.count);
	tasks.list = &list;
	tasks.options.root = shared->root;
	tasks.options.judge = shared->judge;
	tasks.options.throttle = &shared->throttle;
	tasks.buffer = palloc(BACKUP_PIECE_BYTES);
	if (shared->direct)
		tasks.window = file_window_new(&shared->throttle);
	tasks.tasks.work = verify_file;
	parallel_work(&tasks.tasks, segment, toc);
}
