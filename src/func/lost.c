/*
 * lost.c
 *	  The SQL functions that find lost writes.
 */
#include "compat.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "host/direct.h"
#include "lost/image.h"
#include "lost/scan.h"
#include "lost/server.h"
#include "wal/block_decompress.h"

#define COLUMNS		9
#define IMAGE_COLUMNS	11

static void
set_text(const char *words, Datum *value, bool *null)
{
	*null = words == NULL || words[0] == '\0';
	if (!*null)
		*value = CStringGetTextDatum(words);
}

static void
set_lsn(XLogRecPtr lsn, Datum *value, bool *null)
{
	*null = XLogRecPtrIsInvalid(lsn);
	*value = LSNGetDatum(lsn);
}

static void
emit_finding(void *arg, const LostFinding *finding)
{
	ReturnSetInfo *rsinfo = arg;
	bool		has_block = OidIsValid(finding->relid);
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {false};

	nulls[0] = nulls[1] = nulls[2] = !has_block;
	if (has_block)
	{
		values[0] = ObjectIdGetDatum(finding->relid);
		values[1] = CStringGetTextDatum(forkNames[finding->fork]);
		values[2] = Int64GetDatum((int64) finding->block);
	}
	set_text(finding->path, &values[3], &nulls[3]);
	set_text(lost_status_name(finding->status), &values[4], &nulls[4]);
	set_lsn(finding->disk_lsn, &values[5], &nulls[5]);
	set_lsn(finding->expected_lsn, &values[6], &nulls[6]);
	set_text(finding->segment, &values[7], &nulls[7]);
	set_text(finding->message, &values[8], &nulls[8]);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* What lies after the last checkpoint need not be on disk. */
static void
notice_horizon(const LostOptions *options)
{
	if (options->end != WAL_LSN_MAX && options->end > options->horizon)
		ereport(NOTICE,
				(errmsg("WAL from %X/%X on is not judged: no checkpoint has put its changes on disk yet",
						LSN_FORMAT_ARGS(options->horizon)),
				 errhint("Run CHECKPOINT, which makes a restartpoint on a standby, and call the function again.")));
}

/* The argument max_rate, for what is read from now on. */
static Throttle *
max_rate_argument(FunctionCallInfo fcinfo, int argno, bool direct,
				  Throttle *throttle)
{
	int			max_rate = accel_integer(fcinfo, argno, 0);

	throttle_init(throttle, max_rate, BLCKSZ,
				  direct ? DIRECT_PIECE_OF(max_rate) : WAL_PIECE_BYTES);
	return throttle;
}

/*
 * verify_lost_writes(directory text, start_lsn, end_lsn pg_lsn, max_rate
 * integer, direct_io boolean)
 */
SQL_FUNCTION(accel_verify_lost_writes)
{
	WalDirectory own;
	WalDirectory dir;
	LostOptions options = {0};
	Throttle	throttle;

	InitMaterializedSRF(fcinfo, 0);
	options.start = PG_ARGISNULL(1) ? 0 : PG_GETARG_LSN(1);
	options.end = PG_ARGISNULL(2) ? WAL_LSN_MAX : PG_GETARG_LSN(2);
	options.memory = (size_t) maintenance_work_mem * 1024;
	accel_check_lsns(options.start, options.end);
	options.direct = accel_boolean(fcinfo, 4, false);
	options.throttle = max_rate_argument(fcinfo, 3, options.direct, &throttle);
	options.horizon = lost_server_horizon();	/* before the directories */
	notice_horizon(&options);
	accel_wal_directory(&own, NULL, options.direct, NULL);
	options.own = options.dir = &own;
	if (!PG_ARGISNULL(0))
	{
		accel_wal_directory(&dir, text_to_cstring(PG_GETARG_TEXT_PP(0)),
							options.direct, NULL);
		if (!dir.limits.live)
			options.dir = &dir;
	}
	lost_scan(&options, emit_finding, fcinfo->resultinfo);
	return (Datum) 0;
}

static void
emit_image(void *arg, const LostImage *image)
{
	ReturnSetInfo *rsinfo = arg;
	const WalBlockTag *tag = &image->tag;
	bool		stale = image->status == LOST_STALE_PAGE;
	Datum		values[IMAGE_COLUMNS] = {0};
	bool		nulls[IMAGE_COLUMNS] = {false};

	nulls[0] = nulls[1] = nulls[2] = nulls[3] = nulls[4] = !stale;
	if (stale)
	{
		values[0] = ObjectIdGetDatum(tag->tablespace);
		values[1] = ObjectIdGetDatum(tag->database);
		values[2] = ObjectIdGetDatum(tag->relation);
		values[3] = CStringGetTextDatum(forkNames[tag->fork]);
		values[4] = Int64GetDatum((int64) tag->block);
	}
	set_text(lost_status_name(image->status), &values[5], &nulls[5]);
	set_lsn(image->page_lsn, &values[6], &nulls[6]);
	set_lsn(image->expected_lsn, &values[7], &nulls[7]);
	set_lsn(image->lsn, &values[8], &nulls[8]);
	set_text(image->segment, &values[9], &nulls[9]);
	set_text(image->message, &values[10], &nulls[10]);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * verify_wal_images(directory text, start_lsn, end_lsn pg_lsn, max_rate
 * integer, direct_io boolean)
 */
SQL_FUNCTION(accel_verify_wal_images)
{
	WalDirectory dir;
	LostImageOptions options;
	Throttle	throttle;
	bool		direct = accel_boolean(fcinfo, 4, false);

	InitMaterializedSRF(fcinfo, 0);
	options.start = PG_ARGISNULL(1) ? 0 : PG_GETARG_LSN(1);
	options.end = PG_ARGISNULL(2) ? WAL_LSN_MAX : PG_GETARG_LSN(2);
	options.memory = (size_t) maintenance_work_mem * 1024;
	accel_check_lsns(options.start, options.end);
	options.throttle = max_rate_argument(fcinfo, 3, direct, &throttle);
	accel_wal_directory(&dir, accel_text(fcinfo, 0), direct, NULL);
	options.dir = &dir;
	options.timeline = 0;
	options.block_size = BLCKSZ;
	options.decompressors = &wal_block_decompressors;
	lost_images(&options, emit_image, fcinfo->resultinfo, NULL);
	return (Datum) 0;
}
