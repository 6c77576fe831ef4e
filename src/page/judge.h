/*
 * judge.h
 *	  Judges the image of one block of a relation.
 *
 * Pure.  Bytes go in, a verdict comes out, and no server is needed.  The rules
 * and their order are those of the server's own check of a page that it reads.
 * (All zero is new and valid, then come the checksum and the header's bounds.)
 * Three more find what the server leaves to chance.  That is a zeroed header
 * over a body (zero_header), and a page that claims to be newer than the WAL
 * (lsn_in_future).  The third is a page that all is well with, but that
 * belongs to another kind of relation (wrong_page_kind).
 */
#ifndef ACCEL_PAGE_JUDGE_H
#define ACCEL_PAGE_JUDGE_H

#include "page/format.h"
#include "page/kind.h"
#include "page/status.h"

/* What a page is judged by. */
typedef struct PageRules
{
	bool		checksums;		/* stored checksums mean something */
	uint64_t	horizon;		/* no page may be newer than this LSN, 0 if
								 * not tested */
	PageKind	kind;			/* of the fork, PAGE_KIND_ANY if not tested */
} PageRules;

typedef struct PageVerdict
{
	PageStatus	status;			/* ok, new, checksum_mismatch, bad_header,
								 * zero_header, lsn_in_future or
								 * wrong_page_kind */
	uint16_t	stored;			/* pd_checksum */
	uint16_t	computed;		/* 0 if not computed (new, checksums off) */
	uint64_t	lsn;			/* pd_lsn */
} PageVerdict;

/*
 * Judges npages contiguous pages of PAGE_BYTES bytes, block blkno and following
 * (absolute numbers).  They are aligned to 8 bytes, and at most PAGE_BATCH_MAX
 * per call.
 */
#define PAGE_BATCH_MAX	64
extern void page_judge_batch(const char *pages, uint32_t npages,
							 uint32_t blkno, const PageRules *rules,
							 PageVerdict *verdicts);

/* The same for one page of any alignment. */
extern void page_judge(const char *page, uint32_t blkno,
					   const PageRules *rules, PageVerdict *verdict);

/* Is every byte zero? */
extern bool page_is_zero(const char *page);

/* Are flags and bounds of the header as the server demands, no stricter? */
extern bool page_header_sane(const char *page);

/*
 * A table's page was not marked all-visible, and had this LSN.  Has it never
 * been marked since?  Who takes the mark off again gives it another LSN.
 */
extern bool page_unmarked_since(const char *page, uint64_t lsn);

#endif							/* ACCEL_PAGE_JUDGE_H */
