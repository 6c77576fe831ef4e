/*
 * restore.c
 *	  The SQL function restore_block, which writes a page that is given.
 */
#include "compat.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"

#include "func/func.h"
#include "func/own_wal.h"
#include "host/file_path.h"
#include "repair/restore.h"
#include "run/ledger.h"

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

/* Tells what the page ledger of this database has of the block. */
static void
read_ledger(FunctionCallInfo fcinfo, Restore *restore, Relation rel)
{
	int64		blkno = PG_GETARG_INT64(ARG_BLKNO);
	History		history = history_of(fcinfo);
	LedgerServer server;
	LedgerFile	file;
	LedgerPage	known[LEDGER_BLOCKS];
	LedgerRow	row;

	ledger_server(&server);
	ledger_file_of(rel, &file);
	if (ledger_select(&history, NULL, &file, blkno - blkno % LEDGER_BLOCKS,
					  blkno + 1) == 0)
		return;
	ledger_read(SPI_tuptable->vals[0], &file, &server, &row, known);
	if (row.refused == LEDGER_NO_REASON)
		restore_know(restore, &known[blkno - row.first]);
}

/*
 * A ledger that cannot be read proves nothing, but keeps nothing from being
 * restored either: its own tables are repaired like this, too.
 */
static void
ask_ledger(FunctionCallInfo fcinfo, Restore *restore)
{
	Relation	rel = restore_relation(restore);
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	if (rel == NULL)
		return;
	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		if (SPI_connect() != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");
		read_ledger(fcinfo, restore, rel);
		SPI_finish();
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			PG_RE_THROW();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		ereport(WARNING,
				(errcode(error->sqlerrcode),
				 errmsg("could not read the page ledger: %s", error->message)));
		FreeErrorData(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
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
	ask_ledger(fcinfo, restore);
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
