/*
 * cluster.c
 *	  The files of the cluster, once per run of verify_database().
 *
 * They belong to no relation, so their findings have a path, and count for the
 * run.
 */
#include "compat.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "func/cluster.h"
#include "run/database_run.h"

/*
 * What is said of this server's files tells little, only sound or not.  So
 * whoever may scan tables may know it, too.
 */
bool
run_cluster_allowed(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES) ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES);
}

void
run_keep_row(DatabaseRun *run, const char *path, const char *status,
			 const char *message)
{
	Datum		values[FINDING_COLUMNS] = {0};
	bool		nulls[FINDING_COLUMNS];
	MemoryContext old;

	if (!run->recording)
		return;
	memset(nulls, true, sizeof(nulls));
	old = run_row_begin(run);
	if (path != NULL)
		values[FINDING_COLUMN_path] = CStringGetTextDatum(path);
	values[FINDING_COLUMN_status] = CStringGetTextDatum(status);
	values[FINDING_COLUMN_message] = CStringGetTextDatum(message);
	nulls[FINDING_COLUMN_path] = path == NULL;
	nulls[FINDING_COLUMN_status] = nulls[FINDING_COLUMN_message] = false;
	run_row_end(run, old, values, nulls);
}

/*
 * The one thing to do first.  The two kinds that the server does not read when
 * it starts keep it from nothing then.
 */
static const char *
hint_of(ClusterKind kind)
{
	if (kind == CLUSTER_SNAPSHOT || kind == CLUSTER_SUMMARY)
		return "See " ACCEL_RUNBOOK ".";
	return "Do not restart the server before this file is in order. See " ACCEL_RUNBOOK ".";
}

static void
note_row(void *arg, const ClusterRow *row)
{
	DatabaseRun *run = arg;
	bool		known = row->verdict.status != CLUSTER_NOT_VERIFIABLE;
	const char *status = cluster_status_name(row->verdict.status);
	char		words[CLUSTER_MESSAGE_SIZE];

	run->totals.files++;
	if (row->verdict.status == CLUSTER_OK)
		return;
	cluster_verdict_words(&row->verdict, row->kind, row->live, words);
	run_keep_row(run, row->path, status, words);
	run->totals.findings++;
	run->totals.unverifiable += known ? 0 : 1;
	run->totals.bad_files += known ? 1 : 0;
	ereport(WARNING,
			(errcode(known ? ERRCODE_DATA_CORRUPTED : ERRCODE_WARNING),
			 known ? errmsg("invalid file \"%s\"", row->path) :
			 errmsg("could not verify file \"%s\"", row->path),
			 errdetail_internal("%s: %s.", status, words),
			 known ? errhint("%s", hint_of(row->kind)) : 0));
}

/* This is the run's first part, so nothing else was counted before it. */
static void
verify_files(DatabaseRun *run)
{
	run_begin_batch(run);
	memset(&run->totals, 0, sizeof(run->totals));
	PushActiveSnapshot(GetTransactionSnapshot());
	accel_cluster_files(NULL, run->options.direct, note_row, run);
	PopActiveSnapshot();
}

/* The catalogs that name the databases may be damaged, too. */
void
run_cluster_files(DatabaseRun *run)
{
	ErrorData  *error = run_tried(run, verify_files);

	if (error != NULL)
	{
		run_keep_row(run, NULL, cluster_status_name(CLUSTER_NOT_VERIFIABLE),
					 error->message);
		run->totals.findings++;
		run->totals.unverifiable++;
		ereport(WARNING,
				(errcode(error->sqlerrcode),
				 errmsg("could not verify the files of the cluster: %s",
						error->message)));
	}
	else
		run->files_recorded = run->totals.files;
	record_cluster(run, true);
	run->progress.findings = run->totals.findings;
}
