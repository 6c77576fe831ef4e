/*
 * procedure.c
 *	  Transactions of a procedure that commits on its way.
 */
#include "compat.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"

#include "run/procedure.h"

void
procedure_begin(FunctionCallInfo fcinfo, const char *name, const char *when)
{
	if (!IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("%s cannot run inside a transaction block", name),
				 errdetail("It commits after every %s.", when)));
	if (XactReadOnly && !RecoveryInProgress())
		ereport(NOTICE,
				(errmsg("default_transaction_read_only does not hold for %s", name),
				 errdetail("It writes the tables of the extension, and nothing else.")));
	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect_ext failed");
}

static void
begin_transaction(void)
{
	XactIsoLevel = XACT_READ_COMMITTED;
	XactReadOnly = RecoveryInProgress();
	DISABLE_TRANSACTION_TIMEOUT();
}

/*
 * Replay may cancel the transaction before just as it ends, which is then told
 * to this one.  It holds nothing yet that replay could wait for.
 */
static void
pass_over_conflict(void)
{
	MemoryContext context = CurrentMemoryContext;

	if (!RecoveryInProgress())
		return;
	PG_TRY();
	{
		CHECK_FOR_INTERRUPTS();
	}
	PG_CATCH();
	{
		if (ERRCODE_TO_CATEGORY(geterrcode()) != ERRCODE_TRANSACTION_ROLLBACK)
			PG_RE_THROW();
		FlushErrorState();
		SPI_rollback();
		MemoryContextSwitchTo(context);
		begin_transaction();
	}
	PG_END_TRY();
}

void
procedure_commit(void)
{
	MemoryContext context = CurrentMemoryContext;

	SPI_commit();
	MemoryContextSwitchTo(context);
	begin_transaction();
	pass_over_conflict();
}

/*
 * An error inside a trigger of the tables leaves the trigger's SPI connections
 * above ours, and those may not end a transaction.  Ours is the one that was
 * made in the caller's memory context, where SPI_palloc() allocates.
 */
static void
finish_nested_spi(MemoryContext caller)
{
	while (GetMemoryChunkContext(SPI_palloc(1)) != caller)
		if (SPI_finish() != SPI_OK_FINISH)
			elog(ERROR, "no SPI connection of this procedure");
}

ErrorData *
procedure_fail(MemoryContext caller)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData  *error = CopyErrorData();

	FlushErrorState();
	while (ActiveSnapshotSet()) /* all ours: none outlived the first commit */
		PopActiveSnapshot();
	finish_nested_spi(caller);
	SPI_rollback();
	MemoryContextSwitchTo(context);
	begin_transaction();
	return error;
}

/* A cancel or a shutdown, but not the statement timeout of a lock. */
static bool
ends_run(const ErrorData *error)
{
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED && error->message_id != NULL &&
		strcmp(error->message_id, "canceling statement due to statement timeout") == 0)
		return false;
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION;
}

ErrorData *
procedure_rollback(MemoryContext caller)
{
	ErrorData  *error = CopyErrorData();

	if (ends_run(error))
		PG_RE_THROW();
	FreeErrorData(error);
	error = procedure_fail(caller);
	pass_over_conflict();
	return error;
}
