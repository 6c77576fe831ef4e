/*
 * deputy_main.c
 *	  A worker that verifies another database for a run.
 *
 * It is the same run over one database, save that no table is written here.
 * What is to be recorded goes to the leader of the run, by a queue, and so do
 * all messages.  The database needs no extension.  The worker connects as the
 * bootstrap superuser and executes no SQL, so nothing that the owner of the
 * database has made is executed.  Even the list of relations is a scan of
 * pg_class.
 */
#include "compat.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "libpq/pqmq.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "host/host.h"
#include "run/deputy.h"
#include "run/foreign.h"

/* A relation of the list, with what orders it. */
typedef struct Listed
{
	RunItem		item;
	TimestampTz at;				/* 0 for never */
	RunOrder	order;
} Listed;

extern PGDLLEXPORT void accel_deputy_main(Datum segment);

static Deputy *join(Datum handle);
static DatabaseRun *begin_run(Deputy *deputy);
static void list_relations(DatabaseRun *run);
static bool to_be_listed(const DatabaseRun *run, const DeputyKnown *known, Oid relid,
						 RunFile file);

static void
verify_relations(DatabaseRun *run)
{
	ErrorData  *error = run_tried(run, list_relations);

	if (error != NULL)
		ReThrowError(error);
	progress_database(&run->progress);
	run_listed(run);
}

void
accel_deputy_main(Datum segment)
{
	Deputy	   *deputy = join(segment);
	DatabaseRun *run;
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "crc32c_accel deputy",
												  ALLOCSET_DEFAULT_SIZES);

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	DISABLE_TRANSACTION_TIMEOUT();
	MemoryContextSwitchTo(context);
	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect_ext failed");
	MemoryContextSwitchTo(context);
	run = begin_run(deputy);
	run->history.caller = context;
	if (run->options.lost_pass)
		run_lost_database(run);
	else
		verify_relations(run);
	deputy_send_end(run);
	scan_run_end(&run->scan);
	SPI_finish();
	CommitTransactionCommand();
	proc_exit(0);
}

static Deputy *
join(Datum handle)
{
	Deputy	   *deputy = palloc0(sizeof(Deputy));
	dsm_segment *segment = foreign_attach(handle);
	char	   *base = dsm_segment_address(segment);
	DeputyLayout place;

	deputy->shared = (DeputyShared *) base;
	place = deputy_layout(deputy->shared->nknown, deputy->shared->npositions);
	deputy->known = (const DeputyKnown *) (base + MAXALIGN(sizeof(DeputyShared)));
	deputy->queue = task_queue_join(base + place.queue, segment);
	foreign_connect(segment, deputy->queue, "crc32c_accel: verifying a database");
	return deputy;
}

static DatabaseRun *
begin_run(Deputy *deputy)
{
	const DeputyShared *shared = deputy->shared;
	DatabaseRun *run = palloc0(sizeof(DatabaseRun));
	const RunRelation *positions;

	run->context = CurrentMemoryContext;
	run->deputy = deputy;
	run->options = shared->options;
	run->started = shared->started;
	run->deadline = shared->deadline;
	run->advanced = shared->advanced;
	run->recording = shared->recording;
	run->checksums_off = shared->checksums_off;
	run->database = shared->foreign.database;
	if (run->options.report_interval > 0)
		run->next_report = GetCurrentTimestamp() + run->options.report_interval;
	run_prepare(run);
	run->scan.warned = run->checksums_off;
	throttle_copy(&run->scan.throttle, &shared->foreign.throttle);
	positions = (const RunRelation *) ((const char *) shared +
									   deputy_layout(shared->nknown, shared->npositions).positions);
	for (Size i = 0; i < shared->npositions; i++)
	{
		RunRelation *position = palloc(sizeof(RunRelation));

		*position = positions[i];
		run->positions = lappend(run->positions, position);
	}
	return run;
}

/* ---------------------------------------------------------------- *
 *		The list
 * ---------------------------------------------------------------- */

static int
compare_listed(const void *a, const void *b)
{
	const Listed *left = a;
	const Listed *right = b;

	if (left->order == RUN_ORDER_LARGEST && left->item.bytes != right->item.bytes)
		return left->item.bytes > right->item.bytes ? -1 : 1;
	if (left->order == RUN_ORDER_STALEST && left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return left->item.relid < right->item.relid ? -1 : left->item.relid > right->item.relid;
}

/* Returns the first one of a relation, or the end. */
static const DeputyKnown *
find_known(const DatabaseRun *run, Oid relid)
{
	const DeputyKnown *known = run->deputy->known;
	Size		low = 0;
	Size		high = run->deputy->shared->nknown;

	while (low < high)
	{
		Size		middle = low + (high - low) / 2;

		if (known[middle].relid < relid)
			low = middle + 1;
		else
			high = middle;
	}
	return &known[low];
}

static bool
is_known(const DatabaseRun *run, const DeputyKnown *known, Oid relid)
{
	return known < run->deputy->known + run->deputy->shared->nknown &&
		known->relid == relid;
}

/* Fills run->items, as run_list_relations() does by SQL. */
static void
list_relations(DatabaseRun *run)
{
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	Listed	   *listed = NULL;
	int64		count = 0;
	int64		room = 0;
	HeapTuple	tuple;

	run->nitems = run->progress.bytes_total = 0;
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class c = (Form_pg_class) GETSTRUCT(tuple);
		RunFile		file;
		const DeputyKnown *known = find_known(run, c->oid);

		CHECK_FOR_INTERRUPTS();
		if (strchr("riStm", c->relkind) == NULL ||
			c->relpersistence == RELPERSISTENCE_TEMP ||
			(c->relisshared && run->options.leave_shared) ||
			(c->oid < FirstNormalObjectId && !run->options.include_catalogs) ||
			c->oid < run->options.resume_at.relid)
			continue;
		file = run_catalog_file(c);
		if (!to_be_listed(run, known, c->oid, file))
			continue;
		HOST_MAKE_ROOM(listed, count, room);
		listed[count++] = (Listed)
		{
			{
				c->oid, run_file_bytes(file.tablespace, c->relisshared ? InvalidOid : MyDatabaseId, file.number)
			},
				is_known(run, known, c->oid) ? known->at : 0,
				run->options.order
		};
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	if (count > 0)
		qsort(listed, count, sizeof(Listed), compare_listed);
	run->items = MemoryContextAllocHuge(run->context, Max(count, 1) * sizeof(RunItem));
	for (int64 i = 0; i < count; i++)
	{
		run->items[i] = listed[i].item;
		run->progress.bytes_total += listed[i].item.bytes;
	}
	run->nitems = run->progress.relations_total = count;
	procedure_commit();
}

/* Not what reverify_after leaves out, nor what belongs to another part. */
static bool
to_be_listed(const DatabaseRun *run, const DeputyKnown *known, Oid relid, RunFile file)
{
	bool		seen = is_known(run, known, relid);

	if ((run->options.part == RUN_PART_NEVER && seen) ||
		(run->options.part == RUN_PART_KNOWN && !seen))
		return false;
	if (!run->options.leave)
		return true;
	for (; is_known(run, known, relid); known++)
		if (known->at >= run->options.leave_since &&
			known->tablespace == file.tablespace && known->number == file.number)
			return false;
	return true;
}
