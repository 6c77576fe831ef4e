/*
 * crew.c
 *	  Runs workers for a whole run, which take small relations whole, and large
 *	  ones in chunks.
 *
 * A worker takes the next small relation of the list and locks it if that
 * takes no waiting.  It scans it and sends what was read, ahead of the run.
 * The run takes relation after relation in its order and records them as ever.
 * Where a worker has no answer, the run looks itself, with all its patience
 * and all its words.  That is for a lock to wait for, a finding, an error, or
 * a relation that was dropped.  So nothing but the time it takes depends on
 * workers.
 *
 * A large relation is the run's, which holds the lock.  The workers join in
 * the chunks of each batch, see parallel_scan.c.
 */
#include "compat.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "host/direct.h"
#include "host/parallel.h"
#include "page/parallel_scan.h"
#include "run/database_run.h"

/*
 * The largest main fork that is verified whole, and the seconds that one may
 * take with a bound on the rate.
 */
#define ITEM_BLOCKS		2048
#define ITEM_SECONDS	10

/*
 * There is one worker more for so much.  To start and end one takes some 10
 * ms, as long as verifying 50 MB from the page cache, or 200 relations of a
 * page.
 */
#define WORKER_BYTES		(INT64CONST(64) * 1024 * 1024)
#define WORKER_RELATIONS	2000

#define OWNER_SIZE		(4 * NAMEDATALEN + 8)
#define KIND_SIZE		24

/*
 * What was read of a relation, without findings.  It is flat, since it is sent
 * as bytes.
 */
typedef struct WholeRelation
{
	RunFile		file;
	TimestampTz began;
	bool		shared;
	char		schema[NAMEDATALEN];	/* "" if unknown, as is owner */
	char		name[NAMEDATALEN];
	char		owner[OWNER_SIZE];
	char		kind[KIND_SIZE];
	LedgerBatch read;			/* its pages come after the forks */
	int			nforks;
	ForkSummary forks[MAX_FORKNUM + 1];
} WholeRelation;

/* Takes the summaries of a scan. */
typedef struct WholeSink
{
	ScanSink	sink;			/* first */
	WholeRelation *whole;
	Oid			relid;
	TimestampTz deadline;		/* 0 if none */
	TimestampTz next_look;		/* who waits for the relation */
	bool		finding;
	bool		ended;			/* early */
	MemoryContext context;		/* of digests, NULL if none are recorded */
} WholeSink;

extern PGDLLEXPORT void accel_run_worker_main(Datum segment);
extern PGDLLEXPORT void accel_record_worker_main(Datum segment);

static void start_crew(DatabaseRun *run);
static int	workers_that_pay(const DatabaseRun *run);
static Oid *items_for_workers(const DatabaseRun *run);
static void do_item(CrewMember *member, Oid relid);
static void record_item(CrewMember *member, Oid relid);
static bool scan_whole(WholeRelation *whole, Oid relid, Throttle *throttle,
					   bool direct, TimestampTz deadline, bool digests);
static bool note_enough(ScanSink *sink);
static void note_finding(ScanSink *sink, const PageFinding *finding);
static void note_fork_end(ScanSink *sink, const ForkSummary *summary);
static void note_digest(ScanSink *sink, const DigestRow *row);
static void do_ahead(void *arg, Oid relid, uint64 number);
static void count_whole(DatabaseRun *run, RunRelation *relation,
						const WholeRelation *whole);

/*
 * Where there is no room for them, in /dev/shm for instance, the run goes
 * without.
 */
void
run_crew_start(DatabaseRun *run)
{
	ErrorData  *error = run_tried(run, start_crew);

	if (error == NULL)
		return;
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("could not start workers: %s", error->message),
			 errdetail("The run goes on without them.")));
	run->scan.policy.workers = 0;
}

static void
start_crew(DatabaseRun *run)
{
	int			workers = workers_that_pay(run);
	MemoryContext context;
	Oid		   *items;

	if (workers == 0)
		return;
	context = MemoryContextSwitchTo(run->context);
	items = items_for_workers(run);
	run->crew = crew_start(workers, parallel_library(),
						   run->options.record_digests ?
						   "accel_record_worker_main" : "accel_run_worker_main",
						   &run->scan.throttle, run->options.direct, items,
						   (uint64) run->nitems);
	pfree(items);
	MemoryContextSwitchTo(context);
	if (run->crew != NULL)
		scan_run_set_crew(&run->scan, run->crew);
}

void
run_crew_stop(DatabaseRun *run, bool at_once)
{
	Crew	   *crew = run->crew;

	if (crew == NULL)
		return;
	run->crew = NULL;
	scan_run_set_crew(&run->scan, NULL);
	crew_stop(crew, at_once);
}

/* Below a bound on the rate, what it takes to start a worker is nothing. */
static int
workers_that_pay(const DatabaseRun *run)
{
	int64		pay = run->progress.bytes_total / WORKER_BYTES +
		run->nitems / WORKER_RELATIONS;

	return run->options.max_rate > 0 ? run->scan.policy.workers :
		(int) Min(pay, run->scan.policy.workers);
}

/* Is it one of those that an earlier run has begun? */
static bool
begun_before(const DatabaseRun *run, Oid relid)
{
	ListCell   *cell;

	foreach(cell, run->positions)
		if (((RunRelation *) lfirst(cell))->item.relid == relid)
		return true;
	return run->options.resume_at.relid == relid;
}

/* The large ones, and those that do not begin at their beginning, are not. */
static Oid *
items_for_workers(const DatabaseRun *run)
{
	int64		rate = (int64) run->options.max_rate * 1024 / BLCKSZ;	/* blocks per second */
	int64		most = (rate == 0 ? ITEM_BLOCKS :
						Min(ITEM_BLOCKS, rate * ITEM_SECONDS)) * BLCKSZ;
	Oid		   *items = MemoryContextAllocHuge(CurrentMemoryContext,
											   Max(run->nitems, 1) * sizeof(Oid));

	for (int64 i = 0; i < run->nitems; i++)
	{
		const RunItem *item = &run->items[i];

		items[i] = item->bytes <= most && !begun_before(run, item->relid) ?
			item->relid : InvalidOid;
	}
	return items;
}

/* ---------------------------------------------------------------- *
 *		A relation as a whole, in workers, and ahead in the run
 * ---------------------------------------------------------------- */

void
accel_run_worker_main(Datum segment)
{
	static const CrewDuties duties = {do_item, parallel_scan_job};

	crew_serve(segment, parallel_library(), &duties);
}

/* The same, where digests are recorded. */
void
accel_record_worker_main(Datum segment)
{
	static const CrewDuties duties = {record_item, parallel_scan_job};

	crew_serve(segment, parallel_library(), &duties);
}

static Size
whole_bytes(const WholeRelation *whole)
{
	return MAXALIGN(offsetof(WholeRelation, forks) +
					whole->nforks * sizeof(ForkSummary));
}

/* Makes one row of bytes of it, pages included. */
static void *
flatten(const WholeRelation *whole, Size *bytes)
{
	Size		size = whole_bytes(whole);
	Size		pages = (whole->read.next - whole->read.first) * sizeof(LedgerPage);
	char	   *flat = palloc(size + pages);

	memcpy(flat, whole, size);
	if (pages > 0)
		memcpy(flat + size, whole->read.pages, pages);
	*bytes = size + pages;
	return flat;
}

static void
send_whole(CrewMember *member, Oid relid, bool digests)
{
	WholeRelation *whole = palloc0(sizeof(WholeRelation));
	Size		bytes;
	void	   *flat;

	if (!scan_whole(whole, relid, crew_member_throttle(member),
					crew_member_direct(member), 0, digests))
		return;
	flat = flatten(whole, &bytes);
	crew_send_result(member, flat, bytes);
}

static void
do_item(CrewMember *member, Oid relid)
{
	send_whole(member, relid, false);
}

static void
record_item(CrewMember *member, Oid relid)
{
	send_whole(member, relid, true);
}

/* A name or nothing. */
static void
copy_name(char *to, const char *from, Size size)
{
	strlcpy(to, from ? from : "", size);
}

static void
describe(WholeRelation *whole, Relation rel)
{
	RunRelation relation = {{0}};

	run_describe_relation(&relation, rel);
	whole->file = (RunFile)
	{
		LOCATOR_TABLESPACE(rel->rd_locator),
			LOCATOR_NUMBER(rel->rd_locator)
	};
	whole->began = GetCurrentTimestamp();
	whole->shared = relation.shared;
	copy_name(whole->schema, relation.schema, sizeof(whole->schema));
	copy_name(whole->name, relation.name, sizeof(whole->name));
	copy_name(whole->owner, relation.owner, sizeof(whole->owner));
	copy_name(whole->kind, relation.kind, sizeof(whole->kind));
}

/*
 * Returns true if it is clean.  Returns false if whoever runs all has to look,
 * or to go on.
 */
static bool
scan_whole(WholeRelation *whole, Oid relid, Throttle *throttle,
		   bool direct, TimestampTz deadline, bool digests)
{
	static const RelationScanOptions options = SCAN_OPTIONS_ALL;
	ScanPolicy	policy = SCAN_POLICY_ALONE;
	WholeSink	sink = {{0}};
	Relation	rel;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return false;
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		return false;
	describe(whole, rel);
	relation_close(rel, NoLock);	/* the lock stays up to the commit */
	InvalidateCatalogSnapshot();	/* would hold back vacuum */
	policy.direct = direct;
	if (direct)
		policy.piece_blocks = DIRECT_PIECE / BLCKSZ;
	if (throttle != NULL)
	{
		policy.throttle = throttle;
		policy.piece_blocks = throttle->pace.max_piece / BLCKSZ;
	}
	sink.sink.finding = note_finding;
	sink.sink.fork_end = note_fork_end;
	sink.sink.enough = note_enough;
	if (digests)
	{
		sink.sink.digest = LEDGER_DIGESTS;
		sink.sink.part = note_digest;
		sink.context = CurrentMemoryContext;
	}
	sink.whole = whole;
	sink.relid = relid;
	sink.deadline = deadline;
	sink.next_look = run_next_look();
	scan_relation(relid, &options, &policy, &sink.sink);
	return !sink.finding && !sink.ended;
}

static bool
note_enough(ScanSink *sink)
{
	WholeSink  *whole = (WholeSink *) sink;

	if (whole->deadline != 0 && GetCurrentTimestamp() >= whole->deadline)
		return true;
	return run_waited_for(whole->relid, whole->whole->shared, &whole->next_look);
}

static void
note_finding(ScanSink *sink, const PageFinding *finding)
{
	((WholeSink *) sink)->finding = true;
}

static void
note_fork_end(ScanSink *sink, const ForkSummary *summary)
{
	WholeRelation *whole = ((WholeSink *) sink)->whole;

	((WholeSink *) sink)->ended |= summary->next != InvalidBlockNumber;
	if (((WholeSink *) sink)->context != NULL && summary->fork == MAIN_FORKNUM)
		ledger_batch_end(&whole->read, true);
	if (whole->nforks <= MAX_FORKNUM)
		whole->forks[whole->nforks++] = *summary;
}

static void
note_digest(ScanSink *sink, const DigestRow *row)
{
	WholeSink  *whole = (WholeSink *) sink;
	MemoryContext old = MemoryContextSwitchTo(whole->context);

	ledger_batch_add(&whole->whole->read, row);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- *
 *		The run
 * ---------------------------------------------------------------- */

/* While a worker is at the relation whose turn it is. */
static void
do_ahead(void *arg, Oid relid, uint64 number)
{
	DatabaseRun *run = arg;
	MemoryContext context = CurrentMemoryContext;
	MemoryContext work = AllocSetContextCreate(context, "relation ahead",
											   ALLOCSET_DEFAULT_SIZES);

	MemoryContextSwitchTo(work);
	PG_TRY();
	{
		WholeRelation *whole = palloc0(sizeof(WholeRelation));
		Size		bytes;
		void	   *flat;

		if (scan_whole(whole, relid, run->scan.policy.throttle,
					   run->options.direct, run->deadline,
					   run->options.record_digests))
		{
			flat = flatten(whole, &bytes);
			crew_keep(run->crew, number, flat, bytes);
		}
		procedure_commit();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		(void) run_rollback(run);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	MemoryContextDelete(work);
}

bool
run_crew_relation(DatabaseRun *run, RunRelation *relation)
{
	const WholeRelation *whole;

	if (run->crew == NULL || run->turn < 0 ||
		(run->deadline != 0 && GetCurrentTimestamp() >= run->deadline))
		return false;
	whole = crew_turn(run->crew, (uint64) run->turn, run->deadline, do_ahead, run);
	if (whole == NULL)
		return false;
	count_whole(run, relation, whole);
	return true;
}

/* Counts and records it, as after a batch that was scanned here. */
static void
count_whole(DatabaseRun *run, RunRelation *relation, const WholeRelation *whole)
{
	run->relation = relation;
	run->lines = 0;
	run->untold = 0;
	run->fork_blocks = -1;
	run_begin_batch(run);
	relation->file = whole->file;
	relation->began = whole->began;
	relation->shared = whole->shared;
	relation->next.number = whole->file.number;
	relation->schema = whole->schema[0] ? pstrdup(whole->schema) : NULL;
	relation->name = pstrdup(whole->name);
	relation->owner = whole->owner[0] ? pstrdup(whole->owner) : NULL;
	relation->kind = pstrdup(whole->kind);
	scan_run_forks(&run->scan, whole->forks, whole->nforks);
	run->read = whole->read;
	run->read.pages = (LedgerPage *) ((char *) whole + whole_bytes(whole));
	run_end_batch(run, true);
}
