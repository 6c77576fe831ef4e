/*
 * history.c
 *	  What a procedure remembers in the tables of the extension.
 *
 * The statements run with the rights of the tables' owners, so whoever may
 * call the procedure needs no right to write, and what a later run trusts was
 * written here.  They are found in the procedure's own schema and every name in
 * them is qualified: the caller's search_path decides nothing.
 */
#include "compat.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace_d.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "func/history.h"
#include "func/procedure.h"

History
history_of(FunctionCallInfo fcinfo)
{
	History		history = {0};

	history.namespace = get_func_namespace(fcinfo->flinfo->fn_oid);
	history.schema = quote_identifier(get_namespace_name(history.namespace));
	return history;
}

bool
history_hints_at_damage(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_DISK_FULL ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
		ERRCODE_TO_CATEGORY(ERRCODE_DATA_CORRUPTED);
}

ErrorData *
history_write(const History *history, void (*write) (void *), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		/* thousands of commits: none is worth a wait for the disk */
		(void) set_config_option("synchronous_commit", "off", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
		PushActiveSnapshot(GetTransactionSnapshot());
		write(arg);
		PopActiveSnapshot();
		procedure_commit();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = procedure_rollback(history->caller);
	}
	PG_END_TRY();
	return error;
}

/* Locks the table, too: see check_tables(). */
static Oid
owner_of(const History *history, const char *table)
{
	Oid			relid = get_relname_relid(table, history->namespace);
	HeapTuple	tuple = NULL;
	Oid			owner;

	if (OidIsValid(relid))
	{
		LockRelationOid(relid, RowExclusiveLock);
		tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	}
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"%s.%s\" does not exist", history->schema,
						table)));
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * Names may have changed hands: whoever owns the schema can rename it and make
 * another one of that name, with tables and triggers of his.  So what the names
 * of a statement stand for is looked at before it is executed.  Nothing changes
 * that afterwards: the table is locked already, thus no invalidation is heeded
 * before the plan is made.
 */
static void
check_tables(const History *history, SPIPlanPtr plan)
{
	ListCell   *source;
	ListCell   *relid;

	foreach(source, SPI_plan_get_plan_sources(plan))
	{
		CachedPlanSource *statement = lfirst(source);

		foreach(relid, statement->relationOids)
		{
			Oid			schema = get_rel_namespace(lfirst_oid(relid));

			if (schema != history->namespace && schema != PG_CATALOG_NAMESPACE)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_TABLE),
						 errmsg("schema %s is no longer that of the extension",
								history->schema)));
		}
	}
}

/*
 * The kept plan, unless something has changed since it was made.  The text of a
 * statement has HISTORY_SCHEMA for the schema.
 */
static SPIPlanPtr
prepare(const History *history, SPIPlanPtr *kept, const char *statement, int nargs,
		Oid *types)
{
	SPIPlanPtr	plan;

	if (kept != NULL && *kept != NULL)
	{
		if (SPI_plan_is_valid(*kept))
			return *kept;
		SPI_freeplan(*kept);
		*kept = NULL;
	}
	plan = SPI_prepare(psprintf(statement, history->schema), nargs, types);
	if (plan == NULL)
		elog(ERROR, "could not prepare a statement: %s",
			 SPI_result_code_string(SPI_result));
	check_tables(history, plan);
	if (kept != NULL)
	{
		SPI_keepplan(plan);
		*kept = plan;
	}
	return plan;
}

SPIPlanPtr
history_prepare(const History *history, const char *statement, int nargs,
				Oid *types)
{
	return prepare(history, NULL, statement, nargs, types);
}

/*
 * With the rights of the owner of the table, as the server's own triggers for
 * foreign keys do it.  An owner who is less than the caller can put nothing off
 * to the commit, when the caller's rights are back.  A failure leaves the rights
 * to the rollback.
 */
void
history_execute(const History *history, const char *table, int expected,
				SPIPlanPtr *kept, const char *statement, int nargs,
				Oid *types, Datum *values, const char *nulls)
{
	Oid			owner = owner_of(history, table);
	Oid			user;
	int			security;
	SPIPlanPtr	plan;
	int			result;

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(owner, security | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_NOFORCE_RLS |
						   SECURITY_RESTRICTED_OPERATION);
	plan = prepare(history, kept, statement, nargs, types);
	result = SPI_execute_plan(plan, values, nulls, false, 0);
	if (kept == NULL)
		SPI_freeplan(plan);
	SetUserIdAndSecContext(user, security);
	if (result != expected)
		elog(ERROR, "unexpected result of a statement: %s",
			 SPI_result_code_string(result));
}
