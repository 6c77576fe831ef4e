/*
 * func_digest.c
 *	  SQL functions around the digests of a relation's pages.
 *
 * A row is about the blocks k * n to k * n + n - 1, n being blocks_per_row: rows
 * of two servers are about the same blocks wherever they were told to begin.
 * Its digest is that of these blocks one after the other, as crc32c_file() of
 * this part of the file would have it.
 *
 * The mask leaves out pages that replay does not reproduce.  Inside a row they
 * count as zeros, so that pages at other places give another digest; at its
 * end they count as nothing, as one server may have extended its file further.
 * A row of nothing else is not there.
 */
#include "compat.h"

#include "access/relation.h"
#include "storage/bufpage.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "kernel/checksum.h"
#include "scan/page_mask.h"
#include "scan/relation_scan.h"
#include "scan/scan_run.h"

/* The row at work. */
typedef struct DigestRow
{
	int64		first;			/* -1: none */
	int64		next;			/* the block that must come next */
	bool		broken;			/* a block cannot be trusted, or is missing */
	bool		empty;			/* all pages so far were left out */
	uint32		left_out;		/* pages since the last one that was not */
	uint32		crc;
	XLogRecPtr	lsn;			/* the newest */
} DigestRow;

typedef struct DigestSink
{
	ScanSink	sink;
	ScanRun		run;
	ReturnSetInfo *rsinfo;
	int64		from;			/* the first block asked for */
	int64		blocks_per_row;
	DigestRow	row;
	bool		masked;
	PageMask	mask;			/* if masked */
} DigestSink;

static void digest_arguments(FunctionCallInfo fcinfo, DigestSink *digests,
							 RelationScanOptions *options);
static void put_page(ScanSink *sink, BlockNumber blkno, const char *page);
static void put_broken(ScanSink *sink, const PageFinding *finding);
static void enter_block(DigestSink *digests, int64 blkno);
static void add_page(DigestRow *row, const char *page);
static void add_left_out(DigestRow *row);
static void put_row(DigestSink *digests);

SQL_FUNCTION(accel_relation_page_crcs)
{
	DigestSink	digests = {{0}};
	RelationScanOptions options = SCAN_OPTIONS_ALL;
	Relation	rel;

	digest_arguments(fcinfo, &digests, &options);
	rel = scan_open_relation(PG_GETARG_OID(0));
	if (digests.masked)
		page_mask_init(&digests.mask, rel, options.fork);
	InitMaterializedSRF(fcinfo, 0);
	digests.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	digests.sink.page = put_page;
	digests.sink.finding = put_broken;
	digests.row.first = -1;
	scan_run_begin(&digests.run, &digests.sink, 0,
				   PG_ARGISNULL(6) ? 0 : PG_GETARG_INT32(6));
	scan_forks(rel, &options, &digests.run.policy, &digests.run.sink);
	put_row(&digests);
	scan_run_end(&digests.run);
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

static void
digest_arguments(FunctionCallInfo fcinfo, DigestSink *digests,
				 RelationScanOptions *options)
{
	accel_check_null(fcinfo, 0, "relation");
	accel_scan_options(fcinfo, 1, options);
	if (options->fork == InvalidForkNumber)
		options->fork = MAIN_FORKNUM;
	digests->masked = !PG_ARGISNULL(4) && PG_GETARG_BOOL(4);
	digests->from = options->first;
	digests->blocks_per_row = PG_ARGISNULL(5) ? 1 : PG_GETARG_INT32(5);
	accel_check_range(ERRCODE_INVALID_PARAMETER_VALUE, "blocks_per_row",
					  digests->blocks_per_row, 1, PG_INT32_MAX);
}

static void
put_page(ScanSink *sink, BlockNumber blkno, const char *page)
{
	DigestSink *digests = (DigestSink *) sink;
	DigestRow  *row = &digests->row;
	XLogRecPtr	lsn = PageGetLSN((Page) page);

	enter_block(digests, blkno);
	if (digests->masked && page_mask_empty(&digests->mask, page))
	{
		row->left_out++;
		return;
	}
	if (digests->masked)
		page = page_mask_apply(&digests->mask, page, blkno);
	row->lsn = Max(row->lsn, lsn);
	if (page == NULL)
		row->broken = true;
	else
		add_page(row, page);
}

/* A block that is there but cannot be trusted: no digest, and no silence. */
static void
put_broken(ScanSink *sink, const PageFinding *finding)
{
	ereport(WARNING,
			(errcode(finding->status == PAGE_NOT_VERIFIABLE ?
					 ERRCODE_WARNING : ERRCODE_DATA_CORRUPTED),
			 finding->blkno < 0 ?
			 errmsg("no digest of any block: %s",
					page_status_name(finding->status)) :
			 errmsg("no digest of block " INT64_FORMAT ": %s", finding->blkno,
					page_status_name(finding->status)),
			 errdetail_internal("%s.", finding->message)));
	if (finding->blkno >= 0 && finding->status != PAGE_SHORT_SEGMENT &&
		finding->status != PAGE_MISSING_SEGMENT &&
		finding->status != PAGE_PARTIAL_BLOCK)
	{
		enter_block((DigestSink *) sink, finding->blkno);
		((DigestSink *) sink)->row.broken = true;
	}
}

/* Begins the row of a block, or goes on with it: a gap leaves no digest. */
static void
enter_block(DigestSink *digests, int64 blkno)
{
	DigestRow  *row = &digests->row;
	int64		first = blkno - blkno % digests->blocks_per_row;

	if (row->first != first)
	{
		if (row->first >= 0 && row->next < row->first + digests->blocks_per_row)
			row->broken = true;
		put_row(digests);
		memset(row, 0, sizeof(*row));
		row->first = first;
		row->next = Max(first, digests->from);
		row->empty = true;
	}
	if (row->next != blkno)
		row->broken = true;
	row->next = blkno + 1;
}

static void
add_page(DigestRow *row, const char *page)
{
	uint32		reg;

	add_left_out(row);
	reg = row->empty ? CHECKSUM_CRC_INIT : row->crc ^ CHECKSUM_CRC_INIT;
	row->crc = checksum_crc32c(reg, page, BLCKSZ) ^ CHECKSUM_CRC_INIT;
	row->empty = false;
}

static void
add_left_out(DigestRow *row)
{
	static const PGAlignedBlock zeros;

	for (; row->left_out > 0; row->left_out--)
	{
		uint32		reg = row->empty ? CHECKSUM_CRC_INIT :
			row->crc ^ CHECKSUM_CRC_INIT;

		row->crc = checksum_crc32c(reg, zeros.data, BLCKSZ) ^
			CHECKSUM_CRC_INIT;
		row->empty = false;
	}
}

static void
put_row(DigestSink *digests)
{
	const DigestRow *row = &digests->row;
	Datum		values[3] = {Int64GetDatum(row->first), LSNGetDatum(row->lsn),
	Int64GetDatum(row->crc)};
	bool		nulls[3] = {false, row->broken && row->lsn == InvalidXLogRecPtr,
	row->broken};

	if (row->first < 0 || (row->empty && !row->broken))
		return;
	tuplestore_putvalues(digests->rsinfo->setResult, digests->rsinfo->setDesc,
						 values, nulls);
}
