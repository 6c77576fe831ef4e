/*
 * barman_check.c
 *	  Is a backup in barman's repository what barman would restore?
 *
 * barman has a status of each backup.  With WAITING_FOR_WALS its files are
 * complete, and with any other one but DONE they are not.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "backup/archives.h"
#include "backup/barman_check.h"
#include "host/host.h"
#include "host/print.h"

/* barman makes the links of tablespaces when it restores the backup. */
static void
check_tablespace(const char *data, uint32_t tablespace, const Barman *backup,
				 BackupSink *sink)
{
	char	   *path = host_print("pg_tblspc/%u", tablespace);
	char	   *link = host_print("%s/%s", data, path);
	char	   *placed = host_print("%s/../%u", data, tablespace);
	struct stat status;

	host_interrupts();
	if (stat(link, &status) != 0)
	{
		if (stat(placed, &status) == 0)
			backup_sink_file(sink, path, BACKUP_NOT_VERIFIABLE,
							 "the tablespace is in \"%u\" beside the data directory, where no link leads",
							 tablespace);
		else
			backup_sink_file(sink, path, BACKUP_MISSING,
							 "tablespace of \"%s\" is not there", backup->info);
	}
	host_free(path);
	host_free(link);
	host_free(placed);
}

static void
check_tablespaces(const char *root, const Barman *backup, BackupSink *sink)
{
	char	   *data = host_print("%s/" BARMAN_DATA, root);

	if (!backup_tar_is(data))
		for (size_t i = 0; i < backup->ntablespaces; i++)
			check_tablespace(data, backup->tablespaces[i], backup, sink);
	host_free(data);
}

/* Are its files what they will be, as far as barman says?  If not, says why. */
static bool
check_status(const Barman *backup, BackupSink *sink)
{
	if (strcmp(backup->status, "DONE") == 0)
		return true;
	if (strcmp(backup->status, "WAITING_FOR_WALS") == 0)
	{
		backup_sink_file(sink, backup->info, BACKUP_NOT_VERIFIABLE,
						 "status is %s, not DONE", backup->status);
		return true;
	}
	backup_sink_file(sink, backup->info, BACKUP_NOT_VERIFIABLE,
					 "status is \"%s\", not DONE; nothing of the backup is verified",
					 backup->status);
	return false;
}

bool
backup_barman_check(const char *root, Barman *backup, BackupSink *sink)
{
	if (!barman_read(root, backup))
	{
		backup_sink_file(sink, backup->info, BACKUP_IO_ERROR,
						 "could not read file: %s", strerror(errno));
		return true;
	}
	if (!check_status(backup, sink))
		return false;
	if (backup->encryption[0] != '\0')
	{
		backup_sink_file(sink, backup->info, BACKUP_NOT_VERIFIABLE,
						 "the backup is encrypted by %s; nothing of it is verified",
						 backup->encryption);
		return false;
	}
	check_tablespaces(root, backup, sink);
	return true;
}
