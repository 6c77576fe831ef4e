/*
 * json.c
 *	  Reads a backup's manifest.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/json.h"
#include "manifest/parse.h"

#define MANIFEST_BYTES_MAX	(INT64_C(512) * 1024 * 1024)
#define PIECE_BYTES			((size_t) 1024 * 1024)

/* What the callbacks of the reader know. */
typedef struct ManifestScan
{
	ManifestReader reader;
	BackupManifest *manifest;
} ManifestScan;

void
backup_manifest_fail(BackupManifest *manifest, BackupStatus status,
					 char *message)
{
	if (manifest->status != BACKUP_OK)
		return;
	manifest->status = status;
	manifest->message = message;
}

/* ---- its bytes ---- */

static char *
read_bytes(BackupManifest *manifest, FileScan *scan)
{
	char	   *bytes;
	ssize_t		got;

	if (scan->size > MANIFEST_BYTES_MAX)
	{
		backup_manifest_fail(manifest, BACKUP_UNSUPPORTED_VERSION,
							 host_print("manifest has %" PRId64 " bytes, at most %" PRId64 " are read",
										(int64_t) scan->size, MANIFEST_BYTES_MAX));
		return NULL;
	}
	bytes = host_alloc((size_t) scan->size + 1);
	got = file_scan_read(scan, bytes, (size_t) scan->size, 0);
	bytes[scan->size] = '\0';
	if (got == scan->size)
		return bytes;
	backup_manifest_fail(manifest, BACKUP_IO_ERROR,
						 got < 0 ? host_print("could not read file: %s", strerror(errno)) :
						 host_print("file was truncated while it was read"));
	host_free(bytes);
	return NULL;
}

char *
backup_manifest_bytes(BackupManifest *manifest, const char *path,
					  bool direct, size_t *size)
{
	FileScan	scan;
	FileWindow *window = direct ? file_window_new(NULL) : NULL;
	FileScanResult opened = file_scan_open_direct(&scan, path, window);
	char	   *bytes;

	if (opened == FILE_SCAN_MISSING)
		backup_manifest_fail(manifest, BACKUP_NO_MANIFEST, host_print("there is no manifest"));
	else if (opened == FILE_SCAN_IRREGULAR)
		backup_manifest_fail(manifest, BACKUP_IO_ERROR, host_print("not a regular file"));
	else if (opened != FILE_SCAN_OK)
		backup_manifest_fail(manifest, BACKUP_IO_ERROR, host_print("could not open file: %s", strerror(errno)));
	if (opened != FILE_SCAN_OK)
	{
		file_window_free(window);
		return NULL;
	}
	*size = (size_t) scan.size;
	bytes = read_bytes(manifest, &scan);
	file_scan_close(&scan);
	file_window_free(window);
	return bytes;
}

/* ---- its own checksum ---- */

/* The SHA-256 of so many bytes. */
static bool
sha256(const char *bytes, size_t size, uint8_t digest[MANIFEST_OWN_DIGEST])
{
	HostSha    *sha = host_sha_begin(HOST_SHA256);

	for (size_t at = 0; at < size; at += PIECE_BYTES)
	{
		host_interrupts();
		host_sha_add(sha, bytes + at,
					 size - at < PIECE_BYTES ? size - at : PIECE_BYTES);
	}
	return host_sha_end(sha, digest);
}

/* It covers all lines but the last one, in which it stands. */
static void
check_own(BackupManifest *manifest, const ManifestReader *reader,
		  const char *bytes, size_t size)
{
	uint8_t		digest[MANIFEST_OWN_DIGEST];
	size_t		covered = size;

	if (size == 0 || bytes[size - 1] != '\n')
	{
		backup_manifest_fail(manifest, BACKUP_BAD_FORMAT,
							 host_print("last line of the manifest does not end with a newline"));
		return;
	}
	do
		covered--;
	while (covered > 0 && bytes[covered - 1] != '\n');
	if (covered == 0)
		backup_manifest_fail(manifest, BACKUP_BAD_FORMAT,
							 host_print("expected at least 2 lines in the manifest"));
	else if (!sha256(bytes, covered, digest))
		backup_manifest_fail(manifest, BACKUP_NOT_VERIFIABLE,
							 host_print("could not compute the manifest's checksum"));
	else if (memcmp(digest, reader->own, sizeof(digest)) != 0)
		backup_manifest_fail(manifest, BACKUP_CHECKSUM_MISMATCH,
							 host_print("manifest checksum mismatch"));
}

/* ---- what it says ---- */

/* No more of it is read. */
static void
refuse(ManifestScan *scan, const char *why)
{
	scan->reader.unsupported = true;
	scan->reader.error = why;
}

static void
add_file(void *arg, const ManifestFile *file)
{
	ManifestScan *scan = arg;
	BackupList *list = &scan->manifest->list;

	host_interrupts();
	if (list->count == BACKUP_FILES_MAX)
		refuse(scan, "manifest has too many files");
	else
		backup_list_add(list, file->path, (int64_t) file->size,
						file->algorithm, file->digest);
}

static void
add_range(void *arg, const ManifestRange *range)
{
	ManifestScan *scan = arg;
	BackupManifest *manifest = scan->manifest;

	if (manifest->nranges == BACKUP_RANGES_MAX)
		refuse(scan, "manifest has too many WAL ranges");
	else
		manifest->ranges[manifest->nranges++] = *range;
}

static void
parse(BackupManifest *manifest, ManifestReader *reader, const char *bytes,
	  size_t size)
{
	size_t		at;
	ManifestParsed parsed = manifest_parse(reader, bytes, size, &at);

	if (parsed == MANIFEST_EXCESSIVE)
		backup_manifest_fail(manifest, BACKUP_BAD_FORMAT,
							 host_print("string too long for a manifest, at byte %zu", at));
	else if (parsed == MANIFEST_INVALID)
		backup_manifest_fail(manifest, BACKUP_BAD_FORMAT,
							 host_print("could not parse manifest: invalid JSON at byte %zu", at));
	else if (!manifest_finish(reader))
		backup_manifest_fail(manifest, reader->unsupported ? BACKUP_UNSUPPORTED_VERSION :
							 BACKUP_BAD_FORMAT, host_print("%s", reader->error));
}

static void
read_contents(BackupManifest *manifest, char *bytes, size_t size)
{
	ManifestScan scan;
	const char *twice;

	scan.manifest = manifest;
	manifest_begin(&scan.reader);
	scan.reader.file = add_file;
	scan.reader.range = add_range;
	scan.reader.arg = &scan;
	parse(manifest, &scan.reader, bytes, size);
	if (manifest->status != BACKUP_OK)
		return;
	check_own(manifest, &scan.reader, bytes, size);
	manifest->has_system = scan.reader.has_system;
	manifest->system = scan.reader.system;
	manifest->newest = scan.reader.newest;
	twice = backup_list_end(&manifest->list);
	if (twice != NULL)
		backup_manifest_fail(manifest, BACKUP_BAD_FORMAT,
							 host_print("duplicate path name in backup manifest"));
}

void
backup_manifest_drop(BackupManifest *manifest)
{
	backup_list_free(&manifest->list);
	manifest->nranges = 0;
	manifest->has_system = false;
	manifest->newest = 0;
}

void
backup_manifest_read(BackupManifest *manifest, const char *path, bool direct)
{
	size_t		size = 0;
	char	   *bytes;

	memset(manifest, 0, sizeof(*manifest));
	bytes = backup_manifest_bytes(manifest, path, direct, &size);
	if (bytes != NULL)
	{
		read_contents(manifest, bytes, size);
		host_free(bytes);
	}
	if (manifest->status != BACKUP_OK)
		backup_manifest_drop(manifest);
}
