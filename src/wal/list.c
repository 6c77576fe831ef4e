/*
 * list.c
 *	  Which segments of a directory to judge, gaps included.
 *
 * Order and gaps go by number.  Along a timeline's history the WAL is one
 * sequence.  This is what its parent wrote up to the segment where it left,
 * then its own segments, which begin with that very one.
 *
 * A name that comes or goes while a directory is listed may be listed or not,
 * and a server removes old segments in no order.  So a gap is one if it is
 * there in a few listings with pauses between them, which nobody changes.
 */
#include <stdlib.h>
#include <unistd.h>

#include "wal/backups.h"
#include "wal/list.h"

/* of a gap, at most */
#define MISSING_ROWS_MAX	1000

/*
 * of all gaps, after which each is one row, whatever names and histories say
 */
#define MISSING_LIST_MAX	100000

/* for a gap to close, as long as nothing changes, and in all */
#define PAUSES			3
#define PAUSES_MAX		30
#define PAUSE_MICROSECONDS	100000

/* Pauses so far, and since the directory last changed. */
typedef struct Pauses
{
	int			all;
	int			quiet;
} Pauses;

/* A gap lacks segments of a timeline or of a path. */
typedef struct Gap
{
	const WalDirectory *dir;
	WalNames   *list;
	WalPath		path;
	WalLsn		wanted;			/* up to where a path is */
	size_t		rows;			/* of this list so far */
	bool		(*may_be_absent) (const WalDirectory *dir, uint32_t timeline,
								  uint64_t segno);
} Gap;

static uint64_t
segno_of(const WalDirectory *dir, const WalName *name)
{
	return wal_name_segno(name, dir->limits.segment_size);
}

/* ---- what may be absent ---- */

/*
 * Is it after the end of WAL of this server?  Names there come in any order.
 */
static bool
is_after_end(const WalDirectory *dir, uint32_t timeline, uint64_t segno)
{
	WalLsn		limit;

	return wal_live_limit(&dir->limits, timeline, &limit) &&
		segno * dir->limits.segment_size >= limit;
}

/*
 * Is the segment gone by right, or was it never written?  In this server's own
 * pg_wal, old ones may be removed while we list it.
 */
static bool
is_gone_by_right(const WalDirectory *dir, uint32_t timeline, uint64_t segno)
{
	WalLsn		limit;

	if (!dir->limits.live)
		return false;
	return segno <= host_removed() ||
		!wal_live_limit(&dir->limits, timeline, &limit) ||
		segno * dir->limits.segment_size >= limit;
}

bool
wal_list_was_removed(const WalDirectory *dir, const WalName *name)
{
	uint64_t	segno = segno_of(dir, name);

	return dir->limits.live && segno > dir->limits.removed &&
		segno <= host_removed();
}

/* ---- gaps ---- */

/* Returns the timeline whose file a missing segment should be. */
static uint32_t
timeline_at_end(const WalDirectory *dir, const WalPath *path, WalLsn wanted,
				uint64_t segno)
{
	WalLsn		begin = segno * dir->limits.segment_size;
	WalLsn		end = begin + dir->limits.segment_size;

	if (end > wanted)
		end = wanted;
	if (end < begin + 1)
		end = begin + 1;
	return path->known ? wal_path_at(path, end - 1) : path->timeline;
}

static void
add_missing(Gap *gap, uint64_t segno, uint64_t end)
{
	int			most = gap->rows < MISSING_LIST_MAX ? MISSING_ROWS_MAX : 1;

	for (int i = 0; segno < end && i < most; segno++, i++)
	{
		WalName		name = wal_name_of(timeline_at_end(gap->dir, &gap->path,
													   gap->wanted, segno),
									   segno, gap->dir->limits.segment_size,
									   WAL_KIND_MISSING);

		host_interrupts();
		if (gap->may_be_absent(gap->dir, gap->path.timeline, segno))
			continue;
		wal_names_add(gap->list, &name);
		gap->rows++;
	}
}

/* Adds what is missing of one timeline's own segments. */
static void
add_missing_of(Gap *gap, uint32_t timeline, uint64_t segno, uint64_t end)
{
	WalPath		own = {timeline, false, 0, NULL};

	gap->path = own;
	add_missing(gap, segno, end);
}

/*
 * Adds what is missing between two neighbours of a list.  Where the later
 * timeline descends from the other one, all of the path between them belongs
 * there.  A timeline begins with a copy of the segment in which it left its
 * parent.  The parent's own file says nothing of what follows in that segment.
 * The lowest segment number in the list is lowest.  Old segments are removed
 * in numeric order, so nothing below it is missing.
 */
static void
add_gap(Gap *gap, const WalName *a, const WalName *b, uint64_t lowest)
{
	WalPath		path = wal_timelines_path(&gap->dir->timelines, b->timeline);
	uint64_t	next = segno_of(gap->dir, a) + 1;
	uint64_t	before = segno_of(gap->dir, b);
	bool		related = a->timeline == b->timeline;

	for (int i = 0; !related && i < path.nancestors; i++)
		if (path.ancestors[i].timeline == a->timeline)
		{
			for (; i < path.nancestors; i++)
			{
				const WalHistory *entry = &path.ancestors[i];
				uint64_t	left = entry->end / gap->dir->limits.segment_size;

				add_missing_of(gap, entry->timeline, next,
							   left < before ? left : before);
				next = left > lowest ? left : lowest;
			}
			related = true;
		}
	if (related)
		add_missing_of(gap, b->timeline, next, before);
}

/* ---- what is gone by design ---- */

bool
wal_list_by_design(const WalDirectory *dir, WalBackups *backups,
				   const WalName *before, const WalName *after)
{
	if (dir->limits.pg_wal)
		return false;
	if (backups->items == NULL)
		*backups = wal_backups_read(dir);
	return wal_backups_between(backups, dir->limits.segment_size, before,
							   after);
}

/* Is there a gap at all? */
static bool
is_gap(const WalDirectory *dir, const WalName *a, const WalName *b)
{
	return segno_of(dir, b) > segno_of(dir, a) + 1;
}

/* ---- gaps that close ---- */

static bool
is_missing(const WalNames *list, size_t i)
{
	return list->names[i].kind == WAL_KIND_MISSING;
}

/*
 * If the rest is elsewhere, what is missing at the end is no gap, and nobody
 * brings back what is too old.
 */
static bool
has_gap(const WalNames *list, bool rest_elsewhere)
{
	size_t		begin = 0;
	size_t		end = list->count;

	while (rest_elsewhere && begin < end && is_missing(list, begin))
		begin++;
	while (rest_elsewhere && begin < end && is_missing(list, end - 1))
		end--;
	for (size_t i = begin; i < end; i++)
		if (is_missing(list, i))
			return true;
	return false;
}

/*
 * Lists the directory again after a pause, if there is a gap and pauses are
 * left.  This server's own pg_wal needs none, since it knows what it removed.
 */
static bool
is_listed_again(const WalDirectory *dir, WalNames *list, bool rest_elsewhere,
				Pauses *pauses)
{
	if (dir->limits.live || pauses->quiet == PAUSES ||
		pauses->all == PAUSES_MAX || !has_gap(list, rest_elsewhere))
		return false;
	host_interrupts();
	usleep(PAUSE_MICROSECONDS);
	host_free(list->names);
	pauses->all++;
	pauses->quiet = wal_directory_list_again(dir) ? 0 : pauses->quiet + 1;
	return true;
}

/* ---- by name ---- */

/* Returns the files within the bounds, and in *lowest their lowest number. */
static WalNames
files_between(const WalDirectory *dir, const WalName *first,
			  const WalName *last, uint64_t *lowest)
{
	const WalNames *files = &wal_directory_listing(dir)->files;
	WalNames	found = {0};

	*lowest = UINT64_MAX;
	for (size_t i = 0; i < files->count; i++)
	{
		const WalName *name = &files->names[i];
		uint64_t	segno = segno_of(dir, name);

		if ((first != NULL && wal_name_compare(name, first) < 0) ||
			(last != NULL && wal_name_compare(name, last) > 0))
			continue;
		wal_names_add(&found, name);
		if (segno < *lowest)
			*lowest = segno;
	}
	return found;
}

/* None of the segments within the bounds is there. */
static void
add_all_missing(Gap *gap, const WalName *first, const WalName *last)
{
	uint64_t	segno;
	uint64_t	end;

	if (first == NULL)
		return;
	segno = segno_of(gap->dir, first);
	end = last != NULL && last->timeline == first->timeline ?
		segno_of(gap->dir, last) + 1 : segno + 1;
	add_missing_of(gap, first->timeline, segno, end);
}

static void
list_names(const WalDirectory *dir, const WalName *first,
		   const WalName *last, WalNames *list)
{
	Gap			named = {dir, list, {0}, WAL_LSN_MAX, 0, is_after_end};
	Gap			between = {dir, list, {0}, WAL_LSN_MAX, 0, is_gone_by_right};
	uint64_t	lowest;
	WalNames	files = files_between(dir, first, last, &lowest);
	WalBackups	backups = {0};

	/* bounds that were named are expected to be there */
	memset(list, 0, sizeof(*list));
	if (files.count == 0)
	{
		add_all_missing(&named, first, last);
		return;
	}
	if (first != NULL && files.names[0].timeline == first->timeline)
		add_missing_of(&named, first->timeline, segno_of(dir, first),
					   segno_of(dir, &files.names[0]));
	for (size_t i = 0; i < files.count; i++)
	{
		const WalName *name = &files.names[i];

		if (i > 0 && !(is_gap(dir, name - 1, name) &&
					   wal_list_by_design(dir, &backups, name - 1, name)))
			add_gap(&between, name - 1, name, lowest);
		wal_names_add(list, name);
	}
	if (last != NULL && files.names[files.count - 1].timeline == last->timeline)
		add_missing_of(&named, last->timeline,
					   segno_of(dir, &files.names[files.count - 1]) + 1,
					   segno_of(dir, last) + 1);
	host_free(backups.items);
	host_free(files.names);
}

void
wal_list_names(const WalDirectory *dir, const WalName *first,
			   const WalName *last, WalNames *list)
{
	Pauses		pauses = {0};

	do
		list_names(dir, first, last, list);
	while (is_listed_again(dir, list, false, &pauses));
}

/* ---- by positions ---- */

/* May the file of this timeline serve for segment segno of a path? */
static bool
path_has(const WalDirectory *dir, const WalPath *path, uint32_t timeline,
		 uint64_t segno)
{
	uint32_t	owner = path->timeline;
	uint64_t	last = UINT64_MAX;

	/* the newest first, see wal_path_at() */
	for (int i = path->nancestors - 1; i >= 0; i--)
	{
		uint64_t	begin = path->ancestors[i].end / dir->limits.segment_size;

		if (owner == timeline)
			return segno >= begin && segno <= last;
		owner = path->ancestors[i].timeline;
		if (begin < last)
			last = begin;
	}
	return owner == timeline && segno <= last;
}

static int
compare_segments(const void *a, const void *b)
{
	return wal_name_compare_segments(a, b);
}

/* Returns the files of a path with numbers first..last, by number. */
static WalNames
files_of_path(const WalDirectory *dir, const WalPath *path, uint64_t first,
			  uint64_t last)
{
	const WalNames *files = &wal_directory_listing(dir)->files;
	WalNames	found = {0};

	for (size_t i = 0; i < files->count; i++)
	{
		const WalName *name = &files->names[i];
		uint64_t	segno = segno_of(dir, name);

		host_interrupts();
		if (segno >= first && segno <= last &&
			path_has(dir, path, name->timeline, segno))
			wal_names_add(&found, name);
	}
	if (found.count > 1)
		qsort(found.names, found.count, sizeof(WalName), compare_segments);
	return found;
}

static uint32_t
newest_timeline(const WalDirectory *dir)
{
	const WalNames *files = &wal_directory_listing(dir)->files;
	const WalLimits *limits = &dir->limits;

	if (limits->nlimits > 0)
		return limits->limits[limits->nlimits - 1].timeline;
	return files->count > 0 ?
		files->names[files->count - 1].timeline : 1;
}

WalPath
wal_list_path(const WalDirectory *dir, uint32_t timeline)
{
	return wal_timelines_path(&dir->timelines,
							  timeline == 0 ? newest_timeline(dir) : timeline);
}

/*
 * Returns up to where segments are expected, WAL_LSN_MAX if as far as there
 * are.
 */
static WalLsn
expected_end(const WalDirectory *dir, WalRange range, uint32_t timeline)
{
	WalLsn		limit;

	if (range.end != WAL_LSN_MAX ||
		!wal_live_limit(&dir->limits, timeline, &limit))
		return range.end;
	return limit > range.begin ? limit : range.begin;
}

/* Puts a path's files in order, each number once, with what is missing. */
static uint64_t
add_path(Gap *gap, const WalNames *files, uint64_t next)
{
	for (size_t i = 0; i < files->count; i++)
	{
		const WalName *name = &files->names[i];
		uint64_t	segno = segno_of(gap->dir, name);

		if (segno < next)
			continue;			/* an older timeline's, or the partial one */
		add_missing(gap, next, segno);
		wal_names_add(gap->list, name);
		if (name->timeline < timeline_at_end(gap->dir, &gap->path,
											 gap->wanted, segno))
			add_missing(gap, segno, segno + 1);
		next = segno + 1;
	}
	return next;
}

static void
list_range(const WalDirectory *dir, WalRange range, uint32_t timeline,
		   WalNames *list)
{
	Gap			gap = {dir, list, {0}, range.end, 0, is_after_end};
	uint64_t	first = range.begin / dir->limits.segment_size;
	uint64_t	last;
	uint64_t	next;
	WalLsn		end;
	WalNames	files;

	if (timeline == 0)
		timeline = newest_timeline(dir);
	end = expected_end(dir, range, timeline);
	last = end > range.begin ? (end - 1) / dir->limits.segment_size : first;
	gap.path = wal_list_path(dir, timeline);
	files = files_of_path(dir, &gap.path, first, last);
	memset(list, 0, sizeof(*list));
	next = add_path(&gap, &files, first);
	if (end != WAL_LSN_MAX)
		add_missing(&gap, next, last + 1);
	else if (list->count == 0)
		add_missing(&gap, first, first + 1);
	host_free(files.names);
}

void
wal_list_range(const WalDirectory *dir, WalRange range, uint32_t timeline,
			   bool rest_elsewhere, WalNames *list)
{
	Pauses		pauses = {0};

	do
		list_range(dir, range, timeline, list);
	while (is_listed_again(dir, list, rest_elsewhere, &pauses));
}
