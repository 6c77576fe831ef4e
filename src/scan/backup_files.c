/*
 * backup_files.c
 *	  The files of a backup read once: sizes, checksums, pages.
 *
 * A file is read in pieces that stay in a core's own cache: its checksum and
 * its pages are computed of the same piece.  A task of parallel.c is a file;
 * the largest come first, so that workers end at about the same time.
 */
#include "compat.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/block.h"

#include "scan/backup_files.h"
#include "scan/backup_hash.h"
#include "scan/file_scan.h"
#include "scan/parallel.h"
#include "verify/wal_format.h"

#define PIECE_PAGES		16
#define PIECE_BYTES		(PIECE_PAGES * BLCKSZ)

/* In shared memory: arrays follow, in this order. */
typedef struct SharedFiles
{
	char		root[MAXPGPATH];
	uint32		count;
	uint64		names;			/* bytes */
	bool		pages;
	PageRules	rules;
	uint32		segment_blocks;
	Throttle	throttle;
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
	char	   *buffer;			/* PIECE_BYTES, aligned */

	/* the leader's */
	void		(*finding) (void *arg, const BackupFileFinding *finding);
	void	   *arg;
	BackupFileTotals *sum;
} FileTasks;

/* One file while it is read. */
typedef struct BackupRead
{
	FileTasks  *tasks;
	FileScan	scan;
	uint32		entry;
	bool		has_pages;
	BlockNumber first;			/* block of its start */
	BackupHash	hash;
	BackupFileTotals totals;
} BackupRead;

extern PGDLLEXPORT void accel_backup_worker_main(dsm_segment *segment,
												 shm_toc *toc);

static void
send_finding(BackupRead *file, const BackupFileFinding *finding)
{
	FileMessage message;

	memset(&message, 0, sizeof(message));
	message.body.finding = *finding;
	message.body.finding.entry = file->entry;
	parallel_send(&file->tasks->tasks, &message, sizeof(message));
}

static BackupFileFinding
finding_of(BackupStatus status)
{
	BackupFileFinding finding;

	memset(&finding, 0, sizeof(finding));
	finding.status = status;
	finding.offset = -1;
	finding.blkno = -1;
	return finding;
}

static void
send_failure(BackupRead *file, int error, int64 offset)
{
	BackupFileFinding finding = finding_of(BACKUP_IO_ERROR);

	finding.error = error;
	finding.offset = offset;
	send_finding(file, &finding);
}

/* ---- pages ---- */

static BackupStatus
status_of(PageStatus status)
{
	switch (status)
	{
		case PAGE_BAD_HEADER:
			return BACKUP_BAD_HEADER;
		case PAGE_ZERO_HEADER:
			return BACKUP_ZERO_HEADER;
		case PAGE_LSN_IN_FUTURE:
			return BACKUP_LSN_IN_FUTURE;
		default:
			return BACKUP_CORRUPT;
	}
}

/*
 * The file ends within a block.  Zeros are a file that was being extended while
 * it was copied: the server does not count them, and writes the block again.
 */
static void
judge_rest(BackupRead *file, const char *rest, size_t bytes, int64 blkno)
{
	BackupFileFinding finding = finding_of(BACKUP_PARTIAL_BLOCK);

	if (wal_is_zero((const uint8 *) rest, bytes))
		return;
	finding.blkno = blkno;
	finding.size = (int64) bytes;
	send_finding(file, &finding);
}

static void
judge_pages(BackupRead *file, const char *piece, size_t bytes, int64 offset)
{
	PageVerdict verdicts[PIECE_PAGES];
	BlockNumber blkno = file->first + (BlockNumber) (offset / BLCKSZ);
	uint32		npages = (uint32) (bytes / BLCKSZ);
	BackupFileFinding finding;

	page_judge_batch(piece, npages, blkno, &file->tasks->options.rules,
					 verdicts);
	file->totals.pages += npages;
	for (uint32 i = 0; i < npages; i++)
	{
		if (verdicts[i].status == PAGE_OK || verdicts[i].status == PAGE_NEW)
			continue;
		finding = finding_of(status_of(verdicts[i].status));
		finding.blkno = (int64) blkno + i;
		finding.page = verdicts[i];
		send_finding(file, &finding);
	}
	judge_rest(file, piece + npages * BLCKSZ, bytes % BLCKSZ,
			   (int64) blkno + npages);
}

/* Does the file hold pages, and from which block on? */
static void
find_pages(BackupRead *file, const char *path)
{
	const BackupFileOptions *options = &file->tasks->options;
	BackupRelationFile relation;
	uint64		first;

	file->has_pages = options->pages && backup_relation_file(path, &relation);
	if (!file->has_pages)
		return;
	first = (uint64) relation.segment * options->segment_blocks;
	file->has_pages = first + (uint64) file->scan.size / BLCKSZ <
		MaxBlockNumber;
	file->first = (BlockNumber) first;
}

/* ---- files ---- */

/* Reads it to the end that it had at open; false: it could not be read. */
static bool
read_pieces(BackupRead *file)
{
	FileTasks  *tasks = file->tasks;
	Throttle   *throttle = tasks->options.throttle;
	size_t		piece = Min(throttle->max_piece, PIECE_BYTES);

	for (int64 offset = 0; offset < file->scan.size;)
	{
		size_t		wanted = (size_t) Min(file->scan.size - offset,
										  (int64) piece);
		ssize_t		got;

		throttle_wait(throttle, (uint32) wanted);
		got = file_scan_read(&file->scan, tasks->buffer, wanted, offset);
		if (got < (ssize_t) wanted)
		{
			send_failure(file, got < 0 ? errno : 0, offset);
			return false;
		}
		backup_hash_update(&file->hash, tasks->buffer, wanted);
		if (file->has_pages)
			judge_pages(file, tasks->buffer, wanted, offset);
		file->totals.bytes += got;
		offset += got;
	}
	return true;
}

static void
compare_digest(BackupRead *file, const BackupEntry *entry, bool whole)
{
	BackupFileFinding finding = finding_of(BACKUP_CHECKSUM_MISMATCH);
	bool		done = backup_hash_end(&file->hash, finding.digest);

	if (!whole)
		return;
	if (!done)
		finding.status = BACKUP_NOT_VERIFIABLE;
	if (!done || memcmp(finding.digest, entry->digest,
						manifest_digest_length(file->hash.algorithm)) != 0)
		send_finding(file, &finding);
}

/* One of another size is not hashed: its checksum says nothing more. */
static void
verify_open(BackupRead *file, const BackupEntry *entry)
{
	BackupFileFinding finding = finding_of(BACKUP_SIZE_MISMATCH);
	bool		fits = entry->size < 0 || file->scan.size == entry->size;
	bool		whole;

	finding.size = file->scan.size;
	if (!fits)
		send_finding(file, &finding);
	backup_hash_begin(&file->hash, fits ? (ManifestAlgorithm) entry->algorithm :
					  MANIFEST_NONE);
	if (file->hash.algorithm == MANIFEST_NONE && !file->has_pages)
		return;
	whole = read_pieces(file);
	compare_digest(file, entry, whole);
}

static void
verify_file(ParallelTasks *parallel, uint64 task)
{
	FileTasks  *tasks = (FileTasks *) parallel;
	const BackupList *list = tasks->list;
	BackupRead	file = {tasks};
	FileMessage message = {true};
	FileScanResult opened;
	char	   *path;

	file.entry = list->by_size[task];
	if (list->entries[file.entry].ignored)
		return;
	path = psprintf("%s/%s", tasks->options.root,
					backup_list_path(list, file.entry));
	opened = file_scan_open(&file.scan, path);
	file.totals.files = 1;
	if (opened == FILE_SCAN_OK)
	{
		find_pages(&file, backup_list_path(list, file.entry));
		verify_open(&file, &list->entries[file.entry]);
		file_scan_close(&file.scan);
	}
	else if (opened == FILE_SCAN_MISSING)
	{
		BackupFileFinding finding = finding_of(BACKUP_MISSING);

		send_finding(&file, &finding);
	}
	else
		send_failure(&file, opened == FILE_SCAN_IRREGULAR ? 0 : errno, -1);
	message.body.totals = file.totals;
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
	tasks->sum->files += message->body.totals.files;
	tasks->sum->bytes += message->body.totals.bytes;
	tasks->sum->pages += message->body.totals.pages;
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
	shared->pages = tasks->options.pages;
	shared->rules = tasks->options.rules;
	shared->segment_blocks = tasks->options.segment_blocks;
	throttle_copy(&shared->throttle, tasks->options.throttle);
	tasks->options.throttle = &shared->throttle;
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
	tasks.buffer = palloc(PIECE_BYTES);
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
	tasks.options.pages = shared->pages;
	tasks.options.rules = shared->rules;
	tasks.options.segment_blocks = shared->segment_blocks;
	tasks.options.throttle = &shared->throttle;
	tasks.buffer = palloc(PIECE_BYTES);
	tasks.tasks.work = verify_file;
	parallel_work(&tasks.tasks, segment, toc);
}
