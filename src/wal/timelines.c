/*
 * timelines.c
 *	  The timelines of a directory, from its history files.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "wal/source.h"
#include "wal/timelines.h"

/*
 * of all history files together, where one of a thousand timelines has 40 kB
 */
#define HISTORY_BYTES_MAX	(4 * 1024 * 1024)

#define NAME_LENGTH	16			/* 00000002.history */

uint32_t
wal_timelines_file(const char *name)
{
	unsigned	timeline;
	DecodeFormat format;

	if (strlen(name) < NAME_LENGTH || sscanf(name, "%8X", &timeline) != 1 ||
		strspn(name, "0123456789ABCDEF") != 8 ||
		strncmp(name + 8, ".history", 8) != 0 || timeline < 2)
		return 0;
	/* wal-g compresses these, too */
	return decode_format_named(name + NAME_LENGTH, &format) ? timeline : 0;
}

/* ---- reading ---- */

/* as long as a line can be for the server, which reads with fgets() */
#define LINE_SIZE	1024

/*
 * Takes the next line, as fgets() would give it.  Returns false if there is
 * none.
 */
static bool
next_line(const char **at, const char *end, char line[LINE_SIZE])
{
	size_t		len = (size_t) (end - *at);
	const char *stop;

	if (len == 0)
		return false;
	if (len > LINE_SIZE - 1)
		len = LINE_SIZE - 1;
	stop = memchr(*at, '\n', len);
	if (stop != NULL)
		len = (size_t) (stop + 1 - *at);
	memcpy(line, *at, len);
	line[len] = '\0';
	*at += len;
	return true;
}

static WalVerdict
verdict_of(WalReason reason, uint64_t value, uint64_t expected)
{
	WalVerdict	verdict = {0};

	verdict.reason = reason;
	verdict.value = value;
	verdict.expected = expected;
	return verdict;
}

static void
add_ancestor(WalLineage *lineage, int *room, uint32_t timeline, WalLsn end)
{
	HOST_MAKE_ROOM(lineage->ancestors, lineage->nancestors, *room);
	lineage->ancestors[lineage->nancestors].timeline = timeline;
	lineage->ancestors[lineage->nancestors++].end = end;
}

/*
 * Reads and refuses what the server does (readTimeLineHistory()).  A file that
 * the server accepts and never writes is invalid, too, since it would forget
 * the parents.
 */
static WalVerdict
parse_history(WalLineage *lineage, const char *contents, size_t len)
{
	const char *at = contents;
	char		line[LINE_SIZE];
	uint32_t	last = 0;
	int			room = 0;

	for (uint64_t number = 1; next_line(&at, contents + len, line); number++)
	{
		const char *text = line + strspn(line, " \t\n\v\f\r");
		unsigned	timeline;
		unsigned	high;
		unsigned	low;

		if (*text == '\0' || *text == '#')
			continue;
		if (sscanf(line, "%u\t%X/%X", &timeline, &high, &low) != 3)
			return verdict_of(WAL_REASON_HISTORY_LINE, number, 0);
		if (timeline <= last)
			return verdict_of(WAL_REASON_HISTORY_ORDER, timeline, last);
		last = timeline;
		add_ancestor(lineage, &room, timeline, (WalLsn) high << 32 | low);
	}
	if (lineage->nancestors == 0)
		return verdict_of(WAL_REASON_HISTORY_EMPTY, len, 0);
	if (contents[len - 1] != '\n')
		return verdict_of(WAL_REASON_HISTORY_CUT, len, 0);
	if (lineage->timeline <= last)
		return verdict_of(WAL_REASON_HISTORY_ORDER, lineage->timeline, last);
	return verdict_of(WAL_REASON_NONE, 0, 0);
}

/* Opens the history file of a timeline, under the first of its names. */
static FileScanResult
open_history(WalFile *file, const char *directory, uint32_t timeline)
{
	size_t		room = strlen(directory) + 32;
	char	   *path = host_alloc(room);
	FileScanResult opened = FILE_SCAN_MISSING;

	for (DecodeFormat format = DECODE_PLAIN;
		 opened == FILE_SCAN_MISSING && format <= DECODE_LAST_READ; format++)
	{
		snprintf(path, room, "%s/%08X.history%s", directory, timeline,
				 decode_format_suffix(format));
		opened = wal_file_open(file, path, format);
	}
	host_free(path);
	return opened;
}

int64_t
wal_timelines_text(WalFile *file, char **contents, int64_t budget,
				   WalVerdict *failed)
{
	WalSource	source = wal_source_file(file, host_alloc(WAL_PIECE_BYTES));
	int64_t		done = 0;
	size_t		len;

	*contents = NULL;
	do
	{
		const uint8_t *piece = wal_source_piece(&source, (uint64_t) done,
												WAL_PIECE_BYTES, &len);

		if (source.failed.reason != WAL_REASON_NONE ||
			done + (int64_t) len > budget)
		{
			done = -1;
			break;
		}
		*contents = host_grow(*contents, (size_t) done + len + 1);
		memcpy(*contents + done, piece, len);
		done += (int64_t) len;
		(*contents)[done] = '\0';
	} while (len == WAL_PIECE_BYTES);
	*failed = done >= 0 || source.failed.reason != WAL_REASON_NONE ?
		source.failed : verdict_of(WAL_REASON_FILE_LONG, (uint64_t) budget, 0);
	host_free(source.buffer);
	return done;
}

/*
 * Reads a history file of at most *budget bytes, and takes its size off that.
 */
static WalVerdict
read_history(WalLineage *lineage, WalFile *file, const char *directory,
			 uint32_t timeline, int64_t *budget)
{
	FileScanResult opened;
	WalVerdict	verdict;
	char	   *contents;
	int64_t		len;

	memset(lineage, 0, sizeof(*lineage));
	lineage->timeline = timeline;
	opened = open_history(file, directory, timeline);
	if (opened == FILE_SCAN_MISSING)
		return verdict_of(WAL_REASON_HISTORY_MISSING, timeline, 0);
	if (opened == FILE_SCAN_IRREGULAR)
		return verdict_of(WAL_REASON_FILE_IRREGULAR, 0, 0);
	if (opened != FILE_SCAN_OK)
		return verdict_of(WAL_REASON_FILE_OPEN, (uint64_t) errno, 0);
	len = wal_timelines_text(file, &contents, *budget, &verdict);
	wal_file_close(file);
	if (len >= 0)
	{
		*budget -= len;
		verdict = parse_history(lineage, contents, (size_t) len);
	}
	host_free(contents);
	return verdict;
}

WalVerdict
wal_timelines_history(WalLineage *lineage, WalFile *file,
					  const char *directory, uint32_t timeline)
{
	int64_t		budget = HISTORY_BYTES_MAX;

	return read_history(lineage, file, directory, timeline, &budget);
}

static bool
lineage_tells_of(const WalLineage *lineage, uint32_t timeline)
{
	for (int i = 0; i < lineage->nancestors; i++)
		if (lineage->ancestors[i].timeline == timeline)
			return true;
	return lineage->timeline == timeline;
}

static bool
is_told_of(const WalTimelines *ctx, uint32_t timeline)
{
	for (int i = 0; i < ctx->nlineages; i++)
		if (lineage_tells_of(&ctx->lineages[i], timeline))
			return true;
	return false;
}

/* ---- the index ---- */

static int
compare_newest_first(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return (x < y) - (x > y);
}

/*
 * Compares by timeline.  Of one timeline, what the newest lineage tells is
 * first.
 */
static int
compare_timelines(const void *a, const void *b)
{
	const WalTimeline *x = a;
	const WalTimeline *y = b;

	if (x->timeline != y->timeline)
		return x->timeline < y->timeline ? -1 : 1;
	return (x->lineage > y->lineage) - (x->lineage < y->lineage);
}

static void
add_timeline(WalTimelines *ctx, uint32_t timeline, int lineage,
			 int nancestors, WalLsn left)
{
	WalTimeline *added = &ctx->timelines[ctx->ntimelines++];

	added->timeline = timeline;
	added->lineage = lineage;
	added->nancestors = nancestors;
	added->left = left;
}

/* Leaves one entry per timeline, with the first of its switch points. */
static void
merge_timelines(WalTimelines *ctx)
{
	size_t		n = 0;

	qsort(ctx->timelines, ctx->ntimelines, sizeof(WalTimeline),
		  compare_timelines);
	for (size_t i = 1; i < ctx->ntimelines; i++)
	{
		WalTimeline *kept = &ctx->timelines[n];

		if (ctx->timelines[i].timeline != kept->timeline)
			ctx->timelines[++n] = ctx->timelines[i];
		else if (ctx->timelines[i].left < kept->left)
			kept->left = ctx->timelines[i].left;
	}
	ctx->ntimelines = n + 1;
}

static void
index_timelines(WalTimelines *ctx)
{
	size_t		room = 1 + (size_t) ctx->nlineages;

	for (int i = 0; i < ctx->nlineages; i++)
		room += (size_t) ctx->lineages[i].nancestors;
	ctx->timelines = host_alloc(room * sizeof(WalTimeline));
	/* the first one has no file, since nothing was before it */
	add_timeline(ctx, 1, -1, 0, WAL_LSN_MAX);
	for (int i = 0; i < ctx->nlineages; i++)
	{
		const WalLineage *lineage = &ctx->lineages[i];

		host_interrupts();
		for (int j = 0; j < lineage->nancestors; j++)
			add_timeline(ctx, lineage->ancestors[j].timeline, i, j,
						 lineage->ancestors[j].end);
		add_timeline(ctx, lineage->timeline, i, lineage->nancestors,
					 WAL_LSN_MAX);
	}
	merge_timelines(ctx);
}

void
wal_timelines_read(WalTimelines *ctx, const char *directory,
				   uint32_t *timelines, size_t ntimelines)
{
	int64_t		budget = HISTORY_BYTES_MAX;
	WalFile    *file = NULL;

	memset(ctx, 0, sizeof(*ctx));
	if (ntimelines > 0)
	{
		file = host_alloc(sizeof(WalFile));
		wal_file_init(file, false);
		qsort(timelines, ntimelines, sizeof(uint32_t), compare_newest_first);
		ctx->lineages = host_alloc(ntimelines * sizeof(WalLineage));
	}
	for (size_t i = 0; i < ntimelines; i++)
	{
		WalLineage *lineage = &ctx->lineages[ctx->nlineages];

		host_interrupts();
		if (is_told_of(ctx, timelines[i]))
			continue;
		if (read_history(lineage, file, directory, timelines[i],
						 &budget).reason == WAL_REASON_NONE)
			ctx->nlineages++;
		else
			host_free(lineage->ancestors);
	}
	if (file != NULL)
		wal_file_end(file);
	index_timelines(ctx);
}

/* ---- questions ---- */

static const WalTimeline *
find_timeline(const WalTimelines *ctx, uint32_t timeline)
{
	size_t		low = 0;
	size_t		high = ctx->ntimelines;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (ctx->timelines[middle].timeline == timeline)
			return &ctx->timelines[middle];
		if (ctx->timelines[middle].timeline < timeline)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static WalPath
path_of(const WalTimelines *ctx, uint32_t timeline, int lineage,
		int nancestors)
{
	WalPath		path;

	path.timeline = timeline;
	path.known = true;
	path.nancestors = nancestors;
	path.ancestors = lineage < 0 ? NULL : ctx->lineages[lineage].ancestors;
	return path;
}

WalPath
wal_timelines_path(const WalTimelines *ctx, uint32_t timeline)
{
	const WalTimeline *found = find_timeline(ctx, timeline);
	WalPath		unknown = {timeline, false, 0, NULL};

	return found == NULL ? unknown :
		path_of(ctx, timeline, found->lineage, found->nancestors);
}

WalLsn
wal_timelines_left(const WalTimelines *ctx, uint32_t timeline)
{
	const WalTimeline *found = find_timeline(ctx, timeline);

	return found == NULL ? WAL_LSN_MAX : found->left;
}

/* Returns one of the ancestors of a lineage and itself, by number. */
static uint32_t
lineage_timeline(const WalLineage *lineage, int i)
{
	return i < lineage->nancestors ? lineage->ancestors[i].timeline :
		lineage->timeline;
}

/* Goes on to the next one of a lineage, beginning with its oldest. */
static bool
descend(const WalLineage *lineage, WalDescent *descent)
{
	if (descent->ancestors == 0)
		descent->below = false;
	while (descent->ancestors < lineage->nancestors)
	{
		const WalHistory *parent = &lineage->ancestors[descent->ancestors++];

		descent->below = parent->end >= descent->begin &&
			(descent->below || parent->timeline == descent->timeline);
		if (descent->below && parent->end < descent->end)
			return true;
	}
	descent->ancestors = 0;
	return false;
}

bool
wal_timelines_descend(const WalTimelines *ctx, WalDescent *descent,
					  WalPath *path)
{
	for (; descent->lineages < ctx->nlineages; descent->lineages++)
	{
		/* the oldest first */
		int			i = ctx->nlineages - 1 - descent->lineages;

		host_interrupts();
		if (!descend(&ctx->lineages[i], descent))
			continue;
		*path = path_of(ctx, lineage_timeline(&ctx->lineages[i], descent->ancestors),
						i, descent->ancestors);
		return true;
	}
	return false;
}
