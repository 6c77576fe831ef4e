/*
 * backup_windows.c
 *	  verify_backup_windows(), up to where an archive lets recovery from each
 *	  backup go that verify_backups() has verified.
 *
 * A verdict counts only for the files that it was given on.  So a backup that
 * has changed since then has no window.
 */
#include "compat.h"

#include "access/xlog.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/tuplestore.h"

#include "backup/window.h"
#include "func/backup.h"
#include "func/func.h"
#include "run/backup_record.h"

enum
{
	ARG_DIRECTORY,
	ARG_WAL_DIRECTORY,
	ARG_CHECK_PAGES,
	ARG_WORKERS,
	ARG_MAX_RATE,
	ARG_DIRECT_IO
};

enum
{
	WINDOW_BACKUP,
	WINDOW_FROM,
	WINDOW_TO,
	WINDOW_TIMELINE,
	WINDOW_IS_FINDING,
	WINDOW_MESSAGE,
	WINDOW_COLUMNS
};

typedef struct Windows
{
	BackupPlan	plan;
	BackupOptions options;		/* how WAL is read */
	List	   *verdicts;		/* of BackupVerdict, that are remembered */
} Windows;

static void
on_found(void *arg, const char *path, BackupFindKind kind)
{
	Windows    *windows = arg;

	switch (kind)
	{
		case BACKUP_FIND_PLAIN:
		case BACKUP_FIND_TAR:
		case BACKUP_FIND_STORED:
			backup_plan_add(&windows->plan, path, accel_text_of_bytes(path), kind);
			break;
		case BACKUP_FIND_FAILED:
			accel_backup_unread(windows->plan.directory, path);
			break;
		case BACKUP_FIND_SERVER:
		case BACKUP_FIND_LINK:
			break;				/* verify_backups() tells of them */
	}
}

static const BackupVerdict *
find_remembered(void *arg, const char *name)
{
	const Windows *windows = arg;

	return backup_record_find(windows->verdicts, name);
}

/* What is remembered of it, if that is of what is there now. */
static const BackupVerdict *
find_valid(void *arg, const PlannedBackup *backup)
{
	return backup_plan_unchanged(backup) ? backup->remembered : NULL;
}

static void
emit_window(ReturnSetInfo *rsinfo, const PlannedBackup *backup,
			const BackupWindow *window)
{
	Datum		values[WINDOW_COLUMNS] = {0};
	bool		nulls[WINDOW_COLUMNS] = {0};

	values[WINDOW_BACKUP] = CStringGetTextDatum(backup->name);
	values[WINDOW_FROM] = LSNGetDatum(window->from);
	values[WINDOW_TO] = LSNGetDatum(window->to);
	values[WINDOW_TIMELINE] = Int64GetDatum(window->to_timeline);
	nulls[WINDOW_FROM] = nulls[WINDOW_TO] = nulls[WINDOW_TIMELINE] = window->to == 0;
	values[WINDOW_IS_FINDING] = BoolGetDatum(window->cut);
	if (window->message[0] != '\0')
		values[WINDOW_MESSAGE] = CStringGetTextDatum(window->message);
	else
		nulls[WINDOW_MESSAGE] = true;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
read_arguments(Windows *windows, FunctionCallInfo fcinfo)
{
	BackupPlan *plan = &windows->plan;

	accel_check_null(fcinfo, ARG_DIRECTORY, "directory");
	accel_backup_cost(&windows->options, accel_integer(fcinfo, ARG_WORKERS, 0),
					  accel_integer(fcinfo, ARG_MAX_RATE, 0),
					  accel_boolean(fcinfo, ARG_DIRECT_IO, false));
	plan->directory = accel_backup_directory(fcinfo, ARG_DIRECTORY);
	plan->wal = accel_backup_directory(fcinfo, ARG_WAL_DIRECTORY);
	plan->check_pages = accel_boolean(fcinfo, ARG_CHECK_PAGES, true);
	plan->system = GetSystemIdentifier();
}

static void
load_verdicts(Windows *windows, FunctionCallInfo fcinfo)
{
	History		history = history_of(fcinfo);

	signature_check_tables(history.namespace);
	windows->verdicts = backup_record_load(&history, windows->plan.directory);
}

/*
 * verify_backup_windows(directory, wal_directory text, check_pages boolean,
 * workers, max_rate integer, direct_io boolean)
 */
SQL_FUNCTION(accel_verify_backup_windows)
{
	Windows    *windows;
	BackupWindow *found;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errdetail("The verdicts that are remembered here are those of the primary, on its own files."),
				 errhint("\"crc32c_verify backups --windows\" needs no server.")));
	InitMaterializedSRF(fcinfo, 0);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	windows = palloc0(sizeof(Windows));
	read_arguments(windows, fcinfo);
	load_verdicts(windows, fcinfo);
	backup_find(windows->plan.directory, on_found, windows);
	backup_plan_look(&windows->plan, find_remembered, windows);
	if (windows->plan.count == 0)
		accel_backup_none(windows->plan.directory);
	found = backup_windows_find(&windows->plan, &windows->options, find_valid, NULL);
	for (size_t i = 0; i < windows->plan.count; i++)
		emit_window((ReturnSetInfo *) fcinfo->resultinfo, &windows->plan.backups[i],
					&found[i]);
	SPI_finish();
	return (Datum) 0;
}
