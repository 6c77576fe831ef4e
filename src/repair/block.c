/*
 * block.c
 *	  Writes a page over a block of a relation, with WAL.
 *
 * No other code here writes to a relation.
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
 */
#include "compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/fd.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "host/direct.h"
#include "page/disk_page.h"
#include "repair/block.h"

const char *
repair_why_not(const Fork *fork)
{
	if (!fork->md)
		return "another storage manager than the server's own keeps the relation";
	return fork_why_not_verifiable(fork);
}

void
repair_block_tag(const Fork *fork, BlockNumber blkno, WalBlockTag *tag)
{
	tag->tablespace = LOCATOR_TABLESPACE(fork->rel->rd_locator);
	tag->database = LOCATOR_DATABASE(fork->rel->rd_locator);
	tag->relation = LOCATOR_NUMBER(fork->rel->rd_locator);
	tag->fork = fork->fork;
	tag->block = blkno;
}

void
repair_decide(ForkReader *reader, BlockNumber blkno, PageRules *rules,
			  BlockDecision *decision, Buffer *held)
{
	BlockFate	fate;

	if (!fork_reader_open(reader, blkno))
		fate = reader->error == ENOENT ? BLOCK_GONE : BLOCK_UNREADABLE;
	else if (blkno >= fork_reader_segment_end(reader))
		fate = BLOCK_GONE;
	else
	{
		if (held != NULL)
			*held = block_decide_and_hold(reader, blkno, rules, decision);
		else
			block_decide(reader, blkno, rules, decision);
		fate = decision->fate;
	}
	if (fate != BLOCK_JUDGED)
		disk_page_failed(reader, blkno, fate);
	block_judge_age(decision, blkno, rules);
}

/* ---- before ---- */

/*
 * A dirty page that cannot be written fails every checkpoint.  So nothing is
 * made dirty that the server does not reach with files opened anew, for
 * writing.  The server goes through all segments up to the block's, and the
 * earlier ones are full.
 */
static void
refuse_unless_reached(const Fork *fork, BlockNumber blkno)
{
	SMgrRelation smgr = RelationGetSmgr(fork->rel);

	smgrrelease(smgr);
	if (blkno >= smgrnblocks(smgr, fork->fork))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("block %u of fork \"%s\" of relation \"%s\" cannot be written",
						blkno, forkNames[fork->fork],
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

/*
 * Proves that storage takes the block, by what it has.  A direct write takes
 * the block out of the page cache, even if it fails.
 */
static void
write_back(const Fork *fork, BlockNumber blkno, const char *what,
		   bool keep_cached)
{
	off_t		offset = (off_t) (blkno % RELSEG_SIZE) * BLCKSZ;
	char	   *space = palloc(BLCKSZ + DIRECT_ALIGN);
	char	   *image = (char *) TYPEALIGN(DIRECT_ALIGN, space);
	char		path[SCAN_PATH_SIZE];
	bool		written;
	int			fd;

	fork_segment_path(fork, blkno / RELSEG_SIZE, path);
	memcpy(image, what, BLCKSZ);
	written = !keep_cached && write_back_directly(path, offset, image);
	fd = OpenTransientFile(path, O_RDWR | PG_BINARY);
	if (fd < 0 || (!written && !write_image(fd, offset, image)))
		write_back_failed(path, ERROR);
	if (pg_fsync(fd) != 0)
		write_back_failed(path, data_sync_elevel(ERROR));
	CloseTransientFile(fd);
	pfree(space);
}

void
repair_prove_writable(const Fork *fork, BlockNumber blkno, const char *image,
					  bool keep_cached)
{
	refuse_unless_reached(fork, blkno);
	write_back(fork, blkno, image, keep_cached);
}

/* ---- the write ---- */

bool
repair_is_same_page(const char *disk, const char *page)
{
	const size_t before = offsetof(PageHeaderData, pd_checksum);
	const size_t after = before + sizeof(((PageHeader) page)->pd_checksum);

	return memcmp(disk, page, before) == 0 &&
		memcmp(disk + after, page + after, BLCKSZ - after) == 0;
}

bool
repair_write(ForkReader *reader, BlockNumber blkno, PageRules *rules,
			 Buffer buffer, const char *page, char *disk)
{
	const Fork *fork = reader->fork;
	PageVerdict verdict;

	START_CRIT_SECTION();
	if (page != NULL)
		memcpy(BufferGetPage(buffer), page, BLCKSZ);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(fork->rel) || fork->fork == INIT_FORKNUM)
		log_newpage_buffer(buffer, false);
	END_CRIT_SECTION();
	FlushOneBuffer(buffer);
	if ((reader->device_fd >= 0 ? fork_reader_read_device(reader, blkno, disk) :
		 fork_reader_read(reader, blkno, 1, disk)) != 1)
		disk_page_failed(reader, blkno, BLOCK_UNREADABLE);
	page_judge(disk, blkno, rules, &verdict);
	block_judge_lsn(disk, blkno, rules, &verdict);
	return verdict.status == PAGE_OK && reader->write_back == 0 &&
		repair_is_same_page(disk, BufferGetPage(buffer));
}
