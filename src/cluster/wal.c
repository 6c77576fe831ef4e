/*
 * wal.c
 *	  What the pg_wal of a stopped cluster says of its other files.
 *
 * A pg_control of another cluster or of another time is valid in itself.  What
 * is said of it here is impossible where nothing was exchanged.
 *
 * (1) A start without backup_label and without a signal file reads the
 *	   checkpoint's record from pg_wal, whatever the state, and ends where it is
 *	   not valid (InitWalRecovery(), 15 to 19).  The server removes WAL from
 *	   before a checkpoint only after pg_control has the checkpoint.
 *	   pg_resetwal writes a segment with such a record.
 *
 * (2) Where the state is "shut down", such a start replays nothing and writes
 *	   its own WAL over what follows the checkpoint.  The state changes before a
 *	   server writes WAL, but for what the startup process writes, which has no
 *	   transaction and is no shutdown checkpoint.  So a record that has a
 *	   transaction, or is one, was written after a pg_control that is gone.  (A
 *	   server killed while it wrote the new state at the end of an archive
 *	   recovery may have such records, see StartupXLOG().  They are lost all the
 *	   same.)  Only records count that are chained to the checkpoint's, since
 *	   pages of before a crash may follow the end of WAL.
 *
 * (3) Where the state is "in production", no shutdown ends the WAL, since the
 *	   server changes the state before it writes that checkpoint.  (A standby
 *	   that is promoted has replayed such checkpoints, but other records follow
 *	   them.)
 *
 * (4) The segment file of the checkpoint, by its first page, has the system
 *	   identifier of pg_control, also in a standby, which has read the record.
 *	   Other files may be recycled, or left over from whatever was there before.
 *
 * With a backup_label, pg_control is not what a start begins with.  With a
 * signal file the WAL may come from elsewhere, and what follows a shutdown is
 * replayed.  Then only (4) is asked.
 */
#include <errno.h>
#include <stdio.h>

#include "cluster/format.h"
#include "cluster/wal.h"
#include "wal/block_walk.h"
#include "wal/record.h"

/* longer than the record of a checkpoint of any version */
#define RECORD_ROOM		512

/* how much WAL is read, as a slot may keep any amount before a shutdown */
#define WALK_BYTES		(UINT64_C(1) << 30)

#define CHECKPOINT_SHUTDOWN	0x00	/* XLOG_CHECKPOINT_SHUTDOWN */
#define CHECKPOINT_ONLINE	0x10	/* XLOG_CHECKPOINT_ONLINE */

typedef struct Wal
{
	const ClusterControl *control;
	struct Throttle *throttle;	/* NULL if no bound */
	WalDirectory dir;
	uint8_t    *page;
	uint64_t	other_system;	/* of a segment, if it is another, else 0 */
	bool		no_wal;			/* a segment's file holds something else */
	int			error;			/* of a read, 0 if none */
} Wal;

/* What follows the checkpoint. */
typedef struct After
{
	WalLsn		checkpoint;
	WalLsn		lsn;			/* of the record that is looked for, 0 if none */
	bool		begun;			/* with the checkpoint's record */
	bool		unchained;		/* what comes now may be of before a crash */
} After;

/* What lies before it. */
typedef struct Before
{
	WalLsn		checkpoint;
	ClusterPast *past;
	bool		complete;		/* up to the checkpoint */
} Before;

/* ---- the checkpoint's record ---- */

/* Is the open file the segment that its name says, of this cluster? */
static bool
check_segment(Wal *ctx, FileScan *file, WalLsn start)
{
	uint8_t		head[WAL_PAGE_LONG];
	ssize_t		got = file_scan_read(file, head, sizeof(head), 0);
	uint16_t	magic = wal_load16(head + WAL_PAGE_MAGIC);

	if (got < 0)
		ctx->error = errno;
	if (got != sizeof(head))
		return false;
	if (!wal_page_is_at(head, start))
	{
		ctx->no_wal |= magic != 0 && wal_version(magic) == NULL;
		return false;
	}
	if (wal_load64(head + WAL_PAGE_SYSTEM) == ctx->control->system)
		return true;
	ctx->other_system = wal_load64(head + WAL_PAGE_SYSTEM);
	return false;
}

/* Reads the page at an LSN from this file. */
static bool
read_page_of(Wal *ctx, const WalName *name, WalLsn at)
{
	uint32_t	size = ctx->control->wal_segment_size;
	WalPageExpectation expect = {at, size, ctx->control->wal_block_size,
	NULL, 0, 0, name->timeline};
	char	   *path = wal_directory_file(&ctx->dir, name);
	FileScan	file;
	FileScanResult opened = file_scan_open(&file, path);
	WalVerdict	verdict;
	bool		valid = false;

	if (opened == FILE_SCAN_OK)
	{
		valid = check_segment(ctx, &file, at - at % size) &&
			file_scan_read(&file, ctx->page, expect.page_size,
						   (off_t) (at % size)) == (ssize_t) expect.page_size &&
			wal_page_check(&expect, ctx->page, &verdict);
		file_scan_close(&file);
	}
	else if (opened == FILE_SCAN_FAILED)
		ctx->error = errno;
	host_free(path);
	return valid;
}

/* Is it named as the server names a segment? */
static bool
is_plain(const WalName *name)
{
	return name->kind == WAL_KIND_SEGMENT && name->suffix == 0 &&
		!name->has_digest && !name->in_folder;
}

/*
 * The file of a newer timeline may have it, too, and alone, since it begins
 * with a copy of the segment that it left.
 */
static bool
read_page(Wal *ctx, WalLsn at)
{
	const WalNames *files = &wal_directory_listing(&ctx->dir)->files;
	uint32_t	size = ctx->control->wal_segment_size;

	for (size_t i = 0; i < files->count; i++)
		if (is_plain(&files->names[i]) &&
			files->names[i].timeline >= ctx->control->timeline &&
			wal_name_segno(&files->names[i], size) == at / size &&
			read_page_of(ctx, &files->names[i], at))
			return true;
	return false;
}

/* Reads n bytes of a record from at on, which goes to what follows them. */
static bool
read_bytes(Wal *ctx, WalLsn *at, uint8_t *bytes, uint32_t n)
{
	uint32_t	size = ctx->control->wal_block_size;

	while (n > 0)
	{
		WalLsn		page = *at - *at % size;
		uint32_t	header = wal_page_header_size(page, ctx->control->wal_segment_size);
		uint32_t	from = *at == page ? header : (uint32_t) (*at - page);
		uint32_t	piece = size - from < n ? size - from : n;

		if (from < header || !read_page(ctx, page))
			return false;
		memcpy(bytes, ctx->page + from, piece);
		*at = page + from + piece;
		bytes += piece;
		n -= piece;
	}
	return true;
}

static bool
is_checkpoint(const uint8_t *record)
{
	return wal_record_is(record, CHECKPOINT_SHUTDOWN) ||
		wal_record_is(record, CHECKPOINT_ONLINE);
}

static bool
has_checkpoint(Wal *ctx)
{
	uint8_t		record[RECORD_ROOM];
	WalLsn		at = ctx->control->checkpoint;
	uint32_t	len;

	if (at % ctx->control->wal_block_size == 0 ||
		!read_bytes(ctx, &at, record, WAL_REC_HEADER))
		return false;
	len = wal_load32(record + WAL_REC_TOT_LEN);
	return len > WAL_REC_HEADER && len <= sizeof(record) &&
		read_bytes(ctx, &at, record + WAL_REC_HEADER, len - WAL_REC_HEADER) &&
		wal_record_crc_fits(record, len) && is_checkpoint(record);
}

/* ---- what follows the checkpoint ---- */

/* Does a server write it only after pg_control says that it is at work? */
static bool
is_of_work(const WalBlockRecord *record)
{
	return wal_load32(record->bytes + WAL_REC_XID) != 0 ||
		wal_record_is(record->bytes, CHECKPOINT_SHUTDOWN);
}

/* Is the next record one after the checkpoint's, and chained to it? */
static bool
follows(After *after, const WalBlockRecord *record)
{
	if (after->begun)
		return !after->unchained;
	after->begun = record->lsn == after->checkpoint;
	return false;
}

/* Finds the first record of a server at work. */
static bool
on_record_after_shutdown(void *arg, const WalBlockRecord *record)
{
	After	   *after = arg;

	if (!follows(after, record))
		return after->begun && !after->unchained;
	if (is_of_work(record))
		after->lsn = record->lsn;
	return after->lsn == 0;
}

/* Finds a shutdown that is the last record. */
static bool
on_record_at_shutdown(void *arg, const WalBlockRecord *record)
{
	After	   *after = arg;
	bool		near = record->lsn - after->checkpoint < WALK_BYTES;

	if (!follows(after, record))
		return after->begun && !after->unchained;
	after->lsn = near && wal_record_is(record->bytes, CHECKPOINT_SHUTDOWN) ?
		record->lsn : 0;
	return near;
}

static void
unchain(void *arg, const WalBlockGap *gap)
{
	After	   *after = arg;

	(void) gap;
	after->unchained = true;
}

/* A promoted server is on it before its first checkpoint is. */
static uint32_t
newest_timeline(const ClusterControl *control)
{
	return control->min_recovery_timeline > control->timeline ?
		control->min_recovery_timeline : control->timeline;
}

static WalLsn
find_after(Wal *ctx, bool (*record) (void *arg, const WalBlockRecord *record))
{
	const ClusterControl *control = ctx->control;
	After		after = {control->checkpoint};
	WalBlockWalk walk = {&ctx->dir, control->checkpoint, WAL_LSN_MAX,
	newest_timeline(control), control->system, record, unchain, &after, ctx->throttle};
	WalBlockWalkEnd end;

	wal_block_walk(&walk, &end);
	return after.unchained ? 0 : after.lsn;
}

/* ---- the verdict ---- */

/* The first segment file that is what its name says tells whose pg_wal it is. */
static void
find_system(Wal *ctx)
{
	const WalNames *files = &wal_directory_listing(&ctx->dir)->files;
	uint32_t	size = ctx->control->wal_segment_size;

	for (size_t i = 0; i < files->count && ctx->other_system == 0; i++)
		if (is_plain(&files->names[i]) &&
			wal_name_possible(&files->names[i], size) &&
			read_page_of(ctx, &files->names[i],
						 wal_name_segno(&files->names[i], size) * size))
			return;
}

static void
judge_absent(Wal *ctx, ClusterVerdict *verdict)
{
	const ClusterControl *control = ctx->control;

	if (ctx->error == 0 && !ctx->no_wal && ctx->other_system == 0)
		find_system(ctx);
	if (ctx->other_system != 0)
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_CONTROL_WAL_SYSTEM, control->system,
							ctx->other_system);
	else if (ctx->error != 0)
		cluster_verdict_set(verdict, CLUSTER_NOT_VERIFIABLE,
							CLUSTER_REASON_CONTROL_WAL_UNREAD,
							(uint64_t) ctx->error, 0);
	else if (ctx->no_wal)
		cluster_verdict_set(verdict, CLUSTER_NOT_VERIFIABLE,
							CLUSTER_REASON_CONTROL_WAL_NONE, 0, 0);
	else
		cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
							CLUSTER_REASON_CONTROL_CHECKPOINT,
							control->checkpoint, 0);
}

/* Judges a directory that a server starts from by its own files alone. */
static void
judge_alone(Wal *ctx, bool found, ClusterVerdict *verdict)
{
	const ClusterControl *control = ctx->control;
	WalLsn		after;

	if (!found)
		judge_absent(ctx, verdict);
	else if (control->state == CLUSTER_STATE_SHUTDOWNED &&
			 (after = find_after(ctx, on_record_after_shutdown)) != 0)
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_CONTROL_WAL_AFTER,
							control->checkpoint, after);
	else if (control->state == CLUSTER_STATE_IN_PRODUCTION &&
			 (after = find_after(ctx, on_record_at_shutdown)) != 0)
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_CONTROL_SHUTDOWN, after, 0);
}

static bool
has_file(const char *directory, const char *name)
{
	char		path[FILENAME_MAX];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return stat(path, &status) == 0;
}

/*
 * Opens it as a stopped server's, with the sizes that pg_control says.  The
 * path must outlive it.  WAL is only a witness here, so the page cache's will
 * do.
 */
static bool
open_wal(Wal *ctx, const char *directory, char path[FILENAME_MAX])
{
	const ClusterControl *control = ctx->control;
	HostServer	server = {control->system, 0, control->wal_block_size,
	control->wal_segment_size};

	snprintf(path, FILENAME_MAX, "%s/pg_wal", directory);
	if (wal_directory_open(&ctx->dir, path, "", false, NULL) == WAL_DIRECTORY_FAILED &&
		errno != ENOENT)
		ctx->error = errno;
	ctx->dir.limits.server = server;
	ctx->dir.limits.segment_size = server.segment_size;
	ctx->dir.limits.pg_wal = true;
	return ctx->error == 0;
}

/* Does a start begin with what pg_control says? */
static bool
begins_with(const char *directory, const ClusterControl *control)
{
	return wal_power_of_two(control->wal_block_size, WAL_PAGE_MIN, WAL_PAGE_MAX) &&
		wal_power_of_two(control->wal_segment_size, WAL_SEGMENT_MIN, WAL_SEGMENT_MAX) &&
		!has_file(directory, "backup_label");
}

void
cluster_wal_judge(const char *directory, const ClusterControl *control,
				  struct Throttle *throttle, ClusterVerdict *verdict)
{
	Wal			ctx = {control, throttle};
	char		path[FILENAME_MAX];
	bool		found;

	if (!begins_with(directory, control))
		return;
	ctx.page = host_alloc(control->wal_block_size);
	found = open_wal(&ctx, directory, path) && has_checkpoint(&ctx);
	if (!has_file(directory, "recovery.signal") &&
		!has_file(directory, "standby.signal"))
		judge_alone(&ctx, found, verdict);
	else if (ctx.other_system != 0)
		judge_absent(&ctx, verdict);
	host_free(ctx.page);
}

/* ---- what lies before a shutdown ---- */

static bool
on_record_before(void *arg, const WalBlockRecord *record)
{
	Before	   *before = arg;

	before->complete = record->lsn == before->checkpoint;
	if (record->lsn < before->checkpoint)
		cluster_past_record(before->past, record->bytes, record->present);
	return record->lsn < before->checkpoint;
}

static void
forget(void *arg, const WalBlockGap *gap)
{
	Before	   *before = arg;

	(void) gap;
	cluster_past_forget(before->past);
}

ClusterPast *
cluster_wal_past(const char *directory, const ClusterControl *control,
				 struct Throttle *throttle)
{
	Wal			ctx = {control, throttle};
	char		path[FILENAME_MAX];
	Before		before = {control->checkpoint, host_alloc(sizeof(ClusterPast))};
	WalBlockWalk walk = {&ctx.dir,
		control->checkpoint > WALK_BYTES ? control->checkpoint - WALK_BYTES : 0,
		WAL_LSN_MAX, control->timeline, control->system, on_record_before, forget,
	&before, throttle, true};	/* what is too old is gone by right */
	WalBlockWalkEnd end;

	cluster_past_forget(before.past);
	if (control->state == CLUSTER_STATE_SHUTDOWNED &&
		begins_with(directory, control) && open_wal(&ctx, directory, path))
		wal_block_walk(&walk, &end);
	if (before.complete)
		return before.past;
	host_free(before.past);
	return NULL;
}
