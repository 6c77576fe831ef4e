/*
 * foreign.c
 *	  A worker in another database, both ends of it.
 *
 * DROP DATABASE, RENAME and CREATE DATABASE from a template wait 5 s for other
 * sessions to leave.  They lock the database first, in a mode that conflicts
 * with RowExclusiveLock.  So a worker that cannot have that lock at once leaves,
 * within a moment.
 */
#include "compat.h"

#include "catalog/pg_conversion.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "common/string.h"
#include "libpq/pqformat.h"
#include "libpq/pqmq.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "host/crew.h"
#include "host/parallel.h"
#include "kernel/checksum.h"
#include "run/foreign.h"

/* ---------------------------------------------------------------- *
 *		The session
 * ---------------------------------------------------------------- */

void
foreign_share(ForeignShared *shared, Oid database, int statement_timeout,
			  const Throttle *throttle)
{
	memset(shared, 0, sizeof(*shared));
	memcpy(shared->build, accel_build, BUILD_BYTES);
	strlcpy(shared->library, parallel_library(), MAXPGPATH);
	shared->database = database;
	shared->page_kernel = (int) (checksum_selected(CHECKSUM_page) -
								 checksum_kernel_table);
	shared->statement_timeout = statement_timeout;
	shared->lock_timeout = LockTimeout;
	throttle_copy(&shared->throttle, throttle);
}

bool
foreign_launch(dsm_segment *segment, const char *entry,
			   BackgroundWorkerHandle **handle)
{
	const ForeignShared *shared = dsm_segment_address(segment);
	BackgroundWorker worker = {0};

	crew_describe_worker(&worker, shared->library, entry, segment);
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

static void
listen_to(shm_mq_handle *queue, MemoryContext context,
		  const ForeignListener *listener)
{
	shm_mq_result result;

	do
	{
		Size		bytes;
		void	   *message;

		result = shm_mq_receive(queue, &bytes, &message, true);
		if (result == SHM_MQ_SUCCESS)
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			listener->message(listener->arg, message, bytes);
			MemoryContextSwitchTo(old);
			MemoryContextReset(context);
		}
		else if (result == SHM_MQ_WOULD_BLOCK)
		{
			if (listener->idle != NULL)
				listener->idle(listener->arg);
			task_doze();
		}
	} while (result != SHM_MQ_DETACHED);
	listener->gone(listener->arg);
}

void
foreign_follow(dsm_segment *segment, shm_mq_handle *queue,
			   BackgroundWorkerHandle *handle, MemoryContext parent,
			   const ForeignListener *listener)
{
	MemoryContext context = AllocSetContextCreate(parent, "message of a worker",
												  ALLOCSET_DEFAULT_SIZES);

	PG_TRY();
	{
		listen_to(queue, context, listener);
		(void) WaitForBackgroundWorkerShutdown(handle);
	}
	PG_FINALLY();
	{
		TerminateBackgroundWorker(handle);
		dsm_detach(segment);
	}
	PG_END_TRY();
	MemoryContextDelete(context);
}

static char *
ascii_of(const char *text)
{
	char	   *copy = pstrdup(text);

	for (char *at = copy; *at != '\0'; at++)
		if (IS_HIGHBIT_SET(*at))
			*at = '?';
	return copy;
}

/* What the conversion refuses is "?", one character at a time. */
static char *
convert(Oid conversion, const char *from, int encoding)
{
	int			left = (int) strlen(from);
	StringInfoData here;

	initStringInfo(&here);
	while (left > 0)
	{
		int			room = MAX_CONVERSION_GROWTH * (left + 1);
		int			taken;

		enlargeStringInfo(&here, room);
		taken = pg_do_encoding_conversion_buf(conversion, encoding, GetDatabaseEncoding(),
											  (unsigned char *) from, left,
											  (unsigned char *) here.data + here.len, room, true);
		here.len += (int) strlen(here.data + here.len);
		if (taken < left)
		{
			appendStringInfoChar(&here, '?');
			taken += Min(left - taken, pg_encoding_mblen(encoding, from + taken));
		}
		from += taken;
		left -= taken;
	}
	return here.data;
}

/*
 * Asks pg_catalog alone: whoever may create a conversion elsewhere, in a schema
 * of the search path, is not asked.
 */
char *
foreign_text(const char *text, int encoding)
{
	int			here = GetDatabaseEncoding();
	Oid			conversion;
	char	   *converted;

	if (pg_is_ascii(text))
		return pstrdup(text);
	if (encoding == here)
		return pg_verify_mbstr(encoding, text, (int) strlen(text), true) ?
			pstrdup(text) : ascii_of(text);
	conversion = FindDefaultConversion(PG_CATALOG_NAMESPACE, encoding, here);
	converted = OidIsValid(conversion) ? convert(conversion, text, encoding) :
		ascii_of(text);
	InvalidateCatalogSnapshot();	/* would hold back vacuum */
	return converted;
}

void
foreign_copy_text(char *to, Size size, const char *text, int encoding)
{
	const char *here = foreign_text(text, encoding);
	int			bytes = pg_mbcliplen(here, (int) strlen(here), (int) size - 1);

	memcpy(to, here, bytes);
	to[bytes] = '\0';
}

/* All that is text, so that the report can be sent. */
static void
convert_report(ErrorData *error, int encoding)
{
	char	  **texts[] = {&error->message, &error->detail, &error->hint, &error->context,
		&error->schema_name, &error->table_name, &error->column_name,
	&error->datatype_name, &error->constraint_name};

	for (Size i = 0; i < lengthof(texts); i++)
		if (*texts[i] != NULL)
			*texts[i] = foreign_text(*texts[i], encoding);
}

void
foreign_report(const char *database, int encoding, const char *message,
			   Size bytes, char *said, Size size)
{
	StringInfoData buffer;
	ErrorData	error;

	initStringInfo(&buffer);
	appendBinaryStringInfo(&buffer, message, (int) bytes);
	buffer.cursor = 1;
	pq_parse_errornotice(&buffer, &error);
	if (message[0] == 'E')
	{
		foreign_copy_text(said, size, error.message, encoding);
		return;
	}
	convert_report(&error, encoding);
	error.message = psprintf("database \"%s\": %s", database, error.message);
	ThrowErrorData(&error);
}

/* ---------------------------------------------------------------- *
 *		The worker
 * ---------------------------------------------------------------- */

dsm_segment *
foreign_attach(Datum handle)
{
	dsm_segment *segment;
	const ForeignShared *shared;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	segment = dsm_attach(DatumGetUInt32(handle));
	if (segment == NULL)
		proc_exit(0);			/* the session has ended its statement */
	dsm_pin_mapping(segment);
	shared = dsm_segment_address(segment);
	if (memcmp(shared->build, accel_build, BUILD_BYTES) != 0 ||
		strcmp(shared->library, parallel_library()) != 0)
		ereport(ERROR,
				(errmsg("crc32c_accel: a worker has loaded another library than its leader")));
	return segment;
}

/*
 * The leader tells what is said here, in the server's log too.  The owner of the
 * database may have other values for all of its sessions.
 */
static void
set_options(const ForeignShared *shared)
{
	SetConfigOption("log_min_messages", "fatal", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("client_min_messages", "notice", PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("client_encoding", GetDatabaseEncodingName(), PGC_USERSET,
					PGC_S_SESSION);
	SetConfigOption("default_transaction_isolation", "read committed",
					PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("statement_timeout", psprintf("%d", shared->statement_timeout),
					PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("lock_timeout", psprintf("%d", shared->lock_timeout),
					PGC_USERSET, PGC_S_SESSION);
}

void
foreign_connect(dsm_segment *segment, shm_mq_handle *queue, const char *activity)
{
	const ForeignShared *shared = dsm_segment_address(segment);

	pq_redirect_to_shm_mq(segment, queue);
	BackgroundWorkerInitializeConnectionByOid(shared->database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	set_options(shared);
	checksum_use(&checksum_kernel_table[shared->page_kernel]);
	pgstat_report_activity(STATE_RUNNING, activity);
}

void
foreign_send(shm_mq_handle *queue, const void *message, Size bytes)
{
	if (shm_mq_send(queue, bytes, message, false, true) != SHM_MQ_SUCCESS)
		proc_exit(0);
}

/* ---------------------------------------------------------------- *
 *		Who else wants the database
 * ---------------------------------------------------------------- */

bool
foreign_database_wanted(Oid database)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, false);
	return false;
}
