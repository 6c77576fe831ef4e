/*
 * backups.c
 *	  Reads the backup files in an archive, which tell what WAL a base backup
 *	  needs.
 *
 * The server archives such a file at the end of a backup, named after the place
 * where that began.
 */
#include <errno.h>
#include <stdio.h>

#include "wal/backups.h"

/* they have some 300 bytes, but a label may have 1024 */
#define BACKUP_BYTES_MAX	65536

typedef struct Reading
{
	WalNames	names;
	const char *in_folder;		/* whose entries are read, NULL if none's are */
	char		(*folders)[WAL_NAME_FOLDER + 1];
	size_t		nfolders;
	size_t		room;
} Reading;

/* ---- names ---- */

static void
add_folder(Reading *reading, const char *name)
{
	HOST_MAKE_ROOM(reading->folders, reading->nfolders, reading->room);
	strcpy(reading->folders[reading->nfolders++], name);
}

static void
add_entry(void *arg, const char *file_name)
{
	Reading    *reading = arg;
	WalName		name;

	if (reading->in_folder == NULL && wal_name_is_folder(file_name))
		add_folder(reading, file_name);
	if (!wal_name_parse_beside(file_name, &name) ||
		name.kind != WAL_KIND_BACKUP ||
		(reading->in_folder != NULL &&
		 strncmp(reading->in_folder, file_name, WAL_NAME_FOLDER) != 0))
		return;
	name.in_folder = reading->in_folder != NULL;
	wal_names_add(&reading->names, &name);
}

/* A folder that cannot be listed is reported where its segments are listed. */
static WalNames
list(const WalDirectory *dir)
{
	Reading		reading = {{0}};
	size_t		room = strlen(dir->path) + WAL_NAME_FOLDER + 2;
	char	   *path = host_alloc(room);

	(void) host_list(dir->path, add_entry, &reading);
	for (size_t i = 0; i < reading.nfolders; i++)
	{
		reading.in_folder = reading.folders[i];
		snprintf(path, room, "%s/%s", dir->path, reading.folders[i]);
		(void) host_list(path, add_entry, &reading);
	}
	host_free(reading.folders);
	host_free(path);
	return reading.names;
}

/* ---- contents ---- */

static WalVerdict
verdict_of(WalReason reason, uint64_t value)
{
	WalVerdict	verdict = {0};

	verdict.reason = reason;
	verdict.value = value;
	return verdict;
}

/*
 * Parses one of the two lines, which has an LSN and the name of its segment.
 */
static bool
parse_line(const char *contents, const char *format, WalLsn *lsn,
		   WalName *segment)
{
	unsigned	high;
	unsigned	low;
	char		name[WAL_NAME_DIGITS + 1] = "";

	if (contents == NULL ||
		sscanf(contents, format, &high, &low, name) != 3 ||
		!wal_name_parse(name, segment))
		return false;
	*lsn = (WalLsn) high << 32 | low;
	return true;
}

static bool
is_in(WalLsn lsn, const WalName *name, uint32_t segment_size)
{
	return lsn / segment_size == wal_name_segno(name, segment_size);
}

static WalVerdict
parse_backup(WalBackup *backup, const char *contents, uint32_t segment_size)
{
	const char *rest = strchr(contents, '\n');
	WalName		first;
	WalName		last;

	if (!parse_line(contents, "START WAL LOCATION: %X/%X (file %24s)",
					&backup->start, &first))
		return verdict_of(WAL_REASON_BACKUP_LINE, 1);
	if (!parse_line(rest == NULL ? NULL : rest + 1,
					"STOP WAL LOCATION: %X/%X (file %24s)", &backup->stop,
					&last))
		return verdict_of(WAL_REASON_BACKUP_LINE, 2);
	if (!is_in(backup->start, &backup->name, segment_size) ||
		!is_in(backup->start, &first, segment_size) ||
		first.timeline != backup->name.timeline ||
		backup->start % segment_size != backup->name.offset)
		return verdict_of(WAL_REASON_BACKUP_START, backup->start);
	if (backup->stop <= backup->start ||
		!is_in(backup->stop - 1, &last, segment_size))
		return verdict_of(WAL_REASON_BACKUP_STOP, backup->stop);
	return verdict_of(WAL_REASON_NONE, 0);
}

void
wal_backup_read(WalBackup *backup, WalFile *file, const WalDirectory *dir)
{
	char	   *path = wal_directory_file(dir, &backup->name);
	FileScanResult opened = wal_file_open(file, path,
										  wal_name_format(&backup->name));
	char	   *contents = NULL;

	if (opened == FILE_SCAN_IRREGULAR)
		backup->verdict = verdict_of(WAL_REASON_FILE_IRREGULAR, 0);
	else if (opened != FILE_SCAN_OK)
		backup->verdict = verdict_of(WAL_REASON_FILE_OPEN, (uint64_t) errno);
	else
	{
		if (wal_timelines_text(file, &contents, BACKUP_BYTES_MAX,
							   &backup->verdict) > 0)
			backup->verdict = parse_backup(backup, contents,
										   dir->limits.segment_size);
		else if (backup->verdict.reason == WAL_REASON_NONE)
			backup->verdict = verdict_of(WAL_REASON_BACKUP_LINE, 1);
		wal_file_close(file);
	}
	host_free(contents);
	host_free(path);
}

WalBackups
wal_backups_read(const WalDirectory *dir)
{
	WalNames	names = list(dir);
	WalBackups	backups = {0};
	WalFile    *file = host_alloc(sizeof(WalFile));

	wal_file_init(file, false);
	backups.items = host_alloc((names.count + 1) * sizeof(WalBackup));
	for (size_t i = 0; i < names.count; i++)
	{
		WalBackup  *backup = &backups.items[backups.count++];

		host_interrupts();
		memset(backup, 0, sizeof(*backup));
		backup->name = names.names[i];
		wal_backup_read(backup, file, dir);
	}
	wal_file_end(file);
	host_free(file);
	host_free(names.names);
	return backups;
}

/* ---- what lies between backups ---- */

bool
wal_backups_between(const WalBackups *backups, uint32_t segment_size,
					const WalName *before, const WalName *after)
{
	uint64_t	low = wal_name_segno(before, segment_size);
	uint64_t	high = wal_name_segno(after, segment_size);
	bool		stops = false;
	bool		starts = false;

	for (size_t i = 0; i < backups->count; i++)
	{
		const WalBackup *backup = &backups->items[i];
		uint64_t	first = backup->start / segment_size;
		uint64_t	last = (backup->stop - 1) / segment_size;
		bool		older = backup->name.timeline == before->timeline;
		bool		newer = backup->name.timeline == after->timeline;

		if (!older && !newer)
			continue;
		/* who knows what an unreadable one needs? */
		if (backup->verdict.reason != WAL_REASON_NONE ||
			((!older || last > low) && (!newer || first < high)))
			return false;
		stops = stops || (older && last == low);
		starts = starts || (newer && first == high);
	}
	return stops && starts;
}
