/*
 * deputy.c
 *	  What a deputy does unlike a run: it tells its run what to record, and
 *	  leaves its database to who wants it.  The run comes back to the rest.
 */
#include "compat.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "run/deputy.h"
#include "run/lock.h"

/* ---------------------------------------------------------------- *
 *		What the leader is told
 * ---------------------------------------------------------------- */

static void
send_message(DatabaseRun *run, const void *message, Size bytes)
{
	foreign_send(run->deputy->queue, message, bytes);
}

void
deputy_send_begin(DatabaseRun *run)
{
	char		kind = DEPUTY_BEGIN;

	send_message(run, &kind, 1);
}

void
deputy_send_finding(DatabaseRun *run, const PageFinding *finding)
{
	DeputyFinding message;

	if (!run->recording)
		return;
	memset(&message, 0, sizeof(message));
	message.kind = DEPUTY_FINDING;
	message.finding = *finding;
	send_message(run, &message, sizeof(message));
}

static void
copy_name(char *to, const char *from, Size size)
{
	strlcpy(to, from ? from : "", size);
}

static void
send_state(DatabaseRun *run, DeputyMessageKind kind)
{
	const RunRelation *relation = run->relation;
	DeputyMessage *message = palloc0(sizeof(DeputyMessage));

	message->kind = kind;
	message->stopped = run->stopped;
	message->yielded = run->yielded;
	message->stopped_at = run->stopped_at;
	message->checksums_off = run->checksums_off;
	message->totals = run->totals;
	message->progress = run->progress;
	message->read = run->read;
	message->read.pages = NULL;
	if (relation != NULL && kind != DEPUTY_END)
	{
		message->relation = *relation;
		copy_name(message->schema, relation->schema, sizeof(message->schema));
		copy_name(message->name, relation->name, sizeof(message->name));
		copy_name(message->owner, relation->owner, sizeof(message->owner));
		copy_name(message->kind_name, relation->kind, sizeof(message->kind_name));
	}
	send_message(run, message, sizeof(DeputyMessage));
	pfree(message);
}

/* What was read of the batch, if it is to be recorded. */
static void
send_digests(DatabaseRun *run)
{
	const LedgerBatch *read = &run->read;
	int64		left = read->next - read->first;
	const LedgerPage *pages = read->pages;
	DeputyDigests *message;

	if (!run->recording || read->taken == 0)
		return;
	message = palloc0(sizeof(DeputyDigests));
	message->kind = DEPUTY_DIGESTS;
	for (; left > 0; left -= message->count, pages += message->count)
	{
		message->count = Min(left, LEDGER_BLOCKS);
		memcpy(message->pages, pages, message->count * sizeof(LedgerPage));
		send_message(run, message, offsetof(DeputyDigests, pages) +
					 message->count * sizeof(LedgerPage));
	}
	pfree(message);
}

void
deputy_send_batch(DatabaseRun *run, bool complete)
{
	send_digests(run);
	send_state(run, complete ? DEPUTY_COMPLETE : DEPUTY_BATCH);
}

void
deputy_send_end(DatabaseRun *run)
{
	throttle_copy(&run->deputy->shared->foreign.throttle, &run->scan.throttle);
	send_state(run, DEPUTY_END);
}

void
deputy_send_lost(DatabaseRun *run, const LostFinding *finding)
{
	DeputyLost	message;
	Size		bytes = lost_finding_bytes(finding);

	if (!run->recording)
		return;
	memset(&message, 0, sizeof(message));
	message.kind = DEPUTY_LOST;
	memcpy(&message.finding, finding, bytes);
	send_message(run, &message, offsetof(DeputyLost, finding) + bytes);
}

void
deputy_send_lost_end(DatabaseRun *run)
{
	send_state(run, DEPUTY_LOST_END);
}

/* ---------------------------------------------------------------- *
 *		Who else wants the database
 * ---------------------------------------------------------------- */

bool
deputy_must_end(DatabaseRun *run)
{
	TimestampTz now;

	if (run->deputy == NULL || run->stopped)
		return run->stopped;
	now = GetCurrentTimestamp();
	if (now < run->next_yield)
		return false;
	run->next_yield = now + FOREIGN_YIELD_INTERVAL;
	if (pg_atomic_read_u32(&run->deputy->shared->over) != 0)
		proc_exit(0);
	run->yielded = foreign_database_wanted(run->database);
	run->stopped = run->yielded;
	return run->stopped;
}

static bool
must_end(void *run)
{
	return deputy_must_end(run);
}

void
deputy_lock(DatabaseRun *run, Oid relid, int patience)
{
	run_lock_relation(relid, patience, must_end, run);
}
