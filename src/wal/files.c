/*
 * files.c
 *	  The files of a directory that a walk over its segments has at hand.
 */
#include <errno.h>

#include "wal/files.h"

/* as many files are asked for their format */
#define ASKED_MAX	16

WalFiles *
wal_files_begin(const WalDirectory *dir)
{
	WalFiles   *files = host_alloc(sizeof(WalFiles));

	memset(files, 0, sizeof(*files));
	files->dir = dir;
	for (int i = 0; i < WAL_FILES; i++)
		wal_file_init(&files->slots[i].file, dir->limits.direct);
	return files;
}

void
wal_files_end(WalFiles *files)
{
	for (int i = 0; i < WAL_FILES; i++)
		wal_file_end(&files->slots[i].file);
}

void
wal_files_throttle(WalFiles *files, struct Throttle *throttle)
{
	for (int i = 0; i < WAL_FILES; i++)
		wal_file_throttle(&files->slots[i].file, throttle);
}

void
wal_files_stop(WalFiles *files)
{
	for (int i = 0; i < WAL_FILES; i++)
		files->slots[i].file.stopped = true;
}

/* Is what was read of the file still what is in it? */
static bool
is_unchanged(const WalFile *file)
{
	struct stat status;

	return stat(file->path, &status) == 0 &&
		status.st_dev == file->scan.device &&
		status.st_ino == file->scan.inode &&
		status.st_size == file->scan.size;
}

/* Finds the slot that has the file at hand, else the one to put it into. */
static int
find_slot(WalFiles *files, const WalName *name)
{
	int			oldest = -1;

	for (int i = 0; i < WAL_FILES; i++)
	{
		if (files->slots[i].in_use)
			continue;
		if (files->slots[i].file.path[0] != '\0' &&
			wal_name_compare(&files->slots[i].name, name) == 0)
			return i;
		if (oldest < 0 || files->slots[i].used < files->slots[oldest].used)
			oldest = i;
	}
	return oldest;
}

/*
 * May this server be writing the segment?  Reads of the device would have its
 * commits wait, and would tell nothing yet.
 */
static bool
is_being_written(const WalDirectory *dir, const WalName *name)
{
	uint32_t	size = dir->limits.segment_size;
	WalLsn		limit;

	return wal_live_limit(&dir->limits, name->timeline, &limit) &&
		(wal_name_segno(name, size) + 1) * size > limit;
}

WalFile *
wal_files_open(WalFiles *files, const WalName *name, FileScanResult *opened)
{
	int			slot = find_slot(files, name);
	WalFile    *file = &files->slots[slot].file;
	bool		at_hand = file->path[0] != '\0' &&
		wal_name_compare(&files->slots[slot].name, name) == 0;

	*opened = FILE_SCAN_OK;
	if (!at_hand || !is_unchanged(file))
	{
		char	   *path = wal_directory_file(files->dir, name);

		wal_file_close(file);
		file->through_cache = is_being_written(files->dir, name);
		*opened = wal_file_open(file, path, wal_name_format(name));
		host_free(path);
		if (*opened != FILE_SCAN_OK)
			return NULL;
	}
	files->slots[slot].name = *name;
	files->slots[slot].in_use = true;
	files->slots[slot].used = ++files->clock;
	return file;
}

void
wal_files_close(WalFiles *files, WalFile *file)
{
	for (int i = 0; i < WAL_FILES; i++)
		if (&files->slots[i].file == file)
			files->slots[i].in_use = false;
	if (file->format == DECODE_PLAIN)
		wal_file_close(file);
}

static bool
is_compressed(WalFiles *files, const WalName *name)
{
	FileScanResult opened;
	WalFile    *file;
	bool		compressed;

	if (name->kind == WAL_KIND_MISSING)
		return false;
	file = wal_files_open(files, name, &opened);
	if (file == NULL)
		return false;
	compressed = file->format != DECODE_PLAIN;
	wal_files_close(files, file);
	return compressed;
}

/* Names need not say it. */
bool
wal_files_compressed(WalFiles *files, const WalNames *list)
{
	size_t		asked = list->count < ASKED_MAX ? list->count : ASKED_MAX;

	for (size_t i = 0; i < asked; i++)
	{
		host_interrupts();
		if (is_compressed(files, &list->names[i * list->count / asked]))
			return true;
	}
	return false;
}
