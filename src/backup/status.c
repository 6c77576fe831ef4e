/*
 * status.c
 *	  Verdicts on a backup in words.
 */
#include "backup/status.h"

const char *
backup_status_name(BackupStatus status)
{
	static const char *const names[] = {
#define BACKUP_STATUS(id, words) words,
		BACKUP_STATUS_LIST
#undef BACKUP_STATUS
	};

	return names[status];
}
