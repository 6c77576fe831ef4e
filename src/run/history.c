/*
 * history.c
 *	  What a procedure remembers in the tables of the extension.
 *
 * The statements run with the rights of the tables' owners.  So a caller of
 * the procedure needs no right to write, and what a later run trusts was
 * written here.  They name the procedure's own schema and find the rest in
 * pg_catalog, so that the caller's search_path decides nothing.
 */
#include "compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "func/func.h"
#include "func/signature.h"
#include "run/history.h"
#include "run/procedure.h"

/* How long the history of runs is kept. */
#define HISTORY_DAYS	90

int			history_keep_minutes = HISTORY_DAYS * MINS_PER_HOUR * HOURS_PER_DAY;

/*
 * So many rows are handled at a time.  They are kept in memory, of a deletion
 * as ctid alone.
 */
#define INSERT_ROWS	1000
#define DELETE_ROWS	100000

/* A table of the extension, to be written. */
typedef struct Target
{
	Relation	table;
	ResultRelInfo *indexes;
	EState	   *estate;
	TupleTableSlot *slot;
} Target;

History
history_of(FunctionCallInfo fcinfo)
{
	History		history = {0};

	history.namespace = get_func_namespace(fcinfo->flinfo->fn_oid);
	history.schema = quote_identifier(get_namespace_name(history.namespace));
	return history;
}

int
history_hint(const ErrorData *error)
{
	if (error->sqlerrcode != ERRCODE_DISK_FULL &&
		ERRCODE_TO_CATEGORY(error->sqlerrcode) !=
		ERRCODE_TO_CATEGORY(ERRCODE_DATA_CORRUPTED))
		return 0;
	return errhint("If a table of the extension is damaged, DROP EXTENSION and CREATE EXTENSION make it anew. See %s.", ACCEL_RUNBOOK);
}

void
history_warn_loss(const ErrorData *error)
{
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("could not record this run any further: %s",
					error->message),
			 errdetail("The run goes on; from here on its findings are in its messages alone."),
			 history_hint(error)));
}

Datum
history_column(HeapTuple row, int number)
{
	bool		isnull;

	return SPI_getbinval(row, SPI_tuptable->tupdesc, number, &isnull);
}

Datum
history_text(const char *text, char *null)
{
	*null = text == NULL ? 'n' : ' ';
	return text == NULL ? (Datum) 0 : CStringGetTextDatum(text);
}

static LOCKTAG
tag_of(HistoryLock kind, uint64 key)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (key >> 32), (uint32) key,
						 kind);
	return tag;
}

bool
history_lock(HistoryLock kind, uint64 key, bool session, bool wait)
{
	LOCKTAG		tag = tag_of(kind, key);

	return LockAcquire(&tag, ExclusiveLock, session, !wait) !=
		LOCKACQUIRE_NOT_AVAIL;
}

void
history_unlock(HistoryLock kind, uint64 key)
{
	LOCKTAG		tag = tag_of(kind, key);

	(void) LockRelease(&tag, ExclusiveLock, true);
}

ErrorData *
history_write(const History *history, void (*write) (void *), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		/* of thousands of commits, none is worth a wait for the disk */
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

/* Locks the table, too, see check_tables(). */
static Oid
owner_of(const History *history, const char *table, Oid *relid)
{
	HeapTuple	tuple = NULL;
	Oid			owner;

	*relid = get_relname_relid(table, history->namespace);
	if (OidIsValid(*relid))
	{
		LockRelationOid(*relid, RowExclusiveLock);
		tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(*relid));
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
 * Names may have changed hands.  Whoever owns the schema can rename it and
 * make another one of that name, with tables and triggers of his.  So what the
 * names of a statement stand for is looked at before it is executed.  Nothing
 * changes that afterwards, since the table is locked already.  Thus no
 * invalidation is heeded before the plan is made.
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

int
history_safe_path(void)
{
	int			level = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return level;
}

SPIPlanPtr
history_prepare(const History *history, const char *statement, int nargs,
				Oid *types)
{
	return prepare(history, NULL, statement, nargs, types);
}

/* ---------------------------------------------------------------- *
 *		Changes that are never decoded
 *
 * A publication FOR ALL TABLES takes these tables along.  A subscriber without
 * them would stop, and a deletion without a replica identity is refused here.
 * So no INSERT, UPDATE or DELETE is executed.  A SELECT says which rows go and
 * which come.  They are in WAL, but not for logical decoding.  Constraints and
 * indexes are heeded, but no trigger is fired.
 * ---------------------------------------------------------------- */

static void
open_target(Target *target, Oid relid)
{
	MemoryContext old;

	PreventCommandIfReadOnly("INSERT");
	target->table = table_open(relid, NoLock);
	if (target->table->rd_rel->relkind != RELKIND_RELATION ||
		target->table->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" is not the table that the extension made",
						RelationGetRelationName(target->table))));
	signature_check_columns(target->table);
	target->estate = CreateExecutorState();
	old = MemoryContextSwitchTo(target->estate->es_query_cxt);
	target->indexes = makeNode(ResultRelInfo);
	InitResultRelInfo(target->indexes, target->table, 0, NULL, 0);
	ExecOpenIndices(target->indexes, false);
	target->slot = MakeSingleTupleTableSlot(RelationGetDescr(target->table),
											&TTSOpsHeapTuple);
	MemoryContextSwitchTo(old);
}

static void
close_target(Target *target)
{
	ExecDropSingleTupleTableSlot(target->slot);
	ExecCloseIndices(target->indexes);
	FreeExecutorState(target->estate);
	table_close(target->table, NoLock);
}

/* The columns of a row from the given one on, as a row of the table. */
static HeapTuple
form_row(Target *target, HeapTuple row, int first)
{
	TupleDesc	from = SPI_tuptable->tupdesc;
	TupleDesc	to = RelationGetDescr(target->table);
	Datum	   *values = palloc0(to->natts * sizeof(Datum));
	bool	   *nulls = palloc(to->natts * sizeof(bool));

	memset(nulls, true, to->natts * sizeof(bool));
	for (int i = first, column = 0; i < from->natts; i++, column++)
	{
		while (column < to->natts && TupleDescAttr(to, column)->attisdropped)
			column++;
		if (column >= to->natts ||
			TupleDescAttr(from, i)->atttypid != TupleDescAttr(to, column)->atttypid)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("relation \"%s\" has other columns than the extension gave it",
							RelationGetRelationName(target->table))));
		values[column] = SPI_getbinval(row, from, i + 1, &nulls[column]);
	}
	return heap_form_tuple(to, values, nulls);
}

static void
insert_row(Target *target, HeapTuple row, int first)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(target->estate));
	HeapTuple	tuple = form_row(target, row, first);

	tuple->t_tableOid = RelationGetRelid(target->table);
	ExecStoreHeapTuple(tuple, target->slot, false);
	if (RelationGetDescr(target->table)->constr != NULL)
		ExecConstraints(target->indexes, target->slot, target->estate);
	heap_insert(target->table, tuple, GetCurrentCommandId(true),
				HEAP_INSERT_NO_LOGICAL, NULL);
	target->slot->tts_tid = tuple->t_self;
	if (target->indexes->ri_NumIndices > 0)
		list_free(INSERT_INDEX_TUPLES(target->indexes, target->slot,
									  target->estate));
	ExecClearTuple(target->slot);
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(target->estate);
}

/* Of a table without a replica identity, thus no old row is in WAL. */
static void
delete_row(Target *target, HeapTuple row)
{
	bool		isnull;
	Datum		tid = SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &isnull);

	simple_heap_delete(target->table, (ItemPointer) DatumGetPointer(tid));
}

/* Does with the rows that were selected what "change" says. */
static void
change_rows(Oid relid, int change)
{
	Target		target;

	open_target(&target, relid);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];

		CHECK_FOR_INTERRUPTS();
		if (change != SPI_OK_INSERT)
			delete_row(&target, row);
		if (change != SPI_OK_DELETE)
			insert_row(&target, row, change == SPI_OK_INSERT ? 0 : 1);
	}
	close_target(&target);
}

static uint64
insert_all(Oid relid, SPIPlanPtr plan, Datum *values, const char *nulls)
{
	Portal		portal = SPI_cursor_open(NULL, plan, values, nulls, true);
	uint64		changed = 0;
	uint64		fetched;

	do
	{
		SPI_cursor_fetch(portal, true, INSERT_ROWS);
		fetched = SPI_processed;
		change_rows(relid, SPI_OK_INSERT);
		changed += fetched;
		SPI_freetuptable(SPI_tuptable);
	} while (fetched == INSERT_ROWS);
	SPI_cursor_close(portal);
	return changed;
}

/* A deletion sees its own, so it is repeated until nothing is left. */
static uint64
change_all(Oid relid, int change, SPIPlanPtr plan, Datum *values,
		   const char *nulls)
{
	uint64		changed = 0;
	uint64		fetched;

	do
	{
		int			result = SPI_execute_plan(plan, values, nulls, false,
											  change == SPI_OK_DELETE ? DELETE_ROWS : 0);

		if (result != SPI_OK_SELECT)
			elog(ERROR, "unexpected result of a statement: %s",
				 SPI_result_code_string(result));
		fetched = SPI_processed;
		if (change == SPI_OK_SELECT)
			return fetched;
		change_rows(relid, change);
		changed += fetched;
		SPI_freetuptable(SPI_tuptable);
	} while (change == SPI_OK_DELETE && fetched == DELETE_ROWS);
	return changed;
}

/*
 * With the rights of the owner of the table, as the server's own triggers for
 * foreign keys do it.  An owner who is less than the caller can put nothing off
 * to the commit, when the caller's rights are back.  A failure leaves the rights
 * and the search_path to the rollback.
 */
void
history_execute(const History *history, const char *table, int change,
				SPIPlanPtr *kept, const char *statement, int nargs,
				Oid *types, Datum *values, const char *nulls)
{
	Oid			relid;
	Oid			owner = owner_of(history, table, &relid);
	Oid			user;
	int			security;
	int			level;
	SPIPlanPtr	plan;

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(owner, security | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_NOFORCE_RLS |
						   SECURITY_RESTRICTED_OPERATION);
	level = history_safe_path();
	plan = prepare(history, kept, statement, nargs, types);
	SPI_processed = change == SPI_OK_INSERT ?
		insert_all(relid, plan, values, nulls) :
		change_all(relid, change, plan, values, nulls);
	if (kept == NULL)
		SPI_freeplan(plan);
	AtEOXact_GUC(true, level);
	SetUserIdAndSecContext(user, security);
}
