/*
 * judge.c
 *	  Judges a file of a backup piece by piece, by size, checksum and pages.
 *
 * Its checksum and its pages are computed of the same piece.
 */
#include <string.h>

#include "backup/judge.h"
#include "wal/format.h"

static BackupFileFinding
finding_of(BackupStatus status)
{
	BackupFileFinding finding;

	memset(&finding, 0, sizeof(finding));
	finding.status = status;
	finding.offset = -1;
	finding.blkno = -1;
	return finding;
}

static void
tell(BackupJudge *judge, BackupFileFinding *finding)
{
	finding->entry = judge->entry;
	judge->finding(judge->arg, finding);
}

void
backup_judge_missing(BackupJudge *judge)
{
	BackupFileFinding finding = finding_of(BACKUP_MISSING);

	tell(judge, &finding);
}

void
backup_judge_failure(BackupJudge *judge, int error, int64_t offset)
{
	BackupFileFinding finding = finding_of(BACKUP_IO_ERROR);

	finding.error = error;
	finding.offset = offset;
	tell(judge, &finding);
}

void
backup_judge_size(BackupJudge *judge, int64_t size)
{
	BackupFileFinding finding = finding_of(BACKUP_SIZE_MISMATCH);

	finding.size = size;
	tell(judge, &finding);
}

/* Some failures say nothing against the file. */
void
backup_judge_undecoded(BackupJudge *judge, DecodeFormat format,
					   const DecodeFailure *failure)
{
	BackupFileFinding finding = finding_of(failure->reason == DECODE_READ ?
										   BACKUP_IO_ERROR :
										   failure->reason >= DECODE_WINDOW ?
										   BACKUP_NOT_VERIFIABLE :
										   BACKUP_BAD_FORMAT);

	finding.failure = *failure;
	finding.format = (uint8_t) format;
	tell(judge, &finding);
}

/* ---- pages ---- */

static BackupStatus
status_of(PageStatus status)
{
	switch (status)
	{
		case PAGE_BAD_HEADER:
			return BACKUP_BAD_HEADER;
		case PAGE_ZERO_HEADER:
			return BACKUP_ZERO_HEADER;
		case PAGE_LSN_IN_FUTURE:
			return BACKUP_LSN_IN_FUTURE;
		default:
			return BACKUP_CORRUPT;
	}
}

/*
 * The file ends within a block.  Zeros are a file that was being extended
 * while it was copied.  The server does not count them, and writes the block
 * again.
 */
static void
judge_rest(BackupJudge *judge, const char *rest, size_t bytes, int64_t blkno)
{
	BackupFileFinding finding = finding_of(BACKUP_PARTIAL_BLOCK);

	if (wal_is_zero((const uint8_t *) rest, bytes))
		return;
	finding.blkno = blkno;
	finding.size = (int64_t) bytes;
	tell(judge, &finding);
}

static void
note_newest(BackupJudge *judge, WalLsn lsn, int64_t blkno)
{
	if (lsn <= judge->totals.newest)
		return;
	judge->totals.newest = lsn;
	judge->totals.newest_entry = judge->entry;
	judge->totals.newest_block = blkno;
}

void
backup_totals_add(BackupFileTotals *sum, const BackupFileTotals *totals)
{
	sum->files += totals->files;
	sum->bytes += totals->bytes;
	sum->pages += totals->pages;
	if (totals->newest <= sum->newest)
		return;
	sum->newest = totals->newest;
	sum->newest_entry = totals->newest_entry;
	sum->newest_block = totals->newest_block;
}

/* At most BACKUP_PIECE_PAGES pages with consecutive numbers. */
static void
judge_run(BackupJudge *judge, const char *pages, uint32_t npages,
		  uint32_t blkno)
{
	PageVerdict verdicts[BACKUP_PIECE_PAGES];
	BackupFileFinding finding;

	page_judge_batch(pages, npages, blkno, &judge->rules->rules, verdicts);
	judge->totals.pages += npages;
	for (uint32_t i = 0; i < npages; i++)
	{
		if (verdicts[i].status == PAGE_OK)
			note_newest(judge, verdicts[i].lsn, (int64_t) blkno + i);
		if (verdicts[i].status == PAGE_OK || verdicts[i].status == PAGE_NEW)
			continue;
		finding = finding_of(status_of(verdicts[i].status));
		finding.blkno = (int64_t) blkno + i;
		finding.page = verdicts[i];
		tell(judge, &finding);
	}
}

static void
judge_pages(BackupJudge *judge, const char *piece, size_t bytes)
{
	uint32_t	blkno = judge->first + (uint32_t) (judge->offset / PAGE_BYTES);
	uint32_t	npages = (uint32_t) (bytes / PAGE_BYTES);

	judge_run(judge, piece, npages, blkno);
	judge_rest(judge, piece + npages * PAGE_BYTES, bytes % PAGE_BYTES,
			   (int64_t) blkno + npages);
}

/* ---- incremental files ---- */

/*
 * Reads its header, before its pages.  Returns false if it is wrong, or there
 * is more of it.
 */
static bool
read_header(BackupJudge *judge, const char *piece, size_t bytes)
{
	BackupFileFinding finding = finding_of(BACKUP_BAD_FORMAT);
	BackupBlocks *blocks = &judge->blocks;
	BackupIncrementReason reason = BACKUP_INCREMENT_OK;

	if (judge->offset == 0)
		reason = backup_blocks_begin(blocks, piece, bytes, judge->size,
									 judge->rules->segment_blocks);
	if (reason == BACKUP_INCREMENT_OK)
		reason = backup_blocks_take(blocks, piece, bytes, judge->offset);
	if (reason == BACKUP_INCREMENT_OK)
		return blocks->ready;
	finding.error = (int) reason;
	tell(judge, &finding);
	judge->has_pages = false;
	return false;
}

/* Its blocks have numbers of their own. */
static void
judge_part(BackupJudge *judge, const char *piece, size_t bytes)
{
	const BackupBlocks *blocks = &judge->blocks;
	const char *end = piece + bytes;
	int64_t		n;

	if (!blocks->ready && !read_header(judge, piece, bytes))
		return;
	n = (judge->offset - (int64_t) blocks->increment.header) / PAGE_BYTES;
	if (n < 0)
	{
		piece += -n * PAGE_BYTES < (int64_t) bytes ? -n * PAGE_BYTES : (int64_t) bytes;
		n = 0;
	}
	while (end - piece >= PAGE_BYTES && n < blocks->increment.blocks &&
		   (uint64_t) judge->first + blocks->numbers[n] <= PAGE_BLOCK_MAX)
	{
		uint32_t	run = backup_increment_run(&blocks->increment,
											   blocks->numbers, (uint32_t) n,
											   (uint32_t) ((end - piece) / PAGE_BYTES));

		judge_run(judge, piece, run, judge->first + blocks->numbers[n]);
		piece += (size_t) run * PAGE_BYTES;
		n += run;
	}
}

/* Does the file hold pages, and from which block on? */
static void
find_pages(BackupJudge *judge, int64_t size)
{
	const char *path = backup_list_path(judge->list, judge->entry);
	BackupRelationFile relation;
	uint64_t	first;

	judge->size = size;
	judge->part = backup_incremental_file(path, &relation);
	judge->has_pages = judge->rules->pages &&
		(judge->part || backup_relation_file(path, &relation));
	if (!judge->has_pages)
		return;
	first = (uint64_t) relation.segment * judge->rules->segment_blocks;
	judge->has_pages = first + (judge->part ? 0 : (uint64_t) size / PAGE_BYTES) <
		PAGE_BLOCK_MAX;
	judge->first = (uint32_t) first;
}

/* ---- files ---- */

/*
 * A file of another size is not hashed, since its checksum says nothing more.
 */
bool
backup_judge_begin(BackupJudge *judge, int64_t size)
{
	const BackupEntry *entry = &judge->list->entries[judge->entry];
	BackupFileFinding finding = finding_of(BACKUP_SIZE_MISMATCH);
	bool		fits = entry->size < 0 || size == entry->size;

	judge->offset = 0;
	judge->blocks.numbers = NULL;
	judge->blocks.ready = false;
	find_pages(judge, size);
	if (judge->has_pages && judge->part && size == 0)
		(void) read_header(judge, NULL, 0);
	finding.size = size;
	if (!fits)
		tell(judge, &finding);
	backup_hash_begin(&judge->hash, fits ?
					  (ManifestAlgorithm) entry->algorithm : MANIFEST_NONE);
	return judge->hash.algorithm != MANIFEST_NONE || judge->has_pages;
}

void
backup_judge_piece(BackupJudge *judge, const char *piece, size_t bytes)
{
	backup_hash_update(&judge->hash, piece, bytes);
	if (judge->watch != NULL)
		judge->watch->piece(judge->watch->arg, judge->entry, judge->offset,
							piece, bytes);
	if (judge->has_pages && judge->part)
		judge_part(judge, piece, bytes);
	else if (judge->has_pages)
		judge_pages(judge, piece, bytes);
	judge->totals.bytes += (int64_t) bytes;
	judge->offset += (int64_t) bytes;
}

void
backup_judge_end(BackupJudge *judge, bool whole)
{
	const BackupEntry *entry = &judge->list->entries[judge->entry];
	BackupFileFinding finding = finding_of(BACKUP_CHECKSUM_MISMATCH);
	bool		done = backup_hash_end(&judge->hash, finding.digest);

	backup_blocks_free(&judge->blocks);
	if (!whole)
		return;
	if (!done)
		finding.status = BACKUP_NOT_VERIFIABLE;
	if (!done || memcmp(finding.digest, entry->digest,
						manifest_digest_length(judge->hash.algorithm)) != 0)
		tell(judge, &finding);
}
