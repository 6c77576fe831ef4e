/*
 * judge.h
 *	  Judges a file of a backup piece by piece, by size, checksum and pages.
 */
#ifndef ACCEL_BACKUP_JUDGE_H
#define ACCEL_BACKUP_JUDGE_H

#include "backup/blocks.h"
#include "decode/codec.h"
#include "manifest/hash.h"
#include "manifest/list.h"
#include "page/judge.h"
#include "wal/format.h"

/* A piece stays in a core's own cache. */
#define BACKUP_PIECE_PAGES	16
#define BACKUP_PIECE_BYTES	(BACKUP_PIECE_PAGES * PAGE_BYTES)

/* What a file or a page of it is found to be.  It is flat. */
typedef struct BackupFileFinding
{
	uint32_t	entry;			/* of the list */
	BackupStatus status;
	int			error;			/* errno with io_error, 0 if not regular.
								 * BackupIncrementReason with bad_format */
	int64_t		offset;			/* of an error in the file, -1 if at open */
	int64_t		size;			/* found */
	uint8_t		digest[MANIFEST_DIGEST_MAX];	/* found */
	int64_t		blkno;			/* absolute, -1 for the file as a whole */
	PageVerdict page;
	DecodeFailure failure;		/* of a stored file, if it has a reason */
	uint8_t		format;			/* of that, a DecodeFormat */
} BackupFileFinding;

typedef struct BackupFileTotals
{
	int64_t		files;
	int64_t		bytes;			/* read */
	int64_t		pages;			/* judged */
	WalLsn		newest;			/* the highest LSN of pages in order, or 0 */
	uint32_t	newest_entry;	/* where that page is */
	int64_t		newest_block;
} BackupFileTotals;

/* Adds those of one file. */
extern void backup_totals_add(BackupFileTotals *sum,
							  const BackupFileTotals *totals);

/* Who wants the bytes of files, piece by piece as they are judged. */
typedef struct BackupWatch
{
	void		(*piece) (void *arg, uint32_t entry, int64_t offset,
						  const char *piece, size_t bytes);
	void	   *arg;
} BackupWatch;

typedef struct BackupJudgeRules
{
	bool		pages;			/* judge them by these rules */
	PageRules	rules;
	uint32_t	segment_blocks; /* of a relation's file */
} BackupJudgeRules;

/* One file at work. */
typedef struct BackupJudge
{
	const BackupJudgeRules *rules;
	const BackupList *list;
	void		(*finding) (void *arg, const BackupFileFinding *finding);
	void	   *arg;
	uint32_t	entry;			/* of the list */
	BackupFileTotals totals;	/* counted here, but for files */
	const BackupWatch *watch;	/* NULL if there is none */

	bool		has_pages;
	uint32_t	first;			/* block of its start */
	bool		part;			/* an incremental file, with these */
	BackupBlocks blocks;
	int64_t		size;
	int64_t		offset;			/* of the next piece */
	BackupHash	hash;
} BackupJudge;

/*
 * Begins a file of this size.  Returns false if nothing of it needs to be
 * read, and then it is not to be ended.
 */
extern bool backup_judge_begin(BackupJudge *judge, int64_t size);

/*
 * Takes the next bytes, at most BACKUP_PIECE_BYTES and aligned to 8.  They are
 * whole blocks, but for the last ones.
 */
extern void backup_judge_piece(BackupJudge *judge, const char *piece,
							   size_t bytes);

/*
 * "whole" says that every byte was there, so that the checksum says something.
 */
extern void backup_judge_end(BackupJudge *judge, bool whole);

/* These report what else can be found of a file, as in BackupFileFinding. */
extern void backup_judge_missing(BackupJudge *judge);
extern void backup_judge_failure(BackupJudge *judge, int error, int64_t offset);
extern void backup_judge_size(BackupJudge *judge, int64_t size);
extern void backup_judge_undecoded(BackupJudge *judge, DecodeFormat format,
								   const DecodeFailure *failure);

#endif							/* ACCEL_BACKUP_JUDGE_H */
