/*
 * database_run.h
 *	  The state of a run of verify_database() or verify_cluster(), or of its
 *	  deputy in another database, and its parts.  The file run/call.c begins
 *	  and ends it, run/database.c verifies a database, run/list.c makes the
 *	  list of relations, and run/relation.c verifies one.  The files of the
 *	  cluster are verified by run/cluster.c.  The file run/attempt.c tries
 *	  parts again, run/record.c keeps the history, and run/report.c writes
 *	  messages.  The file run/databases.c goes through the databases of a
 *	  cluster, and run/deputy_main.c verifies one in a worker.  The file
 *	  run/lost.c looks for lost writes.
 */
#ifndef ACCEL_RUN_DATABASE_RUN_H
#define ACCEL_RUN_DATABASE_RUN_H

#include "compat.h"

#include "catalog/pg_class.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/queryenvironment.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "lost/scan.h"
#include "page/progress.h"
#include "page/relation_scan.h"
#include "page/scan_run.h"
#include "run/history.h"
#include "run/ledger.h"
#include "run/procedure.h"

typedef enum RunOrder
{
	RUN_ORDER_OID,
	RUN_ORDER_LARGEST,
	RUN_ORDER_STALEST
} RunOrder;

/* Which relations of a database, by when they were last verified. */
typedef enum RunStale
{
	RUN_PART_ALL,
	RUN_PART_NEVER,
	RUN_PART_KNOWN
} RunStale;

/* Where a run goes on. */
typedef struct RunPosition
{
	Oid			database;		/* 0 for the one where it was called */
	Oid			relid;
	ForkNumber	fork;
	BlockNumber block;
	Oid			number;			/* of the file, 0 if not opened or not named */
} RunPosition;

/* The arguments of the procedure. */
typedef struct RunOptions
{
	ArrayType  *relations;		/* of regclass, NULL for all */
	ArrayType  *databases;		/* of text, NULL for all */
	bool		cluster;		/* it is a run of verify_cluster() */
	RunOrder	order;
	RunStale	part;			/* all, unless the order is by age */
	bool		leave_shared;	/* another part of the run has them */
	bool		include_catalogs;
	bool		cluster_files;
	bool		skip;			/* what was verified since skip_since */
	TimestampTz skip_since;		/* or DT_NOBEGIN */
	bool		leave;			/* the same, or what this run has verified */
	TimestampTz leave_since;
	RunPosition resume_at;		/* relid 0 for the first relation */
	int64		max_duration;	/* microseconds, 0 if no bound */
	bool		fail_on_findings;
	bool		report_failures;
	int64		report_interval;	/* microseconds, 0 if none */
	bool		verbose;
	bool		record_digests;
	bool		lost_writes;	/* look for them in all databases */
	bool		lost_pass;		/* nothing else is done now */
	XLogRecPtr	lost_end;		/* the WAL before it is read for them */
	TimestampTz lost_until;		/* no longer than that, 0 if no bound */
	int			workers;
	int			max_rate;		/* kB/s, 0 if no bound */
	bool		direct;			/* read past the page cache */
} RunOptions;

/*
 * A relation of the list, which is small since 300,000 of them may be kept.
 */
typedef struct RunItem
{
	Oid			relid;
	int64		bytes;			/* of the main fork, when it was listed */
} RunItem;

/* The file that a relation's history is about. */
typedef struct RunFile
{
	Oid			tablespace;
	Oid			number;
} RunFile;

/* A relation at work, or put off. */
typedef struct RunRelation
{
	RunItem		item;
	RunFile		file;
	char	   *schema;			/* these four are NULL if unknown */
	char	   *name;
	char	   *owner;			/* table of an index or TOAST table, qualified */
	const char *kind;			/* "table", "index", ... */
	bool		shared;
	TimestampTz began;
	RunPosition next;			/* where it goes on, relid is the item's */
	int64		blocks;
	int64		bytes;
	int64		new_pages;
	int64		unwritten;		/* of these, counted for a batch alone */
	int64		findings;
	int64		unverifiable;	/* findings that say so */
	int			tries;			/* failed ones */
	int64		shown;			/* findings of failed tries at this batch */
	bool		position;		/* this run has recorded where it stands */
} RunRelation;

/* Adjacent findings of one kind, one line of the log. */
typedef struct RunLine
{
	PageFinding first;
	int64		last;			/* block */
	int64		findings;		/* 0 if none pending */
} RunLine;

typedef struct RunTotals
{
	int64		relations;
	int64		blocks;
	int64		bytes;
	int64		new_pages;
	int64		unwritten;		/* of these, only in shared buffers so far */
	int64		findings;
	int64		unverifiable;	/* findings that say so */
	int64		files;			/* of the cluster */
	int64		bad_files;		/* findings in them */
} RunTotals;

struct Deputy;

typedef struct DatabaseRun
{
	ScanSink	sink;			/* first */
	ScanRun		scan;
	RunOptions	options;

	/* the run */
	MemoryContext context;		/* lives as long as the procedure */
	Oid			database;		/* whose relations are verified now */
	const char *database_name;
	int64		databases;		/* verified to their end */
	List	   *selected;		/* OIDs of databases, NIL for all */
	struct Deputy *deputy;		/* in a deputy, its end of the queue */
	History		history;
	TimestampTz started;
	TimestampTz deadline;		/* 0 if none */
	bool		advanced;		/* something was verified, see run_is_late() */
	TimestampTz next_report;	/* 0 if none */
	RunTotals	totals;
	int64		unverified;		/* relations that were to be told of */
	ProgressRow progress;
	SPIPlanPtr	list_plan;
	RunItem    *items;
	int64		nitems;
	int64		turn;			/* the item at work, -1 if none or deferred */
	Crew	   *crew;			/* workers, NULL if none */
	List	   *deferred;		/* of RunRelation, to be tried again */
	RunPosition stopped_at;		/* if the run stopped, where to go on */
	bool		stopped;
	bool		yielded;		/* a deputy, for DROP DATABASE or the like */
	TimestampTz next_yield;		/* when to look for that */

	/* the history */
	bool		recording;		/* not on a standby */
	bool		checksums_off;	/* it says so */
	bool		record_lost;	/* it could not be written */
	int64		number;			/* in verify_runs, 0 if no row */
	int64		files_recorded; /* of the cluster, 0 if not all verified */
	TimestampTz recorded;		/* when the run's row was written */
	SPIPlanPtr	insert_relation;
	SPIPlanPtr	insert_verdict;
	SPIPlanPtr	update_verdict;
	TimestampTz verified;		/* when the last relation was */
	List	   *positions;		/* of RunRelation, where earlier runs stand */
	LedgerRun	ledger;			/* of record_digests */

	/* lost writes */
	MemoryContext lost_context; /* of the list, NULL if none were looked for */
	List	   *lost;			/* of LostFinding, to be recorded */
	List	   *suspected;		/* databases that may have some, 0 for what is
								 * shared */
	bool		at_survey;		/* of all databases */

	/* The relation at work, and its batch, which is one transaction. */
	RunRelation *relation;		/* valid while it is at work */
	RunPosition at;				/* where it stands, relid 0 if none at work */
	RunPosition ended;			/* where its scan was ended early */
	MemoryContext batch_context;	/* of store */
	MemoryContext row_context;	/* of one finding */
	Tuplestorestate *store;		/* findings, NULL if none or not recorded */
	TupleDesc	store_desc;
	EphemeralNamedRelationData store_relation;	/* the store, as SPI names it */
	int64		batch_time;		/* how long it may take, 0 if not known */
	TimestampTz batch_end;
	TimestampTz next_look;		/* who waits for the relation */
	int64		fork_blocks;	/* of a main fork that takes several, or -1 */
	RunRelation batch;			/* counts of the batch alone */
	LedgerBatch read;			/* its digests, if they are recorded */
	int64		fork_bytes;		/* of the main fork at work, verified */
	int			failures;		/* of checksums, confirmed */
	RunLine		line;
	int64		lines;			/* WARNINGs about the relation */
	int64		untold;			/* findings without one */
} DatabaseRun;

/* run/attempt.c */
extern ErrorData *run_rollback(DatabaseRun *run);

/*
 * Does a part of the run, and again, for half a minute, after each conflict
 * with recovery.  Returns the error that was the last.
 */
typedef void (*RunPart) (DatabaseRun *run);

extern ErrorData *run_tried(DatabaseRun *run, RunPart part);
extern void run_show_progress(DatabaseRun *run);
extern void run_keep_finding(DatabaseRun *run, const PageFinding *finding);

/*
 * A row of the batch's findings.  What its columns need is allocated between
 * the two, and the second, which gets what the first returns, frees it.
 */
extern MemoryContext run_row_begin(DatabaseRun *run);
extern void run_row_end(DatabaseRun *run, MemoryContext before,
						Datum *values, bool *nulls);

/* In run/list.c.  Fills run->items. */
extern void run_list_relations(DatabaseRun *run);
extern int64 run_file_bytes(Oid tablespace, Oid database, Oid number);

/*
 * In run/relation.c.  Verifies a relation, in batches if it is large.  Returns
 * false if it was not verified to its end.  It is to be tried again (*error
 * says why), or time is up.
 */
extern bool run_relation(DatabaseRun *run, RunRelation *relation,
						 ErrorData **error);
extern void run_relation_unverifiable(DatabaseRun *run,
									  RunRelation *relation,
									  const char *why);

extern bool run_batch_enough(DatabaseRun *run);

/*
 * Is the time limit over?  It does not count before something was verified, so
 * that runs which go on where the last one stopped come to an end.
 */
extern bool run_is_late(const DatabaseRun *run);

/* Does anybody wait for a relation that is locked here?  Asked now and then. */
extern TimestampTz run_next_look(void);
extern bool run_waited_for(Oid relid, bool shared, TimestampTz *next_look);
extern void run_describe_relation(RunRelation *relation, Relation rel);

/* What the catalog says, for the history of one that cannot be locked. */
extern void run_name_relation(RunRelation *relation);

/* The file that a row of pg_class has, of this database or shared. */
extern RunFile run_catalog_file(Form_pg_class row);
extern void run_begin_batch(DatabaseRun *run);
extern void run_end_batch(DatabaseRun *run, bool complete);

/*
 * In run/cluster.c.  May the caller have the files of the cluster verified?
 * Then run_cluster_files() verifies them and records what it finds, and no
 * failure ends the run.
 */
extern bool run_cluster_allowed(void);
extern void run_cluster_files(DatabaseRun *run);
extern void run_keep_row(DatabaseRun *run, const char *path,
						 const char *status, const char *message);

/*
 * In run/lost.c.  The first returns the OIDs of databases that may have lost
 * writes, 0 for what they share, and records what it could not read.  The second
 * looks for them in this database, and records them.
 */
extern List *run_lost_survey(DatabaseRun *run);
extern void run_lost_database(DatabaseRun *run);
extern void run_keep_lost(DatabaseRun *run, const LostFinding *finding);

/*
 * In run/database.c.  It verifies those that are listed, with workers, and
 * those put off.  After an error that ends the run, run_abandon() notes where
 * it stopped.
 */
extern void run_listed(DatabaseRun *run);
extern void run_own_database(DatabaseRun *run);
extern void run_abandon(DatabaseRun *run);

/* The part of the state that a deputy has, too. */
extern void run_prepare(DatabaseRun *run);

/*
 * run/databases.c.  Verifies all databases that are to be verified, one after
 * the other.
 */
extern void run_databases(DatabaseRun *run);
extern void run_databases_check(DatabaseRun *run);

/*
 * In run/crew.c.  They start and stop workers for the whole run, if it pays.
 * Then run_crew_relation() verifies a relation with their help.  It returns
 * false if run_relation() has to do it.
 */
extern void run_crew_start(DatabaseRun *run);
extern void run_crew_stop(DatabaseRun *run, bool at_once);
extern bool run_crew_relation(DatabaseRun *run, RunRelation *relation);

/*
 * run/record.c.  The first six raise no error but a cancel, since what cannot
 * be recorded is reported once.  Each ends its transaction.
 */
extern void record_start(DatabaseRun *run);
extern void record_progress(DatabaseRun *run);
extern void record_batch(DatabaseRun *run, bool complete);
extern void record_cluster(DatabaseRun *run, bool files);
extern void record_lost(DatabaseRun *run);
extern void record_end(DatabaseRun *run, const char *state);
extern void record_free_plans(DatabaseRun *run);
extern Datum record_trusted_runs(DatabaseRun *run);
extern void record_load_positions(DatabaseRun *run);
extern const RunRelation *record_position(DatabaseRun *run, Oid relid,
										  RunFile file);

/* run/report.c */
extern void report_finding(DatabaseRun *run, const PageFinding *finding);
extern void report_line(DatabaseRun *run);
extern void report_lost(DatabaseRun *run, const LostFinding *first, int count);
extern void report_relation(DatabaseRun *run);
extern void report_progress(DatabaseRun *run);
extern void report_end(DatabaseRun *run, const char *state);

#endif							/* ACCEL_RUN_DATABASE_RUN_H */
