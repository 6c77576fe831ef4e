/*
 * relation_scan.c
 *	  Verifies relations on disk while the server works.
 *
 * Walks from a relation to its partitions, or to its TOAST table and indexes,
 * opens one after the other, and scans or lists the files of each.
 */
#include "compat.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "page/fork_scan.h"
#include "page/relation_scan.h"
#include "page/segment_map.h"

/* Does something with one relation, and returns those that come next. */
typedef List *(*RelationVisit) (void *arg, Oid relid, bool required);

/* The arguments of scan_relation(). */
typedef struct RelationScan
{
	const RelationScanOptions *options;
	const ScanPolicy *policy;
	ScanSink   *sink;
} RelationScan;

/* The arguments of scan_relation_segments(). */
typedef struct SegmentScan
{
	SegmentCallback callback;
	void	   *arg;
} SegmentScan;

static void visit_relations(Oid relid, RelationVisit visit, void *arg);
static Relation open_relation(Oid relid, bool required);
static List *scan_one(void *arg, Oid relid, bool required);
static List *dependents_of(Relation rel, const RelationScanOptions *options);
static void report_unverifiable(Oid relid, ForkNumber fork, const char *why,
								ScanSink *sink);
static List *list_one(void *arg, Oid relid, bool required);

void
scan_relation(Oid relid, const RelationScanOptions *options,
			  const ScanPolicy *policy, ScanSink *sink)
{
	RelationScan scan = {options, policy, sink};

	visit_relations(relid, scan_one, &scan);
}

void
scan_relation_segments(Oid relid, SegmentCallback callback, void *arg)
{
	SegmentScan scan = {callback, arg};

	visit_relations(relid, list_one, &scan);
}

/*
 * Visits a relation, then what it returned and what those did, depth first.
 * There may be a hundred thousand partitions, so what a visit allocates goes
 * with it, and the stack (next on top) is never copied.
 */
static void
visit_relations(Oid relid, RelationVisit visit, void *arg)
{
	List	   *stack = list_make1_oid(relid);
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext item = AllocSetContextCreate(outer, "relation being read",
											   ALLOCSET_DEFAULT_SIZES);

	while (stack != NIL)
	{
		Oid			next = llast_oid(stack);
		List	   *after;

		CHECK_FOR_INTERRUPTS();
		stack = list_delete_last(stack);
		MemoryContextSwitchTo(item);
		after = visit(arg, next, next == relid);
		MemoryContextSwitchTo(outer);
		for (int i = list_length(after) - 1; i >= 0; i--)
			stack = lappend_oid(stack, list_nth_oid(after, i));
		MemoryContextReset(item);
	}
	MemoryContextDelete(item);
}

static void
raise_no_storage(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("relation \"%s\" does not have storage",
					RelationGetRelationName(rel)),
			 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
}

/*
 * Returns NULL when it is gone.  A required one must be there and have
 * storage, its own or that of partitions.
 */
static Relation
open_relation(Oid relid, bool required)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);

	if (!required)
		return rel;
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind) &&
		!RELKIND_HAS_PARTITIONS(rel->rd_rel->relkind))
		raise_no_storage(rel);
	return rel;
}

Relation
scan_open_relation(Oid relid)
{
	Relation	rel = open_relation(relid, true);

	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		raise_no_storage(rel);
	return rel;
}

static List *
scan_one(void *arg, Oid relid, bool required)
{
	RelationScan *scan = arg;
	Relation	rel = open_relation(relid, required);
	List	   *dependents = NIL;
	char		kind;

	if (rel == NULL)
		return NIL;
	kind = rel->rd_rel->relkind;
	if (RELKIND_HAS_STORAGE(kind))
		scan_forks(rel, scan->options, scan->policy, scan->sink);
	else if (!RELKIND_HAS_PARTITIONS(kind))
		report_unverifiable(relid, InvalidForkNumber,
							"a foreign table has no storage here", scan->sink);
	if (RELKIND_HAS_STORAGE(kind) || RELKIND_HAS_PARTITIONS(kind))
		dependents = dependents_of(rel, scan->options);
	relation_close(rel, AccessShareLock);
	return dependents;
}

/*
 * Lists what belongs to a relation, which is partitions (of a table or an
 * index), or its TOAST table and then its indexes.
 */
static List *
dependents_of(Relation rel, const RelationScanOptions *options)
{
	List	   *dependents = NIL;

	if (RELKIND_HAS_PARTITIONS(rel->rd_rel->relkind))
		return find_inheritance_children(RelationGetRelid(rel), NoLock);
	if (options->include_toast && OidIsValid(rel->rd_rel->reltoastrelid))
		dependents = lappend_oid(dependents, rel->rd_rel->reltoastrelid);
	if (options->include_indexes && rel->rd_rel->relhasindex)
		dependents = list_concat(dependents, RelationGetIndexList(rel));
	return dependents;
}

void
scan_forks(Relation rel, const RelationScanOptions *options,
		   const ScanPolicy *policy, ScanSink *sink)
{
	for (ForkNumber number = MAIN_FORKNUM; number <= MAX_FORKNUM; number++)
	{
		Fork		fork;
		const char *why;

		if (options->fork != InvalidForkNumber && options->fork != number)
			continue;
		fork_describe(&fork, rel, number);
		why = fork_why_not_verifiable(&fork);
		if (why == NULL &&
			!fork_scan(&fork, options->first, options->end, policy, sink))
			return;				/* ended early */
		/* said once per relation, unless this very fork was asked for */
		if (why != NULL && (options->fork == number || number == MAIN_FORKNUM))
			report_unverifiable(RelationGetRelid(rel), number, why, sink);
	}
}

static void
report_unverifiable(Oid relid, ForkNumber fork, const char *why,
					ScanSink *sink)
{
	ForkSummary summary;
	PageFinding finding;

	fork_summary_init(&summary, relid, fork);
	page_finding_not_verifiable(&finding, relid, fork, why);
	fork_summary_note(&summary, &finding);
	if (sink->finding)
		sink->finding(sink, &finding);
	if (sink->fork_end)
		sink->fork_end(sink, &summary);
}

static void
list_segments(Fork *fork, SegmentCallback callback, void *arg)
{
	SegmentMap	map;
	SegmentInfo info;

	segment_map_sample(&map, fork);
	if (segment_map_exists(&map) || fork_required(fork))
		for (BlockNumber i = 0; i < map.count; i++)
		{
			CHECK_FOR_INTERRUPTS();
			memset(&info, 0, sizeof(info));
			info.fork = fork->fork;
			info.segment = i;
			info.bytes = Max(map.bytes[i], -1);
			info.status = segment_map_status(&map, i);
			fork_segment_path(fork, i, info.path);
			callback(arg, &info);
		}
	segment_map_free(&map);
}

/*
 * Other storage managers have no files that we know of, and unlogged relations
 * none on a standby but that of the init fork.
 */
static void
list_relation_segments(Relation rel, SegmentCallback callback, void *arg)
{
	bool		only_init =
		rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		RecoveryInProgress();
	Fork		scan;

	for (ForkNumber fork = MAIN_FORKNUM; fork <= MAX_FORKNUM; fork++)
	{
		fork_describe(&scan, rel, fork);
		if (scan.md && (fork == INIT_FORKNUM || !only_init))
			list_segments(&scan, callback, arg);
	}
}

static List *
list_one(void *arg, Oid relid, bool required)
{
	static const RelationScanOptions alone = SCAN_OPTIONS_ALL;
	SegmentScan *scan = arg;
	Relation	rel = open_relation(relid, required);
	List	   *partitions;

	if (rel == NULL)
		return NIL;
	if (RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		list_relation_segments(rel, scan->callback, scan->arg);
	partitions = dependents_of(rel, &alone);
	relation_close(rel, AccessShareLock);
	return partitions;
}
