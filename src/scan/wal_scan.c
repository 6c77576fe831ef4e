/*
 * wal_scan.c
 *	  Reads write-ahead log segments and has them judged.
 *
 * Where the log may end.  In this server's own pg_wal the log was complete up
 * to the flush position (on a standby: what was received or replayed) when the
 * scan began; that position is taken before anything is read.  Everything
 * before it must be whole, and nothing behind it matters.  The log of an older
 * timeline ends where a history file says that a newer one left it.  In
 * another server's pg_wal, known by its archive_status folder, and in .partial
 * files, the log ends where nothing with the right address follows.  Anywhere
 * else, in an archive, segments are complete and an early stop is damage.
 *
 * A segment is judged together with the record that crosses its start and the
 * one that crosses its end, if the neighbours are there.  So a damaged record
 * on a border is reported for both: either file may be the bad one.
 *
 * What is still written to (a .partial file, another server's pg_wal, a file
 * that an archiver copies) looks damaged to a reader whom the writer overtakes:
 * a place was read before it was written, what follows it afterwards.  At the
 * end of that look the place has been written, so the next look cannot find the
 * same there, only further on.  Findings count when two looks in succession
 * agree on them.
 */
#include "compat.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "miscadmin.h"

#include "kernel/checksum.h"
#include "scan/wal_scan.h"

/* stays in the second-level cache; a multiple of every page size */
#define PIECE_BYTES		(128 * 1024)

/* at a segment whose findings are others each time */
#define LOOKS_MAX		100

/* What is being judged: a file, or bytes in memory. */
typedef struct WalSource
{
	FileScan   *file;
	const uint8 *data;
	uint64		size;
} WalSource;

/* One segment at work. */
typedef struct SegmentScan
{
	WalScan    *scan;			/* NULL: bytes without neighbours */
	WalSource	source;
	WalName		name;
	uint64		segno;
	uint8	   *buffer;
	WalIdentity id;
	WalSegmentResult *result;
	WalFindingFn finding;
	void	   *arg;
	WalWalker	walker;
	uint32		crc;			/* raw register */
	bool		failed;			/* a read failed, see the message */
	uint32		digest;			/* of the findings' places */
} SegmentScan;

static void scan_segment(SegmentScan *seg);

void
wal_scan_name(const char *name, WalName *result)
{
	if (!wal_parse_name(name, result))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not the name of a WAL segment", name),
				 errdetail("A name has 24 hexadecimal digits (upper case), and \".partial\" behind them if it is a partial one.")));
}

/* ---- reading ---- */

/*
 * A piece of the source at an offset, in the buffer or in place; sets *len
 * (short at the end, 0 behind it or when reading fails).
 */
static const uint8 *
read_piece(SegmentScan *seg, uint64 offset, size_t wanted, size_t *len)
{
	ssize_t		got;

	if (seg->source.file == NULL)
	{
		CHECK_FOR_INTERRUPTS();
		*len = offset < seg->source.size ?
			Min(wanted, seg->source.size - offset) : 0;
		return seg->source.data + offset;
	}
	got = file_scan_read(seg->source.file, seg->buffer, wanted,
						 (off_t) offset);
	if (got < 0)
	{
		seg->failed = true;
		snprintf(seg->result->message, sizeof(seg->result->message),
				 "could not read at offset " UINT64_FORMAT ": %s",
				 offset, strerror(errno));
		got = 0;
	}
	*len = (size_t) got;
	return seg->buffer;
}

/* Walks whole pages of the source between two offsets. */
static void
walk_source(SegmentScan *seg, uint64 offset, uint64 end, bool digest)
{
	uint32		page_size = seg->id.page_size;

	while (offset < end && !seg->failed)
	{
		size_t		len;
		const uint8 *piece = read_piece(seg, offset,
										Min(PIECE_BYTES, end - offset), &len);
		size_t		pages = len - len % page_size;

		if (digest)
			seg->crc = checksum_crc32c(seg->crc, piece, len);
		for (size_t at = 0; at < pages; at += page_size)
			wal_walk_page(&seg->walker, piece + at);
		offset += len;
		if (len < PIECE_BYTES)
			break;
	}
}

/* ---- neighbours ---- */

/* Where log of two clusters came together, neither goes on in the other. */
static bool
is_of_same_system(const SegmentScan *seg, FileScan *file)
{
	uint8		header[WAL_PAGE_LONG];
	WalIdentity id;

	if (file_scan_read(file, header, sizeof(header), 0) != sizeof(header))
		return false;
	wal_identify(&id, header, sizeof(header), file->size, seg->id.page_size,
				 seg->id.segment_size);
	return !id.has_system || !seg->id.has_system ||
		id.system == seg->id.system;
}

static bool
open_neighbour(SegmentScan *seg, uint64 segno, TimeLineID timeline,
			   FileScan *file)
{
	char		name[WAL_NAME_SIZE];
	FileScanResult result;

	wal_format_name(name, timeline, segno, seg->id.segment_size);
	result = file_scan_open(file, psprintf("%s/%s", seg->scan->directory, name));
	if (result == FILE_SCAN_OK && file->size == seg->id.segment_size &&
		is_of_same_system(seg, file))
		return true;
	if (result == FILE_SCAN_OK)
		file_scan_close(file);
	return false;
}

/* The segment before: of this timeline, else of the one that it left. */
static bool
open_previous(SegmentScan *seg, uint64 segno, FileScan *file)
{
	const WalTimeline *history = wal_scan_timeline(seg->scan, seg->name.timeline);
	XLogRecPtr	end = (segno + 1) * seg->id.segment_size;

	if (open_neighbour(seg, segno, seg->name.timeline, file))
		return true;
	for (int i = 0; history != NULL && i < history->nentries; i++)
		if (end - 1 < history->entries[i].end)
			return open_neighbour(seg, segno, history->entries[i].timeline,
								  file);
	return false;
}

/* The segment behind: of this timeline, else of one that left it there. */
static bool
open_next(SegmentScan *seg, uint64 segno, FileScan *file)
{
	if (open_neighbour(seg, segno, seg->name.timeline, file))
		return true;
	for (int i = 0; i < seg->scan->ntimelines; i++)
	{
		const WalTimeline *child = &seg->scan->timelines[i];

		for (int j = 0; j < child->nentries - 1; j++)
			if (child->entries[j].timeline == seg->name.timeline &&
				child->entries[j].end >= segno * seg->id.segment_size &&
				open_neighbour(seg, segno, child->timeline, file))
			{
				seg->walker.opt.timeline = child->timeline;
				seg->walker.opt.history = child->entries;
				seg->walker.opt.nhistory = child->nentries;
				return true;
			}
	}
	return false;
}

/*
 * The offset of the last page of segment segno in which a record starts; the
 * segment size if there is none, -1 if the pages are not all valid.
 */
static int64
last_record_page(SegmentScan *seg, uint64 segno)
{
	uint32		page_size = seg->id.page_size;
	int64		offset = seg->id.segment_size;

	while (offset > 0)
	{
		size_t		len;
		size_t		wanted = offset == seg->id.segment_size ?
			page_size : Min(PIECE_BYTES, offset);
		const uint8 *piece;

		wanted = Min(wanted, offset);
		offset -= wanted;
		piece = read_piece(seg, offset, wanted, &len);
		if (len < wanted)
			return -1;
		for (int64 at = wanted - page_size; at >= 0; at -= page_size)
		{
			XLogRecPtr	address = segno * seg->id.segment_size + offset + at;

			if (!wal_page_is_at(piece + at, address))
				return -1;
			if (wal_page_starts_record(piece + at, page_size, address))
				return offset + at;
		}
	}
	return seg->id.segment_size;
}

/*
 * Walks up to the start of the segment from where the record begins that
 * crosses it, and begins the walker there; from the segment itself when that
 * cannot be found.
 */
static void
walk_previous(SegmentScan *seg, const WalWalkOptions *options)
{
	WalSource	source = seg->source;
	uint64		segno = seg->segno;
	int64		page = seg->id.segment_size;
	FileScan	file;

	while (seg->scan != NULL && segno > 0 && page == seg->id.segment_size &&
		   (seg->segno - segno) * (uint64) seg->id.segment_size < WAL_REC_MAX &&
		   open_previous(seg, segno - 1, &file))
	{
		seg->source.file = &file;
		page = last_record_page(seg, --segno);
		file_scan_close(&file);
	}
	if (page == seg->id.segment_size)
		page = -1;
	seg->source.file = NULL;
	wal_walk_begin(&seg->walker, options, page < 0 ? options->segment_start :
				   segno * seg->id.segment_size + page);
	for (; page >= 0 && segno < seg->segno; segno++, page = 0)
	{
		if (!open_previous(seg, segno, &file))
			break;
		seg->source.file = &file;
		walk_source(seg, page, seg->id.segment_size, false);
		file_scan_close(&file);
	}
	seg->source = source;
	if (seg->walker.page != options->segment_start)
		wal_walk_begin(&seg->walker, options, options->segment_start);
	seg->failed = false;		/* the neighbour's trouble */
	seg->result->message[0] = '\0';
}

/* Completes the record that crosses the end of the segment. */
static void
walk_next(SegmentScan *seg)
{
	WalSource	source = seg->source;
	uint64		segno = seg->segno + 1;
	FileScan	file;

	while (seg->scan != NULL && !seg->failed &&
		   wal_walk_wants_more(&seg->walker) &&
		   open_next(seg, segno, &file))
	{
		seg->source.file = &file;
		for (uint64 offset = 0;
			 offset < seg->id.segment_size && !seg->failed &&
			 wal_walk_wants_more(&seg->walker);
			 offset += seg->id.page_size)
			walk_source(seg, offset, offset + seg->id.page_size, false);
		file_scan_close(&file);
		segno++;
	}
	seg->source = source;
	if (seg->failed)
		seg->result->message[0] = '\0';
	seg->failed = false;
}

/* Does log go on in the next segment of the same timeline? */
static bool
next_is_written(SegmentScan *seg)
{
	WalSource	source = seg->source;
	FileScan	file;
	const uint8 *page;
	size_t		len;
	bool		written;

	if (!open_neighbour(seg, seg->segno + 1, seg->name.timeline, &file))
		return false;
	seg->source.file = &file;
	page = read_piece(seg, 0, seg->id.page_size, &len);
	written = len == seg->id.page_size &&
		wal_page_is_at(page, (seg->segno + 1) * seg->id.segment_size) &&
		wal_load32(page + WAL_PAGE_TLI) == seg->name.timeline;
	file_scan_close(&file);
	seg->source = source;
	seg->failed = false;
	seg->result->message[0] = '\0';
	return written;
}

/* ---- where the log may end ---- */

/* The first position at which any newer timeline left this one. */
static XLogRecPtr
left_at(const WalScan *scan, TimeLineID timeline)
{
	XLogRecPtr	first = WAL_LSN_MAX;

	for (int i = 0; i < scan->ntimelines; i++)
		for (int j = 0; j < scan->timelines[i].nentries - 1; j++)
			if (scan->timelines[i].entries[j].timeline == timeline)
				first = Min(first, scan->timelines[i].entries[j].end);
	return first;
}

static void
set_limits(SegmentScan *seg, WalWalkOptions *options)
{
	WalScan    *scan = seg->scan;
	XLogRecPtr	end = options->segment_start + options->segment_size;
	XLogRecPtr	left;

	options->limit = WAL_LSN_MAX;
	options->may_end_from = seg->name.partial ? 0 : WAL_LSN_MAX;
	if (scan == NULL || seg->name.partial)
		return;
	options->from = scan->from;
	options->limit = scan->to;
	for (int i = 0; i < scan->nlimits; i++)
		if (scan->limits[i].timeline == seg->name.timeline)
		{
			options->limit_exact = scan->limits[i].limit <= scan->to;
			options->limit = Min(options->limit, scan->limits[i].limit);
			return;
		}
	left = left_at(scan, seg->name.timeline);
	if (left < end && (left >= options->segment_start || scan->pg_wal))
		options->may_end_from = left;
	else if (scan->pg_wal && left == WAL_LSN_MAX)
		options->may_end_from = 0;
	if (options->may_end_from != WAL_LSN_MAX && next_is_written(seg))
		options->may_end_from = WAL_LSN_MAX;
}

/* May the whole segment be something that is no log? */
static bool
may_be_empty(const WalWalkOptions *options)
{
	return options->limit <= options->segment_start ||
		options->may_end_from <= options->segment_start;
}

/* ---- one segment ---- */

static void
put_finding(void *arg, const WalFinding *finding)
{
	SegmentScan *seg = arg;

	seg->digest = checksum_crc32c(seg->digest, &finding->lsn,
								  sizeof(finding->lsn));
	if (seg->finding != NULL)
		seg->finding(seg->arg, finding);
}

static void
finding_of_file(SegmentScan *seg, WalStatus status, uint64 offset,
				const char *message)
{
	WalCounts  *counts = &seg->result->counts;
	WalFinding	finding;

	finding.lsn = seg->result->start_lsn + offset;
	finding.file_offset = offset;
	finding.status = status;
	strlcpy(finding.message, message, sizeof(finding.message));
	if (counts->errors++ == 0)
	{
		counts->first_error = finding.lsn;
		strlcpy(counts->first_message, message, sizeof(counts->first_message));
	}
	put_finding(seg, &finding);
}

/* A verdict without a walk. */
static void
verdict(SegmentScan *seg, WalStatus status, const char *message)
{
	seg->result->status = status;
	strlcpy(seg->result->message, message, sizeof(seg->result->message));
	if (status != WAL_RECYCLED && status != WAL_UNUSED)
		finding_of_file(seg, status, 0, message);
}

/*
 * The first page is of a timeline that never wrote at its place: recycled by
 * a server that left that timeline.
 */
static bool
is_left_over(const SegmentScan *seg, const WalWalkOptions *options)
{
	for (int i = 0; i < options->nhistory; i++)
		if (options->segment_start < options->history[i].end)
			return seg->id.timeline != 0 &&
				seg->id.timeline < options->history[i].timeline;
	return false;
}

/*
 * The file holds another segment than its name says.  A server recycles older
 * segments; one that leaves a timeline, those behind that point too.
 */
static void
judge_misplaced(SegmentScan *seg, const WalWalkOptions *options)
{
	char		name[WAL_NAME_SIZE];
	char		message[WAL_MESSAGE_SIZE];
	uint32		size = seg->id.segment_size;
	bool		former = seg->id.address < options->segment_start ||
		options->limit <= options->segment_start ||
		is_left_over(seg, options);

	wal_format_name(name, seg->name.timeline, seg->id.address / size, size);
	snprintf(message, sizeof(message), "holds log of %X/%X, which is segment %s",
			 LSN_FORMAT_ARGS(seg->id.address), name + 8);
	seg->result->counts.skipped_bytes = seg->source.size;
	verdict(seg, former && may_be_empty(options) ? WAL_RECYCLED : WAL_CORRUPT,
			message);
	if (seg->result->status == WAL_RECYCLED)
		seg->result->counts.skipped_bytes = 0;
}

/* Verdicts that the first pages allow.  True: no walk is needed. */
static bool
judge_identity(SegmentScan *seg, const WalWalkOptions *options)
{
	/* pg_receivewal creates an empty file first */
	if (seg->source.size == 0 && !seg->name.partial)
		return false;
	if (seg->id.status != WAL_OK)
		verdict(seg, seg->id.status, seg->id.message);
	else if ((seg->id.zero || seg->source.size == 0) && may_be_empty(options))
		verdict(seg, WAL_UNUSED, "");
	else if (may_be_empty(options) && is_left_over(seg, options) &&
			 seg->id.address == options->segment_start)
		verdict(seg, WAL_RECYCLED, "holds log of an older timeline");
	else if (seg->id.magic != 0 &&
			 seg->id.address != options->segment_start &&
			 seg->id.second_address != options->segment_start &&
			 seg->id.address % seg->id.segment_size == 0)
		judge_misplaced(seg, options);
	else
		return false;
	return true;
}

static void
judge_size(SegmentScan *seg)
{
	char		message[WAL_MESSAGE_SIZE];

	if (seg->source.size == seg->id.segment_size)
		return;
	snprintf(message, sizeof(message),
			 "file has " UINT64_FORMAT " bytes, its segment size is %u",
			 seg->source.size, seg->id.segment_size);
	finding_of_file(seg, WAL_SIZE_MISMATCH,
					Min(seg->source.size, seg->id.segment_size), message);
	seg->result->status = WAL_SIZE_MISMATCH;
}

static void
judge_system(SegmentScan *seg)
{
	char		message[WAL_MESSAGE_SIZE];

	if (!seg->id.has_system || seg->id.system == GetSystemIdentifier())
		return;
	snprintf(message, sizeof(message),
			 "log of system " UINT64_FORMAT ", this server is " UINT64_FORMAT,
			 seg->id.system, GetSystemIdentifier());
	finding_of_file(seg, WAL_FOREIGN_SYSTEM, WAL_PAGE_SYSTEM, message);
	if (seg->result->status == WAL_OK)
		seg->result->status = WAL_FOREIGN_SYSTEM;
}

/*
 * A system identifier belongs to one version: pg_upgrade gives a cluster a new
 * one.  So WAL of this very system has the magic number of this server.
 */
static void
judge_version(SegmentScan *seg)
{
	char		message[WAL_MESSAGE_SIZE];

	if (!seg->id.has_system || seg->id.system != GetSystemIdentifier() ||
		seg->id.magic == 0 || seg->id.magic == XLOG_PAGE_MAGIC)
		return;
	snprintf(message, sizeof(message),
			 "invalid magic number %04X, system " UINT64_FORMAT " writes %04X",
			 seg->id.magic, seg->id.system, XLOG_PAGE_MAGIC);
	finding_of_file(seg, WAL_CORRUPT, WAL_PAGE_MAGIC, message);
	seg->result->status = WAL_CORRUPT;
}

/* Nothing in the file is a page of log: one verdict, whatever it is. */
static bool
judge_unreadable(SegmentScan *seg)
{
	if (seg->walker.counts.pages > 0 || seg->id.magic != 0 || seg->id.zero ||
		seg->source.size < seg->id.page_size)
		return false;
	seg->result->counts.errors = 0;
	verdict(seg, WAL_NOT_VERIFIABLE,
			"no page of the file can be read: it is encrypted, compressed or no WAL");
	return true;
}

/* The status of a segment that was walked, worst first. */
static void
judge_walk(SegmentScan *seg)
{
	WalSegmentResult *result = seg->result;
	WalWalker  *walker = &seg->walker;
	uint32		errors = walker->counts.errors;

	result->counts = walker->counts;
	result->end_lsn = walker->end;
	result->magic = walker->opt.magic;
	result->has_counts = true;
	result->counts.skipped_bytes += seg->source.size % seg->id.page_size;
	if (judge_unreadable(seg))
		return;
	result->status = WAL_OK;
	judge_size(seg);
	judge_system(seg);
	judge_version(seg);
	if (errors > 0)
		result->status = WAL_CORRUPT;
	else if (result->status == WAL_OK)
	{
		if (seg->name.partial)
			result->status = WAL_PARTIAL;
		else if (walker->switched)
			result->status = WAL_OK_SWITCHED;
		else if (walker->ended)
			result->status = WAL_OK_END_OF_WAL;
	}
}

/* What a reader of the row should know. */
static void
explain(SegmentScan *seg)
{
	WalSegmentResult *result = seg->result;
	WalCounts  *counts = &result->counts;
	char	   *message = result->message;
	size_t		size = sizeof(result->message);

	if (message[0] != '\0')
		return;
	if (counts->errors > 1)
		snprintf(message, size, "%s (and %u more)", counts->first_message,
				 counts->errors - 1);
	else if (counts->errors == 1)
		strlcpy(message, counts->first_message, size);
	else if (counts->head_bytes > 0 && counts->tail_bytes > 0)
		snprintf(message, size, "records over both borders are not checked: the neighbours are not there");
	else if (counts->head_bytes > 0)
		snprintf(message, size, "the record over the start is not checked: the segment before is not there");
	else if (counts->tail_bytes > 0 && result->status == WAL_OK)
		snprintf(message, size, "the record over the end is not checked: the segment behind is not there");
	else if (counts->abandoned > 0)
		snprintf(message, size, UINT64_FORMAT " record was cut off by a crash and abandoned by the server",
				 counts->abandoned);
	else if (counts->former_bytes > 0)
		snprintf(message, size, "older log is left behind the switch: the server stopped before it wrote zeros there");
}

static void
scan_segment(SegmentScan *seg)
{
	WalSegmentResult *result = seg->result;
	WalWalkOptions options = {0};
	const WalTimeline *history;
	const uint8 *data;
	size_t		len;
	uint64		end;

	data = read_piece(seg, 0, PIECE_BYTES, &len);
	wal_identify(&seg->id, data, len, seg->source.size, XLOG_BLCKSZ,
				 seg->scan != NULL ? seg->scan->segment_size :
				 wal_segment_size);
	result->magic = seg->id.magic;
	if (!wal_name_segno(&seg->name, seg->id.segment_size, &seg->segno))
	{
		verdict(seg, WAL_CORRUPT, "no segment of this size has this name");
		return;
	}
	options.timeline = seg->name.timeline;
	options.segment_size = seg->id.segment_size;
	options.segment_start = seg->segno * seg->id.segment_size;
	options.page_size = seg->id.page_size;
	options.magic = seg->id.magic;
	options.finding = put_finding;
	options.arg = seg;
	history = seg->scan != NULL ?
		wal_scan_timeline(seg->scan, seg->name.timeline) : NULL;
	if (history != NULL)
	{
		options.history = history->entries;
		options.nhistory = history->nentries;
	}
	result->has_position = true;
	result->start_lsn = options.segment_start;
	set_limits(seg, &options);
	if (judge_identity(seg, &options))
		return;
	walk_previous(seg, &options);
	seg->crc = CHECKSUM_CRC_INIT;
	end = Min(seg->source.size, seg->id.segment_size);
	walk_source(seg, 0, end, true);
	if (seg->failed)
	{
		verdict(seg, WAL_NOT_VERIFIABLE, pstrdup(result->message));
		return;
	}
	if (end == seg->id.segment_size)
		walk_next(seg);
	wal_walk_finish(&seg->walker);
	judge_walk(seg);
	if (seg->source.size == seg->id.segment_size)
	{
		result->has_crc = true;
		result->crc = seg->crc ^ CHECKSUM_CRC_INIT;
	}
}

static void
begin_result(SegmentScan *seg, const char *name)
{
	memset(seg->result, 0, sizeof(*seg->result));
	strlcpy(seg->result->segment, name, sizeof(seg->result->segment));
	seg->result->timeline = seg->name.timeline;
}

/* Looks at a file until it is sure of what it finds. */
static void
scan_file(SegmentScan *seg, const char *name)
{
	uint32		digest = 0;
	uint32		errors = 0;

	for (int look = 0; look < LOOKS_MAX; look++)
	{
		if (look > 0)
			file_scan_resize(seg->source.file);
		if (look > 0 && seg->finding != NULL)
			seg->finding(seg->arg, NULL);
		seg->source.size = (uint64) seg->source.file->size;
		seg->failed = false;
		seg->digest = CHECKSUM_CRC_INIT;
		begin_result(seg, name);
		scan_segment(seg);
		if (seg->result->status != WAL_CORRUPT &&
			seg->result->status != WAL_SIZE_MISMATCH)
			break;
		if (errors == seg->result->counts.errors && digest == seg->digest)
			break;
		errors = seg->result->counts.errors;
		digest = seg->digest;
	}
}

FileScanResult
wal_scan_segment(WalScan *scan, const char *name, WalSegmentResult *result,
				 WalFindingFn finding, void *arg)
{
	SegmentScan *seg = palloc0(sizeof(SegmentScan));
	FileScan	file;
	FileScanResult opened;
	char	   *path = psprintf("%s/%s", scan->directory, name);

	wal_scan_name(name, &seg->name);
	seg->scan = scan;
	seg->result = result;
	seg->finding = finding;
	seg->arg = arg;
	seg->buffer = scan->buffer;
	opened = file_scan_open(&file, path);
	if (opened != FILE_SCAN_OK)
		return opened;
	seg->source.file = &file;
	scan_file(seg, name);
	if (!file_scan_still_there(&file))
	{
		result->counts.errors = 0;	/* of bytes that may be new ones */
		result->status = WAL_REMOVED_DURING_SCAN;
		strlcpy(result->message,
				"the file was removed, recycled or replaced while it was read",
				sizeof(result->message));
	}
	explain(seg);
	file_scan_close(&file);
	pfree(path);
	pfree(seg);
	return FILE_SCAN_OK;
}

void
wal_scan_bytes(const uint8 *data, Size len, const char *name,
			   WalSegmentResult *result)
{
	SegmentScan *seg = palloc0(sizeof(SegmentScan));

	wal_scan_name(name, &seg->name);
	seg->source.data = data;
	seg->source.size = len;
	seg->result = result;
	begin_result(seg, name);
	scan_segment(seg);
	explain(seg);
	pfree(seg);
}
