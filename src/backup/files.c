/*
 * files.c
 *	  Reads the files of a backup once for sizes, checksums and pages.
 *
 * A file is read in pieces that stay in a core's own cache.  Its checksum and
 * its pages are computed of the same piece.
 */
#include <errno.h>
#include <string.h>

#include "backup/files.h"
#include "host/host.h"
#include "host/print.h"

/*
 * Reads it to the end that it had at open.  Returns false if it could not be
 * read.
 */
static bool
read_pieces(BackupFileReader *reader, BackupJudge *judge, FileScan *scan)
{
	for (int64_t offset = 0; offset < scan->size;)
	{
		int64_t		left = scan->size - offset;
		size_t		wanted = left < (int64_t) BACKUP_PIECE_BYTES ?
			(size_t) left : BACKUP_PIECE_BYTES;
		const char *piece;
		ssize_t		got;

		if (scan->window == NULL)
			wanted = host_turn(reader->options->throttle, wanted);
		piece = file_scan_piece(scan, reader->buffer, wanted, offset, &got);
		if (got < (ssize_t) wanted)
		{
			backup_judge_failure(judge, got < 0 ? errno : 0, offset);
			return false;
		}
		backup_judge_piece(judge, piece, wanted);
		offset += got;
	}
	return true;
}

static void
report_unopened(BackupJudge *judge, FileScanResult opened)
{
	if (opened == FILE_SCAN_MISSING)
		backup_judge_missing(judge);
	else
		backup_judge_failure(judge, opened == FILE_SCAN_IRREGULAR ? 0 : errno, -1);
}

static void
read_file(BackupFileReader *reader, BackupJudge *judge, const char *path)
{
	FileScan	scan;
	FileScanResult opened = file_scan_open_direct(&scan, path, reader->window);

	if (opened == FILE_SCAN_OK)
	{
		if (backup_judge_begin(judge, scan.size))
			backup_judge_end(judge, read_pieces(reader, judge, &scan));
		file_scan_close(&scan);
	}
	else
		report_unopened(judge, opened);
}

/* ---- files that another program stores ---- */

/* Its size is that of the manifest until its end shows another one. */
static int64_t
read_stored_pieces(BackupFileReader *reader, BackupJudge *judge, int64_t size)
{
	int64_t		done = 0;
	size_t		got = 1;

	while (done < size && got > 0)
	{
		int64_t		left = size - done;

		got = stored_read(reader->stored, reader->buffer,
						  left < (int64_t) BACKUP_PIECE_BYTES ? (size_t) left :
						  BACKUP_PIECE_BYTES);
		/* where decoding fails, the file does not end */
		if (stored_failure(reader->stored).reason != DECODE_FINE)
			got -= got % PAGE_BYTES;
		if (got > 0)
			backup_judge_piece(judge, reader->buffer, got);
		done += (int64_t) got;
	}
	while ((got = stored_read(reader->stored, reader->buffer, BACKUP_PIECE_BYTES)) > 0)
		done += (int64_t) got;
	return done;
}

static void
read_stored(BackupFileReader *reader, BackupJudge *judge)
{
	int64_t		size = reader->list->entries[judge->entry].size;
	bool		begun = backup_judge_begin(judge, size);
	int64_t		found = read_stored_pieces(reader, judge, size);
	DecodeFailure failure = stored_failure(reader->stored);

	if (failure.reason != DECODE_FINE)
		backup_judge_undecoded(judge, (DecodeFormat) reader->stored->stored->format,
							   &failure);
	else if (found != size)
		backup_judge_size(judge, found);
	if (begun)
		backup_judge_end(judge, found == size && failure.reason == DECODE_FINE);
}

static void
open_stored(BackupFileReader *reader, BackupJudge *judge)
{
	FileScanResult opened = stored_open(reader->stored, judge->entry);

	if (opened == FILE_SCAN_OK)
	{
		read_stored(reader, judge);
		stored_close(reader->stored);
	}
	else
		report_unopened(judge, opened);
}

void
backup_files_begin(BackupFileReader *reader, const BackupList *list,
				   const BackupFileOptions *options,
				   BackupFileFindingFn finding, void *arg)
{
	reader->list = list;
	reader->options = options;
	reader->finding = finding;
	reader->arg = arg;
	reader->buffer = host_alloc(BACKUP_PIECE_BYTES);
	reader->window = options->direct ? file_window_new(options->throttle) : NULL;
	reader->stored = list->stored == NULL ? NULL :
		stored_begin(list, options->root, options->throttle, reader->window);
}

void
backup_files_read(BackupFileReader *reader, uint32_t entry,
				  BackupFileTotals *totals)
{
	const BackupFileOptions *options = reader->options;
	BackupJudge judge = {&options->judge, reader->list, reader->finding,
	reader->arg, entry};
	char	   *path = host_print("%s/%s", options->root,
								  backup_list_path(reader->list, entry));

	judge.totals.files = 1;
	judge.watch = options->watch;
	if (reader->stored != NULL)
		open_stored(reader, &judge);
	else
		read_file(reader, &judge, path);
	host_free(path);
	*totals = judge.totals;
}

void
backup_files_end(BackupFileReader *reader)
{
	stored_end(reader->stored);
	file_window_free(reader->window);
	host_free(reader->buffer);
}

void
backup_files_verify(const BackupList *list, const BackupFileOptions *options,
					BackupFileFindingFn finding, void *arg,
					BackupFileTotals *totals)
{
	BackupFileReader reader;

	memset(totals, 0, sizeof(*totals));
	backup_files_begin(&reader, list, options, finding, arg);
	for (uint32_t i = 0; i < list->count; i++)
	{
		BackupFileTotals file;

		host_interrupts();
		if (list->entries[list->by_size[i]].ignored)
			continue;
		backup_files_read(&reader, list->by_size[i], &file);
		backup_totals_add(totals, &file);
		backup_progress(options->progress, file.bytes);
	}
	backup_files_end(&reader);
}
