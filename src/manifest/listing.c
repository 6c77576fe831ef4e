/*
 * listing.c
 *	  What the file system says of all files of a backup, without reading them.
 *
 * A folder is listed in no order, so the digests of its files are added up.
 * Each is two CRCs of different polynomials.  They guard against chance, and
 * files that were exchanged on purpose can have any times.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/file_scan.h"
#include "host/file_time.h"
#include "host/host.h"
#include "host/print.h"
#include "kernel/checksum.h"
#include "manifest/barman.h"
#include "manifest/listing.h"
#include "manifest/pgbackrest.h"
#include "manifest/walk.h"

#define MANIFEST_FILE	"backup_manifest"
#define MANIFEST_LINE	"\"Manifest-Checksum\": \""

typedef struct Listing
{
	const char *root;
	const char *below;			/* the folder that is walked, "" for root */
	BackupListing *result;
} Listing;

uint64_t
backup_listing_mix(uint64_t digest, const void *data, uint64_t len)
{
	uint32_t	low = checksum_crc32c((uint32_t) digest, data, len);
	uint32_t	high = checksum_crc32((uint32_t) (digest >> 32), data, len);

	return (uint64_t) high << 32 | low;
}

/* A line of the listing, wherever it comes. */
static void
add_line(BackupListing *listing, const char *line)
{
	listing->digest += backup_listing_mix(UINT64_MAX, line, strlen(line));
}

static void
note_times(BackupListing *listing, const struct stat *status)
{
	int64_t		written = file_time_microseconds(&status->st_mtim);
	int64_t		changed = file_time_microseconds(&status->st_ctim);

	if (written > listing->written_at)
		listing->written_at = written;
	if (changed > listing->changed_at)
		listing->changed_at = changed;
	listing->settled &= file_time_is_settled(&status->st_mtim);
}

/* Is it a file that its program writes when the backup is complete? */
static bool
is_manifest(const char *path)
{
	return strcmp(path, MANIFEST_FILE) == 0 ||
		strcmp(path, PGBACKREST_MANIFEST) == 0 ||
		strcmp(path, BARMAN_INFO) == 0 ||
		strncmp(path, BARMAN_META "/", strlen(BARMAN_META "/")) == 0;
}

static void
add_file(Listing *listing, const char *path)
{
	BackupListing *result = listing->result;
	char	   *full = host_print("%s/%s", listing->root, path);
	struct stat status;
	bool		there = stat(full, &status) == 0;
	char	   *line;

	line = !there ? host_print("%s -", path) :
		host_print("%s %" PRIu64 " %" PRId64 ".%09ld", path,
				   (uint64_t) status.st_size, (int64_t) status.st_mtim.tv_sec,
				   (long) status.st_mtim.tv_nsec);
	add_line(result, line);
	result->files++;
	if (there)
	{
		result->bytes += (uint64_t) status.st_size;
		note_times(result, &status);
	}
	if (there && is_manifest(path))
	{
		result->has_manifest = true;
		result->manifest_at = file_time_microseconds(&status.st_mtim);
	}
	host_free(line);
	host_free(full);
}

static void
on_walk(void *arg, const char *path, BackupWalkKind kind)
{
	Listing    *listing = arg;
	char	   *whole = host_print("%s%s", listing->below, path);

	if (kind == BACKUP_WALK_FILE)
		add_file(listing, whole);
	else
	{
		char	   *line = host_print("%s /%d", whole, (int) kind);

		add_line(listing->result, line);
		host_free(line);
	}
	host_free(whole);
}

/* In tar format, what lies beside the archives belongs to others. */
static void
on_name(void *arg, const char *name)
{
	Listing    *listing = arg;
	char	   *full = host_print("%s/%s", listing->root, name);
	struct stat status;

	if (stat(full, &status) == 0 && S_ISREG(status.st_mode))
		add_file(listing, name);
	host_free(full);
}

/* The walk passes over these two, which a plain backup has besides. */
static void
walk_rest(Listing *listing)
{
	char	   *wal = host_print("%s/pg_wal", listing->root);
	char	   *manifest = host_print("%s/%s", listing->root, MANIFEST_FILE);
	struct stat status;

	listing->below = "pg_wal/";
	if (stat(wal, &status) == 0)
		backup_walk(wal, on_walk, listing);
	if (stat(manifest, &status) == 0)
		add_file(listing, MANIFEST_FILE);
	host_free(wal);
	host_free(manifest);
}

/* The checksum in the last line, as it stands there. */
static void
read_manifest_line(Listing *listing)
{
	char	   *path = host_print("%s/%s", listing->root, MANIFEST_FILE);
	char		end[256];
	const char *digits;
	FileScan	scan;
	ssize_t		got = 0;

	if (file_scan_open(&scan, path) == FILE_SCAN_OK)
	{
		off_t		from = scan.size - (off_t) (sizeof(end) - 1);

		got = file_scan_read(&scan, end, sizeof(end) - 1, from < 0 ? 0 : from);
		file_scan_close(&scan);
	}
	host_free(path);
	end[got < 0 ? 0 : got] = '\0';
	digits = strstr(end, MANIFEST_LINE);
	if (digits != NULL)
		snprintf(listing->result->manifest, BACKUP_MANIFEST_DIGITS, "%.*s",
				 (int) strspn(digits + strlen(MANIFEST_LINE), "0123456789abcdefABCDEF"),
				 digits + strlen(MANIFEST_LINE));
	add_line(listing->result, listing->result->manifest);
}

/*
 * Files of a backup may lie in those before it, whose names its manifest has.
 * What changes there changes this one.
 */
static void
walk_references(Listing *listing, const PgBackRest *backup)
{
	const char *root = listing->root;

	for (size_t i = 0; i < backup->nreferences; i++)
	{
		char	   *name = host_print("../%s/", backup->references[i]);
		char	   *folder = host_print("%s/%s", root, name);
		struct stat status;

		listing->below = name;
		if (stat(folder, &status) == 0)
			backup_walk(folder, on_walk, listing);
		else
			add_line(listing->result, name);
		host_free(folder);
		host_free(name);
	}
}

static void
read_stored(Listing *listing)
{
	PgBackRest	backup;

	if (!pgbackrest_is(listing->root))
		return;
	pgbackrest_references(listing->root, &backup);
	walk_references(listing, &backup);
	snprintf(listing->result->manifest, BACKUP_MANIFEST_DIGITS, "%s", backup.own);
	/* what its files hold is read, however they are compressed */
	listing->result->bytes = backup.bytes;
}

/* What barman says of a backup may lie in a folder of its server. */
static void
add_info(Listing *listing)
{
	char	   *info = barman_is(listing->root) ? barman_info(listing->root) : NULL;

	if (info != NULL && strcmp(info, BARMAN_INFO) != 0)
		add_file(listing, info);
	host_free(info);
}

void
backup_listing_read(const char *root, bool tar, BackupListing *listing)
{
	Listing		state = {root, "", listing};
	struct stat status;

	memset(listing, 0, sizeof(*listing));
	listing->settled = true;
	if (stat(root, &status) == 0)
		listing->changed_at = file_time_microseconds(&status.st_ctim);
	if (!tar)
	{
		backup_walk(root, on_walk, &state);
		walk_rest(&state);
		read_stored(&state);
		add_info(&state);
	}
	else if (!host_list(root, on_name, &state))
		add_line(listing, "/");
	if (listing->has_manifest)
		read_manifest_line(&state);
}
