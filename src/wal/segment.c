/*
 * segment.c
 *	  Judges one WAL segment, of a directory or of memory.
 *
 * Where may the WAL end?  In this server's own pg_wal it was complete up to
 * the flush LSN when the scan began.  On a standby this is what was received
 * or replayed.  That LSN is taken before anything is read.  Everything before
 * it must be whole, and nothing after it matters.  The WAL of an older
 * timeline ends where a history file says that a newer one left it.  In
 * another server's pg_wal, known by its archive_status folder, and in .partial
 * files, the WAL ends where nothing with the right address follows.  Anywhere
 * else, in an archive, segments are complete and an early stop is damage.
 *
 * A segment is judged together with the record that crosses its start and the
 * one that crosses its end, if the neighbours are there.  So a damaged record
 * on a border is reported for both, since either file may be the bad one.  A
 * neighbour that is there and of no use is named in the row.
 *
 * A file that is still being written (a .partial file, another server's
 * pg_wal, a file that an archiver copies) can look damaged.  We may read a
 * block before it is written and a later block after.  Such damage moves on
 * with the writer, so a finding counts only if two consecutive passes report
 * it at the same LSN.  A file that ends early and then becomes longer has no
 * finding at all, since "cp" in archive_command writes under the final name.
 */
#include <errno.h>
#include <stdio.h>

#include "kernel/checksum.h"
#include "wal/segment.h"
#include "wal/source.h"

/* over a segment whose findings are others each time */
#define MAX_PASSES		100

/* in all, for writers that wait, which is 300 ms */
#define PAUSES			30

/* One segment at work. */
typedef struct SegmentScan
{
	WalSession *session;
	WalSource	source;
	WalName		name;
	uint64_t	segno;
	WalIdentity id;
	WalSegmentResult *result;
	WalFindings *findings;
	const WalRecordSink *records;	/* in the first pass */
	WalBorders	borders;
	WalWalker	walker;
	WalWalker	at_end;			/* as it was at the end of the segment */
	bool		hands_over;
	uint32_t	crc;			/* raw register */
	HostSha    *sha1;			/* if the name has one, NULL if not at work */
	bool		sha1_differs;
	WalVerdict	sha1_verdict;	/* if so */
	uint32_t	digest;			/* of the findings' places */
} SegmentScan;

/* ---- sessions ---- */

void
wal_session_begin(WalSession *session, const WalDirectory *dir,
				  WalRange range)
{
	session->dir = dir;
	session->server = dir->limits.server;
	session->range = range;
	session->buffer = host_alloc(WAL_PIECE_BYTES);
	session->files = wal_files_begin(dir);
	session->carry = host_alloc(sizeof(WalCarry));
	memset(session->carry, 0, sizeof(WalCarry));
	session->pauses = dir->limits.live ? 0 : PAUSES;
	session->records = NULL;
}

void
wal_session_begin_alone(WalSession *session)
{
	memset(session, 0, sizeof(*session));
	session->server = host_server();
	session->range = WAL_RANGE_ALL;
	session->pauses = PAUSES;
}

void
wal_session_end(WalSession *session)
{
	host_free(session->buffer);
	host_free(session->carry);
	if (session->files != NULL)
		wal_files_end(session->files);
}

/* ---- findings ---- */

static void
keep_finding(WalFindings *findings, const WalFinding *finding)
{
	if (findings->count == findings->max)
		return;
	HOST_MAKE_ROOM(findings->items, findings->count, findings->room);
	findings->items[findings->count++] = *finding;
}

static void
emit_finding(void *arg, const WalFinding *finding)
{
	SegmentScan *seg = arg;

	seg->digest = checksum_crc32c(seg->digest, (const uint8_t *) &finding->lsn,
								  sizeof(finding->lsn));
	if (seg->records != NULL)
		seg->records->finding(seg->records->arg, finding);
	if (seg->findings != NULL)
		keep_finding(seg->findings, finding);
}

static WalVerdict
verdict_of(WalReason reason, uint64_t value, uint64_t expected,
		   uint64_t more)
{
	WalVerdict	verdict = {reason, 0, value, expected, more};

	return verdict;
}

/* Reports a finding of the file as a whole. */
static void
finding_of_file(SegmentScan *seg, WalStatus status, uint64_t offset,
				const WalVerdict *verdict)
{
	WalCounts  *counts = &seg->result->counts;
	WalFinding	finding;

	finding.lsn = seg->result->start_lsn + offset;
	finding.file_offset = offset;
	finding.status = status;
	finding.verdict = *verdict;
	finding.verdict.at = finding.lsn;
	if (counts->errors++ == 0)
	{
		counts->first_error = finding.lsn;
		counts->first_verdict = finding.verdict;
	}
	emit_finding(seg, &finding);
}

/* Puts a verdict on the whole file in the place of all findings so far. */
static void
verdict_of_file(SegmentScan *seg, WalStatus status,
				const WalVerdict *verdict)
{
	seg->result->status = status;
	seg->result->message = *verdict;
	seg->result->counts.errors = 0;
	if (seg->findings != NULL)
		seg->findings->count = 0;
	if (status != WAL_OK_RECYCLED && status != WAL_OK_UNUSED)
		finding_of_file(seg, status, 0, verdict);
}

/* ---- where the WAL may end ---- */

/* Finds the end of an older timeline, or of a pg_wal that is not ours. */
static WalLsn
earliest_end(SegmentScan *seg, WalLsn start)
{
	const WalDirectory *dir = seg->session->dir;
	WalLsn		left = wal_timelines_left(&dir->timelines, seg->name.timeline);
	WalLsn		end = WAL_LSN_MAX;

	if (left < start + seg->id.segment_size &&
		(left >= start || dir->limits.pg_wal))
		end = left;
	else if (dir->limits.pg_wal && left == WAL_LSN_MAX)
		end = 0;
	return end != WAL_LSN_MAX && wal_borders_next_is_written(&seg->borders) ?
		WAL_LSN_MAX : end;
}

static void
set_limits(SegmentScan *seg, WalWalkOptions *options)
{
	const WalDirectory *dir = seg->session->dir;
	const WalRange *range = &seg->session->range;
	bool		partial = seg->name.kind == WAL_KIND_PARTIAL;
	WalLsn		limit;

	options->limit = WAL_LSN_MAX;
	options->earliest_end = partial ? 0 : WAL_LSN_MAX;
	if (dir == NULL || partial)
		return;
	options->from = range->begin;
	options->limit = range->end;
	if (!wal_live_limit(&dir->limits, seg->name.timeline, &limit))
	{
		options->earliest_end = earliest_end(seg, options->segment_start);
		return;
	}
	options->limit_exact = limit <= range->end;
	if (limit < options->limit)
		options->limit = limit;
}

/* May the whole segment be something that is no WAL? */
static bool
may_be_empty(const WalWalkOptions *options)
{
	return options->limit <= options->segment_start ||
		options->earliest_end <= options->segment_start;
}

/* ---- verdicts that the first pages allow ---- */

/*
 * Is the first page of a timeline that never wrote at its place?  Then a
 * server that left that timeline recycled the file.
 */
static bool
is_from_abandoned_timeline(const SegmentScan *seg,
						   const WalWalkOptions *options)
{
	return seg->id.timeline != 0 &&
		seg->id.timeline < wal_path_at(&options->path,
									   options->segment_start);
}

/*
 * The file holds another segment than its name says.  A server recycles older
 * segments.  One that leaves a timeline recycles those after that point, too.
 */
static void
judge_misplaced(SegmentScan *seg, const WalWalkOptions *options)
{
	bool		recycled = seg->id.address < options->segment_start ||
		options->limit <= options->segment_start ||
		is_from_abandoned_timeline(seg, options);
	WalVerdict	why = verdict_of(WAL_REASON_FILE_MISPLACED, seg->id.address,
								 options->segment_start, seg->id.segment_size);

	if (recycled && may_be_empty(options))
		verdict_of_file(seg, WAL_OK_RECYCLED, &why);
	else
	{
		seg->result->counts.skipped_bytes =
			seg->source.size == WAL_SIZE_UNKNOWN ? seg->id.segment_size :
			seg->source.size;
		verdict_of_file(seg, WAL_CORRUPT, &why);
	}
}

static bool
is_misplaced(const SegmentScan *seg, const WalWalkOptions *options)
{
	return seg->id.magic != 0 &&
		seg->id.address != options->segment_start &&
		seg->id.second_address != options->segment_start &&
		seg->id.address % seg->id.segment_size == 0;
}

/* Returns true if no walk is needed. */
static bool
judge_identity(SegmentScan *seg, const WalWalkOptions *options)
{
	WalVerdict	none = {WAL_REASON_NONE};
	bool		empty = may_be_empty(options);

	/* pg_receivewal creates an empty file first */
	if (seg->source.size == 0 && seg->name.kind != WAL_KIND_PARTIAL)
		return false;
	if (seg->id.unsupported.reason != WAL_REASON_NONE)
		verdict_of_file(seg, WAL_UNSUPPORTED_VERSION, &seg->id.unsupported);
	else if ((seg->id.zero || seg->source.size == 0) && empty)
		verdict_of_file(seg, WAL_OK_UNUSED, &none);
	else if (empty && is_from_abandoned_timeline(seg, options) &&
			 seg->id.address == options->segment_start)
	{
		WalVerdict	why = verdict_of(WAL_REASON_FILE_OLD_TIMELINE,
									 seg->id.timeline,
									 wal_path_at(&options->path, options->segment_start), 0);

		verdict_of_file(seg, WAL_OK_RECYCLED, &why);
	}
	else if (is_misplaced(seg, options))
		judge_misplaced(seg, options);
	else
		return false;
	return true;
}

/* ---- verdicts of the file, after the walk ---- */

/*
 * If its storage failed, that is a finding.  Else it is not known what it
 * holds.
 */
static WalStatus
status_of_failure(const WalVerdict *failed)
{
	return failed->reason == WAL_REASON_FILE_READ ? WAL_IO_ERROR :
		WAL_NOT_VERIFIABLE;
}

/*
 * Does it end where its compressed data does, with a finding of its own or as a
 * file that is still being written?
 */
static bool
is_cut_off(const SegmentScan *seg)
{
	return seg->source.size < seg->id.segment_size &&
		(seg->source.failed.reason != WAL_REASON_NONE ||
		 (seg->name.kind == WAL_KIND_PARTIAL && seg->result->format != DECODE_PLAIN));
}

/*
 * Reports what is wrong with the compressed data, at the place in what it
 * holds.
 */
static void
judge_compression(SegmentScan *seg)
{
	const WalVerdict *failed = &seg->source.failed;
	uint64_t	end = seg->source.size < seg->id.segment_size ?
		seg->source.size : seg->id.segment_size - 1;

	if (failed->reason == WAL_REASON_NONE ||
		seg->name.kind == WAL_KIND_PARTIAL)
		return;
	finding_of_file(seg, WAL_CORRUPT, end, failed);
	seg->result->status = WAL_CORRUPT;
}

static void
judge_size(SegmentScan *seg)
{
	uint64_t	size = seg->source.size;
	uint64_t	expected = seg->id.segment_size;
	WalVerdict	why = verdict_of(WAL_REASON_FILE_SIZE, size, expected, 0);

	if (size == expected || is_cut_off(seg))
		return;
	if (size > expected && seg->result->format != DECODE_PLAIN)
		why.reason = WAL_REASON_COMPRESSED_SIZE;
	finding_of_file(seg, WAL_SIZE_MISMATCH, size < expected ? size : expected,
					&why);
	if (seg->result->status == WAL_OK)
		seg->result->status = WAL_SIZE_MISMATCH;
}

static void
judge_system(SegmentScan *seg)
{
	uint64_t	own = seg->session->server.system;
	WalVerdict	why = verdict_of(WAL_REASON_FILE_SYSTEM, seg->id.system, own, 0);

	if (!seg->id.has_system || seg->id.system == own || own == 0)
		return;
	finding_of_file(seg, WAL_FOREIGN_SYSTEM, WAL_PAGE_SYSTEM, &why);
	if (seg->result->status == WAL_OK)
		seg->result->status = WAL_FOREIGN_SYSTEM;
}

/*
 * A system identifier belongs to one version, since pg_upgrade gives a cluster
 * a new one.  So WAL of this very system has the magic number of this server.
 */
static void
judge_version(SegmentScan *seg)
{
	const HostServer *server = &seg->session->server;
	WalVerdict	why = verdict_of(WAL_REASON_FILE_VERSION, seg->id.magic,
								 server->magic, seg->id.system);

	if (!seg->id.has_system || seg->id.system != server->system ||
		server->magic == 0 || seg->id.magic == 0 || seg->id.magic == server->magic)
		return;
	finding_of_file(seg, WAL_CORRUPT, WAL_PAGE_MAGIC, &why);
	seg->result->status = WAL_CORRUPT;
}

/*
 * pgBackRest names a file by the SHA-1 of its segment.  Where WAL itself tells
 * of damage, that says no more.
 */
static void
judge_sha1(SegmentScan *seg)
{
	if (!seg->sha1_differs || seg->result->counts.errors > 0)
		return;
	finding_of_file(seg, WAL_CORRUPT, 0, &seg->sha1_verdict);
	seg->result->status = WAL_CORRUPT;
}

/* Gives one verdict if no page of the file is WAL, whatever it is. */
static bool
judge_unreadable(SegmentScan *seg)
{
	WalVerdict	why = {WAL_REASON_FILE_UNREADABLE};

	if (seg->source.failed.reason != WAL_REASON_NONE ||
		seg->walker.counts.pages > 0 || seg->id.magic != 0 || seg->id.zero ||
		seg->source.size < seg->id.page_size)
		return false;
	verdict_of_file(seg, WAL_NOT_VERIFIABLE, &why);
	return true;
}

/*
 * pg_receivewal that was started again writes over the compressed file that it
 * finds.  From where it stands there is the rest of the old one, and what was
 * decompressed of that is no WAL.  Damage looks the same.
 */
static bool
judge_overwritten(SegmentScan *seg)
{
	const WalVerdict *failed = &seg->source.failed;

	if (seg->name.kind != WAL_KIND_PARTIAL ||
		failed->reason == WAL_REASON_NONE ||
		failed->reason == WAL_REASON_COMPRESSED_TRUNCATED)
		return false;
	verdict_of_file(seg, WAL_NOT_VERIFIABLE, failed);
	return true;
}

/* Sets the status of a segment that was walked, worst first. */
static void
judge_walk(SegmentScan *seg)
{
	static const WalStatus statuses[] = {
		[WAL_OUTCOME_FULL] = WAL_OK,
		[WAL_OUTCOME_ENDED] = WAL_OK_END_OF_WAL,
		[WAL_OUTCOME_SWITCHED] = WAL_OK_SWITCHED,
	};
	WalSegmentResult *result = seg->result;
	const WalWalker *walker = &seg->walker;

	result->counts = walker->counts;
	result->end_lsn = walker->end;
	result->magic = walker->version != NULL ? walker->version->magic : 0;
	result->has_counts = true;
	result->counts.skipped_bytes += seg->source.size % seg->id.page_size;
	if (judge_unreadable(seg) || judge_overwritten(seg))
		return;
	result->status = WAL_OK;
	judge_compression(seg);
	judge_size(seg);
	judge_system(seg);
	judge_version(seg);
	judge_sha1(seg);
	if (walker->counts.errors > 0)
		result->status = WAL_CORRUPT;
	else if (result->status == WAL_OK)
		result->status = seg->name.kind == WAL_KIND_PARTIAL ? WAL_OK_PARTIAL :
			statuses[walker->outcome];
}

/* Says what a reader of the row should know. */
static void
explain(SegmentScan *seg)
{
	WalSegmentResult *result = seg->result;
	const WalCounts *counts = &result->counts;
	WalNeighbour before = seg->borders.before;
	WalNeighbour after = seg->borders.after;
	bool		tail = counts->tail_bytes > 0 && result->status == WAL_OK;

	/* there, and the record could not be found in it */
	if (before == WAL_NEIGHBOUR_OK)
		before = WAL_NEIGHBOUR_DAMAGED;
	if (after == WAL_NEIGHBOUR_OK)
		after = WAL_NEIGHBOUR_DAMAGED;
	if (result->message.reason != WAL_REASON_NONE)
		return;
	if (counts->errors > 0)
		result->message = counts->first_verdict;
	else if (counts->head_bytes > 0 && counts->tail_bytes > 0)
		result->message = verdict_of(WAL_REASON_BORDERS_OPEN, before, after, 0);
	else if (counts->head_bytes > 0)
		result->message = verdict_of(WAL_REASON_START_OPEN, before, after, 0);
	else if (tail)
		result->message = verdict_of(WAL_REASON_END_OPEN, before, after, 0);
	else if (counts->aborted > 0)
		result->message = verdict_of(WAL_REASON_ABORTED_CONTRECORD,
									 counts->aborted, 0, 0);
	else if (counts->recycled_bytes > 0)
		result->message = verdict_of(WAL_REASON_RECYCLED_TAIL, 0, 0, 0);
}

/* ---- one pass ---- */

/*
 * Walks the whole pages of the source, up to a segment's size, save those that
 * were walked before.  Where these are all, so was the end.
 */
static void
walk_source(SegmentScan *seg)
{
	uint32_t	page_size = seg->id.page_size;
	uint64_t	end = seg->source.size < seg->id.segment_size ?
		seg->source.size : seg->id.segment_size;
	uint64_t	offset = seg->borders.walked;

	if (offset == seg->id.segment_size)
	{
		seg->source.size = offset;
		return;
	}
	while (offset < end)
	{
		uint64_t	next = offset - offset % WAL_PIECE_BYTES + WAL_PIECE_BYTES;
		uint64_t	wanted = (next < end ? next : end) - offset;
		size_t		len;
		const uint8_t *piece = wal_source_piece(&seg->source, offset, wanted,
												&len);
		size_t		pages = len - len % page_size;

		if (seg->session->records == NULL)
			seg->crc = checksum_crc32c(seg->crc, piece, len);
		if (seg->sha1 != NULL)
			host_sha_add(seg->sha1, piece, len);
		for (size_t at = 0; at < pages; at += page_size)
			wal_walk_page(&seg->walker, piece + at);
		offset += len;
		if (len < wanted)
		{
			seg->source.size = offset;	/* shorter than it was */
			break;
		}
	}
	wal_source_measure(&seg->source, seg->id.segment_size);
}

/* A cluster keeps its page size, so a file of our own need not tell it. */
static void
correct_page_size(SegmentScan *seg)
{
	const HostServer *server = &seg->session->server;

	if (server->magic != 0 && seg->id.has_system &&
		seg->id.system == server->system)
		seg->id.page_size = server->page_size;
}

/* Finds out what the file is, from its first pages. */
static void
identify(SegmentScan *seg)
{
	const WalSession *session = seg->session;
	uint32_t	segment_size = session->dir != NULL ?
		session->dir->limits.segment_size : session->server.segment_size;
	size_t		len;
	const uint8_t *data = wal_source_piece(&seg->source, 0, WAL_PIECE_BYTES,
										   &len);

	wal_identify(&seg->id, data, len,
				 seg->source.size == WAL_SIZE_UNKNOWN ? segment_size :
				 seg->source.size, session->server.page_size, segment_size);
	correct_page_size(seg);
	seg->result->magic = seg->id.magic;
	seg->segno = wal_name_segno(&seg->name, seg->id.segment_size);
	seg->borders.dir = session->dir;
	seg->borders.files = session->files;
	seg->borders.id = &seg->id;
	seg->borders.timeline = seg->name.timeline;
	seg->borders.segno = seg->segno;
	seg->borders.buffer = session->buffer;
	seg->borders.file = seg->source.file;
	seg->borders.carry = session->carry;
	seg->borders.whole = seg->name.has_digest && session->records == NULL;
}

static void
set_options(SegmentScan *seg, WalWalkOptions *options)
{
	WalPath		alone = {seg->name.timeline, false, 0, NULL};

	memset(options, 0, sizeof(*options));
	options->path = seg->session->dir == NULL ? alone :
		wal_timelines_path(&seg->session->dir->timelines, seg->name.timeline);
	options->segment_size = seg->id.segment_size;
	options->segment_start = seg->segno * seg->id.segment_size;
	options->page_size = seg->id.page_size;
	options->magic = seg->id.magic;
	options->finding = emit_finding;
	options->arg = seg;
	if (seg->id.has_system && seg->id.system == seg->session->server.system)
		options->records = seg->records;
	set_limits(seg, options);
}

/* Returns the first bytes of a SHA-1, as they are printed. */
static uint64_t
first_of_sha1(const uint8_t *digest)
{
	uint64_t	value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | digest[i];
	return value;
}

/* Is the SHA-1 of a whole segment that in its name? */
static void
compare_sha1(SegmentScan *seg)
{
	uint8_t		digest[HOST_SHA1_BYTES];
	bool		known = host_sha_end(seg->sha1, digest);

	seg->sha1 = NULL;
	seg->sha1_differs = known && seg->source.size == seg->id.segment_size &&
		memcmp(digest, seg->name.digest, HOST_SHA1_BYTES) != 0;
	if (seg->sha1_differs)
		seg->sha1_verdict = verdict_of(WAL_REASON_FILE_DIGEST, first_of_sha1(digest),
									   first_of_sha1(seg->name.digest), 0);
}

/* Walks the segment.  Returns false if it cannot be read. */
static bool
walk(SegmentScan *seg, const WalWalkOptions *options)
{
	wal_borders_enter(&seg->borders, &seg->walker, options);
	seg->crc = seg->borders.crc;
	seg->sha1 = seg->borders.whole ? host_sha_begin(HOST_SHA1) : NULL;
	walk_source(seg);
	if (seg->sha1 != NULL)
		compare_sha1(seg);
	if (wal_reason_unreadable(seg->source.failed.reason))
	{
		verdict_of_file(seg, status_of_failure(&seg->source.failed),
						&seg->source.failed);
		return false;
	}
	if (seg->source.size >= seg->id.segment_size)
	{
		seg->hands_over = seg->name.kind == WAL_KIND_SEGMENT &&
			wal_walk_hands_over(&seg->walker);
		if (seg->hands_over)
			seg->at_end = seg->walker;
		wal_borders_leave(&seg->borders, &seg->walker);
	}
	wal_walk_finish(&seg->walker);
	return true;
}

static void
judge_pass(SegmentScan *seg)
{
	WalSegmentResult *result = seg->result;
	WalWalkOptions options;

	memset(result, 0, sizeof(*result));
	result->name = seg->name;
	result->has_format = true;
	seg->digest = CHECKSUM_CRC_INIT;
	seg->hands_over = false;
	seg->sha1_differs = false;
	seg->source.failed.reason = WAL_REASON_NONE;
	if (seg->findings != NULL)
		seg->findings->count = 0;
	identify(seg);
	result->format = seg->source.file == NULL ? DECODE_PLAIN :
		seg->source.file->format;
	if (!wal_name_possible(&seg->name, seg->id.segment_size))
	{
		WalVerdict	why = verdict_of(WAL_REASON_FILE_NAME, 0,
									 seg->id.segment_size, 0);

		verdict_of_file(seg, WAL_CORRUPT, &why);
		return;
	}
	result->has_position = true;
	result->start_lsn = seg->segno * seg->id.segment_size;
	if (wal_reason_unreadable(seg->source.failed.reason))
	{
		verdict_of_file(seg, status_of_failure(&seg->source.failed),
						&seg->source.failed);
		return;
	}
	set_options(seg, &options);
	if (judge_identity(seg, &options) || !walk(seg, &options))
		return;
	judge_walk(seg);
	if (seg->source.size == seg->id.segment_size &&
		seg->session->records == NULL)
	{
		result->has_crc = true;
		result->crc = seg->crc ^ CHECKSUM_CRC_INIT;
	}
}

/* ---- one segment ---- */

/*
 * Has the file no valid page, and a first one that was zero and still is?
 * Then another pass would say the same.  A writer would have begun there.
 */
static bool
is_zero_for_good(SegmentScan *seg)
{
	uint64_t	size = seg->source.size;
	size_t		len;
	const uint8_t *page;

	if (!seg->id.zero || seg->walker.counts.pages > 0 ||
		seg->result->counts.errors != 1)
		return false;
	wal_source_restart(&seg->source);
	page = wal_source_piece(&seg->source, 0, seg->id.page_size, &len);
	return len == seg->id.page_size && wal_is_zero(page, len) &&
		(seg->source.size == WAL_SIZE_UNKNOWN || seg->source.size == size);
}

/* Passes over a file until two in succession find the same. */
static void
judge_file(SegmentScan *seg)
{
	uint32_t	digest = 0;
	uint32_t	errors = 0;

	for (int pass = 0; pass < MAX_PASSES; pass++)
	{
		if (pass > 0)
			wal_source_restart(&seg->source);
		seg->borders.again = pass > 0;
		judge_pass(seg);
		if (seg->result->status != WAL_CORRUPT &&
			seg->result->status != WAL_SIZE_MISMATCH)
			break;
		if ((errors == seg->result->counts.errors && digest == seg->digest) ||
			is_zero_for_good(seg))
			break;
		errors = seg->result->counts.errors;
		digest = seg->digest;
		seg->records = NULL;
	}
}

/* Returns why what was found is of bytes that may be others now, if it is. */
static WalReason
find_change(SegmentScan *seg)
{
	WalFile    *file = seg->source.file;
	WalStatus	status = seg->result->status;

	if (!file_scan_still_there(&file->scan))
		return WAL_REASON_FILE_REPLACED;
	if ((status == WAL_CORRUPT || status == WAL_SIZE_MISMATCH) &&
		seg->source.size < seg->id.segment_size &&
		wal_file_grows(file, &seg->session->pauses))
		return WAL_REASON_FILE_GROWING;
	return WAL_REASON_NONE;
}

/* Has the file changed?  Then the findings go. */
static void
judge_change(SegmentScan *seg)
{
	WalReason	reason = find_change(seg);

	if (reason == WAL_REASON_NONE)
		return;
	seg->result->counts.errors = 0;
	if (seg->findings != NULL)
		seg->findings->count = 0;
	seg->result->status = WAL_OK_REMOVED;
	seg->result->message = verdict_of(reason, 0, 0, 0);
	if (seg->session->carry != NULL)
		memset(seg->session->carry, 0, sizeof(WalCarry));
}

/* Hands what was found at the end over to the next segment. */
static void
hand_over(SegmentScan *seg)
{
	WalCarry   *carry = seg->session->carry;

	carry->has_start = seg->hands_over && seg->id.has_system;
	if (!carry->has_start)
		return;
	carry->magic = seg->id.magic;
	carry->system = seg->id.system;
	carry->walker = seg->at_end;
}

static SegmentScan *
segment_begin(WalSession *session, const WalName *name,
			  WalSegmentResult *result, WalFindings *findings)
{
	SegmentScan *seg = host_alloc(sizeof(SegmentScan));

	memset(seg, 0, sizeof(*seg));
	seg->session = session;
	seg->name = *name;
	seg->result = result;
	seg->findings = findings;
	seg->records = session->records;
	return seg;
}

FileScanResult
wal_segment_judge(WalSession *session, const WalName *name,
				  WalSegmentResult *result, WalFindings *findings)
{
	FileScanResult opened;
	WalFile    *file = wal_files_open(session->files, name, &opened);
	SegmentScan *seg;

	if (file == NULL)
		return opened;
	seg = segment_begin(session, name, result, findings);
	seg->source = wal_source_file(file, session->buffer);
	judge_file(seg);
	hand_over(seg);
	judge_change(seg);
	explain(seg);
	wal_files_close(session->files, file);
	host_free(seg);
	return FILE_SCAN_OK;
}

void
wal_segment_judge_alone(WalSession *session, WalFile *file,
						const WalName *name, WalSegmentResult *result)
{
	SegmentScan *seg = segment_begin(session, name, result, NULL);

	session->buffer = host_alloc(WAL_PIECE_BYTES);
	seg->source = wal_source_file(file, session->buffer);
	judge_file(seg);
	judge_change(seg);
	explain(seg);
	host_free(session->buffer);
	session->buffer = NULL;
	host_free(seg);
}

void
wal_segment_judge_bytes(WalSession *session, const uint8_t *data,
						uint64_t size, const WalName *name,
						WalSegmentResult *result)
{
	SegmentScan *seg = segment_begin(session, name, result, NULL);

	seg->source = wal_source_bytes(data, size);
	judge_pass(seg);
	explain(seg);
	host_free(seg);
}

void
wal_segment_words(const WalSegmentResult *result, char words[WAL_RESULT_WORDS])
{
	size_t		len;

	words[0] = '\0';
	if (result->message.reason != WAL_REASON_NONE)
		wal_verdict_words(&result->message, words);
	len = strlen(words);
	if (len > 0 && result->counts.errors > 1)
		snprintf(words + len, WAL_RESULT_WORDS - len, " (and %u more)",
				 result->counts.errors - 1);
}

/* ---- names of a list ---- */

/* Makes a row for a name that is not judged. */
static void
row_of_name(const WalSession *session, const WalName *name,
			WalSegmentResult *result, WalStatus status, WalReason reason,
			int error)
{
	uint32_t	size = session->dir->limits.segment_size;

	memset(result, 0, sizeof(*result));
	result->name = *name;
	result->has_position = wal_name_possible(name, size);
	result->start_lsn = wal_name_segno(name, size) * size;
	result->status = status;
	result->message = verdict_of(reason, (uint64_t) error, 0, 0);
}

/*
 * Tells why a file that cannot be opened is missing.  The name may be a link.
 */
static WalReason
find_absence(const WalSession *session, const WalName *name)
{
	char	   *path = wal_directory_file(session->dir, name);
	struct stat status;
	bool		there = lstat(path, &status) == 0 && S_ISLNK(status.st_mode) &&
		stat(path, &status) != 0;

	host_free(path);
	return there ? WAL_REASON_FILE_LINK : WAL_REASON_FILE_MISSING;
}

void
wal_segment_missing(const WalSession *session, const WalName *name,
					WalSegmentResult *result, WalFindings *findings)
{
	WalFinding	finding = {0};

	row_of_name(session, name, result, WAL_MISSING, find_absence(session, name), 0);
	finding.lsn = result->start_lsn;
	finding.status = result->status;
	finding.verdict = result->message;
	if (findings != NULL)
		keep_finding(findings, &finding);
}

void
wal_segment_none(const WalDirectory *dir, WalSegmentResult *result)
{
	memset(result, 0, sizeof(*result));
	result->status = WAL_NOT_VERIFIABLE;
	result->message = verdict_of(WAL_REASON_NO_SEGMENT,
								 wal_directory_listing(dir)->others, 0, 0);
}

WalStatus
wal_status_of_open(int error)
{
	return error == EIO ? WAL_IO_ERROR : WAL_NOT_VERIFIABLE;
}

/* Makes a row for a file of the list that could not be opened. */
static void
row_of_unopened(WalSession *session, const WalName *name,
				WalSegmentResult *result, FileScanResult opened, int error)
{
	if (opened == FILE_SCAN_MISSING)
	{
		wal_segment_missing(session, name, result, NULL);
		if (result->message.reason == WAL_REASON_FILE_LINK)
			return;
		row_of_name(session, name, result, WAL_OK_REMOVED,
					WAL_REASON_FILE_GONE, 0);
	}
	else if (opened == FILE_SCAN_IRREGULAR)
		row_of_name(session, name, result, WAL_NOT_VERIFIABLE,
					WAL_REASON_FILE_IRREGULAR, 0);
	else
		row_of_name(session, name, result, wal_status_of_open(error),
					WAL_REASON_FILE_OPEN, error);
}

void
wal_segment_judge_entry(WalSession *session, const WalName *name,
						WalSegmentResult *result)
{
	FileScanResult opened;

	if (name->kind == WAL_KIND_MISSING)
	{
		bool		removed = wal_list_was_removed(session->dir, name);

		row_of_name(session, name, result,
					removed ? WAL_OK_REMOVED : WAL_MISSING,
					removed ? WAL_REASON_FILE_REMOVED : WAL_REASON_FILE_MISSING, 0);
		return;
	}
	opened = wal_segment_judge(session, name, result, NULL);
	if (opened != FILE_SCAN_OK)
		row_of_unopened(session, name, result, opened, errno);
}
