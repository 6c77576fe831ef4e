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
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "run/elsewhere.h"
#include "run/foreign.h"

/* For how long a place for a worker is waited for, in microseconds. */
#define WORKER_PATIENCE		(2 * USECS_PER_SEC)

static void make_shared(Elsewhere *elsewhere);
static bool start(Elsewhere *elsewhere);
static void on_message(void *arg, const char *message, Size bytes);
static void on_gone(void *arg);

/* Whoever wants the database for himself goes first, and may drop it. */
const char *
elsewhere_judge(Elsewhere *elsewhere)
{
	ForeignListener listener = {elsewhere, on_message, NULL, on_gone};

	elsewhere->error[0] = '\0';
	elsewhere->ended = false;
	if (foreign_database_wanted(elsewhere->database))
		return "the database is wanted by another session";
	make_shared(elsewhere);
	if (!start(elsewhere))
	{
		dsm_detach(elsewhere->segment);
		return "all of max_worker_processes are in use";
	}
	foreign_follow(elsewhere->segment, elsewhere->queue, elsewhere->handle,
				   CurrentMemoryContext, &listener);
	if (elsewhere->ended)
		return NULL;
	if (!elsewhere_find(elsewhere))
		return "";
	return elsewhere->error[0] != '\0' ? elsewhere->error :
		"its worker ended before its work was done";
}

bool
elsewhere_find(Elsewhere *elsewhere)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(elsewhere->database));
	Form_pg_database row;

	if (!HeapTupleIsValid(tuple))
		return false;
	row = (Form_pg_database) GETSTRUCT(tuple);
	elsewhere->name = foreign_text(NameStr(row->datname), GetDatabaseEncoding());
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
	foreign_share(&shared->foreign, elsewhere->database, 0, elsewhere->throttle);
	shared->reading = elsewhere->reading;
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
	TimestampTz until = GetCurrentTimestamp() + WORKER_PATIENCE;

	while (!foreign_launch(elsewhere->segment, "accel_elsewhere_main",
						   &elsewhere->handle))
	{
		if (GetCurrentTimestamp() >= until)
			return false;
		task_doze();
	}
	shm_mq_set_handle(elsewhere->queue, elsewhere->handle);
	shm_mq_set_handle(elsewhere->answers, elsewhere->handle);
	return true;
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

	foreign_copy_text(finding.schema, sizeof(finding.schema), finding.schema,
					  elsewhere->encoding);
	foreign_copy_text(finding.name, sizeof(finding.name), finding.name,
					  elsewhere->encoding);
	elsewhere->emit(elsewhere, &finding);
}

static void
on_gone(void *arg)
{
	Elsewhere  *elsewhere = arg;

	if (elsewhere->ended)
		throttle_copy(elsewhere->throttle, &elsewhere->shared->foreign.throttle);
}

static void
on_message(void *arg, const char *message, Size bytes)
{
	Elsewhere  *elsewhere = arg;

	switch (message[0])
	{
		case ELSEWHERE_ASK:
			{
				ElsewhereAsk asked = *(const ElsewhereAsk *) message;

				char		more = elsewhere->ask(elsewhere, &asked.file, asked.from);

				answer(elsewhere, &more, 1);
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
