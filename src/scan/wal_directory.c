/*
 * wal_directory.c
 *	  What a directory of write-ahead log holds, and how far it was written.
 *
 * Order and gaps go by number.  Along a timeline's history the log is one
 * sequence: what its parent wrote up to the segment where it left, then its
 * own segments, which begin with that very one.
 */
#include "compat.h"

#include <dirent.h>
#include <sys/stat.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "replication/walreceiver.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "scan/wal_scan.h"

#define HISTORY_BYTES_MAX	(4 * 1024 * 1024)
#define BUFFER_BYTES		(128 * 1024)

/* a longer gap is one row for what follows */
#define MISSING_ROWS_MAX	1000

/* Suffixes of archived segments, by kind. */
static const char *const suffixes[] = {
	"", ".partial",
	/* compressed or encrypted by archivers: listed, not readable here */
	".gz", ".lz4", ".zst", ".bz2", ".xz", ".br", ".lzo", ".gpg",
	".partial.gz", ".partial.lz4", ".gz.partial", ".lz4.partial"
};

static void set_live_limits(WalScan *scan);
static void read_timelines(WalScan *scan);
static void find_segment_size(WalScan *scan);

/* ---- the directory ---- */

void
wal_scan_begin(WalScan *scan, const char *directory)
{
	struct stat own;
	struct stat status;

	memset(scan, 0, sizeof(*scan));
	scan->directory = directory == NULL ? pstrdup(XLOGDIR) :
		file_scan_path(directory);
	if (stat(scan->directory, &status) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open directory \"%s\": %m",
						scan->directory)));
	if (!S_ISDIR(status.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a directory", scan->directory)));
	scan->live = stat(XLOGDIR, &own) == 0 &&
		own.st_dev == status.st_dev && own.st_ino == status.st_ino;
	scan->pg_wal = scan->live ||
		stat(psprintf("%s/archive_status", scan->directory), &own) == 0;
	scan->to = WAL_LSN_MAX;
	scan->segment_size = wal_segment_size;
	scan->buffer = palloc(BUFFER_BYTES);
	if (scan->live)
	{
		scan->removed = XLogGetLastRemovedSegno();
		set_live_limits(scan);	/* before anything is read */
	}
	read_timelines(scan);
	if (!scan->live)
		find_segment_size(scan);
}

void
wal_scan_join(WalScan *scan, const WalScan *leader, const char *directory)
{
	*scan = *leader;
	scan->directory = pstrdup(directory);
	scan->buffer = palloc(BUFFER_BYTES);
	read_timelines(scan);
}

static void
add_limit(WalScan *scan, TimeLineID timeline, XLogRecPtr limit)
{
	for (int i = 0; i < scan->nlimits; i++)
		if (scan->limits[i].timeline == timeline)
		{
			scan->limits[i].limit = Max(scan->limits[i].limit, limit);
			return;
		}
	scan->limits[scan->nlimits].timeline = timeline;
	scan->limits[scan->nlimits].limit = limit;
	scan->nlimits++;
}

/*
 * How far the log of this server is complete on disk.  On a standby what was
 * received may belong to a newer timeline than what is being replayed.
 */
static void
set_live_limits(WalScan *scan)
{
	TimeLineID	timeline = 0;
	XLogRecPtr	limit;

	if (!RecoveryInProgress())
	{
		limit = GetFlushRecPtr(&timeline);
		add_limit(scan, timeline, limit);
		return;
	}
	limit = GetXLogReplayRecPtr(&timeline);
	if (timeline != 0)
		add_limit(scan, timeline, limit);
	limit = GetWalRcvFlushRecPtr(NULL, &timeline);
	if (timeline != 0 && limit != InvalidXLogRecPtr)
		add_limit(scan, timeline, limit);
}

/* ---- history files ---- */

static void
parse_history(WalTimeline *timeline, char *text)
{
	int			room = 8;
	char	   *rest = NULL;

	timeline->nentries = 0;
	timeline->entries = palloc(room * sizeof(WalHistory));
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
		 line = strtok_r(NULL, "\n", &rest))
	{
		unsigned	tli;
		unsigned	high;
		unsigned	low;

		if (sscanf(line, "%u\t%X/%X", &tli, &high, &low) != 3)
			continue;			/* a comment, or empty */
		if (timeline->nentries + 2 > room)
		{
			room *= 2;
			timeline->entries = repalloc(timeline->entries,
										 room * sizeof(WalHistory));
		}
		timeline->entries[timeline->nentries].timeline = tli;
		timeline->entries[timeline->nentries++].end = (XLogRecPtr) high << 32 | low;
	}
	timeline->entries[timeline->nentries].timeline = timeline->timeline;
	timeline->entries[timeline->nentries++].end = WAL_LSN_MAX;
}

/* A history that cannot be read is as good as none. */
static bool
read_history(WalScan *scan, WalTimeline *timeline, const char *name)
{
	char	   *path = psprintf("%s/%s", scan->directory, name);
	FileScan	file;
	char	   *text;
	ssize_t		len;

	if (file_scan_open(&file, path) != FILE_SCAN_OK)
		return false;
	len = Min(file.size, HISTORY_BYTES_MAX);
	text = palloc(len + 1);
	len = file_scan_read(&file, text, len, 0);
	file_scan_close(&file);
	if (len < 0)
		return false;
	text[len] = '\0';
	parse_history(timeline, text);
	pfree(text);
	pfree(path);
	return true;
}

static int
compare_timelines(const void *a, const void *b)
{
	TimeLineID	x = ((const WalTimeline *) a)->timeline;
	TimeLineID	y = ((const WalTimeline *) b)->timeline;

	return x < y ? -1 : x > y;
}

static void
read_timelines(WalScan *scan)
{
	int			room = 4;
	DIR		   *dir = AllocateDir(scan->directory);
	struct dirent *entry;

	scan->timelines = palloc(room * sizeof(WalTimeline));
	scan->timelines[0].timeline = 1;	/* it has no file: nothing before it */
	parse_history(&scan->timelines[0], pstrdup(""));
	scan->ntimelines = 1;
	while ((entry = ReadDir(dir, scan->directory)) != NULL)
	{
		unsigned	timeline;
		char		suffix[16];

		CHECK_FOR_INTERRUPTS();
		if (strlen(entry->d_name) != 16 ||
			sscanf(entry->d_name, "%8X%15s", &timeline, suffix) != 2 ||
			strcmp(suffix, ".history") != 0 || timeline < 2)
			continue;
		if (scan->ntimelines == room)
		{
			room *= 2;
			scan->timelines = repalloc(scan->timelines,
									   room * sizeof(WalTimeline));
		}
		scan->timelines[scan->ntimelines].timeline = timeline;
		if (read_history(scan, &scan->timelines[scan->ntimelines],
						 entry->d_name))
			scan->ntimelines++;
	}
	FreeDir(dir);
	qsort(scan->timelines, scan->ntimelines, sizeof(WalTimeline),
		  compare_timelines);
}

const WalTimeline *
wal_scan_timeline(const WalScan *scan, TimeLineID timeline)
{
	for (int i = 0; i < scan->ntimelines; i++)
		if (scan->timelines[i].timeline == timeline)
			return &scan->timelines[i];
	return NULL;
}

/* ---- the list ---- */

static bool
parse_entry(const char *name, WalEntry *entry)
{
	char		digits[25];
	WalName		parsed;

	strlcpy(digits, name, sizeof(digits));
	if (strlen(digits) != 24 || !wal_parse_name(digits, &parsed))
		return false;
	entry->timeline = parsed.timeline;
	entry->log = parsed.log;
	entry->seg = parsed.seg;
	for (entry->kind = 0; entry->kind < lengthof(suffixes); entry->kind++)
		if (strcmp(name + 24, suffixes[entry->kind]) == 0)
			return true;
	return false;				/* a backup label, say */
}

static void
entry_name(const WalEntry *entry, char *buffer, size_t size)
{
	snprintf(buffer, size, "%08X%08X%08X%s", entry->timeline, entry->log,
			 entry->seg,
			 entry->kind == WAL_ENTRY_MISSING ? "" : suffixes[entry->kind]);
}

static void
list_add(WalList *list, const WalEntry *entry)
{
	if (list->count == list->room)
	{
		list->room = Max(list->room * 2, 1024);
		list->entries = list->entries == NULL ?
			MemoryContextAllocHuge(CurrentMemoryContext,
								   list->room * sizeof(WalEntry)) :
			repalloc_huge(list->entries, list->room * sizeof(WalEntry));
	}
	list->entries[list->count++] = *entry;
}

static int
compare_entries(const void *a, const void *b)
{
	const uint32 *x = (const uint32 *) a;	/* four numbers, in order */
	const uint32 *y = (const uint32 *) b;

	for (int i = 0; i < 4; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static void
list_files(WalScan *scan, WalList *list)
{
	DIR		   *dir = AllocateDir(scan->directory);
	struct dirent *file;
	WalEntry	entry;

	memset(list, 0, sizeof(*list));
	while ((file = ReadDir(dir, scan->directory)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (parse_entry(file->d_name, &entry))
			list_add(list, &entry);
	}
	FreeDir(dir);
	if (list->count > 0)
		qsort(list->entries, list->count, sizeof(WalEntry), compare_entries);
}

/* Of a directory that is not this server's: what its first segments say. */
static void
find_segment_size(WalScan *scan)
{
	WalList		list;

	list_files(scan, &list);
	for (Size i = 0; i < list.count && i < 100; i++)
	{
		char		name[64];
		FileScan	file;
		WalIdentity id;
		ssize_t		len;

		if (list.entries[i].kind > WAL_ENTRY_PARTIAL)
			continue;
		entry_name(&list.entries[i], name, sizeof(name));
		if (file_scan_open(&file, psprintf("%s/%s", scan->directory, name)) != FILE_SCAN_OK)
			continue;
		len = file_scan_read(&file, scan->buffer, BUFFER_BYTES, 0);
		file_scan_close(&file);
		if (len < WAL_PAGE_LONG)
			continue;
		wal_identify(&id, scan->buffer, len, file.size, XLOG_BLCKSZ,
					 scan->segment_size);
		if (id.magic != 0 && id.has_long_header &&
			id.segment_size == (uint64) file.size)
		{
			scan->segment_size = id.segment_size;
			break;
		}
	}
	if (list.entries != NULL)
		pfree(list.entries);
}

/* ---- gaps ---- */

static uint64
entry_segno(const WalScan *scan, const WalEntry *entry)
{
	return entry->log * ((UINT64CONST(1) << 32) / scan->segment_size) +
		entry->seg;
}

/* Behind the end of WAL of this server: names there come in any order. */
static bool
is_behind_end(const WalScan *scan, TimeLineID timeline, uint64 segno)
{
	for (int i = 0; i < scan->nlimits; i++)
		if (scan->limits[i].timeline == timeline)
			return segno * scan->segment_size >= scan->limits[i].limit;
	return false;
}

/* Has this server removed the segment since the scan began? */
static bool
was_removed(const WalScan *scan, uint64 segno)
{
	return scan->live && segno > scan->removed &&
		segno <= XLogGetLastRemovedSegno();
}

/*
 * Segments that are gone by right, or were never written: in this server's own
 * pg_wal, old ones may be removed while we list it.
 */
static bool
may_be_absent(const WalScan *scan, TimeLineID timeline, uint64 segno)
{
	if (!scan->live)
		return false;
	if (segno <= XLogGetLastRemovedSegno() ||
		is_behind_end(scan, timeline, segno))
		return true;
	for (int i = 0; i < scan->nlimits; i++)
		if (scan->limits[i].timeline == timeline)
			return false;
	return true;
}

/*
 * wanted: the user has named these segments, so that only what was never
 * written may be absent without a word.
 */
static void
add_missing(const WalScan *scan, WalList *list, TimeLineID timeline,
			uint64 segno, uint64 end, bool wanted)
{
	uint64		per_log = (UINT64CONST(1) << 32) / scan->segment_size;

	for (int rows = 0; segno < end && rows < MISSING_ROWS_MAX; segno++, rows++)
	{
		WalEntry	entry = {timeline, (uint32) (segno / per_log),
		(uint32) (segno % per_log), WAL_ENTRY_MISSING};

		CHECK_FOR_INTERRUPTS();
		if (wanted ? !is_behind_end(scan, timeline, segno) :
			!may_be_absent(scan, timeline, segno))
			list_add(list, &entry);
	}
}

/*
 * What is missing between two neighbours of a list.  Where the later timeline
 * descends from the other one, all of the path between them belongs there.  A
 * timeline begins with a copy of the segment in which it left its parent, and
 * the parent's own file says nothing of what follows in that segment.  lowest:
 * of the list; who removes old segments goes by their numbers.
 */
static void
add_gap(const WalScan *scan, WalList *list, const WalEntry *a,
		const WalEntry *b, uint64 lowest)
{
	const WalTimeline *history = wal_scan_timeline(scan, b->timeline);
	uint64		next = entry_segno(scan, a) + 1;
	uint64		before = entry_segno(scan, b);
	bool		related = false;

	if (a->timeline == b->timeline)
	{
		add_missing(scan, list, a->timeline, next, before, false);
		return;
	}
	for (int i = 0; history != NULL && i < history->nentries - 1; i++)
	{
		const WalHistory *entry = &history->entries[i];
		uint64		left = entry->end / scan->segment_size;

		related |= entry->timeline == a->timeline;
		if (!related)
			continue;
		add_missing(scan, list, entry->timeline, next, Min(left, before), false);
		next = Max(left, lowest);
	}
	if (related)
		add_missing(scan, list, b->timeline, next, before, false);
}

static WalEntry
bound_argument(const char *name, uint32 kind)
{
	WalName		parsed;
	WalEntry	entry;

	wal_scan_name(name, &parsed);
	entry.timeline = parsed.timeline;
	entry.log = parsed.log;
	entry.seg = parsed.seg;
	entry.kind = kind;
	return entry;
}

void
wal_scan_list(WalScan *scan, const char *first, const char *last,
			  WalList *list)
{
	WalEntry	lower = {0, 0, 0, 0};
	WalEntry	upper = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
	WalList		files;
	WalList		wanted = {0};
	uint64		lowest = PG_UINT64_MAX;

	if (first != NULL)
		lower = bound_argument(first, 0);
	if (last != NULL)
		upper = bound_argument(last, WAL_ENTRY_MISSING);
	if (compare_entries(&lower, &upper) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("first segment \"%s\" lies behind the last one, \"%s\"",
						first, last)));
	list_files(scan, &files);
	for (Size i = 0; i < files.count; i++)
		if (compare_entries(&files.entries[i], &lower) >= 0 &&
			compare_entries(&files.entries[i], &upper) <= 0)
		{
			list_add(&wanted, &files.entries[i]);
			lowest = Min(lowest, entry_segno(scan, &files.entries[i]));
		}
	/* bounds that were named are expected to be there */
	memset(list, 0, sizeof(*list));
	if (wanted.count == 0)
	{
		if (first != NULL)
			add_missing(scan, list, lower.timeline,
						entry_segno(scan, &lower),
						last != NULL && upper.timeline == lower.timeline ?
						entry_segno(scan, &upper) + 1 :
						entry_segno(scan, &lower) + 1, true);
		return;
	}
	if (first != NULL && wanted.entries[0].timeline == lower.timeline)
		add_missing(scan, list, lower.timeline, entry_segno(scan, &lower),
					entry_segno(scan, &wanted.entries[0]), true);
	for (Size i = 0; i < wanted.count; i++)
	{
		if (i > 0)
			add_gap(scan, list, &wanted.entries[i - 1], &wanted.entries[i],
					lowest);
		list_add(list, &wanted.entries[i]);
	}
	if (last != NULL &&
		wanted.entries[wanted.count - 1].timeline == upper.timeline)
		add_missing(scan, list, upper.timeline,
					entry_segno(scan, &wanted.entries[wanted.count - 1]) + 1,
					entry_segno(scan, &upper) + 1, true);
}

/* ---- ranges of positions ---- */

/* May the file of this timeline serve for segment segno of a history? */
static bool
timeline_has(const WalScan *scan, const WalTimeline *history,
			 TimeLineID timeline, uint64 segno)
{
	uint64		begin = 0;

	for (int i = 0; i < history->nentries; i++)
	{
		uint64		end = history->entries[i].end / scan->segment_size;

		if (history->entries[i].timeline == timeline)
			return segno >= begin && segno <= end;
		begin = end;
	}
	return false;
}

/*
 * The timeline of a history that the log of segment segno ends with, as far as
 * it is wanted.
 */
static TimeLineID
timeline_at_end(const WalScan *scan, const WalTimeline *history, uint64 segno)
{
	XLogRecPtr	begin = segno * scan->segment_size;
	XLogRecPtr	end = Max(Min(begin + scan->segment_size, scan->to), begin + 1);

	for (int i = 0; i < history->nentries - 1; i++)
		if (end <= history->entries[i].end)
			return history->entries[i].timeline;
	return history->timeline;
}

/* What is missing of the path to a timeline, by the timelines of the path. */
static void
add_missing_path(const WalScan *scan, WalList *list,
				 const WalTimeline *history, uint64 segno, uint64 end)
{
	uint64		per_log = (UINT64CONST(1) << 32) / scan->segment_size;

	for (int rows = 0; segno < end && rows < MISSING_ROWS_MAX; segno++, rows++)
	{
		WalEntry	entry = {timeline_at_end(scan, history, segno),
			(uint32) (segno / per_log), (uint32) (segno % per_log),
			WAL_ENTRY_MISSING};

		CHECK_FOR_INTERRUPTS();
		if (!is_behind_end(scan, history->timeline, segno))
			list_add(list, &entry);
	}
}

/* By number; for a number the newest timeline, whole before partial, first. */
static int
compare_positions(const void *a, const void *b)
{
	const WalEntry *x = (const WalEntry *) a;
	const WalEntry *y = (const WalEntry *) b;

	if (x->log != y->log)
		return x->log < y->log ? -1 : 1;
	if (x->seg != y->seg)
		return x->seg < y->seg ? -1 : 1;
	if (x->timeline != y->timeline)
		return x->timeline > y->timeline ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static TimeLineID
newest_timeline(const WalScan *scan, const WalList *files)
{
	if (scan->nlimits > 0)
		return scan->limits[scan->nlimits - 1].timeline;
	return files->count > 0 ? files->entries[files->count - 1].timeline : 1;
}

void
wal_scan_range(WalScan *scan, XLogRecPtr start, XLogRecPtr end,
			   TimeLineID timeline, WalList *list)
{
	WalHistory	alone;
	WalTimeline only = {0, 1, &alone};
	const WalTimeline *history;
	WalList		files;
	WalList		wanted = {0};
	uint64		first = start / scan->segment_size;
	uint64		last;
	uint64		next = first;

	list_files(scan, &files);
	if (timeline == 0)
		timeline = newest_timeline(scan, &files);
	scan->from = start;
	scan->to = end;
	if (end == WAL_LSN_MAX)
		for (int i = 0; i < scan->nlimits; i++)
			if (scan->limits[i].timeline == timeline)
				end = Max(scan->limits[i].limit, start);
	last = end > start ? (end - 1) / scan->segment_size : first;
	alone.timeline = only.timeline = timeline;
	alone.end = WAL_LSN_MAX;
	history = wal_scan_timeline(scan, timeline);
	if (history == NULL)
		history = &only;
	for (Size i = 0; i < files.count; i++)
	{
		uint64		segno = entry_segno(scan, &files.entries[i]);

		if (segno >= first && segno <= last &&
			timeline_has(scan, history, files.entries[i].timeline, segno))
			list_add(&wanted, &files.entries[i]);
	}
	if (wanted.count > 0)
		qsort(wanted.entries, wanted.count, sizeof(WalEntry),
			  compare_positions);
	memset(list, 0, sizeof(*list));
	for (Size i = 0; i < wanted.count; i++)
	{
		uint64		segno = entry_segno(scan, &wanted.entries[i]);

		if (segno < next)
			continue;			/* an older timeline's, or the partial one */
		add_missing_path(scan, list, history, next, segno);
		list_add(list, &wanted.entries[i]);
		if (wanted.entries[i].timeline < timeline_at_end(scan, history, segno))
			add_missing_path(scan, list, history, segno, segno + 1);
		next = segno + 1;
	}
	if (end != WAL_LSN_MAX)
		add_missing_path(scan, list, history, next, last + 1);
	else if (list->count == 0)
		add_missing_path(scan, list, history, first, first + 1);
}

/* ---- entries ---- */

static void
entry_result(const WalScan *scan, const WalEntry *entry,
			 WalSegmentResult *result, WalStatus status, const char *message)
{
	memset(result, 0, sizeof(*result));
	entry_name(entry, result->segment, sizeof(result->segment));
	result->has_position = true;
	result->timeline = entry->timeline;
	result->start_lsn = entry_segno(scan, entry) * scan->segment_size;
	result->status = status;
	strlcpy(result->message, message, sizeof(result->message));
}

void
wal_scan_entry(WalScan *scan, const WalEntry *entry,
			   WalSegmentResult *result)
{
	char		name[64];
	FileScanResult opened;

	if (entry->kind == WAL_ENTRY_MISSING &&
		was_removed(scan, entry_segno(scan, entry)))
	{
		entry_result(scan, entry, result, WAL_REMOVED_DURING_SCAN,
					 "the server has removed the segment");
		return;
	}
	if (entry->kind == WAL_ENTRY_MISSING)
	{
		entry_result(scan, entry, result, WAL_MISSING,
					 "the segment is not there");
		return;
	}
	if (entry->kind > WAL_ENTRY_PARTIAL)
	{
		entry_result(scan, entry, result, WAL_NOT_VERIFIABLE,
					 "the segment is compressed or encrypted: restore it, or give its bytes to verify_wal_segment(bytea, text)");
		return;
	}
	entry_name(entry, name, sizeof(name));
	opened = wal_scan_segment(scan, name, result, NULL, NULL);
	if (opened == FILE_SCAN_MISSING)
		entry_result(scan, entry, result, WAL_REMOVED_DURING_SCAN,
					 "the file was there when the directory was listed");
	else if (opened == FILE_SCAN_IRREGULAR)
		entry_result(scan, entry, result, WAL_NOT_VERIFIABLE,
					 "not a regular file");
	else if (opened != FILE_SCAN_OK)
	{
		entry_result(scan, entry, result, WAL_NOT_VERIFIABLE, "");
		snprintf(result->message, sizeof(result->message),
				 "could not open the file: %s", strerror(errno));
	}
}
