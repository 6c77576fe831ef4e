/*
 * elsewhere.c
 *	  The session's end of a worker that judges another database.
 *
 * The rows of the page ledger are where they were recorded, and the catalogs
 * that tell which file a relation has are in the other database.  So a worker
 * there locks, reads and judges.  It asks for rows and waits for the answer,
 * so neither queue is ever full on both sides.
 */
#include "compat.h"

#include "catalog/pg_database.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "host/crew.h"
#include "host/parallel.h"
#include "kernel/checksum.h"
#include "run/deputy.h"
#include "run/elsewhere.h"
#include "run/foreign.h"

/* For how long a place for a worker is waited for, in microseconds. */
#define WORKER_PATIENCE		(2 * USECS_PER_SEC)

static bool find_database(Elsewhere *elsewhere);
static void make_shared(Elsewhere *elsewhere);
static bool start(Elsewhere *elsewhere);
static void follow(Elsewhere *elsewhere);
static void on_message(Elsewhere *elsewhere, const char *message, Size bytes);

/* Whoever wants the database for himself goes first, and may drop it. */
const char *
elsewhere_judge(Elsewhere *elsewhere)
{
	elsewhere->error[0] = '\0';
	elsewhere->ended = false;
	if (!find_database(elsewhere))
		return "";
	if (deputy_database_wanted(elsewhere->database))
		return "the database is wanted by another session";
	make_shared(elsewhere);
	if (!start(elsewhere))
	{
		dsm_detach(elsewhere->segment);
		return "all of max_worker_processes are in use";
	}
	follow(elsewhere);
	if (elsewhere->ended)
		return NULL;
	if (!find_database(elsewhere))
		return "";
	return elsewhere->error[0] != '\0' ? elsewhere->error :
		"its worker ended before its work was done";
}

static bool
find_database(Elsewhere *elsewhere)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(elsewhere->database));
	Form_pg_database row;
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		return false;
	row = (Form_pg_database) GETSTRUCT(tuple);
	name = pstrdup(NameStr(row->datname));
	foreign_clean_text(name, GetDatabaseEncoding());
	elsewhere->name = name;
	elsewhere->encoding = row->encoding;
	ReleaseSysCache(tuple);
	return true;
}

static void
make_shared(Elsewhere *elsewhere)
{
	ElsewhereLayout place = elsewhere_layout(elsewhere->nrelids);
	ElsewhereShared *shared;

	elsewhere->segment = dsm_create(place.total, 0);
	shared = dsm_segment_address(elsewhere->segment);
	memset(shared, 0, sizeof(*shared));
	memcpy(shared->build, accel_build, BUILD_BYTES);
	strlcpy(shared->library, parallel_library(), MAXPGPATH);
	shared->database = elsewhere->database;
	shared->workers = elsewhere->workers;
	shared->max_rate = elsewhere->max_rate;
	shared->page_kernel = (int) (checksum_selected(CHECKSUM_page) -
								 checksum_kernel_table);
	shared->lock_timeout = LockTimeout;
	throttle_copy(&shared->throttle, elsewhere->throttle);
	shared->nrelids = elsewhere->nrelids;
	memcpy(elsewhere_relids(shared), elsewhere->relids,
		   elsewhere->nrelids * sizeof(Oid));
	elsewhere->shared = shared;
	elsewhere->queue = task_queue_create((char *) shared + place.queue,
										 elsewhere->segment);
	(void) shm_mq_create((char *) shared + place.answers, TASK_QUEUE_BYTES);
	elsewhere->answers = task_queue_join((char *) shared + place.answers,
										 elsewhere->segment);
}

/* Returns false if there is no place for a worker. */
static bool
start(Elsewhere *elsewhere)
{
	BackgroundWorker worker = {0};
	TimestampTz until = GetCurrentTimestamp() + WORKER_PATIENCE;

	crew_describe_worker(&worker, elsewhere->shared->library, "accel_elsewhere_main",
						 elsewhere->segment);
	while (!RegisterDynamicBackgroundWorker(&worker, &elsewhere->handle))
	{
		if (GetCurrentTimestamp() >= until)
			return false;
		task_doze();
	}
	shm_mq_set_handle(elsewhere->queue, elsewhere->handle);
	shm_mq_set_handle(elsewhere->answers, elsewhere->handle);
	return true;
}

static void
listen_to(Elsewhere *elsewhere)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "message of a worker",
												  ALLOCSET_DEFAULT_SIZES);
	shm_mq_result result;

	do
	{
		Size		bytes;
		void	   *message;

		result = shm_mq_receive(elsewhere->queue, &bytes, &message, true);
		if (result == SHM_MQ_SUCCESS)
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			on_message(elsewhere, message, bytes);
			MemoryContextSwitchTo(old);
			MemoryContextReset(context);
		}
		else if (result == SHM_MQ_WOULD_BLOCK)
			task_doze();
	} while (result != SHM_MQ_DETACHED);
	MemoryContextDelete(context);
}

/* Up to its end, or ours. */
static void
follow(Elsewhere *elsewhere)
{
	PG_TRY();
	{
		listen_to(elsewhere);
		(void) WaitForBackgroundWorkerShutdown(elsewhere->handle);
		if (elsewhere->ended)
			throttle_copy(elsewhere->throttle, &elsewhere->shared->throttle);
	}
	PG_FINALLY();
	{
		TerminateBackgroundWorker(elsewhere->handle);
		dsm_detach(elsewhere->segment);
	}
	PG_END_TRY();
}

/* ---------------------------------------------------------------- *
 *		What it says
 * ---------------------------------------------------------------- */

/* A worker that has gone needs no answer. */
static void
answer(Elsewhere *elsewhere, const void *message, Size bytes)
{
	(void) shm_mq_send(elsewhere->answers, bytes, message, false, true);
}

void
elsewhere_row(void *elsewhere, const LedgerRow *row, const LedgerPage *known)
{
	ElsewhereRow message;

	message.row = *row;
	memcpy(message.known, known, sizeof(message.known));
	answer(elsewhere, &message, sizeof(message));
}

static void
on_finding(Elsewhere *elsewhere, const ElsewhereFinding *message)
{
	DigestFinding finding = message->finding;

	foreign_clean_text(finding.schema, elsewhere->encoding);
	foreign_clean_text(finding.name, elsewhere->encoding);
	elsewhere->emit(elsewhere, &finding);
}

static void
on_message(Elsewhere *elsewhere, const char *message, Size bytes)
{
	switch (message[0])
	{
		case ELSEWHERE_ASK:
			{
				ElsewhereAsk asked = *(const ElsewhereAsk *) message;

				elsewhere->ask(elsewhere, &asked.file, asked.from);
				answer(elsewhere, "", 1);
				break;
			}
		case ELSEWHERE_FINDING:
			on_finding(elsewhere, (const ElsewhereFinding *) message);
			break;
		case ELSEWHERE_END:
			elsewhere->ended = true;
			break;
		case 'E':
		case 'N':
			foreign_report(elsewhere->name, elsewhere->encoding, message, bytes,
						   elsewhere->error, sizeof(elsewhere->error));
			break;
	}
}
