/*
 * page.c
 *	  SQL functions that verify pages and relations.
 */
#include "compat.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/bufpage.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "kernel/checksum.h"
#include "page/disk_page.h"
#include "page/judge.h"
#include "page/relation_scan.h"
#include "page/scan_run.h"

/* The arguments of verify_relation and verify_relation_summary. */
typedef struct ScanArguments
{
	Oid			relid;
	RelationScanOptions options;
	int32		workers;
	int32		max_rate;		/* kB/s, 0 for no limit */
	bool		direct;
} ScanArguments;

/* Rows of findings or of summaries. */
typedef struct RowSink
{
	ScanSink	sink;			/* first */
	ScanRun		run;
	ReturnSetInfo *rsinfo;
	MemoryContext row;			/* for what a row is made of, as millions may
								 * come */
} RowSink;

static void scan_arguments(FunctionCallInfo fcinfo, ScanArguments *arguments);
static void scan_rows(FunctionCallInfo fcinfo, RowSink *rows);
static void emit_finding(ScanSink *sink, const PageFinding *finding);
static void emit_summary(ScanSink *sink, const ForkSummary *summary);
static void warn_checksums_off(ScanSink *sink, const ForkSummary *summary);
static void emit_segment(void *arg, const SegmentInfo *segment);

SQL_FUNCTION(accel_verify_page)
{
	bytea	   *raw = PG_GETARG_BYTEA_PP(0);
	BlockNumber blkno = accel_block_argument("blkno", PG_GETARG_INT64(1));
	PageRules	rules = {true, InvalidXLogRecPtr};
	PageVerdict verdict;
	TupleDesc	desc;
	Datum		values[5];
	bool		nulls[5] = {0};

	if (VARSIZE_ANY_EXHDR(raw) != BLCKSZ)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid page size"),
				 errdetail("Expected %d bytes, got %zu.", BLCKSZ,
						   VARSIZE_ANY_EXHDR(raw))));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	page_judge(VARDATA_ANY(raw), blkno, &rules, &verdict);
	values[0] = CStringGetTextDatum(page_status_name(verdict.status));
	values[1] = Int32GetDatum(verdict.stored);
	values[2] = Int32GetDatum(verdict.computed);
	nulls[2] = verdict.status == PAGE_NEW;
	values[3] = LSNGetDatum(verdict.lsn);
	values[4] = Int64GetDatum(checksum_crc32c(CHECKSUM_CRC_INIT,
											  VARDATA_ANY(raw), BLCKSZ) ^
							  CHECKSUM_CRC_INIT);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}

SQL_FUNCTION(accel_verify_relation)
{
	RowSink		rows = {{0}};

	rows.sink.finding = emit_finding;
	rows.sink.fork_end = warn_checksums_off;
	scan_rows(fcinfo, &rows);
	return (Datum) 0;
}

SQL_FUNCTION(accel_verify_relation_summary)
{
	RowSink		rows = {{0}};

	rows.sink.fork_end = emit_summary;
	scan_rows(fcinfo, &rows);
	return (Datum) 0;
}

SQL_FUNCTION(accel_relation_files)
{
	InitMaterializedSRF(fcinfo, 0);
	scan_relation_segments(PG_GETARG_OID(0), emit_segment,
						   fcinfo->resultinfo);
	return (Datum) 0;
}

SQL_FUNCTION(accel_read_disk_page)
{
	Oid			relid = PG_GETARG_OID(0);
	ForkNumber	fork = accel_fork_argument(PG_GETARG_TEXT_PP(1));
	BlockNumber blkno = accel_block_argument("blkno", PG_GETARG_INT64(2));
	bytea	   *result;

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to read raw pages")));
	result = palloc(VARHDRSZ + BLCKSZ);
	SET_VARSIZE(result, VARHDRSZ + BLCKSZ);
	disk_page_read(relid, fork, blkno, VARDATA(result));
	PG_RETURN_BYTEA_P(result);
}

/* ---------------------------------------------------------------- *
 *		Arguments
 * ---------------------------------------------------------------- */

BlockNumber
accel_block_argument(const char *name, int64 blkno)
{
	accel_check_range(ERRCODE_INVALID_PARAMETER_VALUE, name, blkno, 0,
					  MaxBlockNumber);
	return (BlockNumber) blkno;
}

ForkNumber
accel_fork_argument(text *name)
{
	return forkname_to_number(text_to_cstring(name));
}

void
accel_scan_options(FunctionCallInfo fcinfo, int n, RelationScanOptions *options)
{
	if (!PG_ARGISNULL(n))
		options->fork = accel_fork_argument(PG_GETARG_TEXT_PP(n));
	if (!PG_ARGISNULL(n + 1))
		options->first = accel_block_argument("first_block",
											  PG_GETARG_INT64(n + 1));
	if (!PG_ARGISNULL(n + 2))
		options->end = accel_block_argument("last_block",
											PG_GETARG_INT64(n + 2)) + 1;
	if (options->first >= options->end)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("first_block %u must not be greater than last_block %u",
						options->first, options->end - 1)));
}

static void
scan_arguments(FunctionCallInfo fcinfo, ScanArguments *arguments)
{
	RelationScanOptions options = SCAN_OPTIONS_ALL;

	accel_check_null(fcinfo, 0, "relation");
	arguments->relid = PG_GETARG_OID(0);
	accel_scan_options(fcinfo, 1, &options);
	options.include_toast = accel_boolean(fcinfo, 4, false);
	options.include_indexes = accel_boolean(fcinfo, 5, false);
	arguments->options = options;
	arguments->workers = accel_integer(fcinfo, 6, 0);
	arguments->max_rate = accel_integer(fcinfo, 7, 0);
	arguments->direct = accel_boolean(fcinfo, 8, false);
}

/* ---------------------------------------------------------------- *
 *		Rows
 * ---------------------------------------------------------------- */

static void
scan_rows(FunctionCallInfo fcinfo, RowSink *rows)
{
	ScanArguments arguments;

	scan_arguments(fcinfo, &arguments);
	InitMaterializedSRF(fcinfo, 0);
	rows->rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	rows->row = AllocSetContextCreate(CurrentMemoryContext, "row",
									  ALLOCSET_DEFAULT_SIZES);
	scan_run_begin(&rows->run, &rows->sink, arguments.workers,
				   arguments.max_rate, arguments.direct);
	scan_run_relation(&rows->run, arguments.relid, &arguments.options);
	scan_run_end(&rows->run);
}

static Datum
fork_name(ForkNumber fork, bool *null)
{
	*null = fork == InvalidForkNumber;
	return *null ? (Datum) 0 : CStringGetTextDatum(forkNames[fork]);
}

void
accel_finding_values(const PageFinding *finding, Datum *values, bool *nulls)
{
#define FINDING_COLUMN(name, type, value, is_null) \
	nulls[FINDING_COLUMN_##name] = is_null; \
	if (!nulls[FINDING_COLUMN_##name]) \
		values[FINDING_COLUMN_##name] = value;
#include "func/finding.def"
}

static void
emit_finding(ScanSink *sink, const PageFinding *finding)
{
	RowSink    *rows = (RowSink *) sink;
	MemoryContext context = MemoryContextSwitchTo(rows->row);
	Datum		values[FINDING_COLUMNS] = {0};
	bool		nulls[FINDING_COLUMNS] = {0};

	accel_finding_values(finding, values, nulls);
	tuplestore_putvalues(rows->rsinfo->setResult, rows->rsinfo->setDesc,
						 values, nulls);
	MemoryContextSwitchTo(context);
	MemoryContextReset(rows->row);
}

static Datum
seconds_interval(double seconds)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->time = (TimeOffset) (seconds * USECS_PER_SEC);
	return IntervalPGetDatum(interval);
}

static void
emit_summary(ScanSink *sink, const ForkSummary *summary)
{
	RowSink    *rows = (RowSink *) sink;
	MemoryContext context = MemoryContextSwitchTo(rows->row);
	Datum		values[13] = {0};
	bool		nulls[13] = {0};

	values[0] = ObjectIdGetDatum(summary->relid);
	values[1] = fork_name(summary->fork, &nulls[1]);
	values[2] = Int64GetDatum(summary->blocks);
	values[3] = Int64GetDatum(summary->verified);
	values[4] = Int64GetDatum(summary->new_pages);
	values[5] = Int64GetDatum(summary->bad);
	values[6] = Int64GetDatum(summary->unverifiable);
	values[7] = Int64GetDatum(summary->retried);
	values[8] = Int64GetDatum(summary->bytes);
	values[9] = seconds_interval(summary->elapsed);
	values[10] = Int64GetDatum(accel_bytes_per_second(summary->bytes, summary->elapsed));
	nulls[10] = summary->bytes == 0;
	values[11] = CStringGetTextDatum(page_status_name(summary->status));
	values[12] = CStringGetTextDatum(summary->message);
	nulls[12] = summary->message[0] == '\0';
	tuplestore_putvalues(rows->rsinfo->setResult, rows->rsinfo->setDesc,
						 values, nulls);
	MemoryContextSwitchTo(context);
	MemoryContextReset(rows->row);
}

static void
warn_checksums_off(ScanSink *sink, const ForkSummary *summary)
{
	(void) scan_run_checksums_off(&((RowSink *) sink)->run, summary);
}

static void
emit_segment(void *arg, const SegmentInfo *segment)
{
	ReturnSetInfo *rsinfo = arg;
	Datum		values[7];
	bool		nulls[7] = {0};
	const char *status = page_status_name(segment->status);

	values[0] = fork_name(segment->fork, &nulls[0]);
	values[1] = Int32GetDatum(segment->segment);
	values[2] = CStringGetTextDatum(segment->path);
	values[3] = Int64GetDatum(segment->bytes);
	nulls[3] = segment->bytes < 0;
	values[4] = Int64GetDatum(segment->bytes / BLCKSZ);
	nulls[4] = segment->bytes < 0;
	values[5] = CStringGetTextDatum(status);
	values[6] = BoolGetDatum(status_is_finding(status));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}
