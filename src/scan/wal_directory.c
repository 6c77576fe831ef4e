/*
 * wal_directory.c
 *	  A directory of WAL: what it is, how far it is complete, its timelines.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "scan/wal_directory.h"
#include "verify/wal_identity.h"

/* as many files are asked for the segment size */
#define ASKED_MAX		100

#define IDENTITY_BYTES	(2 * WAL_PAGE_MAX)

/* What the listing finds. */
typedef struct Listing
{
	WalNames   *files;			/* NULL: not wanted */
	uint32_t   *histories;		/* timelines with a history file */
	size_t		nhistories;
	size_t		room;
} Listing;

void
wal_names_add(WalNames *names, const WalName *name)
{
	if (names->count == names->room)
	{
		names->room = names->room == 0 ? 1024 : names->room * 2;
		names->names = wal_host_grow(names->names,
									 names->room * sizeof(WalName));
	}
	names->names[names->count++] = *name;
}

char *
wal_directory_file(const WalDirectory *dir, const WalName *name)
{
	size_t		room = strlen(dir->path) + 1 + WAL_NAME_SIZE;
	char	   *path = wal_host_alloc(room);
	char		file_name[WAL_NAME_SIZE];

	wal_name_print(name, file_name);
	snprintf(path, room, "%s/%s", dir->path, file_name);
	return path;
}

static void
list_file(void *arg, const char *file_name)
{
	Listing    *listing = arg;
	uint32_t	timeline = wal_timelines_file(file_name);
	WalName		name;

	if (timeline != 0)
	{
		if (listing->nhistories == listing->room)
		{
			listing->room = listing->room == 0 ? 16 : listing->room * 2;
			listing->histories = wal_host_grow(listing->histories,
											   listing->room * sizeof(uint32_t));
		}
		listing->histories[listing->nhistories++] = timeline;
	}
	else if (listing->files != NULL && strlen(file_name) >= WAL_NAME_DIGITS &&
			 wal_name_parse(file_name, &name))
		wal_names_add(listing->files, &name);
}

static int
compare_names(const void *a, const void *b)
{
	return wal_name_compare(a, b);
}

/* Reads the directory once: histories, and the segments if they are wanted. */
static bool
read_directory(WalDirectory *dir, bool files)
{
	Listing		listing = {0};

	listing.files = files ? &dir->files : NULL;
	if (!wal_host_list(dir->path, list_file, &listing))
		return false;
	wal_timelines_read(&dir->timelines, dir->path, listing.histories,
					   listing.nhistories);
	wal_host_free(listing.histories);
	if (dir->files.count > 1)
		qsort(dir->files.names, dir->files.count, sizeof(WalName),
			  compare_names);
	return true;
}

/* ---- the segment size, where it is not this server's ---- */

/* Does the file's long header agree with its size?  Then that is it. */
static bool
ask_file(WalDirectory *dir, const WalName *name, uint8_t *buffer)
{
	char	   *path = wal_directory_file(dir, name);
	ssize_t		len = 0;
	FileScan	file;
	WalIdentity id;

	if (file_scan_open(&file, path) == FILE_SCAN_OK)
	{
		len = file_scan_read(&file, buffer, IDENTITY_BYTES, 0);
		file_scan_close(&file);
	}
	wal_host_free(path);
	if (len < WAL_PAGE_LONG)
		return false;
	wal_identify(&id, buffer, (size_t) len, (uint64_t) file.size,
				 dir->limits.server.page_size, dir->limits.segment_size);
	if (id.magic == 0 || !id.has_long_header ||
		id.segment_size != (uint64_t) file.size)
		return false;
	dir->limits.segment_size = id.segment_size;
	return true;
}

static void
find_segment_size(WalDirectory *dir, uint8_t *buffer)
{
	for (size_t i = 0; i < dir->files.count && i < ASKED_MAX; i++)
	{
		wal_host_interrupts();
		if (dir->files.names[i].kind <= WAL_KIND_PARTIAL &&
			ask_file(dir, &dir->files.names[i], buffer))
			break;
	}
}

/* ---- opening ---- */

/* Is it a directory, and whose? */
static WalDirectoryResult
look_at(WalDirectory *dir, const char *own)
{
	char	   *archive_status = wal_host_alloc(strlen(dir->path) + 32);
	struct stat status;
	struct stat other;

	if (stat(dir->path, &status) != 0)
		return WAL_DIRECTORY_FAILED;
	if (!S_ISDIR(status.st_mode))
		return WAL_DIRECTORY_NONE;
	dir->limits.live = stat(own, &other) == 0 &&
		other.st_dev == status.st_dev && other.st_ino == status.st_ino;
	sprintf(archive_status, "%s/archive_status", dir->path);
	dir->limits.pg_wal = dir->limits.live || stat(archive_status, &other) == 0;
	wal_host_free(archive_status);
	return WAL_DIRECTORY_OK;
}

/* The size of one file that is wanted, else the others are asked. */
static bool
read_other(WalDirectory *dir, const WalName *only)
{
	uint8_t    *buffer = wal_host_alloc(IDENTITY_BYTES);
	bool		asked = only != NULL && ask_file(dir, only, buffer);
	bool		done = read_directory(dir, !asked);

	if (!asked)
		find_segment_size(dir, buffer);
	wal_host_free(buffer);
	return done;
}

WalDirectoryResult
wal_directory_open(WalDirectory *dir, const char *path, const char *own,
				   const WalName *only)
{
	WalDirectoryResult result;

	memset(dir, 0, sizeof(*dir));
	dir->path = path;
	dir->limits.server = wal_host_server();
	dir->limits.segment_size = dir->limits.server.segment_size;
	result = look_at(dir, own);
	if (result != WAL_DIRECTORY_OK)
		return result;
	if (dir->limits.live)
	{
		dir->limits.removed = wal_host_removed();
		/* before anything is read */
		dir->limits.nlimits = wal_host_limits(dir->limits.limits);
	}
	if (dir->limits.live ? !read_directory(dir, only == NULL) :
		!read_other(dir, only))
		return WAL_DIRECTORY_FAILED;
	return WAL_DIRECTORY_OK;
}

WalDirectoryResult
wal_directory_join(WalDirectory *dir, const char *path,
				   const WalLimits *limits)
{
	memset(dir, 0, sizeof(*dir));
	dir->path = path;
	dir->limits = *limits;
	return read_directory(dir, false) ? WAL_DIRECTORY_OK :
		WAL_DIRECTORY_FAILED;
}

bool
wal_live_limit(const WalLimits *limits, uint32_t timeline, WalLsn *limit)
{
	for (int i = 0; i < limits->nlimits; i++)
		if (limits->limits[i].timeline == timeline)
		{
			*limit = limits->limits[i].limit;
			return true;
		}
	return false;
}
