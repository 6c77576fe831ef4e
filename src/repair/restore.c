/*
 * restore.c
 *	  Writes a page that is given over a block that lost it.
 *
 * The block is looked at first, then the WAL is read up to a present that is
 * taken after that, and then the block is held and looked at again.  Whoever
 * changes a block has it in a buffer, and gives it a later LSN there.  A buffer
 * over the block stays pinned from the first look to the write, so that LSN
 * cannot be lost with it.  A page that the server can read is read into one for
 * that.  So if the buffer still has the LSN of the first look, no record after
 * the present changed the block.
 *
 * Replacing a page takes a cleanup lock, since others who have the buffer
 * pinned look at tuples without a lock.
 *
 * A damaged block that no buffer holds cannot be read.  There the server gives
 * an empty buffer, locked before anybody sees it (RBM_ZERO_AND_LOCK).  From
 * then on nothing may fail, since those zeros would stay.  So storage is asked
 * before, and only the damage itself is written back.  Nobody has the block in
 * a buffer then, since reading it fails.  A hash index alone makes a page anew
 * without reading it, so its writers are locked out before the block is
 * decided.  A session with ignore_checksum_failure or zero_damaged_pages that
 * changes it within that moment is not provided for.
 *
 * What is written is what redo makes of the WAL's own record, wherever that is
 * the proof.  So a page that differs in hint bits, or in bytes that the
 * server's masks pass over, brings none of them in.  A sequence goes on as after
 * a crash, up to 32 values later.
 *
 * Two calls for one block exclude each other by a lock on its page.
 *
 * This is proved by experiment in test/t/090_restore_block.pl.
 */
#include "compat.h"

#include "access/relation.h"
#include "access/xlog_internal.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class_d.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "page/digest.h"
#include "page/fork_transform.h"
#include "page/mask.h"
#include "page/relation_kind.h"
#include "page/relation_scan.h"
#include "repair/backup_page.h"
#include "repair/block.h"
#include "repair/image.h"
#include "repair/restore.h"

/* Rounds until a block that never stays the same is given up. */
#define MOST_LOOKS		5

/* How long pins of others are waited for, in steps of PIN_WAIT microseconds. */
#define MOST_PIN_WAITS	1000
#define PIN_WAIT		10000L

/*
 * WAL is read from so many bytes before the page's LSN, for the record that
 * ends there.  A record that names blocks is shorter.
 */
#define RECORD_BYTES	(4 * 1024 * 1024)

struct Restore
{
	Fork		fork;
	BlockNumber blkno;
	WalBlockTag tag;
	const char *why_not;		/* it is not verifiable */
	bool		refused;		/* the backup has no such page, as was said */
	BackupPage *backup;			/* of which the page is, or NULL */
	size_t		size;
	PageRules	rules;
	ForkReader	reader;
	int			looks;
	bool		alone;			/* no other session writes the relation */

	PGAlignedBlock given;
	PGAlignedBlock ours;		/* what redo makes of the record at its LSN */
	bool		has_ours;

	BlockDecision decision;		/* the last one */
	PGAlignedBlock seen;		/* on disk, by restore_look() */
	XLogRecPtr	seen_lsn;		/* of the pinned buffer's page then */
	Buffer		pinned;			/* since then, or Invalid */
	RestoreFacts facts;
	PageMask	mask;			/* if why_not is NULL */
	LedgerPage	known;			/* what the page ledger has, LSN 0 if nothing */
	WalBlockHistory history;
	RestoreProof proof;
	Buffer		buffer;			/* pinned and locked, or Invalid */

	RestoreStatus status;
	char		message[RESTORE_MESSAGE];
};

static void say(Restore *ctx, RestoreStatus status, const char *format,...)
			pg_attribute_printf(3, 4);

static void
say(Restore *ctx, RestoreStatus status, const char *format,...)
{
	va_list		args;

	ctx->status = status;
	va_start(args, format);
	vsnprintf(ctx->message, sizeof(ctx->message), format, args);
	va_end(args);
}

static void
release(Restore *ctx)
{
	if (BufferIsValid(ctx->buffer))
		UnlockReleaseBuffer(ctx->buffer);
	ctx->buffer = InvalidBuffer;
}

static void
unpin(Restore *ctx)
{
	if (BufferIsValid(ctx->pinned))
		ReleaseBuffer(ctx->pinned);
	ctx->pinned = InvalidBuffer;
}

/* ---- what is given ---- */

/* Says why no page of the fork can be proved, or returns NULL. */
static const char *
why_not(const Fork *fork)
{
	const char *why = repair_why_not(fork);
	Form_pg_class form = fork->rel->rd_rel;

	if (why != NULL)
		return why;
	if (fork->fork != MAIN_FORKNUM)
		return "the WAL does not name all changes of its maps: VACUUM makes them anew";
	if (form->relpersistence != RELPERSISTENCE_PERMANENT)
		return "no WAL is written of unlogged relations";
	if (form->relkind != RELKIND_SEQUENCE &&
		!relation_wal_is_complete(fork->rel, fork->fork))
		return "its access method is none of the server's";
	if (!fork->checksums)
		return "data checksums are disabled: neither the page nor the disk proves itself";
	return NULL;
}

Restore *
restore_begin(Oid relid, ForkNumber number, BlockNumber blkno,
			  const char *page, size_t size, bool allow_unproven)
{
	Restore    *ctx = palloc0(sizeof(Restore));
	Fork	   *fork = &ctx->fork;

	LockRelationOid(relid, RowExclusiveLock);
	fork_describe(fork, scan_open_relation(relid), number);
	LockPage(fork->rel, blkno, ExclusiveLock);
	fork_reader_init(&ctx->reader, fork);
	repair_block_tag(fork, blkno, &ctx->tag);
	ctx->blkno = blkno;
	ctx->why_not = why_not(fork);
	if (ctx->why_not == NULL)
		page_mask_init(&ctx->mask, fork->rel, number);
	ctx->size = size;
	if (size > 0)
		memcpy(ctx->given.data, page, Min(size, BLCKSZ));
	ctx->rules.checksums = fork->checksums;
	ctx->rules.kind = fork->kind;
	ctx->rules.horizon = block_horizon();
	ctx->facts.lsn = PageGetLSN((Page) ctx->given.data);
	ctx->facts.allow_unproven = allow_unproven;
	return ctx;
}

Relation
restore_relation(const Restore *ctx)
{
	return ctx->why_not == NULL ? ctx->fork.rel : NULL;
}

void
restore_know(Restore *ctx, const LedgerPage *known)
{
	ctx->known = *known;
}

void
restore_use_backup(Restore *ctx, const BackupNames *names)
{
	char		words[BACKUP_PAGE_WORDS];

	if (ctx->why_not != NULL)
		return;
	ctx->backup = palloc0(sizeof(BackupPage));
	if (!backup_page_read(ctx->backup, names, &ctx->fork, ctx->blkno, words))
	{
		ctx->refused = true;
		say(ctx, RESTORE_NOT_PROVEN, "the backup proves no page of the block: %s",
			words);
		return;
	}
	ctx->size = BLCKSZ;
	memcpy(ctx->given.data, ctx->backup->page.data, BLCKSZ);
	ctx->facts.lsn = PageGetLSN((Page) ctx->given.data);
}

RestoreStatus
restore_end(Restore *ctx, char *message)
{
	RestoreStatus status = ctx->status;
	Relation	rel = ctx->fork.rel;

	strlcpy(message, ctx->message, RESTORE_MESSAGE);
	unpin(ctx);
	if (ctx->backup != NULL)
		backup_page_end(ctx->backup);
	fork_reader_close(&ctx->reader);
	UnlockPage(rel, ctx->blkno, ExclusiveLock);
	relation_close(rel, AccessShareLock);
	pfree(ctx);
	return status;
}

/* Is it a page of such a block at all? */
static bool
judge_given(Restore *ctx)
{
	PageVerdict verdict;

	if (ctx->size != BLCKSZ)
	{
		say(ctx, RESTORE_INVALID_PAGE, "the page has %zu bytes, not %d",
			ctx->size, BLCKSZ);
		return false;
	}
	page_judge(ctx->given.data, ctx->blkno, &ctx->rules, &verdict);
	block_judge_lsn(ctx->given.data, ctx->blkno, &ctx->rules, &verdict);
	if (verdict.status == PAGE_OK)
		return true;
	say(ctx, RESTORE_INVALID_PAGE, "the page is no sound page of block %u: %s",
		ctx->blkno, verdict.status == PAGE_NEW ? "all zeros" :
		page_status_name(verdict.status));
	return false;
}

/* ---- the block ---- */

static XLogRecPtr
lsn_of(const PGAlignedBlock *page)
{
	return PageGetLSN((Page) page->data);
}

/* Are two pages of the block the same under the mask? */
static RestoreContent
compare(Restore *ctx, const char *one, const char *other)
{
	PGAlignedBlock first;
	const char *masked = page_mask_apply(&ctx->mask, one, ctx->blkno);

	if (masked == NULL)
		return RESTORE_CONTENT_UNKNOWN;
	memcpy(first.data, masked, BLCKSZ);
	masked = page_mask_apply(&ctx->mask, other, ctx->blkno);
	if (masked == NULL)
		return RESTORE_CONTENT_UNKNOWN;
	return memcmp(masked, first.data, BLCKSZ) == 0 ? RESTORE_CONTENT_SAME :
		RESTORE_CONTENT_OTHER;
}

static bool
differs_from_given(Restore *ctx, const char *page)
{
	return compare(ctx, page, ctx->given.data) == RESTORE_CONTENT_OTHER;
}

/*
 * Puts what was decided into the facts.  Zeros below a page that is yet to be
 * written for the first time are good.
 */
static void
learn_facts(Restore *ctx)
{
	const BlockDecision *decision = &ctx->decision;
	RestoreFacts *facts = &ctx->facts;
	PageStatus	status = decision->verdict.status;

	if (status == PAGE_NEW)
		facts->disk = decision->write_to_come ? RESTORE_DISK_GOOD :
			RESTORE_DISK_ZEROS;
	else
		facts->disk = status == PAGE_OK && !decision->mark_lost &&
			!decision->older ? RESTORE_DISK_GOOD : RESTORE_DISK_DAMAGED;
	facts->cached = facts->disk != RESTORE_DISK_GOOD &&
		decision->copy != BLOCK_COPY_NONE;
	facts->server_lsn = InvalidXLogRecPtr;
	if (facts->disk == RESTORE_DISK_GOOD)
		facts->server_lsn = lsn_of(&decision->image);
	if (facts->cached ||
		(facts->disk == RESTORE_DISK_GOOD && BLOCK_IS_CACHED(decision)))
		facts->server_lsn = Max(facts->server_lsn, lsn_of(&decision->cached));
	facts->differs = facts->disk == RESTORE_DISK_GOOD &&
		facts->server_lsn == facts->lsn &&
		(differs_from_given(ctx, decision->image.data) ||
		 (BLOCK_IS_CACHED(decision) &&
		  differs_from_given(ctx, decision->cached.data)));
}

/* Must be asked before the block is held, since it waits for storage. */
static bool
is_transformed(const Restore *ctx)
{
	return ctx->facts.disk == RESTORE_DISK_DAMAGED &&
		fork_is_transformed(&ctx->fork, ctx->blkno, NULL);
}

/* Does the server read the page on disk without an error? */
static bool
is_readable(const Restore *ctx)
{
	PageRules	rules = {ctx->rules.checksums};
	PageVerdict verdict;

	page_judge(ctx->decision.image.data, ctx->blkno, &rules, &verdict);
	return verdict.status == PAGE_OK || verdict.status == PAGE_NEW;
}

/*
 * Decides the block.  If a buffer holds it, or can, it stays pinned, and its
 * LSN is remembered.
 */
static void
decide_and_pin(Restore *ctx)
{
	BlockDecision *decision = &ctx->decision;

	unpin(ctx);
	repair_decide(&ctx->reader, ctx->blkno, &ctx->rules, decision,
				  &ctx->buffer);
	if (!BufferIsValid(ctx->buffer) && is_readable(ctx))
	{
		ctx->pinned = ReadBuffer(ctx->fork.rel, ctx->blkno);
		repair_decide(&ctx->reader, ctx->blkno, &ctx->rules, decision,
					  &ctx->buffer);
	}
	if (BufferIsValid(ctx->buffer))
	{
		LockBuffer(ctx->buffer, BUFFER_LOCK_UNLOCK);
		unpin(ctx);
		ctx->pinned = ctx->buffer;
		ctx->buffer = InvalidBuffer;
		ctx->seen_lsn = lsn_of(&decision->cached);
	}
	memcpy(ctx->seen.data, decision->image.data, BLCKSZ);
}

/*
 * Keeps writers out if one of them may make the block anew without reading it,
 * which _hash_getinitbuf() and _hash_getnewbuf() do.  Returns whether that is
 * new, so that the block is to be decided again.
 */
static bool
keep_writers_out(Restore *ctx)
{
	Relation	rel = ctx->fork.rel;

	if (ctx->alone || BufferIsValid(ctx->pinned) ||
		rel->rd_rel->relam != HASH_AM_OID)
		return false;
	LockRelation(rel, ExclusiveLock);
	ctx->alone = true;
	return true;
}

bool
restore_look(Restore *ctx)
{
	RestoreStatus status;

	if (ctx->why_not != NULL)
	{
		say(ctx, RESTORE_NOT_VERIFIABLE, "%s", ctx->why_not);
		return false;
	}
	if (ctx->refused || !judge_given(ctx))
		return false;
	if (ctx->looks++ == MOST_LOOKS)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("block %u of relation \"%s\" does not stay the same",
						ctx->blkno, RelationGetRelationName(ctx->fork.rel)),
				 errdetail("It was read %d times.", MOST_LOOKS)));
	decide_and_pin(ctx);
	if (keep_writers_out(ctx))
		decide_and_pin(ctx);
	learn_facts(ctx);
	if (is_transformed(ctx))
		say(ctx, RESTORE_NOT_VERIFIABLE, "%s", FORK_TRANSFORMED_WORDS);
	else if (restore_must_prove(&ctx->facts, &status))
		return true;
	else
		say(ctx, status, status == RESTORE_HEALTHY ?
			"the block has a good page, as new as the one that is given" :
			"shared buffers hold the page, as new as the one that is given: heal_block() writes it");
	return false;
}

/* ---- the WAL ---- */

/* Makes the page of the record that ends at the page's LSN, if it tells all. */
static void
make_ours(Restore *ctx, const WalBlockRecord *record)
{
	WalBlocks  *blocks = &ctx->history.blocks;

	if (wal_blocks_decode(blocks, record->bytes, record->present,
						  BLCKSZ) != WAL_BLOCKS_OK)
		return;
	for (int i = 0; i < blocks->count; i++)
	{
		const WalBlockRef *ref = &blocks->refs[i];

		if (wal_block_tag_equal(&ref->tag, &ctx->tag))
			ctx->has_ours = redo_sequence(record, blocks, ctx->ours.data) ||
				(ref->has_image &&
				 redo_image(record, ref, ctx->ours.data) == WAL_IMAGE_RESTORED);
	}
}

static void
on_record(void *arg, const WalBlockRecord *record)
{
	Restore    *ctx = arg;

	if (record->end == ctx->proof.lsn)
		make_ours(ctx, record);
	wal_block_history_record(&ctx->history, record);
}

static void
on_gap(void *arg, const WalBlockGap *gap)
{
	Restore    *ctx = arg;

	wal_block_history_gap(&ctx->history, gap);
}

/* Does redo give the page, but for what the server's masks pass over? */
static RestoreContent
compare_ours(Restore *ctx)
{
	return ctx->has_ours ? compare(ctx, ctx->ours.data, ctx->given.data) :
		RESTORE_CONTENT_UNKNOWN;
}

/* Is it what the page ledger knows?  The mask hides a sequence's value. */
static RestoreLedger
compare_known(Restore *ctx)
{
	Relation	rel = ctx->fork.rel;
	const char *masked;

	if (ctx->known.lsn < LEDGER_FIRST_LSN || ctx->known.lsn != ctx->facts.lsn ||
		rel->rd_rel->relkind == RELKIND_SEQUENCE ||
		!page_mask_exact(rel, ctx->fork.fork))
		return RESTORE_LEDGER_NONE;
	masked = page_mask_apply(&ctx->mask, ctx->given.data, ctx->blkno);
	return masked != NULL && page_digest(masked) == ctx->known.digest ?
		RESTORE_LEDGER_SAME : RESTORE_LEDGER_OTHER;
}

/* Does a backup hold the same WAL as this server, in the range it needs? */
static RestoreBackup
compare_range(const BackupRange *range, WalStream *stream)
{
	WalDirectory dir;

	if (wal_directory_open(&dir, range->wal, XLOGDIR, false, NULL) != WAL_DIRECTORY_OK)
		return RESTORE_BACKUP_UNKNOWN;
	switch (wal_stream_compare(stream, &dir, range->timeline, range->start,
							   range->end))
	{
		case WAL_STREAM_SAME:
			return RESTORE_BACKUP_SAME;
		case WAL_STREAM_OTHER:
			return RESTORE_BACKUP_OTHER;
		default:
			return RESTORE_BACKUP_UNKNOWN;
	}
}

/* Does each backup of the chain, as far as it is needed? */
static void
compare_backups(const BackupPage *backup, WalStream *stream,
				RestoreProof *proof)
{
	proof->backup = RESTORE_BACKUP_SAME;
	for (int i = 0; i < backup->count; i++)
	{
		RestoreBackup one = compare_range(&backup->ranges[i], stream);

		if (one == RESTORE_BACKUP_SAME || proof->backup == RESTORE_BACKUP_OTHER)
			continue;
		if (one == RESTORE_BACKUP_OTHER || proof->backup == RESTORE_BACKUP_SAME)
			proof->whose = backup->count > 1 ? backup->ranges[i].root : NULL;
		proof->backup = one;
	}
}

/*
 * From where on must WAL be whole, if the backup is this server's?  A page that
 * was written while its backup was made is not proven by it.
 */
static WalLsn
since_backup(const BackupPage *backup, WalLsn lsn)
{
	if (backup == NULL || lsn > backup->ranges[backup->count - 1].start)
		return 0;
	return backup->ranges[0].start;
}

void
restore_prove(Restore *ctx, WalStream *stream, WalLsn present,
			  bool own_history)
{
	WalBlockHistory *history = &ctx->history;
	RestoreProof *proof = &ctx->proof;
	WalLsn		lsn = ctx->facts.lsn;

	memset(history, 0, sizeof(*history));
	memset(proof, 0, sizeof(*proof));
	proof->lsn = lsn;
	proof->own_history = own_history;
	proof->since = since_backup(ctx->backup, lsn);
	history->tag = ctx->tag;
	history->block_size = BLCKSZ;
	history->until = present;
	history->all_copies = true;
	history->emit = restore_proof_row;
	history->arg = proof;
	ctx->has_ours = false;
	stream->record = on_record;
	stream->broken = on_gap;
	stream->arg = ctx;
	wal_stream_read(stream, lsn > RECORD_BYTES ? lsn - RECORD_BYTES : 1,
					present);
	if (!stream->complete)
		wal_block_history_gap(history, &stream->rest);
	wal_block_history_end(history, false);
	proof->dropped = history->dropped;
	proof->content = compare_ours(ctx);
	proof->ledger = compare_known(ctx);
	if (ctx->backup != NULL)
		compare_backups(ctx->backup, stream, proof);
}

/* ---- the buffer ---- */

/*
 * Takes an empty buffer for a damaged block.  Returns false, with nothing
 * held, if a buffer with a page came in between.
 *
 * The block may be read otherwise now, as storage that fails does it.  A good
 * page is then what a read would have put into the buffer.  Anything else is
 * as damaged as before, and the page may be written over it.
 */
static bool
hold_empty(Restore *ctx)
{
	char	   *disk = ctx->decision.image.data;
	PageVerdict verdict;

	repair_prove_writable(&ctx->fork, ctx->blkno, ctx->seen.data, false);
	ctx->buffer = ReadBufferExtended(ctx->fork.rel, ctx->fork.fork, ctx->blkno,
									 RBM_ZERO_AND_LOCK, NULL);
	if (!page_is_zero(BufferGetPage(ctx->buffer)))
	{
		release(ctx);
		return false;
	}
	if (fork_reader_read(&ctx->reader, ctx->blkno, 1, disk) != 1)
		return true;
	page_judge(disk, ctx->blkno, &ctx->rules, &verdict);
	if (verdict.status != PAGE_OK)
		return true;
	memcpy(BufferGetPage(ctx->buffer), disk, BLCKSZ);
	release(ctx);
	return false;
}

/* Lets others have the held buffer for a moment, but keeps it pinned. */
static void
wait_for_pins(Restore *ctx, int waits)
{
	ctx->pinned = ctx->buffer;
	ctx->buffer = InvalidBuffer;
	LockBuffer(ctx->pinned, BUFFER_LOCK_UNLOCK);
	if (waits >= MOST_PIN_WAITS)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("block %u of relation \"%s\" is in use",
						ctx->blkno, RelationGetRelationName(ctx->fork.rel)),
				 errdetail("Somebody has its buffer pinned, by an open cursor for instance.")));
	CHECK_FOR_INTERRUPTS();
	pg_usleep(PIN_WAIT);
}

/* Is the block, as it was decided last, what the first look saw? */
static bool
is_as_seen(const Restore *ctx)
{
	if (memcmp(ctx->decision.image.data, ctx->seen.data, BLCKSZ) != 0 ||
		BufferIsValid(ctx->buffer) != BufferIsValid(ctx->pinned))
		return false;
	return !BufferIsValid(ctx->buffer) ||
		lsn_of(&ctx->decision.cached) == ctx->seen_lsn;
}

/*
 * Holds the block, so that nobody else changes or writes it.  Returns false if
 * it is not as it was seen, or that is not certain.
 */
static bool
hold(Restore *ctx, RestoreVerdict verdict)
{
	for (int waits = 0;; waits++)
	{
		repair_decide(&ctx->reader, ctx->blkno, &ctx->rules, &ctx->decision,
					  &ctx->buffer);
		learn_facts(ctx);
		if (!is_as_seen(ctx) ||
			restore_choose(&ctx->facts, verdict) != RESTORE_RESTORED)
			break;
		if (!BufferIsValid(ctx->buffer))
			return hold_empty(ctx);
		unpin(ctx);
		if (IsBufferCleanupOK(ctx->buffer))
		{
			repair_prove_writable(&ctx->fork, ctx->blkno, ctx->seen.data, false);
			return true;
		}
		wait_for_pins(ctx, waits);
	}
	release(ctx);
	return false;
}

/* ---- the write ---- */

/*
 * What is written is read back from the device, where the file system does
 * read it.
 */
static void
open_device(Restore *ctx)
{
	(void) fork_reader_open_device(&ctx->reader);
	ctx->reader.write_back = 0; /* of other writes */
}

/* Says why a page is not written, and what could be done. */
static void
refuse(Restore *ctx, RestoreStatus status, RestoreVerdict verdict,
	   const char *words)
{
	const RestoreFacts *facts = &ctx->facts;

	if (status != RESTORE_NOT_PROVEN)
		say(ctx, status, "%s", words);
	else if (facts->disk == RESTORE_DISK_GOOD || facts->cached)
		say(ctx, status, "%s: not written over a page that is sound, in %s",
			words, facts->cached ? "shared buffers" : "the file");
	else if (verdict == RESTORE_NO_IMAGE || verdict == RESTORE_OTHER_IN_LEDGER)
		say(ctx, status, "%s: allow_unproven => true writes it, if you know that it is a page of this server and not of a clone",
			words);
	else
		say(ctx, status, "%s: allow_unproven => true writes it, if you know that it is the newest page of this block and server",
			words);
}

/*
 * Does the server have the page already, under an older LSN?  A sorted build
 * of a GiST index writes such pages.
 */
static bool
is_in_place(const Restore *ctx, const char *page)
{
	const size_t flags = offsetof(PageHeaderData, pd_flags);

	return ctx->facts.disk == RESTORE_DISK_GOOD && !ctx->facts.differs &&
		memcmp(block_page(&ctx->decision) + flags, page + flags,
			   BLCKSZ - flags) == 0;
}

bool
restore_write(Restore *ctx)
{
	char		words[RESTORE_WORDS];
	RestoreVerdict verdict = restore_proof_judge(&ctx->proof);
	RestoreStatus status = restore_choose(&ctx->facts, verdict);
	bool		proven = verdict == RESTORE_PROVEN ||
		verdict == RESTORE_PROVEN_BY_BACKUP ||
		verdict == RESTORE_PROVEN_BY_LEDGER;
	const char *page = verdict == RESTORE_PROVEN ? ctx->ours.data :
		ctx->given.data;

	restore_proof_words(&ctx->proof, verdict, words);
	if (status != RESTORE_RESTORED)
	{
		refuse(ctx, status, verdict, words);
		return true;
	}
	if (proven && is_in_place(ctx, page))
	{
		say(ctx, RESTORE_HEALTHY,
			"the page on disk is the proven one, but for its LSN");
		return true;
	}
	open_device(ctx);
	if (!hold(ctx, verdict))
		return false;
	if (repair_write(&ctx->reader, ctx->blkno, &ctx->rules, ctx->buffer,
					 page, ctx->decision.image.data))
		say(ctx, RESTORE_RESTORED, "the page was written and read back%s: %s",
			proven ? "" : ", not proven", words);
	else if (ctx->reader.write_back != 0)
		say(ctx, RESTORE_NOT_RESTORED,
			"the page was written, but its write-back failed: %s",
			strerror(ctx->reader.write_back));
	else
		say(ctx, RESTORE_NOT_RESTORED,
			"the page was written, but was another one when it was read back");
	release(ctx);
	return true;
}
