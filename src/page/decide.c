/*
 * decide.c
 *	  Decides exactly whether a block that looked broken is broken.
 *
 * An 8 kB write is not atomic for a reader, so a bad image read while the
 * server works is a suspicion.  It becomes a verdict by one more read at a
 * moment when nobody can be writing the block.  What follows holds for 15 to
 * 18.  (All writes of relation blocks are synchronous there, since
 * asynchronous I/O of 18 only reads.)
 *
 * Who writes a block of a relation that others can open?
 *
 * (1) Whatever flushes a buffer does.  That is a backend that evicts it, the
 *	   background writer, the checkpointer, FlushRelationBuffers and its like,
 *	   and on a standby also the startup process.  Each of them pins the buffer
 *	   and holds its content lock, at least shared, from before the write until
 *	   after it, and writes only valid buffers.  While the pin is held the
 *	   buffer keeps its tag, and its entry stays in the mapping table.
 *	   Removing or replacing the entry takes the lock of its mapping partition
 *	   exclusively.  It is given up or waited for as long as somebody else
 *	   holds a pin.
 *
 * (2) Whatever extends the relation does.  It writes zeroes, through buffers
 *	   that are in the table before the file grows but not yet valid.  Or it
 *	   writes a finished page past shared buffers (free space and visibility
 *	   maps of 15, a hash index that splits).  Both write beyond the end of the
 *	   file, and the file covers a block only after its bytes are there.  So a
 *	   block below the size that the scan sampled is not being extended.  And
 *	   zeroes written over a hole are zeroes at every moment.
 *
 * (3) Bulk writers that bypass shared buffers do (index builds, rewrites,
 *	   moves to another tablespace, CREATE DATABASE).  Their relations are not
 *	   visible to others, or locked exclusively against our AccessShareLock, or
 *	   indexes under concurrent build, which are not scanned at all.
 *
 * So a write in flight of a block that is scanned has a valid buffer with this
 * tag in the table.  That leaves three cases.
 *
 * The block may be in a valid buffer.  Then we pin the buffer and lock its
 * content exclusively.  Every flush in flight has ended by then, none can
 * start, and its write() has returned, so that our read sees all of it.
 *
 * The block may not be in the table.  Under the partition lock (shared) no
 * entry can be inserted, so no flush can begin.  And none is in flight, for it
 * would have kept its entry.
 *
 * It may be in the table, but not valid (its read is going on, or failed, as
 * it does when the block is broken).  Under the partition lock the buffer
 * keeps its tag, and such a buffer only ever goes from invalid to valid.
 * Invalid before and after our read means invalid throughout, hence never
 * flushed meanwhile.  If it has become valid, the decision starts over.  (A
 * valid buffer becomes invalid under its tag only where a relation is extended
 * over a buffer that holds a zero page.  What is written then is zeroes over
 * zeroes.)
 *
 * Each case costs one read of a block under one lightweight lock, and nothing
 * in between can raise an error or check for interrupts.
 *
 * A partition lock is shared by many blocks, and the content lock of a root of
 * an index by many sessions, so nobody may wait for storage while one of them
 * is held.  The read takes what the page cache has.  Where that is not the
 * whole block, or the system cannot say what it has, the lock is released, the
 * block read without one, and the decision starts over.  What was read without
 * a lock is not judged.  Only its failure counts, since a block that cannot be
 * read, or lies past the end, is so with the lock or without it.
 *
 * That never ends where the page cache does not keep the block, or the file
 * system never says so.  There the last four reads without a lock have to do,
 * if they agree.  The claim is that what they read lay there.
 *
 * Between each two of them the lock was held, so no write was under way.  Let
 * X, Y and Z be what lay there at these three moments.  Had a read met no
 * write, it would be one of them, so suppose that all four did.  The LSN of
 * the page never goes back.  The first read has that of X or an older one, the
 * last that of Z or a newer one, and they are the same.  So it is that of X, Y
 * and Z.  What changes a page without its LSN goes one way.  Hint bits and
 * dead line pointers come, bits of a map go, a sequence counts.  So the second
 * read, between X and Y, and the third, between Y and Z, can agree in nothing
 * but Y.
 *
 * Some fields go both ways without an LSN.  These are the checksum and the xid
 * for pruning in the header, and what the first page of an SP-GiST index
 * caches.  They would have to repeat by chance.  And free space maps and
 * unlogged relations have no such LSN.  There four writes in a row would have
 * to be met, each in the same place, each to undo what the one before did.
 *
 * The buffer is looked at before each read, not after it.  What a clean one
 * holds was on disk by then, and what a dirty one holds was not judged
 * missing.
 *
 * Who holds the buffer afterwards writes the block under its content lock, and
 * waits for storage there anyway.  So its read may wait, too, after one
 * without.
 *
 * It is proven by experiment in test/t/011_storm.pl,
 * test/t/018_writes_in_flight.pl and test/t/029_slow_reads.pl.
 *
 * The device
 *
 * Let D be what the device holds of the block and C what the page cache holds.
 * All of the above is about C, and so is every read of it.  A direct reader
 * has found D bad.  If C is bad, too, that is the verdict, as ever.  So is it
 * where both are zeros.  So let C be good, or a new page.  The server can read
 * it into a buffer then.
 *
 * We pin that buffer, lock its content exclusively, and read D and C.  A write
 * begins and ends under that lock (1), and (2) and (3) do not touch the block.
 * So no write is in flight and none begins, and C does not change.  The direct
 * read writes C first, if that is dirty, and waits for it.  So D is what the
 * device has of the last write.  A bad D below a good C is the device's fault.
 * A good D means that the write was under way before.
 *
 * A good D needs no lock, since a torn page does not pass its checksum.  Nor
 * is a partition lock held over a read of the device.  What waits for the
 * device holds the content lock of this block alone.  Reading the buffer
 * without its content (RBM_ZERO) would destroy the page, and reading D without
 * waiting (RWF_NOWAIT) does wait.
 *
 * A good D may be another page than C: the device lost a write, or made one of
 * its own.  A strict reader wants to know.  The same lock and the same two
 * reads tell, of a C that is good.
 *
 * A server that itself reads past the page cache (debug_io_direct) knows
 * nothing of C, and could not read the buffer.  There D stands in the place of
 * C, and is read without a lock until four reads agree.
 *
 * A block that the server does not reach, after a segment that is short, has
 * no buffer.  Nobody writes it, so no lock is needed.
 *
 * The other way round, C is bad and D may be good.  D is read once.  Its
 * checksum proves it.  If C was dirty, this read has written it over D.  So a
 * good D says that C was clean.  C is decided before and after, and must be
 * the same bytes, so that D and C are of one time.  If they differ, and a
 * buffer held the block before, that was written in between.  Then the first
 * decision stands, for it was exact.
 *
 * This is proven by experiment in test/t/094_direct_io.pl.
 */
#include "compat.h"

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "page/decide.h"

/* What rooms that know no server take for granted of its pages. */
StaticAssertDecl(PAGE_BYTES == BLCKSZ, "pages have the server's size");
StaticAssertDecl(sizeof(PageHead) == SizeOfPageHeaderData &&
				 PAGE_HEAD_BYTES == SizeOfPageHeaderData,
				 "the header of a page has the server's size");
StaticAssertDecl(offsetof(PageHead, pd_special) == offsetof(PageHeaderData, pd_special),
				 "the header of a page is the server's");
StaticAssertDecl(PAGE_FLAGS_VALID == PD_VALID_FLAG_BITS &&
				 PAGE_FLAG_ALL_VISIBLE == PD_ALL_VISIBLE,
				 "flags of a page are the server's");
StaticAssertDecl(PAGE_ALIGN == MAXIMUM_ALIGNOF,
				 "special areas are aligned as the server's");
StaticAssertDecl(PAGE_BLOCK_MAX == MaxBlockNumber,
				 "the highest block is the server's");

/* Tries before the decision sleeps a little between two of them. */
#define EAGER_TRIES		16

/* Reads without a lock that decide if they agree. */
#define AGREEING_READS	4

/* What became of a read under a lock. */
typedef enum LockedRead
{
	READ_DONE,
	READ_WOULD_WAIT,			/* for storage, nothing was read */
	READ_AGAIN					/* a buffer came or went, so try another lock */
} LockedRead;

typedef struct Attempt
{
	ForkReader *reader;
	BlockNumber blkno;
	BlockDecision *decision;
	uint32		nread;
	int			agreeing;		/* reads without a lock, the last ones */
	bool		hold;			/* keep the buffer that is over the block */
	Buffer		held;
} Attempt;

static void decide(Attempt *attempt, PageRules *rules);
static void decide_device(Attempt *attempt, PageRules *rules);
static void read_decisively(Attempt *attempt);
static int	lock_mapping(const Fork *fork, BlockNumber blkno,
						 LWLock **partition);
static LockedRead read_under_lock(Attempt *attempt);
static LockedRead read_unless_valid(Attempt *attempt, Buffer *buffer);
static LockedRead read_below_buffer(Attempt *attempt, Buffer buffer);
static void read_block(Attempt *attempt);
static LockedRead read_cached_block(Attempt *attempt);
static bool read_without_lock(Attempt *attempt);
static BlockCopy judge_copy(const BlockDecision *decision, BlockNumber blkno,
							PageRules *rules);

static void
decide_any(Attempt *attempt, PageRules *rules)
{
	ForkReader *reader = attempt->reader;
	bool		absent = reader->tidy &&
		!fork_reader_is_cached(reader, attempt->blkno);

	if (reader->direct)
		decide_device(attempt, rules);
	else
		decide(attempt, rules);
	if (absent)
		fork_reader_forget(reader, attempt->blkno);
}

void
block_decide(ForkReader *reader, BlockNumber blkno, PageRules *rules,
			 BlockDecision *decision)
{
	Attempt		attempt = {reader, blkno, decision};

	decide_any(&attempt, rules);
}

void
block_decide_cached(ForkReader *reader, BlockNumber blkno, PageRules *rules,
					BlockDecision *decision)
{
	bool		direct = reader->direct;

	reader->direct = false;
	block_decide(reader, blkno, rules, decision);
	reader->direct = direct;
}

Buffer
block_decide_and_hold(ForkReader *reader, BlockNumber blkno, PageRules *rules,
					  BlockDecision *decision)
{
	Attempt		attempt = {reader, blkno, decision};

	attempt.hold = true;
	decide_any(&attempt, rules);
	return attempt.held;
}

PageStatus
block_decision_status(const BlockDecision *decision, bool initialized)
{
	PageStatus	status = decision->verdict.status;

	if (decision->fate == BLOCK_UNREADABLE)
		return PAGE_IO_ERROR;
	if (decision->place == BLOCK_ON_DEVICE)
		return PAGE_BAD_ON_DEVICE_CACHED_OK;
	if (decision->place == BLOCK_IN_PAGE_CACHE)
		return PAGE_BAD_IN_PAGE_CACHE;
	if (status == PAGE_NEW && (!initialized || decision->write_to_come))
		return status;
	if (decision->copy != BLOCK_COPY_NONE)
		return PAGE_BAD_ON_DISK_CACHED_OK;
	return status == PAGE_NEW ? PAGE_ZEROED : status;
}

/*
 * Whoever marks a page all-visible makes its buffer dirty, so a clean one was
 * written with the mark.
 */
static bool
is_mark_lost(const BlockDecision *decision)
{
	return decision->verdict.status == PAGE_OK &&
		decision->buffer_state == BLOCK_BUFFER_CLEAN &&
		PageIsAllVisible((Page) decision->cached.data) &&
		!PageIsAllVisible((Page) decision->image.data);
}

static bool
is_write_to_come(const BlockDecision *decision)
{
	return decision->buffer_state == BLOCK_BUFFER_DIRTY &&
		!page_is_zero(decision->cached.data);
}

static void
decide(Attempt *attempt, PageRules *rules)
{
	BlockDecision *decision = attempt->decision;
	BlockNumber blkno = attempt->blkno;

	decision->retries = 0;
	decision->place = BLOCK_ON_DISK;
	decision->buffer_state = BLOCK_BUFFER_UNKNOWN;
	decision->copy = BLOCK_COPY_NONE;
	decision->write_to_come = decision->mark_lost = decision->older = false;
	read_decisively(attempt);
	if (attempt->nread == 0)
	{
		decision->fate = attempt->reader->error == 0 ? BLOCK_GONE :
			BLOCK_UNREADABLE;
		return;
	}
	decision->fate = BLOCK_JUDGED;
	page_judge(decision->image.data, blkno, rules, &decision->verdict);
	block_judge_lsn(decision->image.data, blkno, rules, &decision->verdict);
	if (!BLOCK_IS_CACHED(decision))
		return;
	decision->mark_lost = is_mark_lost(decision);
	if (decision->verdict.status != PAGE_OK || decision->mark_lost)
	{
		decision->copy = judge_copy(decision, blkno, rules);
		decision->write_to_come = is_write_to_come(decision);
	}
}

static void
judge(Attempt *attempt, const char *page, PageRules *rules,
	  PageVerdict *verdict)
{
	page_judge(page, attempt->blkno, rules, verdict);
	block_judge_lsn(page, attempt->blkno, rules, verdict);
}

/* Reads the device's page into the image.  Returns false if none came. */
static bool
read_device(Attempt *attempt, PageRules *rules)
{
	BlockDecision *decision = attempt->decision;
	ForkReader *reader = attempt->reader;

	decision->retries++;
	decision->place = BLOCK_ON_DISK;
	decision->copy = BLOCK_COPY_NONE;
	decision->write_to_come = decision->mark_lost = decision->older = false;
	if (fork_reader_read_device(reader, attempt->blkno, decision->image.data) != 1)
	{
		decision->fate = reader->error == 0 ? BLOCK_GONE : BLOCK_UNREADABLE;
		return false;
	}
	decision->fate = BLOCK_JUDGED;
	judge(attempt, decision->image.data, rules, &decision->verdict);
	return true;
}

static bool
server_reaches(const Fork *fork, BlockNumber blkno)
{
	SMgrRelation smgr = RelationGetSmgr(fork->rel);

	return smgrexists(smgr, fork->fork) &&
		blkno < smgrnblocks(smgr, fork->fork);
}

/*
 * Pins the block's buffer and locks its content exclusively.  Returns
 * InvalidBuffer if the server does not reach the block.  It shall not put
 * zeros in the place of a page.
 */
static Buffer
lock_content(ForkReader *reader, BlockNumber blkno)
{
	const Fork *fork = reader->fork;
	Buffer		buffer;
	bool		saved = zero_damaged_pages;

	if (!server_reaches(fork, blkno))
		return InvalidBuffer;
	if (reader->ring == NULL)
		reader->ring = GetAccessStrategy(BAS_BULKREAD);
	zero_damaged_pages = false;
	PG_TRY();
	{
		buffer = ReadBufferExtended(fork->rel, fork->fork, blkno, RBM_NORMAL,
									reader->ring);
	}
	PG_FINALLY();
	{
		zero_damaged_pages = saved;
	}
	PG_END_TRY();
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	return buffer;
}

static void
note_buffer(BlockDecision *decision, Buffer buffer)
{
	uint64		state = BufferStateRead(GetBufferDescriptor(buffer - 1));

	memcpy(decision->cached.data, BufferGetPage(buffer), BLCKSZ);
	decision->buffer_state = (state & BM_DIRTY) ? BLOCK_BUFFER_DIRTY :
		BLOCK_BUFFER_CLEAN;
}

static bool
is_good(const PageVerdict *verdict)
{
	return verdict->status == PAGE_OK || verdict->status == PAGE_NEW;
}

/*
 * Is the device's page another one than a good one of the page cache?  If it is
 * good, too, that counts for a strict reader alone.
 */
static bool
is_device_wrong(const Attempt *attempt, const PageVerdict *cached)
{
	const BlockDecision *decision = attempt->decision;

	if (decision->verdict.status == PAGE_NEW)
		return cached->status != PAGE_NEW;
	return decision->verdict.status != PAGE_OK ||
		(attempt->reader->strict && cached->status == PAGE_OK &&
		 memcmp(decision->image.data, decision->before.data, BLCKSZ) != 0);
}

/*
 * Compares the device with the page cache, whose page is good, while nobody
 * writes the block.  Returns false if that page is not good any more.
 */
static bool
compare_device(Attempt *attempt, PageRules *rules)
{
	BlockDecision *decision = attempt->decision;
	ForkReader *reader = attempt->reader;
	char	   *cached = decision->before.data;
	Buffer		buffer = lock_content(reader, attempt->blkno);
	PageVerdict verdict;
	bool		read = read_device(attempt, rules);
	bool		both = fork_reader_read(reader, attempt->blkno, 1, cached) == 1;

	decision->buffer_state = BLOCK_BUFFER_UNCACHED;
	if (BufferIsValid(buffer))
		note_buffer(decision, buffer);
	if (both)
		judge(attempt, cached, rules, &verdict);
	both = both && is_good(&verdict);
	if (BufferIsValid(buffer) && attempt->hold && both)
		attempt->held = buffer;
	else if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	if (!both)
		return false;
	if (!read || !is_device_wrong(attempt, &verdict))
		return true;
	decision->place = BLOCK_ON_DEVICE;
	decision->good_lsn = verdict.lsn;
	if (BLOCK_IS_CACHED(decision))
		decision->copy = judge_copy(decision, attempt->blkno, rules);
	decision->write_to_come = is_write_to_come(decision);
	return true;
}

/*
 * Decides what the page cache holds.  Returns true if that is the verdict,
 * whatever the device has.
 */
static bool
decide_without_device(Attempt *attempt, PageRules *rules, bool zeros)
{
	const BlockDecision *decision = attempt->decision;

	decide(attempt, rules);
	if (decision->fate != BLOCK_JUDGED || !is_good(&decision->verdict) ||
		(zeros && decision->verdict.status == PAGE_NEW))
		return true;
	if (BufferIsValid(attempt->held))
		UnlockReleaseBuffer(attempt->held);
	attempt->held = InvalidBuffer;
	return false;
}

/*
 * Decides a block by the device.  What the device cannot give is told, and
 * whether the page cache has it.
 */
static void
decide_device(Attempt *attempt, PageRules *rules)
{
	BlockDecision *decision = attempt->decision;
	ForkReader *reader = attempt->reader;
	bool		good;
	bool		zeros;

	decision->retries = 0;
	decision->buffer_state = BLOCK_BUFFER_UNKNOWN;
	good = read_device(attempt, rules) &&
		decision->verdict.status == PAGE_OK;
	if (good && !reader->strict)
		return;
	zeros = decision->fate == BLOCK_JUDGED &&
		decision->verdict.status == PAGE_NEW;
	for (int try = 0; try < EAGER_TRIES; try++)
	{
		if (decide_without_device(attempt, rules, zeros) ||
			SERVER_READS_DIRECT())
		{
			if (good)			/* whatever the page cache has */
				(void) read_device(attempt, rules);
			return;
		}
		if (compare_device(attempt, rules))
		{
			if (decision->fate == BLOCK_UNREADABLE)
				strlcat(reader->message, "; the page cache holds a good page",
						sizeof(reader->message));
			return;
		}
	}
	decision->fate = BLOCK_UNREADABLE;
	reader->error = EIO;
	strlcpy(reader->message, "the device and the page cache gave other pages each time",
			sizeof(reader->message));
}

/*
 * Decides again what was decided to be bad.  Returns true if the page cache
 * still holds the same page.  If not, the buffer over it was written
 * meanwhile, say, which takes nothing from what was found below it.
 */
static bool
stays_bad(ForkReader *reader, BlockNumber blkno, PageRules *rules,
		  BlockDecision *decision)
{
	BlockDecision *first = palloc(sizeof(BlockDecision));
	bool		same;

	*first = *decision;
	block_decide_cached(reader, blkno, rules, decision);
	same = decision->fate == BLOCK_JUDGED &&
		memcmp(first->image.data, decision->image.data, BLCKSZ) == 0;
	if (!same && BLOCK_IS_CACHED(first))
		*decision = *first;
	pfree(first);
	return same;
}

void
block_ask_device(ForkReader *reader, BlockNumber blkno, PageRules *rules,
				 BlockDecision *decision)
{
	Attempt		attempt = {reader, blkno, decision};
	PageVerdict verdict;

	if (!rules->checksums || decision->verdict.status == PAGE_OK ||
		!fork_reader_open_device(reader) ||
		fork_reader_read_device(reader, blkno, decision->before.data) != 1)
		return;
	judge(&attempt, decision->before.data, rules, &verdict);
	if (verdict.status != PAGE_OK ||
		!stays_bad(reader, blkno, rules, decision))
		return;
	decision->place = BLOCK_IN_PAGE_CACHE;
	decision->good_lsn = verdict.lsn;
}

static void
read_decisively(Attempt *attempt)
{
	bool		done = false;

	for (int try = 0; !done; try++)
	{
		LockedRead	result;

		CHECK_FOR_INTERRUPTS();
		if (try >= EAGER_TRIES)
			pg_usleep(1000);
		result = read_under_lock(attempt);
		done = result == READ_DONE ||
			(result == READ_WOULD_WAIT && read_without_lock(attempt));
	}
}

/*
 * Reads while nobody can be writing the block, and without waiting for
 * storage.
 */
static LockedRead
read_under_lock(Attempt *attempt)
{
	Buffer		buffer;
	LockedRead	result = read_unless_valid(attempt, &buffer);

	return BufferIsValid(buffer) ? read_below_buffer(attempt, buffer) : result;
}

static bool
is_valid(BufferDesc *desc)
{
	bool		valid;

	pg_memory_barrier();
	valid = (BufferStateRead(desc) & BM_VALID) != 0;
	pg_memory_barrier();
	return valid;
}

/*
 * Returns the number of the block's buffer, or less than 0, and locks its
 * partition.
 */
static int
lock_mapping(const Fork *fork, BlockNumber blkno, LWLock **partition)
{
	BufferTag	tag;
	uint32		hash;

	InitBufferTag(&tag, &fork->rel->rd_locator, fork->fork, blkno);
	hash = BufTableHashCode(&tag);
	*partition = BufMappingPartitionLock(hash);
	LWLockAcquire(*partition, LW_SHARED);
	return BufTableLookup(&tag, hash);
}

bool
block_is_unwritten(const Fork *fork, BlockNumber blkno)
{
	const uint64 both = BM_VALID | BM_DIRTY;
	LWLock	   *partition;
	int			id = lock_mapping(fork, blkno, &partition);
	bool		unwritten = id >= 0 &&
		(BufferStateRead(GetBufferDescriptor(id)) & both) == both;

	LWLockRelease(partition);
	return unwritten;
}

/*
 * Reads the block if no valid buffer holds it, else *buffer is the valid one
 * of a moment ago.
 */
static LockedRead
read_unless_valid(Attempt *attempt, Buffer *buffer)
{
	LWLock	   *partition;
	int			id = lock_mapping(attempt->reader->fork, attempt->blkno, &partition);
	LockedRead	result = READ_AGAIN;

	*buffer = InvalidBuffer;
	if (id >= 0 && is_valid(GetBufferDescriptor(id)))
		*buffer = id + 1;
	else
	{
		result = read_cached_block(attempt);
		if (id >= 0 && is_valid(GetBufferDescriptor(id)))
			result = READ_AGAIN;
		attempt->decision->buffer_state = id < 0 ? BLOCK_BUFFER_UNCACHED :
			BLOCK_BUFFER_INVALID;
	}
	LWLockRelease(partition);
	return result;
}

/* Reads the block below a buffer that is pinned without I/O. */
static LockedRead
read_below_buffer(Attempt *attempt, Buffer buffer)
{
	const Fork *fork = attempt->reader->fork;
	LockedRead	result = READ_DONE;
	uint64		state;

	if (!ReadRecentBuffer(fork->rel->rd_locator, fork->fork, attempt->blkno,
						  buffer))
		return READ_AGAIN;		/* it holds another block by now */
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (attempt->hold && attempt->agreeing > 0)
		read_block(attempt);
	else
		result = read_cached_block(attempt);
	memcpy(attempt->decision->cached.data, BufferGetPage(buffer), BLCKSZ);
	state = BufferStateRead(GetBufferDescriptor(buffer - 1));
	if (attempt->hold && result == READ_DONE)
		attempt->held = buffer;
	else
		UnlockReleaseBuffer(buffer);
	attempt->decision->buffer_state = (state & BM_DIRTY) ?
		BLOCK_BUFFER_DIRTY : BLOCK_BUFFER_CLEAN;
	return result;
}

static void
read_block(Attempt *attempt)
{
	attempt->nread = fork_reader_read(attempt->reader, attempt->blkno, 1,
									  attempt->decision->image.data);
	attempt->decision->retries++;
}

static LockedRead
read_cached_block(Attempt *attempt)
{
	attempt->decision->retries++;
	return fork_reader_read_cached(attempt->reader, attempt->blkno,
								   attempt->decision->image.data,
								   &attempt->nread) ?
		READ_DONE : READ_WOULD_WAIT;
}

/*
 * Returns true if that decides, or there is no block, or none that can be
 * read.
 */
static bool
read_without_lock(Attempt *attempt)
{
	ForkReader *reader = attempt->reader;
	BlockDecision *decision = attempt->decision;

	if (reader->throttle)
		throttle_wait(reader->throttle, BLCKSZ);
	read_block(attempt);
	if (attempt->nread == 0)
		return true;
	if (attempt->agreeing == 0 ||
		memcmp(decision->image.data, decision->before.data, BLCKSZ) != 0)
	{
		memcpy(decision->before.data, decision->image.data, BLCKSZ);
		attempt->agreeing = 0;
	}
	return ++attempt->agreeing >= AGREEING_READS;
}

void
block_judge_age(BlockDecision *decision, BlockNumber blkno, PageRules *rules)
{
	decision->older = decision->fate == BLOCK_JUDGED &&
		decision->place == BLOCK_ON_DISK &&
		decision->verdict.status == PAGE_OK &&
		decision->buffer_state == BLOCK_BUFFER_CLEAN &&
		PageGetLSN((Page) decision->cached.data) > decision->verdict.lsn;
	if (decision->older)
		decision->copy = judge_copy(decision, blkno, rules);
}

/*
 * Can the buffer's page heal the disk?  Not when it is the broken image itself
 * (read with ignore_checksum_failure) or zeroes in its place (with
 * zero_damaged_pages).  In memory pd_checksum is stale as a rule, so a match
 * proves the page and a mismatch says nothing.
 */
static BlockCopy
judge_copy(const BlockDecision *decision, BlockNumber blkno,
		   PageRules *rules)
{
	const char *copy = decision->cached.data;
	PageRules	sane = {false, rules->horizon, rules->kind};
	PageRules	proven = {true, rules->horizon, rules->kind};
	PageVerdict verdict;

	page_judge(copy, blkno, &sane, &verdict);
	block_judge_lsn(copy, blkno, &sane, &verdict);
	if (verdict.status != PAGE_OK ||
		memcmp(copy, decision->image.data, BLCKSZ) == 0)
		return BLOCK_COPY_NONE;
	proven.horizon = sane.horizon;
	page_judge(copy, blkno, &proven, &verdict);
	return rules->checksums && verdict.status == PAGE_OK ?
		BLOCK_COPY_PROVEN : BLOCK_COPY_SANE;
}

void
block_judge_lsn(const char *page, BlockNumber blkno, PageRules *rules,
				PageVerdict *verdict)
{
	if (verdict->status != PAGE_LSN_IN_FUTURE)
		return;
	rules->horizon = block_horizon();
	page_judge(page, blkno, rules, verdict);
}

/*
 * A page carries the end of the WAL record that changed it last.  On a primary
 * that record is inserted already.  On a standby it is the one being replayed,
 * not the last one replayed, for a page may reach the disk before its record's
 * replay is over.
 */
XLogRecPtr
block_horizon(void)
{
	if (RecoveryInProgress())
		return GetCurrentReplayRecPtr(NULL);
	return GetXLogInsertRecPtr();
}
