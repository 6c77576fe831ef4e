/*
 * func_digest.c
 *	  SQL functions around the digests of a relation's pages, and progress.
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

typedef struct DigestSink
{
	ScanSink	sink;
	ReturnSetInfo *rsinfo;
	bool		masked;
	PageMask	mask;			/* if masked */
} DigestSink;

static void put_page(ScanSink *sink, BlockNumber blkno, const char *page);
static void put_broken(ScanSink *sink, const PageFinding *finding);
static void put_digest(DigestSink *digests, int64 blkno, const XLogRecPtr *lsn,
					   const char *page);

SQL_FUNCTION(accel_relation_page_crcs)
{
	DigestSink	digests = {{0}};
	RelationScanOptions options = SCAN_OPTIONS_ALL;
	ScanPolicy	policy = SCAN_POLICY_ALONE;
	Relation	rel;

	accel_check_null(fcinfo, 0, "relation");
	accel_scan_options(fcinfo, 1, &options);
	if (options.fork == InvalidForkNumber)
		options.fork = MAIN_FORKNUM;
	digests.masked = !PG_ARGISNULL(4) && PG_GETARG_BOOL(4);
	rel = scan_open_relation(PG_GETARG_OID(0));
	if (digests.masked)
		page_mask_init(&digests.mask, rel, options.fork);
	InitMaterializedSRF(fcinfo, 0);
	digests.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	digests.sink.page = put_page;
	digests.sink.finding = put_broken;
	scan_forks(rel, &options, &policy, &digests.sink);
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

static void
put_page(ScanSink *sink, BlockNumber blkno, const char *page)
{
	DigestSink *digests = (DigestSink *) sink;
	XLogRecPtr	lsn = PageGetLSN((Page) page);

	if (digests->masked && page_mask_empty(&digests->mask, page))
		return;
	if (digests->masked)
		page = page_mask_apply(&digests->mask, page, blkno);
	put_digest(digests, blkno, &lsn, page);
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
		put_digest((DigestSink *) sink, finding->blkno, NULL, NULL);
}

static void
put_digest(DigestSink *digests, int64 blkno, const XLogRecPtr *lsn,
		   const char *page)
{
	Datum		values[3] = {Int64GetDatum(blkno)};
	bool		nulls[3] = {false, lsn == NULL, page == NULL};

	if (lsn != NULL)
		values[1] = LSNGetDatum(*lsn);
	if (page != NULL)
		values[2] = Int64GetDatum(checksum_crc32c(CHECKSUM_CRC_INIT, page,
												  BLCKSZ) ^
								  CHECKSUM_CRC_INIT);
	tuplestore_putvalues(digests->rsinfo->setResult, digests->rsinfo->setDesc,
						 values, nulls);
}
