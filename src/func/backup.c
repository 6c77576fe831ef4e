/*
 * backup.c
 *	  SQL functions that verify base backups.
 */
#include "compat.h"

#include <limits.h>

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "backup/parallel.h"
#include "backup/verdict.h"
#include "func/backup.h"
#include "func/func.h"
#include "host/direct.h"
#include "host/file_path.h"
#include "host/parallel.h"
#include "host/throttle.h"
#include "wal/parallel.h"

#define FINDING_COLUMNS 7
#define SUMMARY_COLUMNS 17

/* Rows of findings. */
typedef struct BackupRows
{
	ReturnSetInfo *rsinfo;
	MemoryContext row;			/* for what a row is made of, as millions may
								 * come */
} BackupRows;

/* ---- values ---- */

char *
accel_text_of_bytes(const char *bytes)
{
	StringInfoData text;

	if (pg_verifymbstr(bytes, (int) strlen(bytes), true))
		return pstrdup(bytes);
	initStringInfo(&text);
	for (; *bytes != '\0'; bytes++)
		if (IS_HIGHBIT_SET(*bytes) || *bytes == '\\')
			appendStringInfo(&text, "\\x%02x", (unsigned char) *bytes);
		else
			appendStringInfoChar(&text, *bytes);
	return text.data;
}

static Datum
bytes_datum(const char *bytes)
{
	return CStringGetTextDatum(accel_text_of_bytes(bytes));
}

static Datum
text_value(const char *text, bool *null)
{
	*null = text == NULL;
	return text == NULL ? (Datum) 0 : bytes_datum(text);
}

static Datum
lsn_value(XLogRecPtr lsn, bool *null)
{
	*null = lsn == InvalidXLogRecPtr;
	return LSNGetDatum(lsn);
}

static void
emit_finding(void *arg, const BackupFinding *finding)
{
	BackupRows *rows = arg;
	MemoryContext outer = MemoryContextSwitchTo(rows->row);
	Datum		values[FINDING_COLUMNS];
	bool		nulls[FINDING_COLUMNS] = {0};

	values[0] = bytes_datum(finding->path);
	values[1] = Int64GetDatum(finding->blkno);
	nulls[1] = finding->blkno < 0;
	values[2] = CStringGetTextDatum(finding->status);
	values[3] = text_value(finding->expected, &nulls[3]);
	values[4] = text_value(finding->actual, &nulls[4]);
	values[5] = lsn_value(finding->lsn, &nulls[5]);
	values[6] = text_value(finding->message, &nulls[6]);
	MemoryContextSwitchTo(outer);
	tuplestore_putvalues(rows->rsinfo->setResult, rows->rsinfo->setDesc,
						 values, nulls);
	MemoryContextReset(rows->row);
}

static void
drop_finding(void *arg, const BackupFinding *finding)
{
}

/* ---- arguments ---- */

static char *
path_argument(FunctionCallInfo fcinfo, int argno)
{
	return PG_ARGISNULL(argno) ? NULL :
		file_path_parse(text_to_cstring(PG_GETARG_TEXT_PP(argno)));
}

const char **
accel_prior_backups(FunctionCallInfo fcinfo, int argno, int *count)
{
	const char **prior;
	Datum	   *elements;
	bool	   *nulls;

	*count = 0;
	if (PG_ARGISNULL(argno))
		return NULL;
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(argno), TEXTOID, -1, false,
					  TYPALIGN_INT, &elements, &nulls, count);
	if (*count > BACKUP_CHAIN_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("prior_backups has more than %d backups", BACKUP_CHAIN_MAX)));
	prior = palloc((Size) (*count + 1) * sizeof(char *));
	for (int i = 0; i < *count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("prior_backups must not contain nulls")));
		prior[i] = file_path_parse(TextDatumGetCString(elements[i]));
	}
	return prior;
}

void
accel_backup_cost(BackupOptions *options, int workers, int max_rate,
				  bool direct)
{
	Throttle   *throttle = palloc(sizeof(Throttle));

	options->workers = parallel_workers(workers);
	options->verify_files = backup_parallel_verify;
	options->judge_wal = wal_parallel_judge;
	options->direct = direct;
	throttle_init(throttle, max_rate, BLCKSZ, direct ?
				  DIRECT_PIECE_PACED : BACKUP_PIECE_BYTES);
	options->throttle = max_rate > 0 ? throttle : NULL;
}

/*
 * Reads directory, wal_directory text, prior_backups text[], check_pages
 * boolean, and from cost on workers, max_rate integer, direct_io boolean.
 */
static void
options_of(FunctionCallInfo fcinfo, int cost, BackupOptions *options)
{
	memset(options, 0, sizeof(*options));
	accel_check_null(fcinfo, 0, "directory");
	options->check_pages = accel_boolean(fcinfo, 3, true);
	accel_backup_cost(options, accel_integer(fcinfo, cost, 0),
					  accel_integer(fcinfo, cost + 1, 0),
					  accel_boolean(fcinfo, cost + 2, false));
	options->root = path_argument(fcinfo, 0);
	options->wal = path_argument(fcinfo, 1);
	options->prior = accel_prior_backups(fcinfo, 2, &options->nprior);
}

/* ---- functions ---- */

static void
check_result(BackupRunResult result, const char *path)
{
	switch (result)
	{
		case BACKUP_RUN_NONE:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a directory", path)));
			break;
		case BACKUP_RUN_FAILED:
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not open directory \"%s\": %m", path)));
			break;
		case BACKUP_RUN_OK:
			break;
	}
}

void
accel_backup_check_directory(const char *path)
{
	check_result(backup_run_look(path), path);
}

char *
accel_backup_directory(FunctionCallInfo fcinfo, int argument)
{
	char	   *path = path_argument(fcinfo, argument);
	char		real[PATH_MAX];

	if (path == NULL)
		return NULL;
	accel_backup_check_directory(path);
	return realpath(path, real) == NULL ? path : pstrdup(real);
}

void
accel_backup_unread(const char *directory, const char *path)
{
	ereport(WARNING,
			(errcode_for_file_access(),
			 errmsg("could not look for backups in \"%s\": %m",
					accel_text_of_bytes(path)),
			 errdetail("Directory \"%s\".", directory)));
}

void
accel_backup_none(const char *directory)
{
	ereport(WARNING,
			(errmsg("there is no backup below directory \"%s\"", directory)));
}

void
accel_backup_run(const BackupOptions *options, BackupSink *sink,
				 BackupSummary *summary)
{
	const char *refused;
	BackupRunResult result = backup_run(options, sink, summary, &refused);

	check_result(result, refused);
}

/* No row means sound, and pages whose checksums mean nothing are not. */
static void
warn_checksums_off(const BackupSummary *summary)
{
	if (summary->checksums_off && summary->pages > 0)
		ereport(WARNING,
				(errmsg("data checksums are disabled in the cluster of this backup"),
				 errdetail("Only page headers are verified."),
				 errhint("To enable them, stop that server and run \"pg_checksums --enable\".")));
}

/* Its include_healed stands before the costs. */
SQL_FUNCTION(accel_verify_backup)
{
	BackupRows	rows;
	BackupSink	sink = {emit_finding, &rows};
	BackupOptions options;
	BackupSummary summary;

	options_of(fcinfo, 5, &options);
	options.include_healed = accel_boolean(fcinfo, 4, false);
	InitMaterializedSRF(fcinfo, 0);
	rows.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	rows.row = AllocSetContextCreate(CurrentMemoryContext, "backup finding",
									 ALLOCSET_DEFAULT_SIZES);
	accel_backup_run(&options, &sink, &summary);
	warn_checksums_off(&summary);
	return (Datum) 0;
}

static void
summary_values(const BackupSummary *summary, const BackupSink *sink,
			   double seconds, Datum *values, bool *nulls)
{
	const int64 counts[] = {
		summary->files, summary->bytes, summary->pages, summary->bad_pages,
		summary->healed_pages, summary->wal_records, sink->findings
	};
	Interval   *elapsed = palloc0(sizeof(Interval));
	int			i = 0;

	elapsed->time = (TimeOffset) (seconds * USECS_PER_SEC);
	values[i] = text_value(summary->label[0] == '\0' ? NULL : summary->label,
						   &nulls[i]);
	values[++i] = CStringGetTextDatum(backup_format(summary));
	values[++i] = Int64GetDatum((int64) summary->system);
	nulls[i] = !summary->has_system;
	i++;
	values[i] = lsn_value(summary->start, &nulls[i]);
	i++;
	values[i] = lsn_value(summary->end, &nulls[i]);
	i++;
	values[i] = text_value(summary->timelines, &nulls[i]);
	for (int n = 0; n < (int) lengthof(counts); n++)
		values[++i] = Int64GetDatum(counts[n]);
	values[++i] = IntervalPGetDatum(elapsed);
	values[++i] = Int64GetDatum(accel_bytes_per_second(summary->bytes, seconds));
	values[++i] = CStringGetTextDatum(backup_status_name(backup_sink_verdict(sink)));
	i++;
	values[i] = text_value(backup_message(summary, sink), &nulls[i]);
	Assert(i + 1 == SUMMARY_COLUMNS);
}

/* Returns one row.  Has the same arguments except include_healed. */
SQL_FUNCTION(accel_verify_backup_summary)
{
	BackupSink	sink = {drop_finding, NULL};
	BackupOptions options;
	BackupSummary summary;
	TupleDesc	desc;
	Datum		values[SUMMARY_COLUMNS];
	bool		nulls[SUMMARY_COLUMNS] = {0};
	instr_time	start;
	instr_time	end;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	options_of(fcinfo, 4, &options);
	INSTR_TIME_SET_CURRENT(start);
	accel_backup_run(&options, &sink, &summary);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	if (sink.findings == 0)
		warn_checksums_off(&summary);
	summary_values(&summary, &sink, INSTR_TIME_GET_DOUBLE(end), values, nulls);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}
