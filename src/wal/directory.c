/*
 * directory.c
 *	  Finds out what a directory of WAL is, how far it is complete, and its
 *	  timelines.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "wal/directory.h"
#include "wal/identity.h"
#include "wal/source.h"

/* as many files are asked for the segment size */
#define ASKED_MAX		100

#define IDENTITY_BYTES	(2 * WAL_PAGE_MAX)

/* What is found in a directory. */
typedef struct Reading
{
	WalListing *listing;		/* NULL if not wanted */
	const char *in_folder;		/* whose entries are read, NULL if none's are */
	uint32_t   *histories;		/* timelines with a history file */
	size_t		nhistories;
	size_t		histories_room;
	bool		folders_wanted;
	char		(*folders)[WAL_NAME_FOLDER + 1];
	size_t		nfolders;
	size_t		folders_room;
} Reading;

void
wal_names_add(WalNames *names, const WalName *name)
{
	HOST_MAKE_ROOM(names->names, names->count, names->room);
	names->names[names->count++] = *name;
}

char *
wal_directory_file(const WalDirectory *dir, const WalName *name)
{
	size_t		room = strlen(dir->path) + 1 + WAL_NAME_SIZE;
	char	   *path = host_alloc(room);
	char		file_name[WAL_NAME_SIZE];

	wal_name_print(name, file_name);
	snprintf(path, room, "%s/%s", dir->path, file_name);
	return path;
}

/* ---- listing ---- */

static void
list_segment(Reading *reading, const char *file_name)
{
	WalName		name;

	if (strlen(file_name) >= WAL_NAME_SIZE - WAL_NAME_FOLDER ||
		!wal_name_parse(file_name, &name) || name.in_folder ||
		(reading->in_folder != NULL &&
		 strncmp(reading->in_folder, file_name, WAL_NAME_FOLDER) != 0))
	{
		reading->listing->others++;
		return;
	}
	name.in_folder = reading->in_folder != NULL;
	wal_names_add(&reading->listing->files, &name);
}

static void
list_file(void *arg, const char *file_name)
{
	Reading    *reading = arg;
	uint32_t	timeline = wal_timelines_file(file_name);

	if (strcmp(file_name, ".") == 0 || strcmp(file_name, "..") == 0)
		return;
	if (timeline != 0 && reading->in_folder == NULL)
	{
		HOST_MAKE_ROOM(reading->histories, reading->nhistories,
					   reading->histories_room);
		reading->histories[reading->nhistories++] = timeline;
	}
	if (reading->listing == NULL)
		return;
	if (reading->folders_wanted && wal_name_is_folder(file_name))
	{
		HOST_MAKE_ROOM(reading->folders, reading->nfolders, reading->folders_room);
		strcpy(reading->folders[reading->nfolders++], file_name);
	}
	else
		list_segment(reading, file_name);
}

/* Lists the folders of segments.  One that vanishes meanwhile has none. */
static bool
list_folders(const WalDirectory *dir, Reading *reading)
{
	size_t		room = strlen(dir->path) + WAL_NAME_FOLDER + 2;
	char	   *path = host_alloc(room);
	bool		done = true;

	for (size_t i = 0; done && i < reading->nfolders; i++)
	{
		reading->folders_wanted = false;
		reading->in_folder = reading->folders[i];
		snprintf(path, room, "%s/%s", dir->path, reading->folders[i]);
		done = host_list(path, list_file, reading);
		if (!done && (errno == ENOTDIR || errno == ENOENT))
		{
			reading->listing->others++;
			done = true;
		}
		else if (!done)
			strcpy(reading->listing->failed, reading->folders[i]);
	}
	reading->in_folder = NULL;
	host_free(path);
	return done;
}

static int
compare_names(const void *a, const void *b)
{
	return wal_name_compare(a, b);
}

/* Lists the folders of segments, too, and puts all files in order. */
static bool
complete_listing(const WalDirectory *dir, Reading *reading)
{
	WalListing *listing = reading->listing;

	if (!list_folders(dir, reading))
		return false;
	listing->complete = true;
	if (listing->files.count > 1)
		qsort(listing->files.names, listing->files.count, sizeof(WalName),
			  compare_names);
	return true;
}

/*
 * Reads the directory once for histories, and for segments if they are wanted.
 */
static bool
read_directory(WalDirectory *dir, bool files)
{
	Reading		reading = {0};
	bool		done;

	reading.listing = files ? dir->listing : NULL;
	reading.folders_wanted = !dir->limits.live;
	if (!host_list(dir->path, list_file, &reading))
		return false;
	done = !files || complete_listing(dir, &reading);
	wal_timelines_read(&dir->timelines, dir->path, reading.histories,
					   reading.nhistories);
	host_free(reading.histories);
	host_free(reading.folders);
	return done;
}

const WalListing *
wal_directory_listing(const WalDirectory *dir)
{
	Reading		reading = {0};

	if (dir->listing->complete)
		return dir->listing;
	reading.listing = dir->listing;
	reading.folders_wanted = !dir->limits.live;
	if (!host_list(dir->path, list_file, &reading) ||
		!complete_listing(dir, &reading))
	{
		dir->listing->error = errno;
		dir->listing->files.count = 0;	/* they are in no order */
	}
	dir->listing->complete = true;
	host_free(reading.histories);
	host_free(reading.folders);
	return dir->listing;
}

static bool
is_same_listing(const WalNames *a, const WalNames *b)
{
	bool		same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = wal_name_compare(&a->names[i], &b->names[i]) == 0;
	return same;
}

bool
wal_directory_list_again(const WalDirectory *dir)
{
	WalListing	before = *dir->listing;
	bool		same;

	memset(dir->listing, 0, sizeof(*dir->listing));
	if (wal_directory_listing(dir)->error != 0)
	{
		host_free(dir->listing->files.names);
		*dir->listing = before;
		return false;
	}
	same = is_same_listing(&before.files, &dir->listing->files);
	host_free(before.files.names);
	return !same;
}

/* ---- finding ---- */

static bool
is_there(const WalDirectory *dir, const WalName *name)
{
	char	   *path = wal_directory_file(dir, name);
	struct stat status;
	bool		there = stat(path, &status) == 0;

	host_free(path);
	return there;
}

/* Finds the first file of the listing that is not before a name. */
static size_t
first_from(const WalNames *files, const WalName *name)
{
	size_t		low = 0;
	size_t		high = files->count;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (wal_name_compare(&files->names[middle], name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool
wal_directory_find(const WalDirectory *dir, WalName *name)
{
	bool		bare = name->suffix == 0 && !name->has_digest && !name->in_folder;
	WalName		other = *name;
	const WalNames *files;

	if (dir->limits.live || is_there(dir, name))
		return true;
	if (!bare)
	{
		other.in_folder = true;
		if (!is_there(dir, &other))
			return false;
		*name = other;
		return true;
	}
	files = &wal_directory_listing(dir)->files;
	for (size_t i = first_from(files, name); i < files->count; i++)
	{
		const WalName *file = &files->names[i];

		if (file->timeline != name->timeline || file->high != name->high ||
			file->low != name->low || file->kind != name->kind)
			break;
		*name = *file;
		return true;
	}
	return false;
}

/* ---- the segment size, where it is not this server's ---- */

/* Files at work one after the other. */
typedef struct Asking
{
	WalFile		file;
	uint8_t		buffer[WAL_PIECE_BYTES];
} Asking;

static Asking *
asking_begin(const WalDirectory *dir)
{
	Asking	   *asking = host_alloc(sizeof(Asking));

	wal_file_init(&asking->file, dir->limits.direct);
	return asking;
}

/*
 * Reads what the open file says of itself.  Returns whether its size agrees,
 * or else its name.
 */
static bool
is_identified(const WalDirectory *dir, WalFile *file, uint8_t *buffer,
			  const WalName *name, WalIdentity *id)
{
	WalSource	source = wal_source_file(file, buffer);
	size_t		len;
	const uint8_t *data = wal_source_piece(&source, 0, IDENTITY_BYTES, &len);
	bool		known = source.size != WAL_SIZE_UNKNOWN;

	if (len < WAL_PAGE_LONG)
		return false;
	wal_identify(id, data, len, known ? source.size : 0,
				 dir->limits.server.page_size, dir->limits.segment_size);
	return id->magic != 0 && id->has_long_header &&
		(known ? id->segment_size == source.size :
		 wal_name_start(name, id->segment_size) == id->address);
}

/*
 * Does the file's long header agree with its size or, where that is not known
 * before it is decompressed, with its name?  Then that is it.
 */
bool
wal_directory_ask(WalDirectory *dir, WalFile *file, uint8_t *buffer,
				  const WalName *name)
{
	WalIdentity id;
	bool		told = is_identified(dir, file, buffer, name, &id);

	if (told)
		dir->limits.segment_size = id.segment_size;
	return told;
}

static bool
ask_file(WalDirectory *dir, Asking *asking, const WalName *name)
{
	char	   *path = wal_directory_file(dir, name);
	bool		told = false;

	if (wal_file_open(&asking->file, path, wal_name_format(name)) == FILE_SCAN_OK)
	{
		told = wal_directory_ask(dir, &asking->file, asking->buffer, name);
		wal_file_close(&asking->file);
	}
	host_free(path);
	return told;
}

static void
find_segment_size(WalDirectory *dir, Asking *asking)
{
	const WalNames *files = &wal_directory_listing(dir)->files;

	for (size_t i = 0; i < files->count && i < ASKED_MAX; i++)
	{
		host_interrupts();
		if (ask_file(dir, asking, &files->names[i]))
			break;
	}
}

/* ---- opening ---- */

/* Is it a directory, and whose? */
static WalDirectoryResult
look_at(WalDirectory *dir, const char *own)
{
	char	   *archive_status = host_alloc(strlen(dir->path) + 32);
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
	host_free(archive_status);
	return WAL_DIRECTORY_OK;
}

/* Asks the one file that is wanted for its segment size, else the others. */
static bool
read_other(WalDirectory *dir, WalName *only)
{
	Asking	   *asking = asking_begin(dir);
	bool		asked = only != NULL && wal_directory_find(dir, only) &&
		ask_file(dir, asking, only);
	bool		done = read_directory(dir, !asked && !dir->listing->complete);

	if (done && !asked)
		find_segment_size(dir, asking);
	wal_file_end(&asking->file);
	if (done && dir->listing->error != 0)
	{
		errno = dir->listing->error;
		done = false;
	}
	return done;
}

static void
begin(WalDirectory *dir, const char *path)
{
	memset(dir, 0, sizeof(*dir));
	dir->path = path;
	dir->listing = host_alloc(sizeof(WalListing));
	memset(dir->listing, 0, sizeof(WalListing));
}

WalDirectoryResult
wal_directory_open(WalDirectory *dir, const char *path, const char *own,
				   bool direct, WalName *only)
{
	WalDirectoryResult result;

	begin(dir, path);
	dir->limits.direct = direct;
	dir->limits.server = host_server();
	dir->limits.segment_size = dir->limits.server.segment_size;
	result = look_at(dir, own);
	if (result != WAL_DIRECTORY_OK)
		return result;
	if (dir->limits.live)
	{
		dir->limits.removed = host_removed();
		/* before anything is read */
		dir->limits.nlimits = host_limits(dir->limits.limits);
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
	begin(dir, path);
	dir->limits = *limits;
	return read_directory(dir, !limits->live) ? WAL_DIRECTORY_OK :
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
