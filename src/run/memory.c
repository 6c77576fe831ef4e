/*
 * memory.c
 *	  What a procedure remembers of a directory that it verifies again and
 *	  again.
 *
 * A table that cannot be read excuses nothing, and one that cannot be written
 * ends no run.  Both are reported once.  During recovery nothing can be
 * remembered at all.
 */
#include "compat.h"

#include <sys/stat.h>

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "func/signature.h"
#include "run/memory.h"
#include "run/procedure.h"

void
memory_begin(Memory *memory, FunctionCallInfo fcinfo, MemoryContext caller)
{
	memory->context = CurrentMemoryContext;
	memory->history = history_of(fcinfo);
	memory->history.caller = caller;
	memory->recording = !RecoveryInProgress();
	memory->started = GetCurrentTimestamp();
}

void
memory_lock(Memory *memory, const char *directory)
{
	memory->directory = directory;
	memory->lock = hash_bytes_extended((const unsigned char *) directory,
									   (int) strlen(directory), 0);
	if (!history_lock(memory->kind, memory->lock, true, false))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("%s \"%s\" is being verified by another session",
						memory->what, directory)));
}

/* Says how far it came, and raises the error again. */
static void
fail(const Memory *memory, void (*end) (void *, const char *), void *arg)
{
	ErrorData  *error;

	MemoryContextSwitchTo(memory->context);
	error = procedure_fail(memory->history.caller);
	history_unlock(memory->kind, memory->lock);
	end(arg, error->sqlerrcode == ERRCODE_QUERY_CANCELED ? "cancelled" : "failed");
	ReThrowError(error);
}

void
memory_run(Memory *memory, bool (*verify) (void *),
		   void (*end) (void *, const char *), void *arg)
{
	PG_TRY();
	{
		bool		done;

		procedure_commit();		/* the caller's snapshot goes */
		done = verify(arg);
		end(arg, done ? "completed" : "stopped");
	}
	PG_CATCH();
	{
		fail(memory, end, arg);
	}
	PG_END_TRY();
	history_unlock(memory->kind, memory->lock);
}

/* ---- reading ---- */

typedef struct Recall
{
	const Memory *memory;
	void		(*load) (void *arg);
	void	   *arg;
} Recall;

static void
check_and_load(void *arg)
{
	Recall	   *recall = arg;
	MemoryContext old = MemoryContextSwitchTo(recall->memory->context);

	signature_check_tables(recall->memory->history.namespace);
	recall->load(recall->arg);
	MemoryContextSwitchTo(old);
}

bool
memory_recall(Memory *memory, void (*load) (void *), void *arg)
{
	Recall		recall = {memory, load, arg};
	ErrorData  *error;

	if (!memory->recording)
	{
		ereport(NOTICE,
				(errmsg("nothing is remembered of %s \"%s\" during recovery",
						memory->what, memory->directory),
				 errdetail("Every %s is read.", memory->item)));
		return false;
	}
	error = history_write(&memory->history, check_and_load, &recall);
	if (error == NULL)
		return true;
	if (signature_is_refused(error))
		ReThrowError(error);
	memory->recording = false;
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("could not read what is remembered of %s \"%s\": %s",
					memory->what, memory->directory, error->message),
			 errdetail("Every %s is read, and nothing is remembered.",
					   memory->item),
			 history_hint(error)));
	return false;
}

/* ---- writing ---- */

void
memory_record(Memory *memory, void (*write) (void *), void *arg)
{
	ErrorData  *error = !memory->recording ? NULL :
		history_write(&memory->history, write, arg);

	if (error == NULL)
		return;
	memory->recording = false;
	history_warn_loss(error);
}

TimestampTz
memory_limit(const Memory *memory)
{
	int64		keep = history_keep_minutes;

	return keep < 0 ? PG_INT64_MIN : memory->started - keep * USECS_PER_MINUTE;
}

void
memory_delete_row(const History *history, const char *table,
				  const char *column, SPIPlanPtr *plan, Datum directory,
				  Datum value)
{
	Oid			types[] = {TEXTOID, TEXTOID};
	Datum		values[] = {directory, value};
	char	   *statement = psprintf("SELECT t.ctid FROM %s.%s t"
									 " WHERE directory = $1"
									 " AND %s = $2 FOR UPDATE",
									 HISTORY_SCHEMA, table, column);

	history_execute(history, table, SPI_OK_DELETE, plan, statement,
					lengthof(types), types, values, NULL);
	pfree(statement);
}

/* Does nobody find the directory any more? */
static bool
is_gone(const char *directory)
{
	struct stat status;

	return stat(directory, &status) != 0 &&
		(errno == ENOENT || errno == ENOTDIR);
}

static int64
forget_directory(const History *history, const char *table,
				 const char *directory)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(directory)};

	history_execute(history, table, SPI_OK_DELETE, NULL,
					psprintf("SELECT t.ctid FROM %s.%s t"
							 " WHERE directory = $1 FOR UPDATE",
							 HISTORY_SCHEMA, table),
					lengthof(types), types, values, NULL);
	return (int64) SPI_processed;
}

/*
 * Forgets those of the directories that are gone, and in which nothing was
 * verified since then.  Returns the number of rows.
 */
static int64
forget_gone(const History *history, const char *table, TimestampTz limit)
{
	Oid			types[] = {TIMESTAMPTZOID};
	Datum		values[] = {TimestampTzGetDatum(limit)};
	SPITupleTable *found;
	int64		rows = 0;

	history_execute(history, table, SPI_OK_SELECT, NULL,
					psprintf("SELECT directory FROM %s.%s"
							 " GROUP BY directory"
							 " HAVING max(verified_at) < $1",
							 HISTORY_SCHEMA, table),
					lengthof(types), types, values, NULL);
	found = SPI_tuptable;
	for (uint64 i = 0; i < found->numvals; i++)
	{
		char	   *directory = SPI_getvalue(found->vals[i], found->tupdesc, 1);

		if (is_gone(directory))
			rows += forget_directory(history, table, directory);
	}
	SPI_freetuptable(found);
	return rows;
}

int64
memory_prune(const History *history, const char *table, const char *which,
			 TimestampTz limit)
{
	Oid			types[] = {TIMESTAMPTZOID};
	Datum		values[] = {TimestampTzGetDatum(limit)};
	int64		rows;

	history_execute(history, table, SPI_OK_DELETE, NULL,
					psprintf("SELECT t.ctid FROM %s.%s t WHERE %s FOR UPDATE",
							 HISTORY_SCHEMA, table, which),
					lengthof(types), types, values, NULL);
	rows = (int64) SPI_processed;
	return rows + forget_gone(history, table, limit);
}
