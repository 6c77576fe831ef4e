/*
 * restore.c
 *	  The SQL function restore_block, which writes a page that is given.
 */
#include "compat.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "func/func.h"
#include "func/own_wal.h"
#include "host/file_path.h"
#include "repair/restore.h"

/* Arguments, of which the first three must not be NULL. */
enum
{
	ARG_RELATION,
	ARG_FORK,
	ARG_BLKNO,
	ARG_PAGE,
	ARG_BACKUP,
	ARG_PRIOR_BACKUPS,
	ARG_DIRECTORY,
	ARG_ALLOW_UNPROVEN
};

static void
check_arguments(FunctionCallInfo fcinfo)
{
	accel_check_null(fcinfo, ARG_RELATION, "relation");
	accel_check_null(fcinfo, ARG_FORK, "fork");
	accel_check_null(fcinfo, ARG_BLKNO, "blkno");
	if (PG_ARGISNULL(ARG_BACKUP))
		accel_check_null(fcinfo, ARG_PAGE, "page");
	else if (!PG_ARGISNULL(ARG_PAGE))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"page\" and \"backup\" exclude each other")));
	if (PG_ARGISNULL(ARG_BACKUP) && !PG_ARGISNULL(ARG_PRIOR_BACKUPS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"prior_backups\" needs \"backup\"")));
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to restore a block")));
	PreventCommandDuringRecovery("restore_block()");
	PreventCommandIfReadOnly("restore_block()");
}

static const BackupNames *
names_of_backup(FunctionCallInfo fcinfo)
{
	BackupNames *names = palloc0(sizeof(BackupNames));

	names->root = file_path_parse(accel_text(fcinfo, ARG_BACKUP));
	names->prior = accel_prior_backups(fcinfo, ARG_PRIOR_BACKUPS,
									   &names->nprior);
	return names;
}

static Restore *
begin(FunctionCallInfo fcinfo)
{
	bytea	   *page = PG_ARGISNULL(ARG_PAGE) ? NULL : PG_GETARG_BYTEA_PP(ARG_PAGE);
	ForkNumber	fork = accel_fork_argument(PG_GETARG_TEXT_PP(ARG_FORK));
	BlockNumber blkno = accel_block_argument("blkno", PG_GETARG_INT64(ARG_BLKNO));

	Restore    *restore = restore_begin(PG_GETARG_OID(ARG_RELATION), fork, blkno,
										page != NULL ? VARDATA_ANY(page) : NULL,
										page != NULL ? VARSIZE_ANY_EXHDR(page) : 0,
										accel_boolean(fcinfo, ARG_ALLOW_UNPROVEN, false));

	if (page == NULL)
		restore_use_backup(restore, names_of_backup(fcinfo));
	return restore;
}

static void
log_write(FunctionCallInfo fcinfo, RestoreStatus status, const char *message)
{
	if (status == RESTORE_RESTORED || status == RESTORE_NOT_RESTORED)
		ereport(LOG,
				(errmsg("block " INT64_FORMAT " of relation \"%s\" was written again from a page that was given: %s",
						PG_GETARG_INT64(ARG_BLKNO),
						get_rel_name(PG_GETARG_OID(ARG_RELATION)),
						restore_status_name(status)),
				 errdetail_log("%s.", message)));
}

/*
 * restore_block(relation regclass, fork text, blkno bigint, page bytea,
 * backup text, prior_backups text[], directory text, allow_unproven boolean)
 */
SQL_FUNCTION(accel_restore_block)
{
	OwnWal	   *wal = palloc(sizeof(OwnWal));
	Restore    *restore;
	RestoreStatus status;
	char		message[RESTORE_MESSAGE];
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {0};

	check_arguments(fcinfo);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	restore = begin(fcinfo);
	while (restore_look(restore))
	{
		own_wal_open(wal, accel_text(fcinfo, ARG_DIRECTORY));
		restore_prove(restore, &wal->stream, wal->present, wal->own_history);
		if (restore_write(restore))
			break;
	}
	status = restore_end(restore, message);
	log_write(fcinfo, status, message);
	values[0] = CStringGetTextDatum(restore_status_name(status));
	values[1] = CStringGetTextDatum(message);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}
