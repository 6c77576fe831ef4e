/*
 * meta.c
 *	  Reads the small files that say what a backup is, namely control, label
 *	  and map.
 *
 * Their checksums in the manifest are not enough.  Since pg_control ends with
 * its own CRC-32C, every pg_control has the same CRC-32C as a whole.  One of
 * another moment or cluster passes for the right one.  What it says is
 * compared with what the others say.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backup/meta.h"
#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/names.h"

#define CONTROL_FILE	"global/pg_control"
#define LABEL_FILE		"backup_label"
#define MAP_FILE		"tablespace_map"

#define TEXT_MAX		(1024 * 1024)

/* At most size bytes of a file, or -1. */
static ssize_t
read_start(const char *root, const char *name, void *buffer, size_t size)
{
	char	   *path = host_print("%s/%s", root, name);
	ssize_t		got = -1;
	FileScan	scan;

	if (file_scan_open(&scan, path) == FILE_SCAN_OK)
	{
		got = file_scan_read(&scan, buffer, size, 0);
		file_scan_close(&scan);
	}
	host_free(path);
	return got;
}

/* A small text with terminator, or NULL. */
static char *
read_text(const char *root, const char *name)
{
	char	   *contents = host_alloc(TEXT_MAX);
	ssize_t		got = read_start(root, name, contents, TEXT_MAX - 1);

	if (got < 0)
	{
		host_free(contents);
		return NULL;
	}
	contents[got] = '\0';
	return contents;
}

static void
read_control(BackupMeta *meta, const char *root, BackupSink *sink)
{
	uint8_t		bytes[BACKUP_CONTROL_BYTES];
	ssize_t		got = read_start(root, CONTROL_FILE, bytes, sizeof(bytes));

	meta->has_control = got >= 0 &&
		backup_control_read(bytes, (size_t) got, &meta->control);
	if (meta->has_control)
		return;
	if (got < 0)
		backup_sink_file(sink, CONTROL_FILE, BACKUP_NOT_VERIFIABLE,
						 "pages are not verified, since this file could not be read");
	else
		backup_sink_file(sink, CONTROL_FILE, BACKUP_BAD_FORMAT,
						 "pages are not verified: version %u of this file is not known, or its byte order is another",
						 meta->control.version);
}

static void
read_label(BackupMeta *meta, const char *root, BackupSink *sink)
{
	char	   *contents = read_text(root, LABEL_FILE);

	if (contents == NULL)
		return;
	meta->has_label = backup_label_read(contents, &meta->label);
	meta->bad_label = !meta->has_label;
	if (meta->bad_label)
		backup_sink_file(sink, LABEL_FILE, BACKUP_BAD_FORMAT,
						 "invalid data in file");
	host_free(contents);
}

void
backup_meta_release(const char *root, const char *path,
					char major[BACKUP_MAJOR_SIZE])
{
	ssize_t		got = read_start(root, path, major, BACKUP_MAJOR_SIZE - 1);

	major[got > 0 ? got : 0] = '\0';
	major[strspn(major, "0123456789")] = '\0';
}

void
backup_meta_read(BackupMeta *meta, const char *root, BackupSink *sink)
{
	memset(meta, 0, sizeof(*meta));
	read_control(meta, root, sink);
	read_label(meta, root, sink);
	backup_meta_release(root, "PG_VERSION", meta->major);
}

/* ---- do they agree? ---- */

static void
report_lsns(BackupSink *sink, const char *path, WalLsn expected,
			WalLsn actual, const char *message)
{
	BackupFinding finding = {path, -1, backup_status_name(BACKUP_BAD_FORMAT)};
	char		texts[2][32];

	snprintf(texts[0], sizeof(texts[0]), WAL_LSN_FORMAT, WAL_LSN_ARGS(expected));
	snprintf(texts[1], sizeof(texts[1]), WAL_LSN_FORMAT, WAL_LSN_ARGS(actual));
	finding.expected = texts[0];
	finding.actual = texts[1];
	finding.lsn = actual;
	finding.message = message;
	backup_sink_emit(sink, &finding);
}

static void
check_system(const BackupMeta *meta, const BackupFrame *frame,
			 BackupSink *sink)
{
	BackupFinding finding = {CONTROL_FILE, -1,
	backup_status_name(BACKUP_FOREIGN)};
	char		texts[2][32];

	if (!frame->has_system || frame->system == meta->control.system)
		return;
	snprintf(texts[0], sizeof(texts[0]), "%" PRIu64, frame->system);
	snprintf(texts[1], sizeof(texts[1]), "%" PRIu64, meta->control.system);
	finding.expected = texts[0];
	finding.actual = texts[1];
	finding.message = "system identifier is not that of the manifest";
	backup_sink_emit(sink, &finding);
}

/* A backup of a standby ends where the pg_control of that standby says. */
static void
check_recovery(const BackupMeta *meta, const BackupFrame *frame,
			   BackupSink *sink)
{
	if (frame->has_range && meta->control.min_recovery > frame->end)
		report_lsns(sink, CONTROL_FILE, frame->end, meta->control.min_recovery,
					"minimum recovery point is after the end of the backup");
	if (meta->has_label && meta->label.from_standby &&
		!meta->control.in_recovery)
		backup_sink_file(sink, LABEL_FILE, BACKUP_BAD_FORMAT,
						 "backup from a standby, but pg_control is not that of one");
}

void
backup_meta_check(const BackupMeta *meta, const BackupFrame *frame,
				  BackupSink *sink)
{
	if (meta->has_control)
	{
		WalLsn		checkpoint = meta->control.checkpoint;

		check_system(meta, frame, sink);
		check_recovery(meta, frame, sink);
		if (frame->has_range && checkpoint > frame->end)
			report_lsns(sink, CONTROL_FILE, frame->end, checkpoint,
						"checkpoint is after the end of the backup");
		if (meta->has_label && checkpoint < meta->label.checkpoint)
			report_lsns(sink, CONTROL_FILE, meta->label.checkpoint, checkpoint,
						"checkpoint is before that of backup_label");
	}
	if (meta->has_label && frame->has_range &&
		meta->label.start != frame->start)
		report_lsns(sink, LABEL_FILE, frame->start, meta->label.start,
					"START WAL LOCATION is not the start of the manifest's WAL ranges");
}

/* One that may not be looked at is another finding. */
static bool
is_folder(const char *root, const char *name)
{
	char	   *path = host_print("%s/%s", root, name);
	struct stat status;
	bool		is = stat(path, &status) == 0 ? S_ISDIR(status.st_mode) :
		errno != ENOENT && errno != ENOTDIR;

	host_free(path);
	return is;
}

uint32_t
backup_meta_folders(const char *root)
{
	const char *folder;
	uint32_t	there = 0;

	for (size_t n = 0; (folder = backup_folder_needed(n)) != NULL; n++)
		if (is_folder(root, folder))
			there |= UINT32_C(1) << n;
	return there;
}

void
backup_meta_check_folders(uint32_t there, BackupSink *sink)
{
	const char *folder;

	for (size_t n = 0; (folder = backup_folder_needed(n)) != NULL; n++)
		if ((there >> n & 1) == 0)
			backup_sink_file(sink, folder, BACKUP_MISSING,
							 "the server needs this directory and does not make it");
}

void
backup_meta_check_map(const char *root, BackupSink *sink)
{
	char	   *contents = read_text(root, MAP_FILE);
	size_t		at = 0;

	/* without tablespaces, an archive has an empty one */
	if (contents == NULL || contents[0] == '\0')
		return;
	do
	{
		uint32_t	tablespace;
		char	   *name;

		if (!backup_map_next(contents, &at, &tablespace))
		{
			backup_sink_file(sink, MAP_FILE, BACKUP_BAD_FORMAT,
							 "invalid data in file");
			break;
		}
		name = host_print("pg_tblspc/%u", tablespace);
		if (!is_folder(root, name))
			backup_sink_file(sink, name, BACKUP_MISSING,
							 "tablespace of tablespace_map is not there");
		host_free(name);
	} while (at != 0);
	host_free(contents);
}
