/*
 * backup_page.c
 *	  The page of a block in a base backup, and which WAL the backup needs.
 *
 * The manifest proves itself by its own checksum, and the file by the one that
 * it lists.  The page is one of the bytes of which that checksum was computed.
 * So it is what pg_basebackup read, whatever became of the backup since, and
 * whatever form it has.
 *
 * An incremental backup has the blocks that changed since the backup before
 * it, by the server's summaries of the WAL between their starts.  A block that
 * it does not have is that of the backup before it, which backup_label names
 * by its start.  That file is proven by the manifest, too.  A clone's backup
 * may start at the same place.  So each backup down to the one with the page
 * is to be proven this server's by its own WAL.  Nothing is asked of those
 * before.
 */
#include "compat.h"

#include "access/xlog_internal.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "backup/archives.h"
#include "backup/blocks.h"
#include "backup/pick.h"
#include "manifest/label.h"
#include "repair/backup_page.h"

#define LABEL_FILE		"backup_label"
#define LABEL_BYTES		(64 * 1024)

/* One backup of a chain at work. */
typedef struct Link
{
	const char *root;
	BackupManifest manifest;
	BackupRange *range;			/* the result's */
	char		full[SCAN_PATH_SIZE];	/* the file, within root */
	char		part[BACKUP_PATH_MAX];	/* its incremental one */
	BlockNumber block;			/* in the file */

	int64		entry;			/* of the one that the backup has */
	bool		is_part;
	BackupBlocks blocks;		/* of a part */
	BackupIncrementReason reason;
	int64		at;				/* where the page is in it, -1 if nowhere */
	char	   *page;			/* the result's */
	bool		has_page;
	char	   *label;			/* LABEL_BYTES */
	size_t		label_bytes;

	bool		is_prior;
	char	   *words;			/* why there is no page */
} Link;

/* The backup before it, as an incremental one names it. */
typedef struct Before
{
	WalLsn		start;			/* 0 if none is named */
	uint32		timeline;
	const char *root;			/* of the incremental one */
} Before;

static bool refuse(Link *link, const char *format,...)
			pg_attribute_printf(2, 3);

static bool
refuse(Link *link, const char *format,...)
{
	va_list		args;
	int			used = 0;

	if (link->is_prior)
		used = Min(snprintf(link->words, BACKUP_PAGE_WORDS, "\"%s\": ",
							link->root), BACKUP_PAGE_WORDS - 1);
	va_start(args, format);
	vsnprintf(link->words + used, (size_t) (BACKUP_PAGE_WORDS - used), format,
			  args);
	va_end(args);
	return false;
}

/* ---- the manifest ---- */

static bool
read_manifest(Link *link)
{
	BackupManifest *manifest = &link->manifest;
	BackupRange *range = link->range;

	backup_manifest_read(manifest, psprintf("%s/backup_manifest", link->root),
						 false);
	if (manifest->status != BACKUP_OK)
		return refuse(link, "backup_manifest: %s", manifest->message);
	if (manifest->nranges != 1)
		return refuse(link, "the backup needs WAL of %d timelines",
					  manifest->nranges);
	range->timeline = manifest->ranges[0].timeline;
	range->start = manifest->ranges[0].start;
	range->end = manifest->ranges[0].end;
	return true;
}

/* Is it the one that the backup after it is incremental to? */
static bool
is_before(Link *link, const Before *before)
{
	const BackupRange *range = link->range;

	if (before->start == 0 ||
		(range->start == before->start && range->timeline == before->timeline))
		return true;
	return refuse(link, "it starts at " WAL_LSN_FORMAT " on timeline %u, but the backup \"%s\" is incremental to one that starts at " WAL_LSN_FORMAT " on timeline %u",
				  WAL_LSN_ARGS(range->start), range->timeline, before->root,
				  WAL_LSN_ARGS(before->start), before->timeline);
}

static bool
find_file(Link *link)
{
	const BackupList *list = &link->manifest.list;

	link->entry = backup_list_find(list, link->full);
	link->is_part = link->entry < 0 &&
		backup_incremental_path(link->full, link->part);
	if (link->is_part)
		link->entry = backup_list_find(list, link->part);
	if (link->entry < 0)
		return refuse(link, "the manifest lists no file \"%s\": the relation is newer",
					  link->full);
	link->at = link->is_part ? -1 : (int64) link->block * BLCKSZ;
	if (!link->is_part && link->at + BLCKSZ > list->entries[link->entry].size)
		return refuse(link, "file \"%s\" of the backup ends before the block",
					  link->full);
	return true;
}

/* ---- the files ---- */

/* Where is the page in an incremental file? */
static void
find_in_part(Link *link, int64 offset, const char *piece, size_t bytes)
{
	BackupBlocks *blocks = &link->blocks;
	const BackupIncrement *increment = &blocks->increment;
	int64		n;

	if (offset == 0)
		link->reason = backup_blocks_begin(blocks, piece, bytes,
										   link->manifest.list.entries[link->entry].size,
										   RELSEG_SIZE);
	if (link->reason == BACKUP_INCREMENT_OK)
		link->reason = backup_blocks_take(blocks, piece, bytes, offset);
	if (link->reason != BACKUP_INCREMENT_OK || !blocks->ready)
		return;
	n = backup_increment_find(increment, blocks->numbers, link->block);
	if (n >= 0)
		link->at = (int64) increment->header + n * BLCKSZ;
}

static void
on_file(void *arg, int64 offset, const char *piece, size_t bytes)
{
	Link	   *link = arg;

	if (link->is_part && !link->blocks.ready &&
		(offset == 0 || link->reason == BACKUP_INCREMENT_OK))
		find_in_part(link, offset, piece, bytes);
	if (link->at < offset || link->at + BLCKSZ > offset + (int64) bytes)
		return;
	memcpy(link->page, piece + (link->at - offset), BLCKSZ);
	link->has_page = true;
}

static void
on_label(void *arg, int64 offset, const char *piece, size_t bytes)
{
	Link	   *link = arg;

	bytes = Min(bytes, LABEL_BYTES - 1 - link->label_bytes);
	memcpy(link->label + link->label_bytes, piece, bytes);
	link->label_bytes += bytes;
}

/* Reads the page's file, and backup_label where it matters. */
static bool
read_files(Link *link)
{
	BackupPick	picks[2] = {{link->entry, on_file, link}};
	BackupPicking picking = {link->root, &link->manifest};
	BackupRelationFile file;

	if (backup_relation_file(link->full, &file))
		picking.tablespace = file.tablespace;
	picking.spool = link->range->spool;
	picking.picks = picks;
	picking.count = 1;
	if (link->is_part)
	{
		int64		label = backup_list_find(&link->manifest.list, LABEL_FILE);

		if (label < 0)
			return refuse(link, "the manifest lists no file \"" LABEL_FILE "\"");
		link->label = palloc0(LABEL_BYTES);
		picks[picking.count++] = (BackupPick)
		{
			label, on_label, link
		};
	}
	backup_pick_read(&picking);
	for (int i = 0; i < picking.count; i++)
		if (picks[i].why_not[0] != '\0')
			return refuse(link, "%s", picks[i].why_not);
	return true;
}

/*
 * A part without the block leaves it to the backup before, unless its file
 * ended before the block.
 */
static bool
find_before(Link *link, Before *before)
{
	const BackupIncrement *increment = &link->blocks.increment;
	BackupLabel label;

	if (link->reason != BACKUP_INCREMENT_OK || !link->blocks.ready)
		return refuse(link, "file \"%s\" of the backup: %s", link->part,
					  backup_increment_words(link->reason));
	if (link->block >= increment->truncation)
		return refuse(link, "file \"%s\" of the backup ends before the block",
					  link->part);
	if (!backup_label_read(link->label, &label) || label.previous_start == 0)
		return refuse(link, "its " LABEL_FILE " names no backup before it");
	before->start = label.previous_start;
	before->timeline = label.previous_timeline;
	before->root = link->root;
	return true;
}

/* ---- the chain ---- */

/* Where is the backup's own WAL?  That of archives is put there with the page. */
static void
find_wal(BackupRange *range)
{
	if (backup_tar_is(range->root))
		range->spool = backup_spool_begin();
	snprintf(range->wal, sizeof(range->wal), "%s/" XLOGDIR,
			 range->spool != NULL ? range->spool->folder.path : range->root);
}

/*
 * Sets before->start to 0 if it has the page.  Returns false if there is none.
 */
static bool
read_link(Link *link, Before *before)
{
	if (!read_manifest(link) || !is_before(link, before) ||
		!find_file(link) || !read_files(link))
		return false;
	before->start = 0;
	return link->has_page || find_before(link, before);
}

/* The same of the nth backup, where the one after those before is the last. */
static bool
read_backup(BackupPage *result, const BackupNames *names, int n,
			const Fork *fork, BlockNumber blkno, Before *before, char *words)
{
	MemoryContext memory = CurrentMemoryContext;
	MemoryContext work = AllocSetContextCreate(memory,
											   "crc32c_accel backup page",
											   ALLOCSET_DEFAULT_SIZES);
	Link	   *link = MemoryContextAllocZero(work, sizeof(Link));
	bool		done;

	link->is_prior = n < names->nprior;
	link->root = link->is_prior ? names->prior[n] : names->root;
	link->range = &result->ranges[result->count++];
	link->range->root = link->root;
	link->block = blkno % RELSEG_SIZE;
	link->reason = BACKUP_INCREMENT_SHORT;
	link->page = result->page.data;
	link->words = words;
	fork_segment_path(fork, blkno / RELSEG_SIZE, link->full);
	find_wal(link->range);
	MemoryContextSwitchTo(work);
	done = read_link(link, before);
	MemoryContextSwitchTo(memory);
	MemoryContextDelete(work);
	return done;
}

bool
backup_page_read(BackupPage *result, const BackupNames *names,
				 const Fork *fork, BlockNumber blkno,
				 char words[BACKUP_PAGE_WORDS])
{
	Before		before = {0};

	result->ranges = palloc0((Size) (names->nprior + 1) * sizeof(BackupRange));
	for (int n = names->nprior; n >= 0; n--)
	{
		CHECK_FOR_INTERRUPTS();
		if (!read_backup(result, names, n, fork, blkno, &before, words))
			return false;
		if (before.start == 0)
			return true;
	}
	snprintf(words, BACKUP_PAGE_WORDS, "it is the same as in the backup before \"%s\", which starts at " WAL_LSN_FORMAT " on timeline %u: name that one in prior_backups",
			 before.root, WAL_LSN_ARGS(before.start), before.timeline);
	return false;
}

void
backup_page_end(BackupPage *result)
{
	for (int i = 0; i < result->count; i++)
		if (result->ranges[i].spool != NULL)
			backup_spool_end(result->ranges[i].spool);
}
