/*
 * foreign.c
 *	  What sessions in other databases need, and what they say.
 */
#include "compat.h"

#include "libpq/pqformat.h"
#include "libpq/pqmq.h"
#include "mb/pg_wchar.h"
#include "utils/guc.h"

#include "run/foreign.h"

/*
 * The leader tells what is said here, in the server's log too.  The owner of the
 * database may have other values for all of its sessions.
 */
void
foreign_set_options(int statement_timeout, int lock_timeout)
{
	SetConfigOption("log_min_messages", "fatal", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("client_min_messages", "notice", PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("client_encoding", GetDatabaseEncodingName(), PGC_USERSET,
					PGC_S_SESSION);
	SetConfigOption("default_transaction_isolation", "read committed",
					PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("statement_timeout", psprintf("%d", statement_timeout),
					PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("lock_timeout", psprintf("%d", lock_timeout),
					PGC_USERSET, PGC_S_SESSION);
}

void
foreign_clean_text(char *text, int encoding)
{
	if (encoding == GetDatabaseEncoding() &&
		pg_verify_mbstr(encoding, text, (int) strlen(text), true))
		return;
	for (; *text !='\0'; text ++)
		if (IS_HIGHBIT_SET(*text))
			*text = '?';
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
	foreign_clean_text(error.message, encoding);
	if (message[0] == 'E')
	{
		strlcpy(said, error.message, size);
		return;
	}
	if (error.detail != NULL)
		foreign_clean_text(error.detail, encoding);
	error.message = psprintf("database \"%s\": %s", database, error.message);
	ThrowErrorData(&error);
}
