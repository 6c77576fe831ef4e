/*
 * file.c
 *	  One file of WAL, plain or compressed, read at any offset.
 *
 * The window has two halves, for the piece decoded last and the one before it.
 * So a read of up to a piece before the end needs no second pass over the file,
 * and most reads are served in place.  The first piece, which says what a file
 * is, is kept too.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "wal/file.h"
#include "wal/version.h"

static void
release(void *arg)
{
	WalFile    *file = arg;

	decode_free(file->decoder);
	file->decoder = NULL;
}

void
wal_file_init(WalFile *file, bool direct)
{
	memset(file, 0, sizeof(*file));
	file->head = host_alloc(WAL_PIECE_BYTES);
	file->window = host_alloc(2 * WAL_PIECE_BYTES);
	if (direct)
		file->device = file_window_new(NULL);
	file->at_end = host_at_end(release, file);
}

void
wal_file_throttle(WalFile *file, struct Throttle *throttle)
{
	file->throttle = throttle;
	if (file->device != NULL)
		file->device->throttle = throttle;
}

/* ---- the file as it is stored ---- */

/*
 * Reads what may be read at once.  A turn is paid for what there is to read, by
 * the window if there is one.
 */
static ssize_t
read_stored(void *arg, void *buffer, size_t len, uint64_t offset)
{
	WalFile    *file = arg;
	uint64_t	size = (uint64_t) file->scan.size;

	if (offset >= size || file->stopped)
		return 0;
	if (len > size - offset)
		len = (size_t) (size - offset);
	if (file->scan.window == NULL)
		len = host_turn(file->throttle, len);
	return file_scan_read(&file->scan, buffer, len, (off_t) offset);
}

/* Reads all in place, if the window of reads of the device has it. */
static const uint8_t *
find_in_place(WalFile *file, uint8_t *buffer, size_t len, uint64_t offset)
{
	const uint8_t *piece;
	ssize_t		got;

	if (file->scan.window == NULL || file->stopped ||
		offset + len > (uint64_t) file->scan.size)
		return NULL;
	piece = file_scan_piece(&file->scan, buffer, len, (off_t) offset, &got);
	return got == (ssize_t) len ? piece : NULL;
}

/*
 * Reads all, turn by turn.  Returns bytes read, less at the end, -1 with
 * errno.
 */
static ssize_t
read_whole(WalFile *file, uint8_t *buffer, size_t len, uint64_t offset)
{
	size_t		done = 0;
	ssize_t		got = 1;

	while (done < len && got > 0)
	{
		got = read_stored(file, buffer + done, len - done, offset + done);
		if (got < 0)
			return -1;
		done += (size_t) got;
	}
	return (ssize_t) done;
}

/* ---- opening ---- */

/* Finds out what the file is by its first bytes, or by its name. */
static DecodeFormat
find_format(WalFile *file, DecodeFormat named)
{
	uint8_t		magic[DECODE_MAGIC_MAX];
	ssize_t		len = read_stored(file, magic, sizeof(magic), 0);
	DecodeFormat format = len > 0 ? decode_format_of(magic, (size_t) len) :
		DECODE_PLAIN;

	if (format != DECODE_PLAIN ||
		(len >= 2 && wal_version(wal_load16(magic)) != NULL))
		return format;
	return named;
}

/* No memory for a decoder is a failure of the first read. */
static void
begin_decoding(WalFile *file)
{
	file->head_len = 0;
	file->held = file->position = 0;
	file->ended = false;
	file->failed.reason = WAL_REASON_NONE;
	if (file->decoder == NULL)
		file->decoder = decode_new();
	if (file->decoder != NULL)
		decode_begin(file->decoder, file->format, read_stored, file);
	else
	{
		file->failed.reason = WAL_REASON_COMPRESSED_MEMORY;
		file->ended = true;
	}
}

FileScanResult
wal_file_open(WalFile *file, const char *path, DecodeFormat named)
{
	size_t		len = strlen(path);
	FileScanResult opened;

	if (len >= sizeof(file->path))
	{
		errno = ENAMETOOLONG;
		return FILE_SCAN_FAILED;
	}
	memcpy(file->path, path, len + 1);
	opened = file_scan_open_direct(&file->scan, file->path,
								   file->through_cache ? NULL : file->device);
	if (opened != FILE_SCAN_OK)
	{
		file->path[0] = '\0';
		return opened;
	}
	file->format = find_format(file, named);
	if (file->format != DECODE_PLAIN)
		begin_decoding(file);
	return FILE_SCAN_OK;
}

void
wal_file_restart(WalFile *file)
{
	file_scan_resize(&file->scan);
	if (file->format != DECODE_PLAIN)
		begin_decoding(file);
}

bool
wal_file_grows(const WalFile *file, int *pauses)
{
	struct stat status;

	if (file->stopped)
		return false;
	while (stat(file->path, &status) == 0 && status.st_size <= file->scan.size)
	{
		if (*pauses == 0 || labs((long) (time(NULL) - status.st_mtime)) > 60)
			return false;
		--*pauses;
		host_interrupts();
		usleep(WAL_PAUSE);
	}
	return status.st_size > file->scan.size;
}

void
wal_file_close(WalFile *file)
{
	if (file->path[0] == '\0')
		return;
	file_scan_close(&file->scan);
	file->path[0] = '\0';
}

void
wal_file_end(WalFile *file)
{
	wal_file_close(file);
	release(file);
	host_forget(file->at_end);
	host_free(file->head);
	host_free(file->window);
	file_window_free(file->device);
	file->head = file->window = NULL;
	file->device = NULL;
}

uint64_t
wal_file_size(const WalFile *file)
{
	if (file->format == DECODE_PLAIN)
		return (uint64_t) file->scan.size;
	return file->ended ? file->position : WAL_SIZE_UNKNOWN;
}

/* ---- decoding ---- */

WalVerdict
wal_file_failure(DecodeFormat format, const DecodeFailure *failure)
{
	static const WalReason reasons[] = {
		[DECODE_FINE] = WAL_REASON_NONE,
		[DECODE_READ] = WAL_REASON_FILE_READ,
		[DECODE_TRUNCATED] = WAL_REASON_COMPRESSED_TRUNCATED,
		[DECODE_DAMAGED] = WAL_REASON_COMPRESSED_INVALID,
		[DECODE_CHECKSUM] = WAL_REASON_COMPRESSED_CRC,
		[DECODE_LENGTH] = WAL_REASON_COMPRESSED_LENGTH,
		[DECODE_TRAILING] = WAL_REASON_COMPRESSED_TRAILING,
		[DECODE_WINDOW] = WAL_REASON_COMPRESSED_WINDOW,
		[DECODE_DICTIONARY] = WAL_REASON_COMPRESSED_DICTIONARY,
		[DECODE_EXCESS] = WAL_REASON_COMPRESSED_EXCESS,
		[DECODE_MEMORY] = WAL_REASON_COMPRESSED_MEMORY,
		[DECODE_UNSUPPORTED] = WAL_REASON_COMPRESSED_LIBRARY,
	};
	WalVerdict	verdict = {reasons[failure->reason], 0, failure->stored,
	failure->computed, failure->offset};

	if (failure->reason == DECODE_UNSUPPORTED)
	{
		verdict.value = format;
		if (format > DECODE_LAST_READ)
			verdict.reason = WAL_REASON_FILE_COMPRESSED;
	}
	return verdict;
}

/* Decodes the next piece into its half of the window. */
static void
decode_piece(WalFile *file)
{
	uint64_t	begin = file->position;
	uint8_t    *half = file->window + begin / WAL_PIECE_BYTES % 2 * WAL_PIECE_BYTES;
	size_t		got;

	host_interrupts();
	got = decode_read(file->decoder, half, WAL_PIECE_BYTES);
	file->position += got;
	file->format = decode_format(file->decoder);
	if (begin == 0)
	{
		file->head_len = got;
		memcpy(file->head, half, got);
	}
	if (got > 0 && begin >= WAL_PIECE_BYTES)
		file->held = begin - WAL_PIECE_BYTES;
	if (got < WAL_PIECE_BYTES)
	{
		DecodeFailure failure = decode_failure(file->decoder);

		file->ended = true;
		file->failed = wal_file_failure(file->format, &failure);
	}
}

/* Returns len bytes of the window at an offset, in place or put together. */
static const uint8_t *
from_window(const WalFile *file, uint8_t *buffer, uint64_t offset, size_t len)
{
	size_t		at = (size_t) (offset % (2 * WAL_PIECE_BYTES));
	size_t		first = 2 * WAL_PIECE_BYTES - at;

	if (len <= first)
		return file->window + at;
	memcpy(buffer, file->window + at, first);
	memcpy(buffer + first, file->window, len - first);
	return buffer;
}

static const uint8_t *
decoded_piece(WalFile *file, uint8_t *buffer, uint64_t offset, size_t wanted,
			  size_t *len, WalVerdict *failed)
{
	uint64_t	left;

	*len = wanted;
	if (offset < file->held && offset + wanted <= file->head_len)
		return file->head + offset;
	if (offset < file->held)
		begin_decoding(file);
	while (!file->ended && file->position < offset + wanted)
		decode_piece(file);
	left = offset < file->position ? file->position - offset : 0;
	*len = left < wanted ? (size_t) left : wanted;
	if (*len < wanted && file->failed.reason != WAL_REASON_NONE)
		*failed = file->failed;
	return from_window(file, buffer, offset, *len);
}

const uint8_t *
wal_file_piece(WalFile *file, uint8_t *buffer, uint64_t offset,
			   size_t wanted, size_t *len, WalVerdict *failed)
{
	const uint8_t *piece;
	ssize_t		got;

	if (file->format != DECODE_PLAIN)
		return decoded_piece(file, buffer, offset, wanted, len, failed);
	piece = find_in_place(file, buffer, wanted, offset);
	if (piece != NULL)
	{
		*len = wanted;
		return piece;
	}
	got = read_whole(file, buffer, wanted, offset);
	if (got < 0)
	{
		failed->reason = WAL_REASON_FILE_READ;
		failed->value = (uint64_t) errno;
		failed->more = offset;
	}
	*len = got < 0 ? 0 : (size_t) got;
	return buffer;
}
