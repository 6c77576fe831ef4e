/*
 * sink.c
 *	  What is found in a backup, on its way out.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backup/sink.h"

#define MESSAGE_SIZE	1024

static bool
is_status(const BackupFinding *finding, BackupStatus status)
{
	return strcmp(finding->status, backup_status_name(status)) == 0;
}

static void
count(BackupSink *sink, const BackupFinding *finding)
{
	if (sink->findings++ == 0)
		snprintf(sink->first, sizeof(sink->first), "%s: %s", finding->status,
				 finding->message == NULL ? "" : finding->message);
	sink->undecided += is_status(finding, BACKUP_UNDECIDED) ||
		is_status(finding, BACKUP_NOT_VERIFIABLE);
}

/* What is told, and is no damage. */
static bool
is_harmless(const BackupFinding *finding)
{
	return is_status(finding, BACKUP_HEALED_BY_WAL) ||
		is_status(finding, BACKUP_REPLACED) ||
		is_status(finding, BACKUP_MADE_ANEW) ||
		is_status(finding, BACKUP_NO_MANIFEST);
}

void
backup_sink_emit(BackupSink *sink, const BackupFinding *finding)
{
	if (!is_harmless(finding))
		count(sink, finding);
	sink->finding(sink->arg, finding);
}

void
backup_sink_file(BackupSink *sink, const char *path, BackupStatus status,
				 const char *message,...)
{
	BackupFinding finding = {path, -1, backup_status_name(status)};
	char		words[MESSAGE_SIZE];
	va_list		args;

	va_start(args, message);
	vsnprintf(words, sizeof(words), message, args);
	va_end(args);
	finding.message = words;
	backup_sink_emit(sink, &finding);
}
