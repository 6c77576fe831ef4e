/*
 * heal.c
 *	  Writes a good page of shared buffers over its damaged block on disk.
 *
 * The file page/decide.c says what is on disk and what the buffer above it is
 * worth.  It leaves the buffer pinned and its content locked exclusively.  So
 * nobody changes or flushes the page until all is done.  How it is written is
 * in repair/block.c.
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
 * A page that the device alone has damaged is in the page cache, which is what
 * the server knows as its disk.  Writing the same page again needs no proof of
 * its age.  So it is if the device lost a write, and holds an older page.  If
 * its page is newer than the page cache's, the WAL must say which one is right.
 *
 * A clean buffer holds what was written.  A later LSN there says that the disk
 * lost that write.
 *
 * Zeros on disk below a clean buffer with a page are damage, since what the
 * buffer holds was once on disk.  Free space and visibility maps are the
 * exception, since their empty pages are made in memory alone.
 *
 * This is proved by experiment in test/t/026_heal.pl and
 * test/t/027_heal_crash.pl.
 */
#include "compat.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "lost/server.h"
#include "page/fork_transform.h"
#include "page/map_witness.h"
#include "page/relation_scan.h"
#include "repair/block.h"
#include "repair/heal.h"
#include "repair/page_age.h"

typedef struct Heal
{
	Fork		fork;
	BlockNumber blkno;
	bool		allow_unproven;
	bool		direct;			/* heal the device */
	PageRules	rules;
	ForkReader	reader;
	bool		initialized;	/* as the visibility map knows */
	PageAge		age;			/* of the page in memory */
	char		why[SCAN_MESSAGE_SIZE]; /* unless it is the newest */
	Buffer		buffer;			/* pinned and locked, or Invalid */
	BlockDecision decision;
} Heal;

static void heal_fork_block(Heal *heal, HealResult *result);
static const char *why_written(const Heal *heal, HealStatus status);
static bool is_transformed(const Heal *heal);
static void ask_age(Heal *heal);
static BlockCopy worth(const Heal *heal);
static void decide(Heal *heal, bool hold);
static bool zeros_are_damage(const Heal *heal);
static HealStatus choose(Heal *heal, const char **why);
static HealStatus write_and_read(Heal *heal);

void
heal_block(Oid relid, ForkNumber fork, BlockNumber blkno, bool allow_unproven,
		   bool direct, HealResult *result)
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
	heal->direct = direct;
	why = repair_why_not(&heal->fork);
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

static void
heal_fork_block(Heal *heal, HealResult *result)
{
	const char *why = FORK_TRANSFORMED_WORDS;

	if (heal->direct)
		fork_reader_init_direct(&heal->reader, &heal->fork, 1);
	else
		fork_reader_init(&heal->reader, &heal->fork);
	heal->reader.strict = heal->direct;
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
		why = why_written(heal, result->status);
	}
	if (BufferIsValid(heal->buffer))
		UnlockReleaseBuffer(heal->buffer);
	strlcpy(result->message, why, sizeof(result->message));
	fork_reader_close(&heal->reader);
}

static const char *
why_written(const Heal *heal, HealStatus status)
{
	const char *from = heal->direct ? " from the device" : "";

	if (heal->reader.write_back != 0)
		return psprintf("the page was written from shared buffers, but its write-back failed: %s",
						strerror(heal->reader.write_back));
	return psprintf(status == HEAL_HEALED ?
					"the page was written from shared buffers and read back%s" :
					"the page was written from shared buffers, but was another one when it was read back%s",
					from);
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
 * Is the page of shared buffers that of the page cache, above a bad or older
 * one on the device?  Then writing it changes nothing for the server.
 */
static bool
is_cached_page(const BlockDecision *decision)
{
	bool		newer = block_is_other_on_device(decision) &&
		decision->verdict.lsn > decision->good_lsn;

	return decision->place == BLOCK_ON_DEVICE && !newer &&
		decision->buffer_state == BLOCK_BUFFER_CLEAN &&
		repair_is_same_page(decision->cached.data, decision->before.data);
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

	heal->age = PAGE_AGE_UNKNOWN;
	strlcpy(heal->why, "it came there meanwhile", sizeof(heal->why));
	decide(heal, false);
	if (decision->copy != BLOCK_COPY_NONE && !is_cached_page(decision))
		heal->age = page_age(&heal->fork, heal->blkno,
							 PageGetLSN((Page) decision->cached.data), end,
							 heal->why);
}

/*
 * Returns what the page in memory is worth, its age included.  That of the page
 * cache is proven by its checksum there.
 */
static BlockCopy
worth(const Heal *heal)
{
	BlockCopy	copy = heal->decision.copy;

	if (is_cached_page(&heal->decision))
		return heal->fork.checksums ? BLOCK_COPY_PROVEN : copy;
	if (copy == BLOCK_COPY_NONE || heal->age == PAGE_AGE_OLDER)
		return BLOCK_COPY_NONE;
	return heal->age == PAGE_AGE_NEWEST ? copy : BLOCK_COPY_SANE;
}

static void
decide(Heal *heal, bool hold)
{
	MapWitness	witness;

	map_witness_init(&witness, &heal->fork);
	heal->initialized = map_witness_initialized(&witness, heal->blkno);
	map_witness_close(&witness);
	repair_decide(&heal->reader, heal->blkno, &heal->rules, &heal->decision,
				  hold ? &heal->buffer : NULL);
}

static bool
zeros_are_damage(const Heal *heal)
{
	const BlockDecision *decision = &heal->decision;

	if (decision->place == BLOCK_ON_DEVICE)
		return true;
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
	bool		good = status == PAGE_OK && !decision->mark_lost &&
		!decision->older && !block_is_other_on_device(decision);

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
	if (decision->place == BLOCK_ON_DEVICE && decision->write_to_come)
	{
		*why = "the device does not hold the page, but a dirty page in shared buffers is yet to be written: CHECKPOINT writes it";
		return HEAL_HEALTHY;
	}
	*why = why_not_written(heal);
	return HEAL_NO_GOOD_COPY;
}

static HealStatus
write_and_read(Heal *heal)
{
	BlockDecision *decision = &heal->decision;
	char	   *disk = decision->image.data;
	bool		below = decision->place == BLOCK_ON_DEVICE;

	/* what the page cache has is on disk, as far as the server knows */
	heal->reader.write_back = 0;
	repair_prove_writable(&heal->fork, heal->blkno,
						  below ? decision->before.data : disk, below);
	return repair_write(&heal->reader, heal->blkno, &heal->rules,
						heal->buffer, NULL, disk) ?
		HEAL_HEALED : HEAL_NOT_HEALED;
}
