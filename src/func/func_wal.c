/*
 * func_wal.c
 *	  SQL functions that verify write-ahead log.
 */
#include "compat.h"

#include "access/xlogdefs.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "scan/parallel.h"
#include "scan/wal_parallel.h"

#define RESULT_COLUMNS	17
#define FINDING_COLUMNS 4

/* Findings of one segment, up to a number. */
typedef struct Findings
{
	int			max;
	int			count;
	int			room;
	WalFinding *items;
} Findings;

static char *
text_or_null(FunctionCallInfo fcinfo, int argno)
{
	return PG_ARGISNULL(argno) ? NULL :
		text_to_cstring(PG_GETARG_TEXT_PP(argno));
}

/* A segment's row. */
static void
result_values(const WalSegmentResult *result, Datum values[RESULT_COLUMNS],
			  bool nulls[RESULT_COLUMNS])
{
	const WalCounts *counts = &result->counts;
	const char *version = wal_version_name(result->magic);
	const uint64 numbers[] = {
		counts->records, counts->fpi_bytes, counts->bytes_verified,
		counts->head_bytes, counts->tail_bytes, counts->zero_bytes,
		counts->skipped_bytes
	};
	int			i = 0;

	memset(nulls, 0, RESULT_COLUMNS * sizeof(bool));
	values[i++] = CStringGetTextDatum(result->segment);
	values[i++] = Int64GetDatum((int64) result->timeline);
	nulls[i] = !result->has_position;
	values[i++] = LSNGetDatum(result->start_lsn);
	nulls[i] = !result->has_counts;
	values[i++] = LSNGetDatum(result->end_lsn);
	values[i++] = CStringGetTextDatum(wal_status_name(result->status));
	nulls[i] = version == NULL;
	values[i++] = version == NULL ? (Datum) 0 : CStringGetTextDatum(version);
	for (int n = 0; n < (int) lengthof(numbers); n++)
		values[i++] = Int64GetDatum((int64) numbers[n]);
	values[i++] = Int32GetDatum((int32) counts->errors);
	nulls[i] = counts->errors == 0;
	values[i++] = LSNGetDatum(counts->first_error);
	nulls[i] = !result->has_crc;
	values[i++] = Int64GetDatum((int64) result->crc);
	nulls[i] = result->message[0] == '\0';
	values[i++] = CStringGetTextDatum(result->message);
	Assert(i == RESULT_COLUMNS);
}

static Datum
result_record(FunctionCallInfo fcinfo, const WalSegmentResult *result)
{
	TupleDesc	desc;
	Datum		values[RESULT_COLUMNS];
	bool		nulls[RESULT_COLUMNS];

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	result_values(result, values, nulls);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

static void
put_result(void *arg, const WalSegmentResult *result)
{
	ReturnSetInfo *rsinfo = arg;
	Datum		values[RESULT_COLUMNS];
	bool		nulls[RESULT_COLUMNS];

	result_values(result, values, nulls);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* A segment named by the user: not to find it is an error. */
static void
scan_named(WalScan *scan, const char *name, WalSegmentResult *result,
		   WalFindingFn finding, void *arg)
{
	FileScanResult opened = wal_scan_segment(scan, name, result, finding, arg);

	if (opened != FILE_SCAN_OK)
		file_scan_error(opened, psprintf("%s/%s", scan->directory, name));
}

SQL_FUNCTION(accel_verify_wal_segment)
{
	char	   *name = text_or_null(fcinfo, 0);
	WalName		parsed;
	WalScan		scan;
	WalSegmentResult result;

	if (name == NULL)
		PG_RETURN_NULL();
	wal_scan_name(name, &parsed);
	wal_scan_begin(&scan, text_or_null(fcinfo, 1));
	scan_named(&scan, name, &result, NULL, NULL);
	PG_RETURN_DATUM(result_record(fcinfo, &result));
}

SQL_FUNCTION(accel_verify_wal_segment_bytes)
{
	bytea	   *data = PG_GETARG_BYTEA_PP(0);
	WalSegmentResult result;

	wal_scan_bytes((const uint8 *) VARDATA_ANY(data),
				   VARSIZE_ANY_EXHDR(data),
				   text_to_cstring(PG_GETARG_TEXT_PP(1)), &result);
	PG_RETURN_DATUM(result_record(fcinfo, &result));
}

SQL_FUNCTION(accel_verify_wal_range)
{
	XLogRecPtr	start;
	XLogRecPtr	end = WAL_LSN_MAX;
	int64		timeline = 0;
	WalScan		scan;
	WalList		list;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	start = PG_GETARG_LSN(0);
	if (!PG_ARGISNULL(1))
		end = PG_GETARG_LSN(1);
	if (start > end)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("start %X/%X lies behind end %X/%X",
						LSN_FORMAT_ARGS(start), LSN_FORMAT_ARGS(end))));
	if (!PG_ARGISNULL(2))
	{
		timeline = PG_GETARG_INT64(2);
		if (timeline < 1 || timeline > PG_UINT32_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg(INT64_FORMAT " is outside the valid range for parameter \"%s\" (%d .. %u)",
							timeline, "timeline", 1, PG_UINT32_MAX)));
	}
	wal_scan_begin(&scan, text_or_null(fcinfo, 3));
	wal_scan_range(&scan, start, end, (TimeLineID) timeline, &list);
	wal_scan_entries(&scan, &list, 0, put_result, fcinfo->resultinfo);
	return (Datum) 0;
}

SQL_FUNCTION(accel_verify_wal_directory)
{
	int			workers;
	WalScan		scan;
	WalList		list;

	workers = parallel_workers(PG_ARGISNULL(3) ? 0 : PG_GETARG_INT32(3));
	InitMaterializedSRF(fcinfo, 0);
	wal_scan_begin(&scan, text_or_null(fcinfo, 0));
	wal_scan_list(&scan, text_or_null(fcinfo, 1), text_or_null(fcinfo, 2),
				  &list);
	wal_scan_entries(&scan, &list, workers, put_result, fcinfo->resultinfo);
	return (Datum) 0;
}

static void
keep_finding(void *arg, const WalFinding *finding)
{
	Findings   *findings = arg;

	if (finding == NULL)		/* another look */
		findings->count = 0;
	if (finding == NULL || findings->count == findings->max)
		return;
	if (findings->count == findings->room)
	{
		findings->room = Max(findings->room * 2, 16);
		findings->items = findings->items == NULL ?
			palloc(findings->room * sizeof(WalFinding)) :
			repalloc_huge(findings->items,
						  findings->room * sizeof(WalFinding));
	}
	findings->items[findings->count++] = *finding;
}

static int
compare_findings(const void *a, const void *b)
{
	XLogRecPtr	x = ((const WalFinding *) a)->lsn;
	XLogRecPtr	y = ((const WalFinding *) b)->lsn;

	return x < y ? -1 : x > y;
}

SQL_FUNCTION(accel_wal_findings)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *name = text_or_null(fcinfo, 0);
	Findings	findings = {0};
	WalName		parsed;
	WalScan		scan;
	WalSegmentResult result;

	InitMaterializedSRF(fcinfo, 0);
	if (name == NULL)
		return (Datum) 0;
	findings.max = PG_ARGISNULL(2) ? 100 : PG_GETARG_INT32(2);
	if (findings.max < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of findings %d is negative", findings.max)));
	wal_scan_name(name, &parsed);
	wal_scan_begin(&scan, text_or_null(fcinfo, 1));
	scan_named(&scan, name, &result, keep_finding, &findings);
	if (result.status == WAL_REMOVED_DURING_SCAN)
		findings.count = 0;		/* of bytes that may be new ones */
	if (findings.count > 1)
		qsort(findings.items, findings.count, sizeof(WalFinding),
			  compare_findings);
	for (int i = 0; i < findings.count; i++)
	{
		const WalFinding *finding = &findings.items[i];
		Datum		values[FINDING_COLUMNS];
		bool		nulls[FINDING_COLUMNS] = {false};

		/* of bytes that are no log at all, one verdict is enough */
		if (result.status == WAL_NOT_VERIFIABLE &&
			finding->status != WAL_NOT_VERIFIABLE)
			continue;
		values[0] = LSNGetDatum(finding->lsn);
		values[1] = Int64GetDatum((int64) finding->file_offset);
		values[2] = CStringGetTextDatum(wal_status_name(finding->status));
		values[3] = CStringGetTextDatum(finding->message);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}
