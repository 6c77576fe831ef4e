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
#include "repair/restore.h"

/* Arguments, of which the first four must not be NULL. */
enum
{
	ARG_RELATION,
	ARG_FORK,
	ARG_BLKNO,
	ARG_PAGE,
	ARG_DIRECTORY,
	ARG_ALLOW_UNPROVEN
};

static void
check_arguments(FunctionCallInfo fcinfo)
{
	accel_check_null(fcinfo, ARG_RELATION, "relation");
	accel_check_null(fcinfo, ARG_FORK, "fork");
	accel_check_null(fcinfo, ARG_BLKNO, "blkno");
	accel_check_null(fcinfo, ARG_PAGE, "page");
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to restore a block")));
	PreventCommandDuringRecovery("restore_block()");
	PreventCommandIfReadOnly("restore_block()");
}

static Restore *
begin(FunctionCallInfo fcinfo)
{
	bytea	   *page = PG_GETARG_BYTEA_PP(ARG_PAGE);
	ForkNumber	fork = accel_fork_argument(PG_GETARG_TEXT_PP(ARG_FORK));
	BlockNumber blkno = accel_block_argument("blkno", PG_GETARG_INT64(ARG_BLKNO));

	return restore_begin(PG_GETARG_OID(ARG_RELATION), fork, blkno,
						 VARDATA_ANY(page), VARSIZE_ANY_EXHDR(page),
						 accel_boolean(fcinfo, ARG_ALLOW_UNPROVEN, false));
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
 * directory text, allow_unproven boolean)
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
