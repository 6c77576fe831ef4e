/*
 * progress.c
 *	  What every backend is verifying at present, for all to see.
 *
 * The server keeps a row of progress counters per backend, which its own
 * commands use and pg_stat_progress_* show.  Ours is marked with a command
 * number that no server knows, so those views pass it over.  The server clears
 * the row when a transaction fails.
 */
#include "compat.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/timestamp.h"

#include "page/progress.h"

#define PROGRESS_COMMAND_ACCEL	((ProgressCommandType) 0x43524343)

/* Places in the server's row, all zero when a command starts. */
enum
{
	PARAM_FORK,					/* plus 1, so 0 is none */
	PARAM_BLOCKS_TOTAL,
	PARAM_BLOCKS_DONE,
	PARAM_FINDINGS,
	PARAM_STARTED,
	PARAM_RELATIONS_TOTAL,
	PARAM_RELATIONS_DONE,
	PARAM_BYTES_TOTAL,
	PARAM_BYTES_DONE,			/* of the relations that are done */
	PARAM_RELID,
	PARAM_NAME,					/* of a backup, up to the end */
	PARAM_END = PARAM_NAME + PROGRESS_NAME_BYTES / sizeof(int64)
};

StaticAssertDecl(PARAM_END <= PGSTAT_NUM_PROGRESS_PARAM,
				 "the server has a place for each");

static int64 *my_params(void);

void
progress_begin(void)
{
	pgstat_progress_start_command(PROGRESS_COMMAND_ACCEL, InvalidOid);
	pgstat_progress_update_param(PARAM_STARTED, GetCurrentTimestamp());
}

void
progress_end(void)
{
	if (my_params() != NULL)
		pgstat_progress_end_command();
}

/* Only this backend writes them, so it may read them as they are. */
static int64 *
my_params(void)
{
	if (MyBEEntry == NULL ||
		MyBEEntry->st_progress_command != PROGRESS_COMMAND_ACCEL)
		return NULL;
	return (int64 *) MyBEEntry->st_progress_param;
}

static void
add_to_param(int param, int64 value)
{
	int64	   *params = my_params();

	if (params != NULL)
		pgstat_progress_update_param(param, params[param] + value);
}

static void
set_param(int param, int64 value)
{
	if (my_params() != NULL)
		pgstat_progress_update_param(param, value);
}

void
progress_fork(const ForkSummary *summary)
{
	set_param(PARAM_FORK, summary->fork + 1);
	set_param(PARAM_RELID, summary->relid);
	progress_fork_blocks(summary->blocks, 0);
}

void
progress_fork_blocks(int64 total, int64 done)
{
	set_param(PARAM_BLOCKS_TOTAL, total);
	set_param(PARAM_BLOCKS_DONE, done);
}

void
progress_blocks(int64 blocks)
{
	add_to_param(PARAM_BLOCKS_DONE, blocks);
}

void
progress_finding(void)
{
	add_to_param(PARAM_FINDINGS, 1);
}

/* Begins anew where a failed transaction has ended the command. */
void
progress_database(const ProgressRow *row)
{
	if (my_params() == NULL)
		progress_begin();
	set_param(PARAM_STARTED, row->started);
	set_param(PARAM_FINDINGS, row->findings);
	set_param(PARAM_RELATIONS_TOTAL, row->relations_total);
	set_param(PARAM_RELATIONS_DONE, row->relations_done);
	set_param(PARAM_BYTES_TOTAL, row->bytes_total);
	set_param(PARAM_BYTES_DONE, row->bytes_done);
	set_param(PARAM_RELID, InvalidOid);
}

/* All of a name at once, since others read it. */
static void
show_name(const char *name)
{
	int			params[PARAM_END - PARAM_NAME];
	int64		values[PARAM_END - PARAM_NAME];

	for (int i = 0; i < lengthof(params); i++)
		params[i] = PARAM_NAME + i;
	memcpy(values, name, sizeof(values));
	if (my_params() != NULL)
		pgstat_progress_update_multi_param(lengthof(params), params, values);
}

void
progress_backup(const ProgressRow *row)
{
	if (my_params() == NULL)
		progress_begin();
	set_param(PARAM_STARTED, row->started);
	set_param(PARAM_FINDINGS, row->findings);
	set_param(PARAM_BYTES_TOTAL, row->bytes_total);
	set_param(PARAM_BYTES_DONE, row->bytes_done);
	show_name(row->backup);
}

void
progress_bytes(int64 bytes)
{
	add_to_param(PARAM_BYTES_DONE, bytes);
}

/* It is in the encoding of the database of its session. */
static void
read_name(ProgressRow *row, const int64 *params)
{
	memcpy(row->backup, params + PARAM_NAME, PROGRESS_NAME_BYTES);
	row->backup[PROGRESS_NAME_BYTES - 1] = '\0';
	for (char *c = row->backup; *c != '\0' && row->datid != MyDatabaseId; c++)
		if (IS_HIGHBIT_SET(*c))
			*c = '?';
}

int
progress_backends(void)
{
	return pgstat_fetch_stat_numbackends();
}

bool
progress_read(int backend, ProgressRow *row)
{
	LocalPgBackendStatus *local = BACKEND_STATUS(backend);
	PgBackendStatus *status = local ? &local->backendStatus : NULL;
	const int64 *params;

	if (status == NULL || status->st_procpid == 0 ||
		status->st_progress_command != PROGRESS_COMMAND_ACCEL)
		return false;
	params = status->st_progress_param;
	row->pid = status->st_procpid;
	row->datid = status->st_databaseid;
	row->fork = (ForkNumber) (params[PARAM_FORK] - 1);
	row->relid = row->fork >= MAIN_FORKNUM && row->fork <= MAX_FORKNUM ?
		(Oid) params[PARAM_RELID] : InvalidOid;
	row->blocks_total = params[PARAM_BLOCKS_TOTAL];
	row->blocks_done = params[PARAM_BLOCKS_DONE];
	row->findings = params[PARAM_FINDINGS];
	row->started = params[PARAM_STARTED];
	row->relations_total = params[PARAM_RELATIONS_TOTAL];
	row->relations_done = params[PARAM_RELATIONS_DONE];
	row->bytes_total = params[PARAM_BYTES_TOTAL];
	row->bytes_done = params[PARAM_BYTES_DONE];
	read_name(row, params);
	if (OidIsValid(row->relid) && row->fork == MAIN_FORKNUM)
		row->bytes_done += row->blocks_done * BLCKSZ;
	return true;
}
