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

BackupRank
backup_sink_rank(const BackupFinding *finding)
{
	if (is_status(finding, BACKUP_HEALED_BY_WAL) ||
		is_status(finding, BACKUP_REPLACED) ||
		is_status(finding, BACKUP_MADE_ANEW) ||
		is_status(finding, BACKUP_NO_MANIFEST))
		return BACKUP_HARMLESS;
	return is_status(finding, BACKUP_UNDECIDED) ||
		is_status(finding, BACKUP_NOT_VERIFIABLE) ? BACKUP_NO_VERDICT :
		BACKUP_DAMAGE;
}

void
backup_sink_emit(BackupSink *sink, const BackupFinding *finding)
{
	BackupRank	rank = backup_sink_rank(finding);

	if (rank != BACKUP_HARMLESS && sink->findings++ == 0)
		snprintf(sink->first, sizeof(sink->first), "%s: %s", finding->status,
				 finding->message == NULL ? "" : finding->message);
	sink->undecided += rank == BACKUP_NO_VERDICT ? 1 : 0;
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

BackupStatus
backup_sink_verdict(const BackupSink *sink)
{
	if (sink->findings == 0)
		return BACKUP_OK;
	return sink->undecided == sink->findings ? BACKUP_UNDECIDED : BACKUP_DAMAGED;
}
