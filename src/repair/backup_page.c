/*
 * backup_page.c
 *	  The page of a block in a base backup, and which WAL the backup needs.
 *
 * The manifest proves itself by its own checksum, and the file by the one that
 * it lists.  The page is one of the bytes of which that checksum was computed.
 * So it is what pg_basebackup read, whatever became of the directory since.
 */
#include "compat.h"

#include "access/xlog_internal.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "backup/hash.h"
#include "backup/json.h"
#include "host/file_scan.h"
#include "repair/backup_page.h"

#define PIECE_BYTES		(32 * BLCKSZ)

typedef struct Reading
{
	BackupPage *result;
	const char *root;
	char		path[SCAN_PATH_SIZE];	/* of the file, within root */
	int64		offset;			/* of the page in it */
	BackupManifest manifest;
	const BackupEntry *entry;	/* of the file */
	char	   *words;
} Reading;

static bool refuse(Reading *reading, const char *format,...)
			pg_attribute_printf(2, 3);

static bool
refuse(Reading *reading, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(reading->words, SCAN_MESSAGE_SIZE, format, args);
	va_end(args);
	return false;
}

static bool
read_manifest(Reading *reading)
{
	BackupManifest *manifest = &reading->manifest;
	BackupPage *result = reading->result;
	int64		entry;

	backup_manifest_read(manifest, psprintf("%s/backup_manifest",
											reading->root), false);
	if (manifest->status != BACKUP_OK)
		return refuse(reading, "backup_manifest: %s", manifest->message);
	if (manifest->nranges != 1)
		return refuse(reading, "the backup needs WAL of %d timelines",
					  manifest->nranges);
	result->timeline = manifest->ranges[0].timeline;
	result->start = manifest->ranges[0].start;
	result->end = manifest->ranges[0].end;
	entry = backup_list_find(&manifest->list, reading->path);
	if (entry < 0)
		return refuse(reading, "the manifest lists no file \"%s\": the relation is newer, or the backup is incremental",
					  reading->path);
	reading->entry = &manifest->list.entries[entry];
	if (reading->entry->algorithm == MANIFEST_NONE)
		return refuse(reading, "the manifest has no checksums");
	if (reading->offset + BLCKSZ > reading->entry->size)
		return refuse(reading, "file \"%s\" of the backup ends before the block",
					  reading->path);
	return true;
}

/* Copies the part of a piece that belongs to the page. */
static void
keep_page(const Reading *reading, const char *piece, int64 at, size_t bytes)
{
	if (at <= reading->offset && reading->offset + BLCKSZ <= at + (int64) bytes)
		memcpy(reading->result->page.data, piece + (reading->offset - at),
			   BLCKSZ);
}

static bool
read_pieces(Reading *reading, FileScan *scan, BackupHash *hash)
{
	char	   *piece = palloc(PIECE_BYTES);
	int64		at = 0;

	while (at < scan->size)
	{
		size_t		wanted = (size_t) Min(scan->size - at, PIECE_BYTES);

		CHECK_FOR_INTERRUPTS();
		if (file_scan_read(scan, piece, wanted, at) != (ssize_t) wanted)
			break;
		backup_hash_update(hash, piece, wanted);
		keep_page(reading, piece, at, wanted);
		at += wanted;
	}
	return at == scan->size;
}

static bool
read_file(Reading *reading)
{
	const BackupEntry *entry = reading->entry;
	uint8		digest[MANIFEST_DIGEST_MAX];
	BackupHash	hash;
	FileScan	scan;
	bool		whole;

	if (file_scan_open(&scan, psprintf("%s/%s", reading->root,
									   reading->path)) != FILE_SCAN_OK)
		return refuse(reading, "could not open file \"%s\" of the backup (archives must be extracted first)",
					  reading->path);
	backup_hash_begin(&hash, entry->algorithm);
	whole = scan.size == entry->size && read_pieces(reading, &scan, &hash);
	file_scan_close(&scan);
	if (backup_hash_end(&hash, digest) && whole &&
		memcmp(digest, entry->digest, manifest_digest_length(entry->algorithm)) == 0)
		return true;
	return refuse(reading, "file \"%s\" of the backup is not the one that its manifest lists",
				  reading->path);
}

bool
backup_page_read(BackupPage *result, const char *root, const Fork *fork,
				 BlockNumber blkno, char words[SCAN_MESSAGE_SIZE])
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "crc32c_accel backup page",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(work);
	Reading    *reading = palloc0(sizeof(Reading));
	bool		done;

	reading->result = result;
	reading->root = root;
	reading->offset = (int64) (blkno % RELSEG_SIZE) * BLCKSZ;
	reading->words = words;
	fork_segment_path(fork, blkno / RELSEG_SIZE, reading->path);
	snprintf(result->wal, sizeof(result->wal), "%s/" XLOGDIR, root);
	done = read_manifest(reading) && read_file(reading);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(work);
	return done;
}
