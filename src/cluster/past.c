/*
 * past.c
 *	  What WAL up to a shutdown proves of origins and prepared transactions.
 *
 * The claim is about a clean shutdown.  After it,
 * pg_logical/replorigin_checkpoint has each replication origin that the
 * records below advance, at that remote LSN or more.  And pg_twophase has each
 * transaction with a PREPARE record and none that ends it.
 *
 * On origins, see origin.c and xact.c of 15 to 19.  A transaction that commits
 * with an origin advances it while it holds off the start of a checkpoint.
 * One that sets or drops an origin holds its lock from before the record until
 * memory has it.  CheckPointReplicationOrigin() writes every origin of memory,
 * so those of all records before the checkpoint.  An origin's LSN goes back by
 * an XLOG_REPLORIGIN_SET record with "force" alone, and the origin goes by an
 * XLOG_REPLORIGIN_DROP record.  A server without places for origins leaves the
 * file as it is, and changes none.
 *
 * On prepared transactions, see twophase.c.  EndPrepare() holds off the start
 * of a checkpoint until the transaction is valid, and CheckPointTwoPhase()
 * writes a file for each that is.  The record that ends one is flushed before
 * its file is removed.  That record has the identifier after lists of others.
 * A transaction whose identifier is among those by chance counts as ended,
 * too.
 *
 * After a crash the claim would not hold, since a checkpoint may have written
 * what records said that were never flushed.  Nor would it on a standby, whose
 * pg_control may name an older timeline than the one that it followed.
 */
#include "cluster/format.h"
#include "cluster/past.h"
#include "cluster/state.h"
#include "wal/record.h"

#define RM_XACT			1
#define RM_REPLORIGIN	19

#define XACT_OPMASK				0x70
#define XACT_COMMIT				0x00
#define XACT_PREPARE			0x10
#define XACT_COMMIT_PREPARED	0x30
#define XACT_ABORT_PREPARED		0x40
#define XACT_HAS_INFO			0x80
#define XACT_XINFO				8	/* xl_xact_xinfo, after xact_time */
#define XINFO_ORIGIN			0x20	/* XACT_XINFO_HAS_ORIGIN */
#define XACT_ORIGIN_BYTES		16	/* xl_xact_origin, which is last, of LSN
									 * and time */

#define ORIGIN_SET		0x00	/* XLOG_REPLORIGIN_SET, of LSN, identifier,
								 * force */
#define ORIGIN_DROP		0x10	/* XLOG_REPLORIGIN_DROP, of identifier */
#define ORIGIN_SET_ID	8
#define ORIGIN_SET_BYTES	11

#define ORIGIN_NONE		65535	/* DoNotReplicateId */

void
cluster_past_forget(ClusterPast *past)
{
	memset(past->known, 0, sizeof(past->known));
	past->nprepared = 0;
}

/* ---- origins ---- */

static void
advance(ClusterPast *past, uint16_t id, uint64_t lsn, bool force)
{
	if (id == 0 || id == ORIGIN_NONE)
		return;
	if (force || !past->known[id] || past->origins[id] < lsn)
		past->origins[id] = lsn;
	past->known[id] = true;
}

static void
parse_origin_record(ClusterPast *past, uint8_t info)
{
	const uint8_t *data = past->blocks.main;
	uint32_t	len = past->blocks.main_present;

	if (info == ORIGIN_SET && len >= ORIGIN_SET_BYTES)
		advance(past, wal_load16(data + ORIGIN_SET_ID), wal_load64(data),
				data[ORIGIN_SET_BYTES - 1] != 0);
	else if (info == ORIGIN_DROP && len >= 2)
		past->known[wal_load16(data)] = false;
}

/* Advances the origin of a transaction that commits. */
static void
parse_progress(ClusterPast *past, uint8_t info)
{
	const uint8_t *data = past->blocks.main;
	uint32_t	len = past->blocks.main_present;

	if (past->blocks.has_origin && (info & XACT_HAS_INFO) != 0 &&
		len == past->blocks.main_length &&
		len >= XACT_XINFO + 4 + XACT_ORIGIN_BYTES &&
		(wal_load32(data + XACT_XINFO) & XINFO_ORIGIN) != 0)
		advance(past, past->blocks.origin,
				wal_load64(data + len - XACT_ORIGIN_BYTES), false);
}

/* ---- prepared transactions ---- */

static void
parse_prepared(ClusterPast *past)
{
	if (past->blocks.main_present >= CLUSTER_TWO_PHASE_HEADER &&
		past->nprepared < CLUSTER_PAST_PREPARED)
		past->prepared[past->nprepared++] =
			cluster_state_prepared(past->blocks.main).xid;
}

static bool
names(const WalBlocks *blocks, uint32_t xid)
{
	for (uint32_t at = 0; at + 4 <= blocks->main_present; at++)
		if (wal_load32(blocks->main + at) == xid)
			return true;
	return blocks->main_present < blocks->main_length;
}

static void
drop_ended(ClusterPast *past)
{
	int			kept = 0;

	for (int i = 0; i < past->nprepared; i++)
		if (!names(&past->blocks, past->prepared[i]))
			past->prepared[kept++] = past->prepared[i];
	past->nprepared = kept;
}

static void
parse_transaction_record(ClusterPast *past, uint8_t info)
{
	switch (info & XACT_OPMASK)
	{
		case XACT_COMMIT:
			parse_progress(past, info);
			break;
		case XACT_PREPARE:
			parse_prepared(past);
			break;
		case XACT_COMMIT_PREPARED:
			parse_progress(past, info);
			drop_ended(past);
			break;
		case XACT_ABORT_PREPARED:
			drop_ended(past);
			break;
	}
}

void
cluster_past_record(ClusterPast *past, const uint8_t *record,
					uint32_t present)
{
	uint8_t		rmid = record[WAL_REC_RMID];
	uint8_t		info = record[WAL_REC_INFO];

	if (rmid != RM_XACT && rmid != RM_REPLORIGIN)
		return;
	/* these records have no block, whose size it would be */
	if (wal_blocks_decode(&past->blocks, record, present, 0) != WAL_BLOCKS_OK)
		cluster_past_forget(past);
	else if (rmid == RM_XACT)
		parse_transaction_record(past, info);
	else
		parse_origin_record(past, info & WAL_INFO_MASK);
}

/* ---- the file of the origins ---- */

/*
 * Finds how far the file has an origin.  Returns false if it does not have it.
 */
static bool
find_origin(const ClusterFile *origins, uint16_t id, uint64_t *lsn)
{
	*lsn = 0;
	for (size_t at = CLUSTER_ORIGINS_FIRST;
		 at + sizeof(ClusterOrigin) + 4 <= origins->size;
		 at += sizeof(ClusterOrigin))
		if (cluster_load16(origins->head + at) == id)
		{
			*lsn = cluster_load64(origins->head + at + offsetof(ClusterOrigin, lsn));
			return true;
		}
	return false;
}

static void
judge_origin(const ClusterFile *origins, uint16_t id, uint64_t least,
			 ClusterVerdict *verdict)
{
	uint64_t	lsn;

	if (origins == NULL)
		cluster_verdict_set(verdict, CLUSTER_MISSING,
							CLUSTER_REASON_ORIGINS_GONE, id, least);
	else if (!find_origin(origins, id, &lsn))
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_ORIGINS_LACK, id, least);
	else if (lsn < least)
	{
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_ORIGINS_OLDER, lsn, least);
		verdict->more = id;
	}
}

void
cluster_past_judge(const ClusterPast *past, const ClusterFile *origins,
				   ClusterVerdict *verdict)
{
	/* of a longer file only the head is at hand */
	if (origins != NULL && origins->size > CLUSTER_HEAD)
		return;
	for (int id = 0; id < CLUSTER_PAST_ORIGINS; id++)
		if (past->known[id] && verdict->status == CLUSTER_OK)
			judge_origin(origins, (uint16_t) id, past->origins[id], verdict);
}
