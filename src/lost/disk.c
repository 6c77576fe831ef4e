/*
 * disk.c
 *	  Holds what WAL has proved of blocks against the disk.
 *
 * A suspect that lost_disk_decide() keeps has lost a write, unless a record up
 * to the present end of WAL has ended its storage.  The reasons are these.
 *
 * (1) What lies on disk is read as page/decide.c does it, while nobody can be
 *	   writing the block.  The proof (lost/witness.c) says that a completed
 *	   checkpoint had put an LSN of at least the expected one there.  Nothing
 *	   that the server does takes it away but truncation, drop or new storage.
 *
 * (2) Truncation, drop, rewrite and move take AccessExclusiveLock.  While the
 *	   lock is held that was taken before the read, none of them is under way
 *	   or can begin.  Those that were have their records in the WAL already.
 *	   The caller reads on to the end of the WAL as it is after the read.
 *	   ALTER SEQUENCE needs only a lock that lets us in, and gives new storage,
 *	   so the relation's file is looked up again after the read.
 *
 * (3) A relation's file number is that of the proof when it is opened.  A
 *	   number that is used again begins with XLOG_SMGR_CREATE, which ends the
 *	   old storage.  Where the creation is older than the WAL that was read,
 *	   all of that WAL is about the present storage.
 *
 * (4) The device has, once a checkpoint is complete, what (1) says of the disk.
 *	   What was written since is written back by the direct read itself, before
 *	   it reads.  A write in flight may tear the page, but not its LSN, which
 *	   lies in the first sector and is the old one or the new one.  So an older
 *	   LSN there is a lost write, whatever the page cache has.
 *
 * A buffer over the block changes nothing.  Whether it is clean or dirty, the
 * disk should have had the page since the checkpoint.  The message tells
 * whether a newer copy is still in memory.
 *
 * Pages whose checksum or header is wrong are not kept, since their LSN says
 * nothing and verify_relation() names them.  Such a page is kept only if a
 * buffer has the page as it was before, proven by its checksum, and older than
 * the proof.  Empty pages of indexes and pages of the visibility map are not
 * kept if they have no LSN.  Neither are relations that are not permanent and
 * indexes that are being built.  The same holds for what bypasses shared
 * buffers in ways that the proof does not allow.
 */
#include "compat.h"

#include "access/relation.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_tablespace_d.h"
#include "storage/bufpage.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "host/direct.h"
#include "host/throttle.h"
#include "lost/disk.h"

/*
 * Blocks that are no further apart are read from the device at once.  Those
 * between them take less time than another read.
 */
#define RUN_GAP_BLOCKS	16

/* The file of a fork, which is looked up by each of its blocks. */
typedef struct LostFile
{
	FileScan	scan;
	FileScanResult opened;
	char		path[SCAN_PATH_SIZE];
} LostFile;

void
lost_disk_path(const WalBlockTag *tag, char dst[SCAN_PATH_SIZE])
{
	RelFileLocator locator;
	char		first[SCAN_PATH_SIZE];
	uint32		segment = tag->block / RELSEG_SIZE;

	LOCATOR_TABLESPACE(locator) = tag->tablespace;
	LOCATOR_DATABASE(locator) = tag->database;
	LOCATOR_NUMBER(locator) = tag->relation;
	LOCATOR_FORK_PATH(locator, (ForkNumber) tag->fork, first, SCAN_PATH_SIZE);
	if (segment == 0)
		strlcpy(dst, first, SCAN_PATH_SIZE);
	else
		snprintf(dst, SCAN_PATH_SIZE, "%s.%u", first, segment);
}

/* Returns the relation that has this storage now, or InvalidOid. */
static Oid
find_relation(const WalBlockTag *tag)
{
	if (!lost_disk_is_ours(tag) ||
		(tag->database == InvalidOid) !=
		(tag->tablespace == GLOBALTABLESPACE_OID))
		return InvalidOid;
	return RelidByRelfilenumber(tag->tablespace, tag->relation);
}

/* ---- without a lock ---- */

static bool
is_same_file(const WalBlockTag *a, const WalBlockTag *b)
{
	return a->relation == b->relation && a->tablespace == b->tablespace &&
		a->database == b->database && a->fork == b->fork &&
		a->block / RELSEG_SIZE == b->block / RELSEG_SIZE;
}

static void
open_file(LostFile *file, const WalBlockTag *tag, FileWindow *window)
{
	lost_disk_path(tag, file->path);
	file->opened = file_scan_open_direct(&file->scan, file->path, window);
	if (window != NULL)
		window->until = 0;
}

static void
close_file(LostFile *file)
{
	if (file->opened == FILE_SCAN_OK)
		file_scan_close(&file->scan);
}

/*
 * Reads pd_lsn, which is first in a page.  It has two halves of 32 bits, the
 * high one first, on every machine and version.
 */
static XLogRecPtr
lsn_of(const char *page)
{
	uint32		halves[2];

	memcpy(halves, page, sizeof(halves));
	return (XLogRecPtr) halves[0] << 32 | halves[1];
}

static LostDiskBlock
read_lsn(LostFile *file, BlockNumber block, XLogRecPtr *lsn)
{
	char		start[sizeof(XLogRecPtr)];
	ssize_t		n;

	if (file->opened != FILE_SCAN_OK)
		return file->opened == FILE_SCAN_MISSING ? LOST_DISK_NO_BLOCK :
			LOST_DISK_UNREADABLE;
	n = file_scan_read(&file->scan, start, sizeof(start),
					   (off_t) (block % RELSEG_SIZE) * BLCKSZ);
	if (n != (ssize_t) sizeof(start))
		return n == 0 ? LOST_DISK_NO_BLOCK : LOST_DISK_UNREADABLE;
	*lsn = lsn_of(start);
	return LOST_DISK_BLOCK;
}

/* Does its file system not read the file of a block past its page cache? */
static bool
is_refused(const WalBlockTag *tag)
{
	char		path[SCAN_PATH_SIZE];
	bool		refused;
	int			fd;

	lost_disk_path(tag, path);
	fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | DIRECT_OPEN | PG_BINARY);
	refused = direct_is_refused(fd);
	if (fd >= 0)
		CloseTransientFile(fd);
	return refused;
}

static LostDiskBlock
read_block_lsn(const WalBlockTag *tag, FileWindow *window, XLogRecPtr *lsn)
{
	LostFile	file;
	LostDiskBlock found;

	open_file(&file, tag, window);
	if (window != NULL)
		window->until = (off_t) (tag->block % RELSEG_SIZE + 1) * BLCKSZ;
	found = read_lsn(&file, tag->block, lsn);
	close_file(&file);
	return found;
}

LostDiskBlock
lost_disk_read(const WalBlockTag *tag, bool direct, XLogRecPtr *lsn)
{
	FileWindow *window;
	LostDiskBlock found;

	if (!direct)
		return read_block_lsn(tag, NULL, lsn);
	if (is_refused(tag))
		return LOST_DISK_REFUSED;
	window = file_window_new(NULL);
	found = read_block_lsn(tag, window, lsn);
	file_window_free(window);
	return found;
}

/*
 * Is a page with this LSN on disk what the entry asks for?  A page whose LSN
 * is 0 may be new.
 */
static bool
satisfies(XLogRecPtr lsn, const LostEntry *entry)
{
	return entry->proof == LOST_PROOF_NOT_ZERO ? !XLogRecPtrIsInvalid(lsn) :
		lsn >= entry->lsn;
}

static bool
is_enough(const LostSuspects *suspects)
{
	return suspects->enough != NULL && suspects->enough(suspects->arg, 0);
}

/*
 * Sets up to where the device is read at once, for the entries from the at-th
 * on that lie close together.
 */
static void
plan_run(FileWindow *window, const LostEntry *entries, size_t at, size_t count)
{
	BlockNumber last = entries[at].tag.block;

	if (window->until > (off_t) (last % RELSEG_SIZE) * BLCKSZ)
		return;
	while (++at < count && is_same_file(&entries[at].tag, &entries[at - 1].tag) &&
		   entries[at].tag.block - last <= RUN_GAP_BLOCKS)
		last = entries[at].tag.block;
	window->until = (off_t) (last % RELSEG_SIZE + 1) * BLCKSZ;
}

/* Is the entry's block on disk as the entry asks for?  Waits for its turn. */
static bool
is_on_disk(LostFile *file, const LostEntry *entry, LostSuspects *suspects)
{
	XLogRecPtr	lsn = InvalidXLogRecPtr;

	if (suspects->throttle != NULL && suspects->window == NULL)
		throttle_wait(suspects->throttle, BLCKSZ);	/* storage reads it all */
	(void) read_lsn(file, entry->tag.block, &lsn);
	return satisfies(lsn, entry);
}

/* Is the file of the entry to be asked?  Notes the tablespace if it refuses. */
static bool
is_asked(const WalBlockTag *tag, LostSuspects *suspects)
{
	if (!suspects->survey && !OidIsValid(find_relation(tag)))
		return false;
	if (suspects->window == NULL || !suspects->pass_over || !is_refused(tag))
		return true;
	suspects->refused = list_append_unique_oid(suspects->refused,
											   tag->tablespace);
	return false;
}

/* Asks for the entries of one file.  Returns where to go on. */
static size_t
ask_file(const LostEntry *entries, size_t at, size_t count,
		 LostSuspects *suspects)
{
	const WalBlockTag *first = &entries[at].tag;
	bool		asked = is_asked(first, suspects);
	LostFile	file;

	file.opened = FILE_SCAN_MISSING;
	if (asked)
		open_file(&file, first, suspects->window);
	for (; at < count && is_same_file(first, &entries[at].tag) && !is_enough(suspects); at++)
	{
		CHECK_FOR_INTERRUPTS();
		if (asked && suspects->window != NULL)
			plan_run(suspects->window, entries, at, count);
		if (!asked || is_on_disk(&file, &entries[at], suspects))
			continue;
		if (suspects->count == suspects->room)
			break;
		memset(&suspects->items[suspects->count], 0, sizeof(LostSuspect));
		suspects->items[suspects->count++].entry = entries[at];
	}
	close_file(&file);
	return at;
}

size_t
lost_disk_ask(const LostEntry *entries, size_t at, size_t count,
			  LostSuspects *suspects)
{
	while (at < count)
	{
		size_t		next = ask_file(entries, at, count, suspects);

		if (is_enough(suspects))
		{
			suspects->unasked += count - next;
			return count;
		}
		if (next < count && suspects->count == suspects->room)
			return next;
		at = next;
	}
	return count;
}

/* ---- under the locks ---- */

static bool
has_storage(Relation rel, const WalBlockTag *tag)
{
	return RELKIND_HAS_STORAGE(rel->rd_rel->relkind) &&
		rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		LOCATOR_NUMBER(rel->rd_locator) == tag->relation &&
		LOCATOR_TABLESPACE(rel->rd_locator) == tag->tablespace &&
		LOCATOR_DATABASE(rel->rd_locator) == tag->database;
}

bool
lost_disk_proof_holds(Relation rel, LostProof proof)
{
	if (proof == LOST_PROOF_LSN || rel->rd_rel->relkind == RELKIND_SEQUENCE)
		return true;
	switch (rel->rd_rel->relam)
	{
		case HEAP_TABLE_AM_OID:
		case BTREE_AM_OID:
		case GIN_AM_OID:
		case SPGIST_AM_OID:
		case BRIN_AM_OID:
			return true;
		default:
			return false;
	}
}

/*
 * A page without an LSN that the server made anew before WAL says so.  An
 * index that takes a recycled page empties it, see lost/witness.c.  Recovery
 * that meets a torn page of the map makes it anew.  It has changed the page
 * where it then clears bits for what is cut off.  Neither leaves zeros.
 */
static bool
is_made_anew(Relation rel, const LostSuspect *suspect, const char *page)
{
	if (suspect->status != LOST_STALE_PAGE ||
		!XLogRecPtrIsInvalid(lsn_of(page)))
		return false;
	return suspect->entry.tag.fork == VISIBILITYMAP_FORKNUM ||
		(rel->rd_rel->relkind == RELKIND_INDEX && PageIsEmpty((Page) page));
}

/*
 * The disk's page is damaged.  A valid buffer holds what was read from it, or
 * written to it, before.  Its checksum proves its LSN.
 */
static bool
judge_cached(LostSuspect *suspect, const BlockDecision *decision)
{
	XLogRecPtr	lsn = lsn_of(decision->cached.data);

	if (decision->copy != BLOCK_COPY_PROVEN ||
		suspect->entry.proof == LOST_PROOF_NOT_ZERO ||
		lsn >= suspect->entry.lsn)
		return false;
	suspect->status = LOST_STALE_PAGE;
	suspect->damaged = true;
	suspect->cached_lsn = lsn;
	return true;
}

static void
note_buffer(LostSuspect *suspect, const BlockDecision *decision)
{
	if (!BLOCK_IS_CACHED(decision))
		return;
	suspect->cached_lsn = lsn_of(decision->cached.data);
	suspect->dirty = decision->buffer_state == BLOCK_BUFFER_DIRTY;
}

/* Decides whether the block, which was read, is what WAL says. */
static bool
judge_page(LostSuspect *suspect, const BlockDecision *decision)
{
	const PageVerdict *verdict = &decision->verdict;

	if (verdict->status != PAGE_OK && verdict->status != PAGE_NEW)
		return judge_cached(suspect, decision);
	if (verdict->status == PAGE_OK &&
		(suspect->entry.proof == LOST_PROOF_NOT_ZERO ||
		 verdict->lsn >= suspect->entry.lsn))
		return false;
	suspect->status = verdict->status == PAGE_NEW ? LOST_ZEROED_PAGE :
		LOST_STALE_PAGE;
	suspect->disk_lsn = verdict->status == PAGE_NEW ? InvalidXLogRecPtr :
		verdict->lsn;
	note_buffer(suspect, decision);
	return true;
}

static bool
judge_block(LostSuspect *suspect, ForkReader *reader)
{
	BlockNumber block = suspect->entry.tag.block;
	PageRules	rules = {reader->fork->checksums, InvalidXLogRecPtr};
	BlockDecision *decision = palloc(sizeof(BlockDecision));
	bool		found = true;

	decision->fate = BLOCK_GONE;
	if (!fork_reader_open(reader, block))
		decision->fate = reader->error == ENOENT ? BLOCK_GONE :
			BLOCK_UNREADABLE;
	else if (block < fork_reader_segment_end(reader))
		block_decide(reader, block, &rules, decision);
	suspect->error = reader->error;
	if (decision->fate == BLOCK_JUDGED)
		found = judge_page(suspect, decision) &&
			!is_made_anew(reader->fork->rel, suspect, suspect->damaged ?
						  decision->cached.data : decision->image.data);
	else
		suspect->status = decision->fate == BLOCK_GONE ? LOST_MISSING_BLOCK :
			LOST_IO_ERROR;
	pfree(decision);
	return found;
}

/*
 * What the server has of a block of which the device has an older page, or
 * none.  That the device's write was lost is certain by now.
 */
static void
note_copies(LostSuspect *suspect, ForkReader *reader)
{
	BlockNumber block = suspect->entry.tag.block;
	PageRules	rules = {reader->fork->checksums, InvalidXLogRecPtr};
	BlockDecision *decision = palloc(sizeof(BlockDecision));

	block_decide_cached(reader, block, &rules, decision);
	note_buffer(suspect, decision);
	if (decision->fate == BLOCK_JUDGED &&
		decision->verdict.status == PAGE_OK)
		suspect->page_cache_lsn = decision->verdict.lsn;
	pfree(decision);
}

static bool
judge_relation(LostSuspect *suspect, Relation rel, bool direct)
{
	Fork		fork;
	ForkReader	reader;
	bool		found;

	fork_describe(&fork, rel, (ForkNumber) suspect->entry.tag.fork);
	if (fork_why_not_verifiable(&fork) != NULL)
		return false;
	if (direct)
		fork_reader_init_direct(&reader, &fork, SCAN_PIECE_BLOCKS);
	else
		fork_reader_init(&reader, &fork);
	found = judge_block(suspect, &reader);
	if (found && direct && !suspect->damaged &&
		(suspect->status == LOST_STALE_PAGE || suspect->status == LOST_ZEROED_PAGE))
		note_copies(suspect, &reader);
	fork_reader_close(&reader);
	return found && !fork_follow(&fork);
}

bool
lost_disk_decide(LostSuspect *suspect, bool direct)
{
	Oid			relid = find_relation(&suspect->entry.tag);
	Relation	rel = OidIsValid(relid) ?
		try_relation_open(relid, AccessShareLock) : NULL;
	bool		found;

	CHECK_FOR_INTERRUPTS();
	if (rel == NULL)
		return false;
	found = has_storage(rel, &suspect->entry.tag) &&
		lost_disk_proof_holds(rel, suspect->entry.proof) &&
		judge_relation(suspect, rel, direct);
	suspect->relid = relid;
	relation_close(rel, found ? NoLock : AccessShareLock);
	return found;
}

bool
lost_disk_decide_at_once(LostSuspect *suspect, bool direct, bool *found)
{
	Oid			relid = find_relation(&suspect->entry.tag);

	*found = false;
	if (!OidIsValid(relid))
		return true;
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return false;
	*found = lost_disk_decide(suspect, direct);
	UnlockRelationOid(relid, AccessShareLock);
	return true;
}
