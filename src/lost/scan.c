/*
 * scan.c
 *	  Finds lost writes, that is pages on disk that are older than WAL allows.
 *
 * The order of steps makes it exact.  The horizon (the redo point of the last
 * completed checkpoint) is taken first.  Then the WAL before it is read, and
 * then the disk.  Then locks are taken and suspects are read again.  Last, the
 * WAL up to its end as it is by then is read for storage that ended.  A break
 * in the chain of records may have held such an end.  So what was proved
 * before it is forgotten, and a row says so.
 *
 * Suspects are also settled when there is no more room for them, since a
 * relation that was truncated in WAL not yet read gives many.
 */
#include "compat.h"

#include "commands/tablespace.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "lost/scan.h"
#include "lost/server.h"
#include "page/map_witness.h"
#include "wal/stream.h"

/* Relations whose locks are held at a time. */
#define LOCKS_MAX		64

/* After so many records it is asked whether they are enough. */
#define ENOUGH_RECORDS	64

typedef struct LostScan
{
	/* the run */
	const LostOptions *options;
	LostFindingFn finding;
	void	   *arg;
	WalPath		path;			/* of the server's timeline */
	WalLsn		horizon;
	LostWitnesses witnesses;
	WalStream	stream;
	WalBlocks  *blocks;			/* of the record at work */
	uint64		records;
	bool		survey;
	List	   *databases;		/* of a survey, with something to decide */

	/* what is known */
	LostBook	book;
	LostSuspects suspects;
	WalLsn		lsn;			/* where the record at work starts */
	WalLsn		end;

	/* the last break of the chain */
	bool		broken;
	WalBlockGap gap;

	/* reading on to the end, for suspects that are decided */
	LostBook	tail;			/* ends of storage alone */
	LostSuspects decided;
	WalLsn		tail_lsn;
	bool		tail_broken;
	WalBlockGap tail_gap;
	const char *tail_why;		/* why it was not read, or NULL if the gap
								 * tells */
} LostScan;

static void settle(LostScan *scan, WalLsn from);

/* ---- rows ---- */

/* A row about no block. */
static void
report_message(LostScan *scan, const char *segment, bool unread,
			   const char *message)
{
	LostFinding finding;

	memset(&finding, 0, sizeof(finding));
	finding.status = LOST_NOT_VERIFIABLE;
	finding.unread = unread;
	finding.fork = InvalidForkNumber;
	strlcpy(finding.segment, segment, sizeof(finding.segment));
	strlcpy(finding.message, message, sizeof(finding.message));
	scan->finding(scan->arg, &finding);
}

/* What could not be judged, up to an LSN, for a gap in the WAL. */
static void
report_unjudged(LostScan *scan, const char *what, WalLsn lsn,
				const WalBlockGap *gap)
{
	char		words[WAL_MESSAGE_SIZE];
	char		segment[WAL_NAME_SIZE];
	char	   *message;

	wal_trouble_words(&gap->verdict, gap->status, words);
	wal_name_print(&gap->segment, segment);
	message = psprintf("%s %X/%X cannot be judged: segment %s: %s", what,
					   LSN_FORMAT_ARGS(lsn), segment, words);
	report_message(scan, segment, gap->status == WAL_MISSING, message);
	pfree(message);
}

/* The segment that holds the end of the record. */
static void
name_segment(const LostScan *scan, WalLsn lsn, char *dst)
{
	uint32_t	size = scan->options->own->limits.segment_size;
	WalName		name = wal_name_of(scan->path.known ?
								   wal_path_at(&scan->path, lsn - 1) :
								   scan->path.timeline, (lsn - 1) / size, size,
								   WAL_KIND_SEGMENT);

	wal_name_print(&name, dst);
}

/* Who still has the page that was not written, in words. */
static void
describe_copies(const LostSuspect *suspect, char *dst, size_t size)
{
	int			n = 0;

	dst[0] = '\0';
	if (suspect->page_cache_lsn >= suspect->entry.lsn)
		n = snprintf(dst, size, "; the page cache holds the page with LSN %X/%X",
					 LSN_FORMAT_ARGS(suspect->page_cache_lsn));
	if (suspect->cached_lsn >= suspect->entry.lsn)
		snprintf(dst + n, size - n,
				 "; shared buffers hold the page with LSN %X/%X, %s",
				 LSN_FORMAT_ARGS(suspect->cached_lsn), suspect->dirty ?
				 "which will be written" : "which will not be written unless it changes");
}

static void
describe(const LostSuspect *suspect, const char *disk, char *dst, size_t size)
{
	char		copy[SCAN_MESSAGE_SIZE];

	describe_copies(suspect, copy, sizeof(copy));
	if (suspect->damaged)
	{
		snprintf(dst, size, "a write was lost: the page on %s is damaged, and shared buffers hold an older one with LSN %X/%X, WAL wants %X/%X or later",
				 disk, LSN_FORMAT_ARGS(suspect->cached_lsn),
				 LSN_FORMAT_ARGS(suspect->entry.lsn));
		return;
	}
	switch (suspect->status)
	{
		case LOST_STALE_PAGE:
			snprintf(dst, size, "a write was lost: the page on %s has LSN %X/%X, WAL wants %X/%X or later%s",
					 disk, LSN_FORMAT_ARGS(suspect->disk_lsn),
					 LSN_FORMAT_ARGS(suspect->entry.lsn), copy);
			break;
		case LOST_ZEROED_PAGE:
			snprintf(dst, size, "a write was lost: the page on %s is all zero, WAL wants LSN %X/%X or later%s",
					 disk, LSN_FORMAT_ARGS(suspect->entry.lsn), copy);
			break;
		case LOST_MISSING_BLOCK:
			snprintf(dst, size, "a write was lost: the file ends before the block, WAL wants LSN %X/%X or later",
					 LSN_FORMAT_ARGS(suspect->entry.lsn));
			break;
		default:
			snprintf(dst, size, "could not read the block: %s",
					 strerror(suspect->error));
			break;
	}
}

static void
report_suspect(LostScan *scan, const LostSuspect *suspect)
{
	LostFinding finding;

	memset(&finding, 0, sizeof(finding));
	finding.relid = suspect->relid;
	finding.fork = (ForkNumber) suspect->entry.tag.fork;
	finding.block = suspect->entry.tag.block;
	finding.status = suspect->status;
	finding.damaged = suspect->damaged;
	finding.disk_lsn = suspect->disk_lsn;
	finding.expected_lsn = suspect->entry.lsn;
	lost_disk_path(&suspect->entry.tag, finding.path);
	name_segment(scan, suspect->entry.lsn, finding.segment);
	describe(suspect, scan->options->direct ? "the device" : "disk",
			 finding.message, sizeof(finding.message));
	scan->finding(scan->arg, &finding);
}

/* ---- suspects ---- */

/* Is it a block to be judged? */
static inline bool
is_wanted(const LostScan *scan, const WalBlockTag *tag)
{
	if (scan->survey)
		return !list_member_oid(scan->databases, tag->database);
	return lost_disk_is_ours(tag) &&
		(tag->database != InvalidOid || !scan->options->leave_shared);
}

/* Drops those whose storage ended, by a closed book. */
static void
strike_out(LostSuspects *suspects, const LostBook *book, bool locked)
{
	size_t		n = 0;

	for (size_t i = 0; i < suspects->count; i++)
	{
		const LostSuspect *suspect = &suspects->items[i];

		if (!lost_book_ended(book, &suspect->entry.tag, suspect->entry.lsn))
			suspects->items[n++] = *suspect;
		else if (locked)
			UnlockRelationOid(suspect->relid, AccessShareLock);
	}
	suspects->count = n;
}

/* Holds what the book proves against the disk, and begins it anew. */
static void
flush_book(LostScan *scan, WalLsn from)
{
	LostBook   *book = &scan->book;
	size_t		at = 0;

	lost_book_close(book);
	strike_out(&scan->suspects, book, false);
	while ((at = lost_disk_ask(book->entries, at, book->count,
							   &scan->suspects)) < book->count)
		settle(scan, from);
	lost_book_reopen(book);
}

static void
forget(LostScan *scan)
{
	lost_book_close(&scan->book);
	lost_book_reopen(&scan->book);
	scan->suspects.count = 0;
}

/* ---- records ---- */

static void
note_break(void *arg, const WalBlockGap *gap)
{
	LostScan   *scan = arg;

	forget(scan);
	scan->broken = true;
	scan->gap = *gap;
}

static void
note_end(void *arg, const LostEvent *event)
{
	LostScan   *scan = arg;

	if (lost_book_end(&scan->book, event, scan->end))
		return;
	flush_book(scan, scan->lsn);
	lost_book_end(&scan->book, event, scan->end);
}

static void
note_proof(LostScan *scan, const WalBlockTag *tag, LostProof proof)
{
	if (lost_book_prove(&scan->book, tag, proof, scan->end))
		return;
	flush_book(scan, scan->lsn);
	lost_book_prove(&scan->book, tag, proof, scan->end);
}

/* A record that cannot be understood may have said anything. */
static WalBlockGap
gap_of(const WalBlockRecord *record)
{
	WalBlockGap gap = {record->lsn, record->end, *record->segment, WAL_CORRUPT};

	gap.verdict.reason = WAL_REASON_RECORD_LENGTH;
	gap.verdict.at = record->lsn;
	gap.verdict.value = record->len;
	return gap;
}

/* Does what most records need.  Returns false if this one must be decoded. */
static inline bool
note_single(LostScan *scan, const WalBlockRecord *record,
			const LostForkRule *rule)
{
	WalBlockTag tag;
	uint8_t		id;

	if (rule->need != LOST_NEED_NOTHING ||
		!wal_blocks_single(record->bytes, record->present, &tag, &id) ||
		tag.fork != WAL_FORK_MAIN)
		return false;
	if ((rule->ids >> id & 1) != 0 && is_wanted(scan, &tag))
		note_proof(scan, &tag, (LostProof) rule->proof);
	return true;
}

static void
note_references(LostScan *scan, const LostWitnessRule *rule)
{
	for (int i = 0; i < scan->blocks->count; i++)
	{
		const WalBlockRef *ref = &scan->blocks->refs[i];
		LostProof	proof;

		if (!is_wanted(scan, &ref->tag))
			continue;
		proof = lost_witness(rule, scan->blocks, ref);
		if (proof != LOST_PROOF_NONE)
			note_proof(scan, &ref->tag, proof);
	}
}

/* One that is about storage, or has more than a plain block. */
static void
note_decoded(LostScan *scan, const WalBlockRecord *record, bool event,
			 const LostWitnessRule *rule)
{
	const uint8_t *rec = record->bytes;

	if (wal_blocks_decode(scan->blocks, rec, record->present, BLCKSZ) != WAL_BLOCKS_OK ||
		(event && !lost_events(rec, scan->blocks, note_end, scan)))
	{
		WalBlockGap gap = gap_of(record);

		note_break(scan, &gap);
	}
	else if (rule != NULL)
		note_references(scan, rule);
}

static void
note_record(void *arg, const WalBlockRecord *record)
{
	LostScan   *scan = arg;
	bool		event = wal_storage_possible(record->bytes);
	const LostWitnessRule *rule = lost_witness_rule(&scan->witnesses,
													record->bytes);

	if (scan->options->enough != NULL && ++scan->records % ENOUGH_RECORDS == 0)
		scan->stream.stop = scan->options->enough(scan->arg, scan->book.count);
	if (!event && rule == NULL)
		return;
	scan->lsn = record->lsn;
	scan->end = record->end;
	if (event || !note_single(scan, record, &rule->main))
		note_decoded(scan, record, event, rule);
}

/* ---- settling ---- */

static void
note_tail_break(void *arg, const WalBlockGap *gap)
{
	LostScan   *scan = arg;

	scan->tail_broken = true;
	scan->tail_gap = *gap;
}

static void
flush_tail(LostScan *scan)
{
	lost_book_close(&scan->tail);
	strike_out(&scan->decided, &scan->tail, !scan->survey);
	lost_book_reopen(&scan->tail);
}

static void
note_tail_end(void *arg, const LostEvent *event)
{
	LostScan   *scan = arg;

	if (lost_book_end(&scan->tail, event, scan->tail_lsn))
		return;
	flush_tail(scan);
	lost_book_end(&scan->tail, event, scan->tail_lsn);
}

static void
note_tail_record(void *arg, const WalBlockRecord *record)
{
	LostScan   *scan = arg;
	WalBlockGap gap;
	WalBlocks	blocks;

	if (!wal_storage_possible(record->bytes))
		return;
	scan->tail_lsn = record->end;
	if (wal_blocks_decode(&blocks, record->bytes, record->present, BLCKSZ) == WAL_BLOCKS_OK &&
		lost_events(record->bytes, &blocks, note_tail_end, scan))
		return;
	gap = gap_of(record);
	note_tail_break(scan, &gap);
}

/*
 * Opens pg_wal as it is now.  Returns false if it may say no more of this
 * run's timeline.  The end of the WAL, asked for before, is of no later
 * timeline than pg_wal.
 */
static bool
open_now(LostScan *scan, WalDirectory *now)
{
	const char *path = scan->options->own->path;

	scan->tail_why = NULL;
	if (wal_directory_open(now, path, path, scan->options->own->limits.direct,
						   NULL) != WAL_DIRECTORY_OK)
		scan->tail_why = "could not read pg_wal again";
	else if (now->limits.limits[0].timeline != scan->path.timeline)
		scan->tail_why = "a new timeline began meanwhile";
	return scan->tail_why == NULL;
}

/* Runs in a memory context of its own, so nothing that is allocated stays. */
static bool
read_tail_here(LostScan *scan, WalLsn from)
{
	const WalDirectory *own = scan->options->own;
	WalLsn		end = lost_server_end(own->limits.segment_size);
	WalDirectory now;
	WalStream	stream = scan->stream;

	if (from >= end)
		return true;
	if (!open_now(scan, &now))
		return false;
	stream.own = &now;
	stream.throttle = NULL;		/* relations are locked */
	if (stream.dir == own)
		stream.dir = &now;
	stream.record = note_tail_record;
	stream.broken = note_tail_break;
	scan->tail_broken = false;
	wal_stream_read(&stream, from, end);
	flush_tail(scan);
	if (!stream.complete)
		scan->tail_gap = stream.rest;
	return stream.complete && !scan->tail_broken;
}

/*
 * Reads on to the end of the WAL as it is now, which pg_wal, opened anew, has.
 * Returns true if all that decided suspects need is known.
 */
static bool
read_tail(LostScan *scan, WalLsn from)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "crc32c_accel tail of WAL",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(work);
	bool		known = read_tail_here(scan, from);

	MemoryContextSwitchTo(before);
	MemoryContextDelete(work);
	return known;
}

/*
 * Decides suspects from the at-th on, of so many relations as may be locked.
 * Waits for one only while it holds none of the others, so that there is no
 * deadlock between them.
 */
static size_t
decide_some(LostScan *scan, size_t at)
{
	LostSuspects *decided = &scan->decided;
	bool		direct = scan->options->direct;
	int			nlocks = 0;
	Oid			last = InvalidOid;

	for (; at < scan->suspects.count && decided->count < decided->room; at++)
	{
		LostSuspect suspect = scan->suspects.items[at];
		bool		found;

		if (nlocks == 0)
			found = lost_disk_decide(&suspect, direct);
		else if (!lost_disk_decide_at_once(&suspect, direct, &found))
			return at;
		if (!found)
			continue;
		decided->items[decided->count++] = suspect;
		nlocks += suspect.relid != last;
		last = suspect.relid;
		if (nlocks == LOCKS_MAX)
			return at + 1;
	}
	return at;
}

/* Says why the tail is not known. */
static void
report_tail_unknown(LostScan *scan)
{
	static const char what[] = "blocks that seem older than WAL before";
	char	   *message;

	if (scan->tail_why == NULL)
	{
		report_unjudged(scan, what, scan->horizon, &scan->tail_gap);
		return;
	}
	message = psprintf("%s %X/%X cannot be judged: %s", what,
					   LSN_FORMAT_ARGS(scan->horizon), scan->tail_why);
	report_message(scan, "", false, message);
	pfree(message);
}

static void
report_decided(LostScan *scan, bool known)
{
	LostSuspects *decided = &scan->decided;

	if (!known && decided->count > 0)
		report_tail_unknown(scan);
	for (size_t i = 0; i < decided->count; i++)
	{
		if (known)
			report_suspect(scan, &decided->items[i]);
		UnlockRelationOid(decided->items[i].relid, AccessShareLock);
	}
	decided->count = 0;
}

/*
 * Notes the databases of suspects, and drops these.  Those whose storage has
 * ended since would be struck out there, too.
 */
static void
note_databases(LostScan *scan, WalLsn from)
{
	LostSuspects *suspects = &scan->suspects;
	LostSuspects *decided = &scan->decided;

	for (size_t at = 0; at < suspects->count; at += decided->room)
	{
		decided->count = Min(decided->room, suspects->count - at);
		memcpy(decided->items, &suspects->items[at],
			   decided->count * sizeof(LostSuspect));
		(void) read_tail(scan, from);
		for (size_t i = 0; i < decided->count; i++)
			scan->databases = list_append_unique_oid(scan->databases,
													 decided->items[i].entry.tag.database);
	}
	decided->count = suspects->count = 0;
}

/*
 * Names those suspects that are lost writes and drops them all.  WAL before
 * from is known to say nothing of them.
 */
static void
settle(LostScan *scan, WalLsn from)
{
	size_t		at = 0;

	if (scan->survey)
	{
		note_databases(scan, from);
		return;
	}
	while (at < scan->suspects.count)
	{
		at = decide_some(scan, at);
		if (scan->decided.count > 0)
			report_decided(scan, read_tail(scan, from));
	}
	scan->suspects.count = 0;
}

/* ---- the run ---- */

static void
allot(LostSuspects *suspects, size_t bytes)
{
	suspects->room = Max(bytes / sizeof(LostSuspect), 16);
	suspects->items = palloc_extended(suspects->room * sizeof(LostSuspect),
									  MCXT_ALLOC_HUGE);
	suspects->count = 0;
}

/*
 * The book has three of eight parts of the memory, and as many for a moment
 * while it is sorted.  Suspects, decided or not, and the tail share the rest.
 */
static void
begin(LostScan *scan)
{
	size_t		part = scan->options->memory / 8;

	lost_witnesses_begin(&scan->witnesses,
						 scan->options->own->limits.server.magic);
	lost_book_open(&scan->book, palloc_extended(part * 3, MCXT_ALLOC_HUGE),
				   part * 3, MAP_BLOCKS_PER_PAGE);
	lost_book_open(&scan->tail, palloc_extended(part / 2, MCXT_ALLOC_HUGE),
				   part / 2, MAP_BLOCKS_PER_PAGE);
	allot(&scan->suspects, part);
	allot(&scan->decided, part / 2);
	scan->blocks = palloc(sizeof(WalBlocks));
	scan->path = wal_timelines_path(&scan->options->own->timelines,
									scan->options->own->limits.limits[0].timeline);
	scan->stream.dir = scan->options->dir;
	scan->stream.own = scan->options->own;
	scan->stream.timeline = scan->path.timeline;
	scan->stream.record = note_record;
	scan->stream.broken = note_break;
	scan->stream.arg = scan;
	scan->stream.throttle = scan->suspects.throttle = scan->options->throttle;
	scan->suspects.survey = scan->survey;
	scan->suspects.pass_over = scan->options->pass_over;
	if (scan->options->direct)
		scan->suspects.window = file_window_new(scan->options->throttle);
	scan->suspects.enough = scan->options->enough;
	scan->suspects.arg = scan->arg;
}

/* Is the directory's WAL this server's?  Else a row says why not. */
static bool
is_own_history(LostScan *scan)
{
	char		segment[WAL_NAME_SIZE];
	WalName		name;

	if (scan->options->dir == scan->options->own)
		return true;
	switch (wal_stream_history(scan->options->dir, scan->options->own,
							   scan->path.timeline, &name))
	{
		case WAL_STREAM_SAME:
			return true;
		case WAL_STREAM_OTHER:
			wal_name_print(&name, segment);
			report_message(scan, segment, false,
						   "the segment differs from that of pg_wal: the directory holds WAL of another history");
			return false;
		default:
			report_message(scan, "", false, "the directory has no segment in common with pg_wal, so nothing tells whether its WAL is this server's");
			return false;
	}
}

/*
 * Returns from where suspects' later history is read.  That is the horizon,
 * where a record starts, unless the user chose it.  A chosen one may lie
 * within a record.
 */
static WalLsn
tail_start(const LostScan *scan, WalLsn reached)
{
	return scan->horizon == scan->options->horizon ? scan->horizon : reached;
}

/* Time was up, so what comes later is for another time. */
static void
stop_at(LostScan *scan, WalLsn reached)
{
	char	   *message = psprintf("WAL from %X/%X on was not read: time was up",
								   LSN_FORMAT_ARGS(reached));

	scan->horizon = reached;
	report_message(scan, "", true, message);
	pfree(message);
}

/* The rest of the blocks of the book, which no suspect tells of. */
static void
report_unasked(LostScan *scan)
{
	char	   *message = psprintf("%zu blocks were not read: time was up",
								   scan->suspects.unasked);

	report_message(scan, "", true, message);
	pfree(message);
}

/* Tablespaces that cannot be read as it was asked for. */
static void
report_refused(LostScan *scan)
{
	ListCell   *cell;

	foreach(cell, scan->suspects.refused)
	{
		char	   *name = get_tablespace_name(lfirst_oid(cell));
		char	   *message = psprintf("blocks in tablespace \"%s\" were not judged: its file system does not read past its page cache",
									   name == NULL ? "?" : name);

		report_message(scan, "", false, message);
		pfree(message);
	}
}

static void
run(LostScan *scan)
{
	WalLsn		reached;

	if (scan->options->start >= scan->horizon)
		return;
	reached = wal_stream_read(&scan->stream, scan->options->start,
							  scan->horizon);
	if (scan->stream.stop)
		stop_at(scan, reached);
	else if (!scan->stream.complete)
	{
		report_unjudged(scan, "WAL before", scan->horizon, &scan->stream.rest);
		return;
	}
	flush_book(scan, tail_start(scan, reached));
	settle(scan, tail_start(scan, reached));
	if (scan->suspects.unasked > 0)
		report_unasked(scan);
	if (scan->survey)
		report_refused(scan);
	if (scan->broken)
		report_unjudged(scan, "WAL before", scan->gap.end, &scan->gap);
}

static WalLsn
scan_all(LostScan *scan, const LostOptions *options, LostFindingFn finding,
		 void *arg)
{
	scan->options = options;
	scan->finding = finding;
	scan->arg = arg;
	scan->horizon = Min(options->horizon, options->end);
	begin(scan);
	if (is_own_history(scan))
		run(scan);
	pfree(scan->blocks);
	file_window_free(scan->suspects.window);
	return scan->horizon;
}

WalLsn
lost_scan(const LostOptions *options, LostFindingFn finding, void *arg)
{
	LostScan	scan = {0};

	return scan_all(&scan, options, finding, arg);
}

WalLsn
lost_survey(const LostOptions *options, LostFindingFn finding, void *arg,
			List **databases)
{
	LostScan	scan = {0};
	WalLsn		reached;

	scan.survey = true;
	reached = scan_all(&scan, options, finding, arg);
	*databases = scan.databases;
	return reached;
}
