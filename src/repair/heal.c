/*
 * heal.c
 *	  Writes a good page of shared buffers over its damaged block on disk.
 *
 * No other code here writes to a relation.  The file page/decide.c says what
 * is on disk and what the buffer above it is worth.  It leaves the buffer
 * pinned and its content locked exclusively.  So nobody changes or flushes the
 * page until all is done.
 *
 * The page goes into the WAL as a full-page image first, then to its file.  A
 * crash in between leaves the image.  Recovery from a checkpoint before it
 * puts the page back, whatever half of the write arrived.  A checkpoint that
 * begins in between writes the buffer, which is dirty before the image is
 * inserted.  Standbys and archives get the page with the WAL.
 *
 * If storage does not take the page, that must be known before.  A page that
 * is dirty and in the WAL, and cannot be written, fails every checkpoint, the
 * stop and the recovery after it.  So what was read is written back to its
 * place and synced first.  It changes nothing, whatever becomes of it.
 *
 * RowExclusiveLock is what any writer takes.  It also keeps ALTER SEQUENCE
 * away, which gives its relation a new file under a lock that lets readers in.
 * An image of the old file after the commit that drops it would make replay
 * create that file again.
 *
 * The checksum of the page in memory is of the moment when it was read or
 * written last.  So a match proves the page.  A mismatch says nothing, and a
 * caller who wants such a page written must say so.  No checksum tells of the
 * age, so page_age.c asks the WAL, before anything is locked.  What it says
 * stays true.  Changes that come after build upon the page that was asked
 * about, and nothing else can be read from a damaged block.
 *
 * Zeros on disk below a clean buffer with a page are damage, since what the
 * buffer holds was once on disk.  Free space and visibility maps are the
 * exception, since their empty pages are made in memory alone.
 *
 * This is proved by experiment in test/t/026_heal.pl and
 * test/t/027_heal_crash.pl.
 */
#include "compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/relation.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "lost/server.h"
#include "page/disk_page.h"
#include "page/fork_transform.h"
#include "page/map_witness.h"
#include "page/relation_scan.h"
#include "repair/heal.h"
#include "repair/page_age.h"

/* The alignment of memory that is written past the page cache, in bytes. */
#define DIRECT_ALIGN	4096

typedef struct Heal
{
	Fork		fork;
	BlockNumber blkno;
	bool		allow_unproven;
	PageRules	rules;
	ForkReader	reader;
	bool		initialized;	/* as the visibility map knows */
	PageAge		age;			/* of the page in memory */
	char		why[SCAN_MESSAGE_SIZE]; /* unless it is the newest */
	Buffer		buffer;			/* pinned and locked, or Invalid */
	BlockDecision decision;
} Heal;

static const char *why_not(const Fork *fork);
static void heal_fork_block(Heal *heal, HealResult *result);
static bool is_transformed(const Heal *heal);
static void ask_age(Heal *heal);
static BlockCopy worth(const Heal *heal);
static void decide(Heal *heal, bool hold);
static bool zeros_are_damage(const Heal *heal);
static HealStatus choose(Heal *heal, const char **why);
static void refuse_unless_writable(Heal *heal);
static void write_back(const Heal *heal);
static HealStatus write_and_read(Heal *heal);

void
heal_block(Oid relid, ForkNumber fork, BlockNumber blkno, bool allow_unproven,
		   HealResult *result)
{
	Heal	   *heal = palloc0(sizeof(Heal));
	Relation	rel;
	const char *why;

	memset(result, 0, sizeof(*result));
	LockRelationOid(relid, RowExclusiveLock);
	rel = scan_open_relation(relid);
	fork_describe(&heal->fork, rel, fork);
	heal->blkno = blkno;
	heal->allow_unproven = allow_unproven;
	why = why_not(&heal->fork);
	if (why == NULL)
		heal_fork_block(heal, result);
	else
	{
		result->status = HEAL_NOT_VERIFIABLE;
		strlcpy(result->message, why, sizeof(result->message));
	}
	relation_close(rel, AccessShareLock);
	pfree(heal);
}

/* Says why a fork cannot be healed, in words, or returns NULL if it can. */
static const char *
why_not(const Fork *fork)
{
	if (!fork->md)
		return "another storage manager than the server's own keeps the relation";
	return fork_why_not_verifiable(fork);
}

static void
heal_fork_block(Heal *heal, HealResult *result)
{
	const char *why = FORK_TRANSFORMED_WORDS;

	fork_reader_init(&heal->reader, &heal->fork);
	heal->rules.checksums = heal->fork.checksums;
	heal->rules.kind = heal->fork.kind;
	heal->rules.horizon = heal->fork.test_lsn ? block_horizon() :
		InvalidXLogRecPtr;
	ask_age(heal);
	result->status = HEAL_NOT_VERIFIABLE;
	if (!is_transformed(heal))
	{
		decide(heal, true);
		result->status = choose(heal, &why);
		result->copy = worth(heal);
	}
	if (result->status == HEAL_HEALED)
	{
		result->status = write_and_read(heal);
		why = result->status == HEAL_HEALED ?
			"the page was written from shared buffers and read back" :
			"the page was written from shared buffers, but was another one when it was read back";
	}
	if (BufferIsValid(heal->buffer))
		UnlockReleaseBuffer(heal->buffer);
	strlcpy(result->message, why, sizeof(result->message));
	fork_reader_close(&heal->reader);
}

/* Must be asked before the block is held, since it waits for storage. */
static bool
is_transformed(const Heal *heal)
{
	PageStatus	status = heal->decision.verdict.status;

	return status != PAGE_OK && status != PAGE_NEW &&
		fork_is_transformed(&heal->fork, heal->blkno, NULL);
}

/*
 * Must be asked before the block is held, since it reads all WAL since the
 * page's LSN.
 */
static void
ask_age(Heal *heal)
{
	BlockDecision *decision = &heal->decision;
	XLogRecPtr	end = heal->fork.test_lsn ?
		lost_server_end(wal_segment_size) : InvalidXLogRecPtr;

	decide(heal, false);
	if (decision->copy != BLOCK_COPY_NONE)
		heal->age = page_age(&heal->fork, heal->blkno,
							 PageGetLSN((Page) decision->cached.data), end,
							 heal->why);
}

/* Returns what the page in memory is worth, its age included. */
static BlockCopy
worth(const Heal *heal)
{
	BlockCopy	copy = heal->decision.copy;

	if (copy == BLOCK_COPY_NONE || heal->age == PAGE_AGE_OLDER)
		return BLOCK_COPY_NONE;
	return heal->age == PAGE_AGE_NEWEST ? copy : BLOCK_COPY_SANE;
}

static void
decide(Heal *heal, bool hold)
{
	ForkReader *reader = &heal->reader;
	MapWitness	witness;
	BlockFate	fate;

	map_witness_init(&witness, &heal->fork);
	heal->initialized = map_witness_initialized(&witness, heal->blkno);
	map_witness_close(&witness);
	if (!fork_reader_open(reader, heal->blkno))
		fate = reader->error == ENOENT ? BLOCK_GONE : BLOCK_UNREADABLE;
	else if (heal->blkno >= fork_reader_segment_end(reader))
		fate = BLOCK_GONE;
	else
	{
		if (hold)
			heal->buffer = block_decide_and_hold(reader, heal->blkno,
												 &heal->rules,
												 &heal->decision);
		else
			block_decide(reader, heal->blkno, &heal->rules, &heal->decision);
		fate = heal->decision.fate;
	}
	if (fate != BLOCK_JUDGED)
		disk_page_failed(reader, heal->blkno, fate);
}

static bool
zeros_are_damage(const Heal *heal)
{
	const BlockDecision *decision = &heal->decision;

	if (heal->fork.fork == FSM_FORKNUM ||
		heal->fork.fork == VISIBILITYMAP_FORKNUM || decision->write_to_come)
		return false;
	return heal->initialized || decision->copy != BLOCK_COPY_NONE;
}

/* Why a damaged block is left as it is. */
static const char *
why_not_written(Heal *heal)
{
	BlockCopy	copy = heal->decision.copy;

	if (copy == BLOCK_COPY_NONE)
		return BLOCK_IS_CACHED(&heal->decision) ?
			"shared buffers hold no better page than the disk" :
			"shared buffers do not hold the block";
	if (heal->age == PAGE_AGE_OLDER)
		return psprintf("shared buffers hold an older page: %s", heal->why);
	if (copy == BLOCK_COPY_PROVEN)
		return psprintf("shared buffers hold a page that is proven by its checksum, but may not be the newest: %s; allow_unproven => true writes it",
						heal->why);
	return "shared buffers hold a page that is sane by its header, but not proven by its checksum: allow_unproven => true writes it";
}

/* Chooses what becomes of the block.  HEAL_HEALED means to write the page. */
static HealStatus
choose(Heal *heal, const char **why)
{
	const BlockDecision *decision = &heal->decision;
	PageStatus	status = decision->verdict.status;
	BlockCopy	copy = worth(heal);
	bool		good = status == PAGE_OK && !decision->mark_lost;

	if (good && !heal->fork.checksums)
	{
		*why = "data checksums are disabled: the page header is sane, nothing else is known";
		return HEAL_NOT_VERIFIABLE;
	}
	if (good || (status == PAGE_NEW && !zeros_are_damage(heal)))
	{
		*why = good ? "the page on disk is good" :
			decision->write_to_come ?
			"the page on disk is all zeros, but a dirty page in shared buffers is yet to be written: CHECKPOINT writes it" :
			"the page on disk is all zeros, as a new page is";
		return HEAL_HEALTHY;
	}
	if (copy == BLOCK_COPY_PROVEN ||
		(copy == BLOCK_COPY_SANE && heal->allow_unproven))
		return HEAL_HEALED;
	*why = why_not_written(heal);
	return HEAL_NO_GOOD_COPY;
}

/* The server sets the checksum of what it writes, not always of its buffer. */
static bool
is_same_page(const char *disk, const char *page)
{
	const size_t before = offsetof(PageHeaderData, pd_checksum);
	const size_t after = before + sizeof(((PageHeader) page)->pd_checksum);

	return memcmp(disk, page, before) == 0 &&
		memcmp(disk + after, page + after, BLCKSZ - after) == 0;
}

/*
 * A dirty page that cannot be written fails every checkpoint.  So nothing is
 * made dirty that the server does not reach with files opened anew, for
 * writing.  The server goes through all segments up to the block's, and the
 * earlier ones are full.
 */
static void
refuse_unless_writable(Heal *heal)
{
	const Fork *fork = &heal->fork;
	SMgrRelation smgr = RelationGetSmgr(fork->rel);

	smgrrelease(smgr);
	if (heal->blkno >= smgrnblocks(smgr, fork->fork))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("block %u of fork \"%s\" of relation \"%s\" cannot be written",
						heal->blkno, forkNames[fork->fork],
						RelationGetRelationName(fork->rel)),
				 errdetail("A segment up to it is short, missing or cannot be opened for writing.")));
}

static void
write_back_failed(const char *path, int elevel)
{
	ereport(elevel,
			(errcode_for_file_access(),
			 errmsg("could not write to file \"%s\": %m", path),
			 errdetail("The block was written back as it is on disk, to see whether storage takes it."),
			 errhint("Nothing was changed. Replace the storage.")));
}

static bool
write_image(int fd, off_t offset, const char *image)
{
	ssize_t		n;

	errno = 0;
	n = pg_pwrite(fd, image, BLCKSZ, offset);
	if (n >= 0 && n < BLCKSZ && errno == 0)
		errno = ENOSPC;
	return n == BLCKSZ;
}

/*
 * Writes past the page cache, so that storage itself answers.  Returns false
 * if that is not possible.  An error that a sync would report is of unknown
 * writes, and a sync that reports it hides it from the checkpointer.  An error
 * here is of our write alone.
 */
static bool
write_back_directly(const char *path, off_t offset, const char *image)
{
	int			fd = OpenTransientFile(path, O_RDWR | PG_BINARY | PG_O_DIRECT);
	bool		written;

	if (PG_O_DIRECT == 0 || fd < 0)
	{
		if (fd >= 0)
			CloseTransientFile(fd);
		return false;
	}
	written = write_image(fd, offset, image);
	if (!written && errno != EINVAL)
		write_back_failed(path, ERROR);
	CloseTransientFile(fd);
	return written;
}

/* Proves that storage takes the block, by what it has. */
static void
write_back(const Heal *heal)
{
	off_t		offset = (off_t) (heal->blkno % RELSEG_SIZE) * BLCKSZ;
	char	   *space = palloc(BLCKSZ + DIRECT_ALIGN);
	char	   *image = (char *) TYPEALIGN(DIRECT_ALIGN, space);
	char		path[SCAN_PATH_SIZE];
	bool		written;
	int			fd;

	fork_segment_path(&heal->fork, heal->blkno / RELSEG_SIZE, path);
	memcpy(image, heal->decision.image.data, BLCKSZ);
	written = write_back_directly(path, offset, image);
	fd = OpenTransientFile(path, O_RDWR | PG_BINARY);
	if (fd < 0 || (!written && !write_image(fd, offset, image)))
		write_back_failed(path, ERROR);
	if (pg_fsync(fd) != 0)
		write_back_failed(path, data_sync_elevel(ERROR));
	CloseTransientFile(fd);
	pfree(space);
}

static HealStatus
write_and_read(Heal *heal)
{
	BlockDecision *decision = &heal->decision;
	char	   *disk = decision->image.data;
	PageVerdict verdict;

	refuse_unless_writable(heal);
	write_back(heal);
	START_CRIT_SECTION();
	MarkBufferDirty(heal->buffer);
	if (RelationNeedsWAL(heal->fork.rel) || heal->fork.fork == INIT_FORKNUM)
		log_newpage_buffer(heal->buffer, false);
	END_CRIT_SECTION();
	FlushOneBuffer(heal->buffer);
	if (fork_reader_read(&heal->reader, heal->blkno, 1, disk) != 1)
		disk_page_failed(&heal->reader, heal->blkno, BLOCK_UNREADABLE);
	page_judge(disk, heal->blkno, &heal->rules, &verdict);
	block_judge_lsn(disk, heal->blkno, &heal->rules, &verdict);
	return verdict.status == PAGE_OK &&
		is_same_page(disk, BufferGetPage(heal->buffer)) ?
		HEAL_HEALED : HEAL_NOT_HEALED;
}
