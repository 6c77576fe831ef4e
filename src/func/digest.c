/*
 * digest.c
 *	  SQL functions around the digests of a relation's pages.
 */
#include "compat.h"

#include "access/relation.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "page/digest.h"
#include "page/relation_scan.h"
#include "page/scan_run.h"

typedef struct DigestSink
{
	ScanSink	sink;
	ScanRun		run;
	ReturnSetInfo *rsinfo;
	PageDigests digests;
	int64		broken;			/* findings, of which WARNINGS_MAX are told */
} DigestSink;

/* A dead disk must not fill the log, since the rows have all. */
#define WARNINGS_MAX	100

static void digest_arguments(FunctionCallInfo fcinfo,
							 PageDigestOptions *digest,
							 RelationScanOptions *options);
static void emit_page(ScanSink *sink, BlockNumber blkno, const char *page);
static void emit_part(ScanSink *sink, const DigestRow *part);
static void report_broken(ScanSink *sink, const PageFinding *finding);
static void warn_of_broken(const PageFinding *finding);
static void warn_of_rest(int64 broken);
static void emit_row(PageDigests *digests, const DigestRow *row);

SQL_FUNCTION(accel_page_digests)
{
	DigestSink	sink = {{0}};
	RelationScanOptions options = SCAN_OPTIONS_ALL;
	PageDigestOptions digest = {0};
	Relation	rel;

	digest_arguments(fcinfo, &digest, &options);
	rel = scan_open_relation(PG_GETARG_OID(0));
	page_digests_init(&sink.digests, &digest, rel, options.fork, options.first);
	InitMaterializedSRF(fcinfo, 0);
	sink.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	sink.sink.page = emit_page;
	sink.sink.digest = digest;
	sink.sink.part = emit_part;
	sink.sink.finding = report_broken;
	sink.digests.emit = emit_row;
	sink.digests.arg = &sink;
	scan_run_begin(&sink.run, &sink.sink,
				   accel_integer(fcinfo, 6, 0), accel_integer(fcinfo, 7, 0),
				   false);
	scan_forks(rel, &options, &sink.run.policy, &sink.run.sink);
	page_digests_end(&sink.digests);
	scan_run_end(&sink.run);
	warn_of_rest(sink.broken);
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

static void
digest_arguments(FunctionCallInfo fcinfo, PageDigestOptions *digest,
				 RelationScanOptions *options)
{
	accel_check_null(fcinfo, 0, "relation");
	accel_scan_options(fcinfo, 1, options);
	if (options->fork == InvalidForkNumber)
		options->fork = MAIN_FORKNUM;
	digest->masked = accel_boolean(fcinfo, 4, false);
	digest->blocks_per_row = accel_integer(fcinfo, 5, 1);
	accel_check_range(ERRCODE_INVALID_PARAMETER_VALUE, "blocks_per_row",
					  digest->blocks_per_row, 1, PG_INT32_MAX);
}

static void
emit_page(ScanSink *sink, BlockNumber blkno, const char *page)
{
	page_digests_page(&((DigestSink *) sink)->digests, blkno, page);
}

/* What a worker has made of its pages. */
static void
emit_part(ScanSink *sink, const DigestRow *part)
{
	page_digests_part(&((DigestSink *) sink)->digests, part);
}

/*
 * A block that is there but cannot be trusted gets no digest, and is reported.
 */
static void
report_broken(ScanSink *sink, const PageFinding *finding)
{
	DigestSink *digest = (DigestSink *) sink;

	if (digest->broken++ < WARNINGS_MAX)
		warn_of_broken(finding);
	if (finding->blkno < 0)
		page_digests_spoil(&digest->digests);
	else if (finding->status != PAGE_SHORT_SEGMENT &&
			 finding->status != PAGE_MISSING_SEGMENT &&
			 finding->status != PAGE_PARTIAL_BLOCK)
		page_digests_broken(&digest->digests, (BlockNumber) finding->blkno);
}

static void
warn_of_rest(int64 broken)
{
	if (broken > WARNINGS_MAX)
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("no digest of " INT64_FORMAT " more blocks",
						broken - WARNINGS_MAX),
				 errdetail("Their rows have a digest that is null.")));
}

static void
warn_of_broken(const PageFinding *finding)
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
}

static void
emit_row(PageDigests *digests, const DigestRow *row)
{
	ReturnSetInfo *rsinfo = ((DigestSink *) digests->arg)->rsinfo;
	Datum		values[3] = {Int64GetDatum(row->first), LSNGetDatum(row->lsn),
	Int64GetDatum(row->crc)};
	bool		nulls[3] = {false, row->broken && row->lsn == InvalidXLogRecPtr,
	row->broken};

	if (row->empty && !row->broken)
		return;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}
