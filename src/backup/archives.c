/*
 * archives.c
 *	  The archives of a backup in tar format, each read once.
 *
 * An archive is a stream, which says what it holds as it goes.  Last comes
 * pg_control, which says how pages are to be judged.  Whether pages carry
 * checksums is seen at the first one that does or does not, of a whole file.
 * Until then they are judged as if they did.  Should pg_control disagree, pages
 * are judged again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backup/archives.h"
#include "backup/mapped.h"
#include "decode/decode.h"
#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/tar.h"
#include "wal/file.h"

/* More archives are no backup's. */
#define ARCHIVES_MAX	65536

typedef struct Found
{
	BackupArchive archive;
	char		name[32];
} Found;

/* What one archive after the other is read with. */
typedef struct Reading
{
	BackupTar  *tar;
	TarReader	reader;
	Decoder    *decoder;
	char	   *buffer;			/* BACKUP_PIECE_BYTES, aligned */
	FileWindow *window;			/* for reads past the page cache, else NULL */

	/* the present one */
	const Found *file;
	FileScan	scan;
	DecodeFormat format;
	uint64_t	offset;			/* of a plain one, where it is read next */
	int			error;			/* of a plain one, errno of a failed read */
} Reading;

/* ---- the directory ---- */

typedef struct Listing
{
	Found	   *files;
	size_t		count;
	size_t		room;
	BackupSink *sink;			/* NULL if others do not matter */
} Listing;

static void
list_name(void *arg, const char *name)
{
	Listing    *listing = arg;
	BackupArchive archive;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	if (!backup_archive_read(name, &archive) || listing->count == ARCHIVES_MAX)
	{
		if (listing->sink != NULL && !backup_path_ignored(name))
			backup_sink_file(listing->sink, name, BACKUP_EXTRA,
							 "not an archive of a backup in tar format");
		return;
	}
	HOST_MAKE_ROOM(listing->files, listing->count, listing->room);
	listing->files[listing->count].archive = archive;
	snprintf(listing->files[listing->count++].name, sizeof(listing->files[0].name),
			 "%s", name);
}

bool
backup_tar_is(const char *root)
{
	Listing		listing = {0};
	char	   *version = host_print("%s/PG_VERSION", root);
	struct stat status;
	bool		plain = lstat(version, &status) == 0;

	host_free(version);
	if (plain || !host_list(root, list_name, &listing))
		return false;
	host_free(listing.files);
	return listing.count > 0;
}

/* Sorts them as they are read, which is base.tar, tablespaces, WAL. */
static int
compare_files(const void *a, const void *b)
{
	const Found *x = a;
	const Found *y = b;

	if (x->archive.kind != y->archive.kind)
		return x->archive.kind < y->archive.kind ? -1 : 1;
	if (x->archive.tablespace != y->archive.tablespace)
		return x->archive.tablespace < y->archive.tablespace ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool
is_same(const Found *a, const Found *b)
{
	return a->archive.kind == b->archive.kind &&
		a->archive.tablespace == b->archive.tablespace;
}

/* ---- bytes ---- */

static ssize_t
read_stored(void *arg, void *buffer, size_t len, uint64_t offset)
{
	Reading    *reading = arg;
	ssize_t		got;

	if (reading->scan.window == NULL)
		len = host_turn(reading->tar->throttle, len);
	got = file_scan_read(&reading->scan, buffer, len, (off_t) offset);
	if (got > 0)
		backup_progress(reading->tar->progress, got);
	return got;
}

static size_t
read_plain(Reading *reading, uint8_t *buffer, size_t len)
{
	size_t		done = 0;

	while (done < len && reading->error == 0)
	{
		ssize_t		got = read_stored(reading, buffer + done, len - done,
									  reading->offset);

		if (got < 0)
			reading->error = errno;
		if (got <= 0)
			break;
		reading->offset += (uint64_t) got;
		done += (size_t) got;
	}
	return done;
}

static size_t
read_archive(void *arg, uint8_t *buffer, size_t len)
{
	Reading    *reading = arg;

	host_interrupts();
	return reading->format == DECODE_PLAIN ?
		read_plain(reading, buffer, len) :
		decode_read(reading->decoder, buffer, len);
}

/* ---- what is wrong with an archive ---- */

static void
report_archive(const Reading *reading, BackupStatus status, const char *words)
{
	if (!reading->tar->pages_only)
		backup_sink_file(reading->tar->sink, reading->file->name, status, "%s",
						 words);
}

/* Could the file not be read, or not be decompressed? */
static bool
report_failure(const Reading *reading)
{
	DecodeFailure failure = {DECODE_READ, reading->offset,
	(uint64_t) reading->error};
	char		words[WAL_MESSAGE_SIZE];
	WalVerdict	verdict;

	if (reading->format != DECODE_PLAIN)
		failure = decode_failure(reading->decoder);
	else if (reading->error == 0)
		return false;
	if (failure.reason == DECODE_FINE)
		return false;
	verdict = wal_file_failure(reading->format, &failure);
	if (verdict.reason == WAL_REASON_FILE_COMPRESSED)
		snprintf(words, sizeof(words), "archive is in format %s, which is not read here",
				 decode_format_name(reading->format));
	else
		wal_verdict_words(&verdict, words);
	report_archive(reading, failure.reason == DECODE_READ ? BACKUP_IO_ERROR :
				   failure.reason >= DECODE_WINDOW ? BACKUP_NOT_VERIFIABLE :
				   BACKUP_BAD_FORMAT, words);
	return true;
}

static void
report_damage(const Reading *reading, const TarDamage *damage)
{
	static const char *const reasons[] = {
		[TAR_NO_HEADER] = "no valid header at offset %llu%s; %llu bytes are passed over",
		[TAR_BAD_EXTENSION] = "invalid extended header at offset %llu%s",
		[TAR_TRUNCATED] = "archive ends within a member, at offset %llu%s",
		[TAR_NO_END] = "archive ends without two blocks of zeros, at offset %llu%s",
		[TAR_TRAILING] = "unexpected data after the end of the archive, at offset %llu%s",
	};
	char		words[256];

	/* what ends because it could not be read says so itself */
	if ((damage->reason == TAR_TRUNCATED || damage->reason == TAR_NO_END) &&
		report_failure(reading))
		return;
	snprintf(words, sizeof(words), reasons[damage->reason],
			 (unsigned long long) damage->offset,
			 reading->format == DECODE_PLAIN ? "" : " of the decompressed archive",
			 (unsigned long long) damage->skipped);
	report_archive(reading, BACKUP_BAD_FORMAT, words);
}

/* ---- members ---- */

static void
report_member(const Reading *reading, const char *path, BackupStatus status,
			  const char *words)
{
	if (!reading->tar->pages_only)
		backup_sink_file(reading->tar->sink, path, status, "%s in \"%s\"",
						 words, reading->file->name);
}

/* Does the first page that is not new carry a checksum? */
static void
look_for_checksums(Reading *reading, const char *piece, size_t bytes)
{
	BackupTar  *tar = reading->tar;

	for (size_t at = 0; at + PAGE_BYTES <= bytes && !tar->knows_checksums; at += PAGE_BYTES)
		if (!page_is_zero(piece + at))
		{
			tar->judge.rules.checksums =
				((const PageHead *) (piece + at))->pd_checksum != 0;
			tar->knows_checksums = true;
		}
}

/* One member on its way. */
typedef struct Passing
{
	BackupJudge *judge;			/* NULL if it is not judged */
	bool		keep;			/* in the spool */
} Passing;

/*
 * Passes all bytes of a member.  Returns false if the archive ends before
 * that.
 */
static bool
pass_member(Reading *reading, const Passing *passing, uint64_t size)
{
	BackupTar  *tar = reading->tar;

	for (uint64_t at = 0; at < size;)
	{
		size_t		wanted = size - at < BACKUP_PIECE_BYTES ?
			(size_t) (size - at) : BACKUP_PIECE_BYTES;
		size_t		got = tar_read(&reading->reader,
								   (uint8_t *) reading->buffer, wanted);

		if (passing->keep)
			backup_spool_write(tar->spool, reading->buffer, got);
		at += got;
		if (got < wanted)
		{
			if (passing->judge != NULL)
				backup_judge_failure(passing->judge, 0, (int64_t) at);
			return false;
		}
		if (passing->judge == NULL)
			continue;
		if (passing->judge->has_pages && !tar->knows_checksums)
		{
			if (passing->judge->part)
				tar->guessed = true;
			else
				look_for_checksums(reading, reading->buffer, got);
		}
		backup_judge_piece(passing->judge, reading->buffer, got);
	}
	return true;
}

/* Begins what of a member is kept. */
static bool
begin_keeping(Reading *reading, const char *path)
{
	BackupTar  *tar = reading->tar;

	bool		wal = strncmp(path, "pg_wal/", 7) == 0;

	if (tar->pages_only || !backup_path_kept(path) ||
		(wal ? !tar->keep_wal : tar->watch != NULL))
		return false;
	if (backup_spool_create(tar->spool, path))
		return true;
	report_member(reading, path, BACKUP_EXTRA, errno == EEXIST ?
				  "another file of this name" : "name that contradicts others");
	return false;
}

static bool
is_judged(const BackupTar *tar, uint32_t entry)
{
	BackupRelationFile file;

	const char *path = backup_list_path(tar->list, entry);

	return !tar->list->entries[entry].ignored &&
		(!tar->pages_only || backup_relation_file(path, &file) ||
		 backup_incremental_file(path, &file));
}

/* Which blocks does an incremental file have, unless its header is wrong? */
static void
keep_part(BackupTar *tar, const BackupJudge *judge)
{
	if (tar->parts != NULL && judge->has_pages && judge->part &&
		judge->blocks.ready)
		tar->list->entries[judge->entry].part =
			backup_parts_put(tar->parts, &judge->blocks);
}

/* A file that the list has. */
static void
pass_listed(Reading *reading, const char *path, uint32_t entry, uint64_t size)
{
	BackupTar  *tar = reading->tar;
	BackupJudge judge = {&tar->judge, tar->list, tar->finding, tar->arg, entry};
	Passing		passing = {NULL, begin_keeping(reading, path)};
	bool		whole;

	judge.watch = tar->watch;
	tar->list->entries[entry].found = (int64_t) size;
	tar->list->entries[entry].part = -1;
	if (is_judged(tar, entry))
	{
		judge.totals.files = 1;
		if (backup_judge_begin(&judge, (int64_t) size))
			passing.judge = &judge;
	}
	whole = pass_member(reading, &passing, size);
	if (whole && passing.judge != NULL)
		keep_part(tar, &judge);
	if (passing.judge != NULL)
		backup_judge_end(&judge, whole);
	if (passing.keep)
		backup_spool_close(tar->spool);
	backup_totals_add(&tar->totals, &judge.totals);
}

/* Passes any other member.  WAL is not listed in a manifest. */
static void
pass_unlisted(Reading *reading, const char *path, uint64_t size)
{
	Passing		passing = {NULL, begin_keeping(reading, path)};

	if (!backup_path_ignored(path))
		report_member(reading, path, BACKUP_EXTRA,
					  "present but not in the manifest,");
	if (!passing.keep)
		return;
	(void) pass_member(reading, &passing, size);
	backup_spool_close(reading->tar->spool);
}

/* One that no list knows, if there is none. */
static void
pass_new(Reading *reading, const char *path, uint64_t size)
{
	BackupTar  *tar = reading->tar;

	if (tar->list->count < BACKUP_FILES_MAX)
	{
		backup_list_add(tar->list, path, -1, MANIFEST_NONE, NULL);
		pass_listed(reading, path, tar->list->count - 1, size);
		return;
	}
	if (!tar->too_many)
		report_archive(reading, BACKUP_NOT_VERIFIABLE,
					   "archive has too many files; the rest is passed over");
	tar->too_many = true;
}

static void
pass_file(Reading *reading, const char *path, uint64_t size)
{
	BackupTar  *tar = reading->tar;
	int64_t		entry;

	if (!tar->listed && !tar->pages_only && !backup_path_ignored(path))
	{
		pass_new(reading, path, size);
		return;
	}
	entry = tar->listed || tar->pages_only ?
		backup_list_find(tar->list, path) : -1;
	if (entry < 0)
		pass_unlisted(reading, path, size);
	else if (tar->list->entries[entry].found >= 0)
		report_member(reading, path, BACKUP_EXTRA, "another file of this name");
	else
		pass_listed(reading, path, (uint32_t) entry, size);
}

/* Passes what is not a file, such as folders and links. */
static void
pass_other(Reading *reading, const TarMember *member, const char *path)
{
	BackupTar  *tar = reading->tar;

	if (member->kind == TAR_DIRECTORY)
	{
		if (!tar->pages_only && backup_folder_kept(path) &&
			!backup_spool_folder(tar->spool, path))
			report_member(reading, path, BACKUP_EXTRA,
						  "directory with a name that contradicts others");
	}
	else if (member->kind != TAR_LINK || strncmp(path, "pg_tblspc/", 10) != 0)
		report_member(reading, path, BACKUP_EXTRA,
					  "neither a file nor a directory");
}

/*
 * A needed folder is there by its own member, or by one below it.  A member of
 * a tablespace does not show pg_tblspc, since it is extracted elsewhere.
 */
static void
note_needed(Reading *reading, const char *path, bool directory)
{
	const char *folder;

	if (reading->file->archive.kind != BACKUP_ARCHIVE_BASE)
		return;
	for (size_t n = 0; (folder = backup_folder_needed(n)) != NULL; n++)
		if (backup_folder_has(folder, path) &&
			(directory || strcmp(folder, path) != 0))
			reading->tar->folders |= UINT32_C(1) << n;
}

static void
on_member(Reading *reading, const TarMember *member)
{
	char		path[BACKUP_PATH_MAX];

	if (member->kind == TAR_DIRECTORY && member->name[0] == '\0')
		return;
	if (!backup_archive_path(&reading->file->archive, member->name, path))
	{
		report_member(reading, path, BACKUP_BAD_FORMAT,
					  "name that no file of a backup can have,");
		return;
	}
	note_needed(reading, path, member->kind == TAR_DIRECTORY);
	if (member->kind == TAR_FILE)
		pass_file(reading, path, member->size);
	else
		pass_other(reading, member, path);
}

/* ---- archives ---- */

/* What it is by its first bytes, else by its name. */
static DecodeFormat
find_format(const Reading *reading)
{
	uint8_t		start[TAR_BLOCK];
	FileScan	scan = reading->scan;
	ssize_t		len = file_scan_read(&scan, start, sizeof(start), 0);
	DecodeFormat format = len > 0 ?
		decode_format_of(start, len < DECODE_MAGIC_MAX ? (size_t) len : DECODE_MAGIC_MAX) :
		DECODE_PLAIN;

	if (format != DECODE_PLAIN ||
		(len == TAR_BLOCK && memcmp(start + 257, "ustar", 5) == 0))
		return format;
	return reading->file->archive.format;
}

static void
read_members(Reading *reading)
{
	TarMember  *member = host_alloc(sizeof(TarMember));
	TarDamage	damage = {TAR_FINE};
	TarResult	result;

	reading->offset = 0;
	reading->error = 0;
	reading->format = find_format(reading);
	if (reading->format != DECODE_PLAIN)
		decode_begin(reading->decoder, reading->format, read_stored, reading);
	tar_begin(&reading->reader, read_archive, reading);
	while ((result = tar_next(&reading->reader, member, &damage)) != TAR_END)
		if (result == TAR_MEMBER)
			on_member(reading, member);
		else
			report_damage(reading, &damage);
	/* a decoder may fail at its own trailer, after the archive's end */
	if (damage.reason != TAR_TRUNCATED && damage.reason != TAR_NO_END)
		(void) report_failure(reading);
	host_free(member);
}

static void
make_tablespace(const Reading *reading)
{
	char		folder[32];

	snprintf(folder, sizeof(folder), "pg_tblspc/%u",
			 reading->file->archive.tablespace);
	(void) backup_spool_folder(reading->tar->spool, folder);
}

static void
report_unopened(const Reading *reading, FileScanResult opened)
{
	char		words[256];

	if (opened == FILE_SCAN_IRREGULAR)
		snprintf(words, sizeof(words), "not a regular file");
	else
		snprintf(words, sizeof(words), "could not open file: %s", strerror(errno));
	report_archive(reading, BACKUP_IO_ERROR, words);
}

static void
open_archive(Reading *reading)
{
	BackupTar  *tar = reading->tar;
	char	   *path = host_print("%s/%s", tar->root, reading->file->name);
	FileScanResult opened = file_scan_open_direct(&reading->scan, path,
												  reading->window);

	if (opened == FILE_SCAN_OK)
	{
		if (!tar->pages_only &&
			reading->file->archive.kind == BACKUP_ARCHIVE_TABLESPACE)
			make_tablespace(reading);
		read_members(reading);
		tar->unread |= reading->format != DECODE_PLAIN &&
			decode_failure(reading->decoder).reason == DECODE_UNSUPPORTED;
		file_scan_close(&reading->scan);
	}
	else
	{
		tar->unread = true;
		report_unopened(reading, opened);
	}
	host_free(path);
}

static void
free_decoder(void *arg)
{
	Reading    *reading = arg;

	decode_free(reading->decoder);
	reading->decoder = NULL;
}

static Reading *
begin_reading(BackupTar *tar)
{
	Reading    *reading = host_alloc(sizeof(Reading));

	memset(reading, 0, sizeof(*reading));
	reading->tar = tar;
	reading->buffer = host_alloc(BACKUP_PIECE_BYTES);
	if (tar->direct)
		reading->window = file_window_new(tar->throttle);
	host_at_end(free_decoder, reading);
	reading->decoder = decode_new();
	if (reading->decoder == NULL)
		host_no_memory();
	return reading;
}

/* Is it none of the archives that matter? */
static bool
is_passed_over(const BackupTar *tar, const BackupArchive *archive)
{
	return tar->tablespace != 0 &&
		archive->kind == BACKUP_ARCHIVE_TABLESPACE &&
		archive->tablespace != tar->tablespace;
}

void
backup_tar_read(BackupTar *tar)
{
	Listing		listing = {0};
	Reading    *reading = begin_reading(tar);
	const Found *before = NULL;

	memset(&tar->totals, 0, sizeof(tar->totals));
	for (uint32_t i = 0; i < tar->list->count; i++)
		tar->list->entries[i].found = -1;
	listing.sink = tar->pages_only ? NULL : tar->sink;
	if (!host_list(tar->root, list_name, &listing))
		backup_sink_file(tar->sink, ".", BACKUP_IO_ERROR,
						 "could not open directory: %s", strerror(errno));
	if (listing.count > 1)
		qsort(listing.files, listing.count, sizeof(Found), compare_files);
	if (!tar->pages_only &&
		(listing.count == 0 || listing.files[0].archive.kind != BACKUP_ARCHIVE_BASE))
		backup_sink_file(tar->sink, "base.tar", BACKUP_MISSING,
						 "the archive of the data directory is not there");
	for (size_t i = 0; i < listing.count; i++)
	{
		reading->file = &listing.files[i];
		if (before != NULL && is_same(before, reading->file))
			report_archive(reading, BACKUP_EXTRA,
						   "another archive of the same directory");
		else if (!is_passed_over(tar, &reading->file->archive))
			open_archive(reading);
		before = reading->file;
	}
	free_decoder(reading);
	file_window_free(reading->window);
	host_free(reading->buffer);
	host_free(listing.files);
}

/* ---- after them ---- */

/*
 * Of two files of a name, one alone is found when pages are read again.  Without
 * a manifest, the archives are what lists a name twice.
 */
static bool
has_found_twin(const BackupTar *tar, uint32_t entry)
{
	int64_t		named = backup_list_find(tar->list,
										 backup_list_path(tar->list, entry));

	return named >= 0 && tar->list->entries[named].found >= 0;
}

/* What may be in an archive that was not read is one row. */
static void
find_missing(BackupTar *tar)
{
	int64_t		unread = 0;

	for (uint32_t i = 0; i < tar->list->count; i++)
	{
		BackupJudge judge = {&tar->judge, tar->list, tar->finding, tar->arg, i};

		if (tar->list->entries[i].ignored || tar->list->entries[i].found >= 0 ||
			has_found_twin(tar, i))
			continue;
		host_interrupts();
		tar->totals.files++;
		if (tar->unread)
			unread++;
		else
			backup_judge_missing(&judge);
	}
	if (unread > 0)
		backup_sink_file(tar->sink, ".", BACKUP_UNDECIDED,
						 "%" PRId64 " files of the manifest are in no archive that was read",
						 unread);
}

void
backup_tar_end(BackupTar *tar)
{
	find_missing(tar);
	backup_mapped_place(tar->list, tar->spool);
}
