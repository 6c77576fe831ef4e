/*
 * stored.c
 *	  Reads the files of a backup where another program stores them.
 *
 * pgBackRest names a file by the path that it had, with the suffix of its
 * compression.  In a bundle files follow each other, and the manifest says
 * where each begins and how many bytes it has there.
 */
#include <errno.h>
#include <string.h>

#include "backup/stored.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/names.h"
#include "manifest/pgbackrest.h"

static void
free_decoder(void *arg)
{
	StoredReader *reader = arg;

	decode_free(reader->decoder);
	reader->decoder = NULL;
}

StoredReader *
stored_begin(const BackupList *list, const char *root,
			 struct Throttle *throttle, FileWindow *window)
{
	StoredReader *reader = host_alloc(sizeof(StoredReader));

	memset(reader, 0, sizeof(*reader));
	reader->list = list;
	reader->root = root;
	reader->throttle = throttle;
	reader->window = window;
	reader->at_end = host_at_end(free_decoder, reader);
	reader->decoder = decode_new();
	if (reader->decoder == NULL)
		host_no_memory();
	return reader;
}

/* ---- where it is ---- */

static char *
folder_of(const StoredReader *reader)
{
	if (reader->stored->folder == BACKUP_STORED_OWN)
		return host_print("%s", reader->root);
	return host_print("%s/../%s", reader->root,
					  reader->list->names + reader->stored->folder);
}

/* The data directory is pg_data.  Tablespaces lie beside it. */
static char *
path_of(const StoredReader *reader, uint32_t entry)
{
	const char *path = backup_list_path(reader->list, entry);
	bool		placed = backup_skip_prefix(path, "pg_tblspc/") != NULL;
	char	   *folder = folder_of(reader);
	char	   *full;

	if (reader->stored->bundle != 0)
		full = host_print("%s/" PGBACKREST_BUNDLES "/%u", folder, reader->stored->bundle);
	else
		full = host_print("%s/%s%s%s", folder, placed ? "" : PGBACKREST_DATA "/", path,
						  decode_format_suffix((DecodeFormat) reader->stored->format));
	host_free(folder);
	return full;
}

/* ---- its bytes ---- */

static ssize_t
read_stored(void *arg, void *buffer, size_t len, uint64_t offset)
{
	StoredReader *reader = arg;

	if (offset >= reader->bytes)
		return 0;
	if (len > reader->bytes - offset)
		len = (size_t) (reader->bytes - offset);
	if (reader->scan.window == NULL)
		len = host_turn(reader->throttle, len);
	return file_scan_read(&reader->scan, buffer, len,
						  (off_t) (reader->stored->offset + offset));
}

static size_t
read_plain(StoredReader *reader, uint8_t *buffer, size_t len)
{
	size_t		done = 0;

	while (done < len && reader->failure.reason == DECODE_FINE)
	{
		ssize_t		got = read_stored(reader, buffer + done, len - done,
									  reader->at);

		if (got < 0)
		{
			reader->failure.reason = DECODE_READ;
			reader->failure.offset = reader->at;
			reader->failure.stored = (uint64_t) errno;
		}
		if (got <= 0)
			break;
		reader->at += (uint64_t) got;
		done += (size_t) got;
	}
	return done;
}

FileScanResult
stored_open(StoredReader *reader, uint32_t entry)
{
	const BackupStored *stored = &reader->list->stored[entry];
	FileScanResult opened;

	reader->stored = stored;
	reader->at = reader->bytes = 0;
	memset(&reader->failure, 0, sizeof(reader->failure));
	if (stored->nothing)
		return FILE_SCAN_OK;
	reader->path = path_of(reader, entry);
	opened = file_scan_open_direct(&reader->scan, reader->path, reader->window);
	reader->open = opened == FILE_SCAN_OK;
	if (!reader->open)
	{
		int			error = errno;

		host_free(reader->path);
		errno = error;
		return opened;
	}
	reader->bytes = stored->bundle != 0 ? stored->bytes :
		(uint64_t) reader->scan.size;
	if (stored->format != DECODE_PLAIN)
		decode_begin(reader->decoder, (DecodeFormat) stored->format, read_stored,
					 reader);
	return FILE_SCAN_OK;
}

size_t
stored_read(StoredReader *reader, void *buffer, size_t len)
{
	host_interrupts();
	if (!reader->open)
		return 0;
	return reader->stored->format == DECODE_PLAIN ?
		read_plain(reader, buffer, len) :
		decode_read(reader->decoder, buffer, len);
}

DecodeFailure
stored_failure(const StoredReader *reader)
{
	return reader->open && reader->stored->format != DECODE_PLAIN ?
		decode_failure(reader->decoder) : reader->failure;
}

void
stored_close(StoredReader *reader)
{
	if (!reader->open)
		return;
	file_scan_close(&reader->scan);
	host_free(reader->path);
	reader->open = false;
}

void
stored_end(StoredReader *reader)
{
	if (reader == NULL)
		return;
	stored_close(reader);
	free_decoder(reader);
	host_forget(reader->at_end);
	host_free(reader);
}
