/*
 * page_age.c
 *	  Is a page of shared buffers the newest version that WAL knows of?
 *
 * A checksum proves a page, but not its age.  Storage that loses a write
 * leaves the version before it, which is read without a complaint after a
 * restart.  A page carries the end of the last record that changed it.  So all
 * WAL from there on tells whether it is the newest.
 *
 * A witness (lost/witness.c) that ends later gave the block its LSN when it
 * was inserted, and no LSN goes back, so the page is older.  The end of the
 * WAL is asked for before the page is looked at under its content lock.  Any
 * session that had inserted a record by then has set the LSN and let the lock
 * go.  Any other record that ends later and names the block may have changed
 * it, or not, so the age is unknown.  Hints alone are no such records.  A gap
 * may hold anything, so the age is unknown, too.  A record that ends the
 * storage ends what was said before it.
 *
 * The age is also unknown of pages that indexes take into use without an LSN,
 * and of pages of wal_level minimal, which have none.  So it is of visibility
 * maps, whose bits are cleared without a trace.  Free space maps and init
 * forks have no newer version to miss.
 */
#include "compat.h"

#include "access/rmgr.h"
#include "access/xlog_internal.h"
#include "catalog/pg_control.h"
#include "storage/bufpage.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "lost/disk.h"
#include "lost/event.h"
#include "lost/witness.h"
#include "repair/block.h"
#include "repair/page_age.h"
#include "wal/stream.h"

typedef struct AgeSearch
{
	const Fork *fork;
	WalBlockTag tag;
	WalLsn		lsn;			/* of the page */
	LostWitnesses witnesses;
	WalLsn		newer;			/* end of the last witness, or 0 */
	WalLsn		named;			/* end of another record, or 0 */
	bool		broken;
	WalBlocks	blocks;
} AgeSearch;

static void
on_event(void *arg, const LostEvent *event)
{
	AgeSearch  *ctx = arg;
	const WalBlockTag *tag = &ctx->tag;

	if ((event->tablespace != 0 && event->tablespace != tag->tablespace) ||
		(event->database != 0 && event->database != tag->database) ||
		(event->relation != 0 && event->relation != tag->relation) ||
		event->first == LOST_STAYS || event->first > tag->block)
		return;
	ctx->newer = ctx->named = 0;
}

static void
on_gap(void *arg, const WalBlockGap *gap)
{
	AgeSearch  *ctx = arg;

	(void) gap;
	ctx->newer = ctx->named = 0;
	ctx->broken = true;
}

static void
on_reference(AgeSearch *ctx, const WalBlockRecord *record,
			 const WalBlockRef *ref)
{
	const uint8_t *rec = record->bytes;
	const LostWitnessRule *rule = lost_witness_rule(&ctx->witnesses, rec);
	LostProof	proof = rule == NULL ? LOST_PROOF_NONE :
		lost_witness(rule, &ctx->blocks, ref);

	if (rec[WAL_REC_RMID] == RM_XLOG_ID &&
		(rec[WAL_REC_INFO] & WAL_INFO_MASK) == XLOG_FPI_FOR_HINT)
		return;
	if (proof != LOST_PROOF_NONE && proof != LOST_PROOF_NOT_ZERO &&
		lost_disk_proof_holds(ctx->fork->rel, proof))
		ctx->newer = record->end;
	else
		ctx->named = record->end;
}

static void
on_record(void *arg, const WalBlockRecord *record)
{
	AgeSearch  *ctx = arg;
	bool		event = wal_storage_possible(record->bytes);
	WalBlockTag tag;
	uint8_t		id;

	if (!event &&
		wal_blocks_single(record->bytes, record->present, &tag, &id) &&
		!wal_block_tag_equal(&tag, &ctx->tag))
		return;
	if (wal_blocks_decode(&ctx->blocks, record->bytes, record->present,
						  BLCKSZ) != WAL_BLOCKS_OK ||
		(event && !lost_events(record->bytes, &ctx->blocks, on_event, ctx)))
	{
		on_gap(ctx, NULL);
		return;
	}
	for (int i = 0; i < ctx->blocks.count; i++)
		if (wal_block_tag_equal(&ctx->blocks.refs[i].tag, &ctx->tag))
			on_reference(ctx, record, &ctx->blocks.refs[i]);
}

/* Returns false if pg_wal cannot be read. */
static bool
read_wal(AgeSearch *ctx, WalLsn end)
{
	WalDirectory own;
	WalStream	stream = {0};

	if (wal_directory_open(&own, XLOGDIR, XLOGDIR, false, NULL) != WAL_DIRECTORY_OK)
		return false;
	lost_witnesses_begin(&ctx->witnesses, own.limits.server.magic);
	stream.dir = stream.own = &own;
	stream.timeline = own.limits.limits[0].timeline;
	stream.record = on_record;
	stream.broken = on_gap;
	stream.arg = ctx;
	wal_stream_read(&stream, ctx->lsn, end);
	return stream.complete;
}

static PageAge
judge(const AgeSearch *ctx, bool complete, char why[SCAN_MESSAGE_SIZE])
{
	if (ctx->newer > ctx->lsn)
	{
		snprintf(why, SCAN_MESSAGE_SIZE, "it has LSN %X/%X, and WAL changed the block up to %X/%X: a write was lost",
				 LSN_FORMAT_ARGS(ctx->lsn), LSN_FORMAT_ARGS(ctx->newer));
		return PAGE_AGE_OLDER;
	}
	if (ctx->broken || !complete)
		snprintf(why, SCAN_MESSAGE_SIZE, "pg_wal does not hold all WAL from its LSN %X/%X on",
				 LSN_FORMAT_ARGS(ctx->lsn));
	else if (ctx->named > ctx->lsn)
		snprintf(why, SCAN_MESSAGE_SIZE, "it has LSN %X/%X, and a record up to %X/%X may have changed the block",
				 LSN_FORMAT_ARGS(ctx->lsn), LSN_FORMAT_ARGS(ctx->named));
	else
		return PAGE_AGE_NEWEST;
	return PAGE_AGE_UNKNOWN;
}

PageAge
page_age(const Fork *fork, BlockNumber blkno, XLogRecPtr lsn, XLogRecPtr end,
		 char why[SCAN_MESSAGE_SIZE])
{
	MemoryContext work;
	MemoryContext before;
	AgeSearch  *ctx;
	PageAge		age;

	if (!fork->test_lsn || fork->fork == FSM_FORKNUM ||
		fork->fork == INIT_FORKNUM)
		return PAGE_AGE_NEWEST;
	strlcpy(why, fork->fork == VISIBILITYMAP_FORKNUM ?
			"its bits may be cleared without a trace in the page" :
			"it has no LSN", SCAN_MESSAGE_SIZE);
	if (fork->fork == VISIBILITYMAP_FORKNUM || XLogRecPtrIsInvalid(lsn))
		return PAGE_AGE_UNKNOWN;
	work = AllocSetContextCreate(CurrentMemoryContext, "crc32c_accel age",
								 ALLOCSET_DEFAULT_SIZES);
	before = MemoryContextSwitchTo(work);
	ctx = palloc0(sizeof(AgeSearch));
	ctx->fork = fork;
	ctx->lsn = lsn;
	repair_block_tag(fork, blkno, &ctx->tag);
	age = judge(ctx, lsn >= end || read_wal(ctx, end), why);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(work);
	return age;
}
