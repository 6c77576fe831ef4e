/*
 * wal.c
 *	  SQL functions that verify WAL.
 */
#include "compat.h"

#include "access/xlog_internal.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "host/direct.h"
#include "host/file_path.h"
#include "host/parallel.h"
#include "host/throttle.h"
#include "wal/beside.h"
#include "wal/files.h"
#include "wal/parallel.h"

#define RESULT_COLUMNS	19
#define FINDING_COLUMNS 5

/* ---- rows ---- */

/* A segment's row. */
static void
result_values(const WalSegmentResult *result, Datum values[RESULT_COLUMNS],
			  bool nulls[RESULT_COLUMNS])
{
	const WalCounts *counts = &result->counts;
	bool		finding = wal_status_is_finding(result->status);
	const char *version = wal_version_name(result->magic);
	char		words[WAL_RESULT_WORDS];
	char		segment[WAL_NAME_SIZE];
	const uint64 numbers[] = {
		counts->records, counts->fpi_bytes, counts->bytes_verified,
		counts->head_bytes, counts->tail_bytes, counts->zero_bytes,
		counts->skipped_bytes
	};
	int			i = 0;

	memset(nulls, 0, RESULT_COLUMNS * sizeof(bool));
	wal_segment_words(result, words);
	wal_name_print(&result->name, segment);
	nulls[i] = result->name.timeline == 0;
	values[i++] = CStringGetTextDatum(segment);
	nulls[i] = result->name.timeline == 0;
	values[i++] = Int64GetDatum((int64) result->name.timeline);
	nulls[i] = !result->has_position;
	values[i++] = LSNGetDatum(result->start_lsn);
	nulls[i] = !result->has_counts;
	values[i++] = LSNGetDatum(result->end_lsn);
	values[i++] = CStringGetTextDatum(wal_status_name(result->status));
	values[i++] = BoolGetDatum(finding);
	nulls[i] = version == NULL;
	values[i++] = version == NULL ? (Datum) 0 : CStringGetTextDatum(version);
	for (int n = 0; n < (int) lengthof(numbers); n++)
		values[i++] = Int64GetDatum((int64) numbers[n]);
	values[i++] = Int64GetDatum(finding ? Max((int64) counts->errors, 1) : 0);
	nulls[i] = counts->errors == 0;
	values[i++] = LSNGetDatum(counts->first_error);
	nulls[i] = !result->has_crc;
	values[i++] = Int64GetDatum((int64) result->crc);
	nulls[i] = words[0] == '\0';
	values[i++] = CStringGetTextDatum(words);
	nulls[i] = !result->has_format;
	values[i++] = CStringGetTextDatum(decode_format_name(result->format));
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
emit_result(void *arg, const WalSegmentResult *result)
{
	ReturnSetInfo *rsinfo = arg;
	Datum		values[RESULT_COLUMNS];
	bool		nulls[RESULT_COLUMNS];

	result_values(result, values, nulls);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* ---- arguments ---- */

/*
 * Parses a segment's name from SQL.  If plain, it must be as the server gives
 * it.
 */
static WalName
segment_argument(const char *argument, bool plain)
{
	WalName		name;

	if (!wal_name_parse(argument, &name) ||
		(plain && (name.suffix != 0 || name.has_digest || name.in_folder)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not the name of a WAL segment", argument),
				 errdetail("A name has 24 hexadecimal digits (upper case), and after them what an archiver appends, as \".partial\" or \".gz\".")));
	return name;
}

/*
 * Returns the first or the last of all files of a segment.  kind says which.
 */
static WalName
bound_argument(const char *argument, uint32_t kind)
{
	WalName		name = segment_argument(argument, false);
	WalName		bound = {name.timeline, name.high, name.low, kind};

	return bound;
}

void
accel_wal_directory(WalDirectory *dir, const char *argument, bool direct,
					WalName *only)
{
	char	   *path = argument == NULL ? pstrdup(XLOGDIR) :
		file_path_parse(argument);
	WalDirectoryResult result = wal_directory_open(dir, path, XLOGDIR, direct,
												   only);

	if (result == WAL_DIRECTORY_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a directory", path)));
	if (result == WAL_DIRECTORY_FAILED && dir->listing->failed[0] != '\0')
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read directory \"%s/%s\": %m", path,
						dir->listing->failed),
				 errhint("The other folders can be verified one by one.")));
	if (result == WAL_DIRECTORY_FAILED)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open directory \"%s\": %m", path)));
}

/* Judges a segment named by the user.  It is an error if that is no file. */
static void
judge_named(const char *argument, WalName *name, Throttle *throttle,
			bool direct, WalSegmentResult *result, WalFindings *findings)
{
	WalDirectory dir;
	WalSession	session;
	FileScanResult opened;

	accel_wal_directory(&dir, argument, direct, name);
	wal_session_begin(&session, &dir, WAL_RANGE_ALL);
	wal_files_throttle(session.files, throttle);
	opened = wal_segment_judge(&session, name, result, findings);
	if (opened == FILE_SCAN_MISSING)
		wal_segment_missing(&session, name, result, findings);
	else if (opened != FILE_SCAN_OK)
		file_path_error(opened, wal_directory_file(&dir, name));
	wal_session_end(&session);
}

static void
out_of_range(int64 value, const char *parameter, int64 least, int64 most)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg(INT64_FORMAT " is outside the valid range for parameter \"%s\" (" INT64_FORMAT " .. " INT64_FORMAT ")",
					value, parameter, least, most)));
}

/* ---- functions ---- */

/* verify_wal_segment(data bytea, segment text) */
SQL_FUNCTION(accel_verify_wal_segment_bytes)
{
	WalName		name = segment_argument(text_to_cstring(PG_GETARG_TEXT_PP(1)), true);
	bytea	   *data = PG_GETARG_BYTEA_PP(0);
	WalSession	session;
	WalSegmentResult result;

	wal_session_begin_alone(&session);
	wal_segment_judge_bytes(&session, (const uint8 *) VARDATA_ANY(data),
							VARSIZE_ANY_EXHDR(data), &name, &result);
	PG_RETURN_DATUM(result_record(fcinfo, &result));
}

/* Arguments of verify_wal(), all of which may be NULL. */
enum
{
	ARG_DIRECTORY,
	ARG_FIRST_SEGMENT,
	ARG_LAST_SEGMENT,
	ARG_START_LSN,
	ARG_END_LSN,
	ARG_TIMELINE_ID,
	ARG_WORKERS,
	ARG_MAX_RATE,
	ARG_DIRECT_IO
};

/* What several rows are made of. */
typedef struct WalScan
{
	FunctionCallInfo fcinfo;
	char	   *directory;
	char	   *first;			/* segments, or NULL for no bound */
	char	   *last;
	int			workers;
	Throttle	throttle;
	bool		direct;
} WalScan;

/* Judges one file by its name.  Nothing else of the directory is listed. */
static void
scan_one(WalScan *scan)
{
	WalName		name = segment_argument(scan->first, false);
	WalSegmentResult result;

	judge_named(scan->directory, &name, &scan->throttle, scan->direct,
				&result, NULL);
	emit_result(scan->fcinfo->resultinfo, &result);
}

/* The segments that hold a range of LSNs, along a timeline's history. */
static void
scan_range(WalScan *scan)
{
	FunctionCallInfo fcinfo = scan->fcinfo;
	WalRange	range = WAL_RANGE_ALL;
	int64		timeline = 0;
	WalDirectory dir;
	WalNames	list;

	accel_check_null(fcinfo, ARG_START_LSN, "start_lsn");
	range.begin = PG_GETARG_LSN(ARG_START_LSN);
	if (!PG_ARGISNULL(ARG_END_LSN))
		range.end = PG_GETARG_LSN(ARG_END_LSN);
	accel_check_lsns(range.begin, range.end);
	if (!PG_ARGISNULL(ARG_TIMELINE_ID))
	{
		timeline = PG_GETARG_INT64(ARG_TIMELINE_ID);
		if (timeline < 1 || timeline > PG_UINT32_MAX)
			out_of_range(timeline, "timeline_id", 1, PG_UINT32_MAX);
	}
	accel_wal_directory(&dir, scan->directory, scan->direct, NULL);
	wal_list_range(&dir, range, (uint32) timeline, false, &list);
	wal_parallel_judge(&dir, range, &list, scan->workers, &scan->throttle,
					   emit_result, fcinfo->resultinfo);
}

/* A directory, or its segments from one to another, gaps included. */
static void
scan_directory(WalScan *scan)
{
	void	   *rsinfo = scan->fcinfo->resultinfo;
	WalName		first = {0};
	WalName		last = {0};
	WalDirectory dir;
	WalNames	list;

	if (scan->first != NULL)
		first = bound_argument(scan->first, WAL_KIND_SEGMENT);
	if (scan->last != NULL)
		last = bound_argument(scan->last, WAL_KIND_MISSING);
	if (scan->first != NULL && scan->last != NULL &&
		wal_name_compare(&first, &last) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("first_segment \"%s\" must not be after last_segment \"%s\"",
						scan->first, scan->last)));
	accel_wal_directory(&dir, scan->directory, scan->direct, NULL);
	wal_list_names(&dir, scan->first == NULL ? NULL : &first,
				   scan->last == NULL ? NULL : &last, &list);
	if (list.count == 0 && !dir.limits.live)
	{
		WalSegmentResult none;

		wal_segment_none(&dir, &none);
		emit_result(rsinfo, &none);
	}
	wal_parallel_judge(&dir, WAL_RANGE_ALL, &list, scan->workers,
					   &scan->throttle, emit_result, rsinfo);
	if (scan->first == NULL && scan->last == NULL)
		wal_beside_judge(&dir, &scan->throttle, emit_result, rsinfo);
}

/*
 * verify_wal(directory, first_segment, last_segment text, start_lsn, end_lsn
 * pg_lsn, timeline_id bigint, workers, max_rate integer, direct_io boolean)
 */
SQL_FUNCTION(accel_verify_wal)
{
	WalScan		scan = {fcinfo};
	bool		range = !PG_ARGISNULL(ARG_START_LSN) ||
		!PG_ARGISNULL(ARG_END_LSN) || !PG_ARGISNULL(ARG_TIMELINE_ID);
	int			max_rate;

	scan.directory = accel_text(fcinfo, ARG_DIRECTORY);
	scan.first = accel_text(fcinfo, ARG_FIRST_SEGMENT);
	scan.last = accel_text(fcinfo, ARG_LAST_SEGMENT);
	scan.workers = parallel_workers(accel_integer(fcinfo, ARG_WORKERS, 0));
	scan.direct = accel_boolean(fcinfo, ARG_DIRECT_IO, false);
	max_rate = accel_integer(fcinfo, ARG_MAX_RATE, 0);
	throttle_init(&scan.throttle, max_rate, BLCKSZ,
				  scan.direct ? DIRECT_PIECE_OF(max_rate) : WAL_PIECE_BYTES);
	if (range && (scan.first != NULL || scan.last != NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("segments cannot be bounded by names and by LSNs"),
				 errhint("Use first_segment and last_segment, or start_lsn, end_lsn and timeline_id.")));
	InitMaterializedSRF(fcinfo, 0);
	if (range)
		scan_range(&scan);
	else if (scan.first != NULL && scan.last != NULL &&
			 strcmp(scan.first, scan.last) == 0)
		scan_one(&scan);
	else
		scan_directory(&scan);
	return (Datum) 0;
}

static int
compare_findings(const void *a, const void *b)
{
	WalLsn		x = ((const WalFinding *) a)->lsn;
	WalLsn		y = ((const WalFinding *) b)->lsn;

	return x < y ? -1 : x > y;
}

static void
emit_finding(ReturnSetInfo *rsinfo, const WalFinding *finding)
{
	Datum		values[FINDING_COLUMNS];
	bool		nulls[FINDING_COLUMNS] = {false};
	char		words[WAL_MESSAGE_SIZE];

	wal_verdict_words(&finding->verdict, words);
	values[0] = LSNGetDatum(finding->lsn);
	values[1] = Int64GetDatum((int64) finding->file_offset);
	values[2] = CStringGetTextDatum(wal_status_name(finding->status));
	values[3] = CStringGetTextDatum(words);
	values[4] = CStringGetTextDatum(wal_reason_name(finding->verdict.reason));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * verify_wal_findings(directory, segment text, max_findings integer, direct_io
 * boolean)
 */
SQL_FUNCTION(accel_verify_wal_findings)
{
	char	   *segment = accel_text(fcinfo, 1);
	int			max = accel_integer(fcinfo, 2, 100);
	WalFindings findings = {0};
	WalName		name;
	WalSegmentResult result;

	InitMaterializedSRF(fcinfo, 0);
	if (segment == NULL)
		return (Datum) 0;
	if (max < 0)
		out_of_range(max, "max_findings", 0, PG_INT32_MAX);
	findings.max = (size_t) max;
	name = segment_argument(segment, false);
	judge_named(accel_text(fcinfo, 0), &name, NULL,
				accel_boolean(fcinfo, 3, false), &result, &findings);
	if (findings.count > 1)
		qsort(findings.items, findings.count, sizeof(WalFinding),
			  compare_findings);
	for (size_t i = 0; i < findings.count; i++)
		emit_finding((ReturnSetInfo *) fcinfo->resultinfo, &findings.items[i]);
	return (Datum) 0;
}
