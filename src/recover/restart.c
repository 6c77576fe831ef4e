/*
 * restart.c
 *	  Where a server begins that recovers blocks without a backup.
 *
 * No page of a backup is used (filter.c), so that a server may begin at any
 * checkpoint from which on WAL is there without a gap.  It finds the checkpoint
 * in pg_control.  The cluster's own names the last one, and the copy gets the
 * oldest one instead, as its record has it.  The copy says that the server is
 * in archive recovery, which is consistent at the end of the WAL and not
 * before.
 *
 * What tells of transactions is copied from the cluster and newer than the
 * checkpoint.  Redo of CLOG, MultiXact and CommitTs makes pages anew that are
 * there already, or sets what is set.  Nobody looks at a row, so that nothing
 * of a page depends on them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cluster/read.h"
#include "host/print.h"
#include "recover/restart.h"
#include "recover/wal.h"

#define XLOG_CHECKPOINT_SHUTDOWN	0x00
#define XLOG_CHECKPOINT_ONLINE		0x10

/* Of CheckPoint, at the head of these records' main data. */
#define CHECKPOINT_TIMELINE		8
#define CHECKPOINT_HEAD			12

/* ---- the checkpoint ---- */

typedef struct Finding
{
	Recover    *ctx;
	WalLsn		first;			/* the oldest record since a gap, 0 at first */
	bool		gap;			/* there was one, and the message is of it */
	WalBlocks	blocks;
	bool		found;			/* since the last gap */
} Finding;

static bool
is_checkpoint(const uint8_t *rec)
{
	uint8_t		operation = rec[WAL_REC_INFO] & WAL_INFO_MASK;

	return rec[WAL_REC_RMID] == WAL_RMGR_XLOG &&
		(operation == XLOG_CHECKPOINT_SHUTDOWN ||
		 operation == XLOG_CHECKPOINT_ONLINE);
}

static bool
on_record(void *arg, const WalBlockRecord *record)
{
	Finding    *finding = arg;
	ClusterRestart *restart = &finding->ctx->restart;
	WalBlocks  *blocks = &finding->blocks;
	WalLsn		redo;

	if (finding->first == 0)
		finding->first = record->lsn;
	if (finding->found || !is_checkpoint(record->bytes))
		return true;

	/* these records name no block, so that its size does not matter */
	if (wal_blocks_decode(blocks, record->bytes, record->present, 8192) != WAL_BLOCKS_OK ||
		blocks->main_present < CHECKPOINT_HEAD ||
		blocks->main_present > sizeof(restart->bytes))
		return true;
	redo = wal_load64(blocks->main);
	if (redo < finding->first)
		return true;
	restart->checkpoint = record->lsn;
	restart->len = blocks->main_present;
	memcpy(restart->bytes, blocks->main, restart->len);
	finding->ctx->start = redo;
	finding->ctx->start_timeline = wal_load32(blocks->main + CHECKPOINT_TIMELINE);
	finding->found = true;
	return true;
}

/* What came before a gap is of no use, a checkpoint neither. */
static void
on_gap(void *arg, const WalBlockGap *gap)
{
	Finding    *finding = arg;

	finding->first = 0;
	finding->gap = true;
	recover_wal_fail_gap(finding->ctx, gap, ", and no checkpoint to begin with after it");
	finding->found = false;
}

bool
recover_restart_find(Recover *ctx, const char *folder)
{
	Finding		finding = {.ctx = ctx};
	WalDirectory dir;
	WalBlockWalk walk = {0};
	WalBlockWalkEnd end;
	char		line[128];

	if (!recover_wal_open(ctx, folder, ctx->direct, &dir))
		return false;
	walk.dir = &dir;
	walk.to = ctx->target;
	walk.timeline = wal_list_path(&dir, ctx->timeline).timeline;
	walk.system = ctx->control.system;
	walk.record = on_record;
	walk.gap = on_gap;
	walk.arg = &finding;
	wal_block_walk(&walk, &end);
	if (!finding.found && finding.gap)
		return false;
	if (!finding.found && ctx->target != WAL_LSN_MAX)
		return recover_fail(ctx, "the target is before the end of the oldest checkpoint, or there is none");
	if (!finding.found)
		return recover_fail(ctx, "the WAL has no checkpoint to begin with");
	snprintf(line, sizeof(line), "recovery begins with the checkpoint at " WAL_LSN_FORMAT,
			 WAL_LSN_ARGS(ctx->restart.checkpoint));
	ctx->say(line);
	return true;
}

/* ---- pg_control ---- */

bool
recover_restart_write(Recover *ctx)
{
	uint8_t		data[CLUSTER_CONTROL_SIZE];
	char	   *path = host_print("%s/" CLUSTER_CONTROL_NAME, ctx->data);
	int			fd = open(path, O_RDWR | O_CLOEXEC);
	bool		written = false;

	if (fd < 0 || pread(fd, data, sizeof(data), 0) != sizeof(data))
		recover_fail_file(ctx, "read", path);
	else if (!cluster_control_restart(data, &ctx->restart))
		recover_fail(ctx, "pg_control of \"%s\" changed while it was copied: try again",
					 ctx->backup);
	else if (pwrite(fd, data, sizeof(data), 0) != sizeof(data))
		recover_fail_file(ctx, "write", path);
	else
		written = true;
	if (fd >= 0)
		close(fd);
	host_free(path);
	return written;
}
