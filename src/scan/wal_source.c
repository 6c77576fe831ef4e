/*
 * wal_source.c
 *	  Bytes of WAL: a file, or memory.
 */
#include <errno.h>

#include "scan/wal_source.h"

WalSource
wal_source_file(FileScan *file, uint8_t *buffer)
{
	WalSource	source = {0};

	source.file = file;
	source.size = (uint64_t) file->size;
	source.buffer = buffer;
	return source;
}

WalSource
wal_source_bytes(const uint8_t *data, uint64_t size)
{
	WalSource	source = {0};

	source.data = data;
	source.size = size;
	return source;
}

static void
note_failure(WalSource *source, uint64_t offset, int error)
{
	source->failed.reason = WAL_REASON_FILE_READ;
	source->failed.value = (uint64_t) error;
	source->failed.more = offset;
}

const uint8_t *
wal_source_piece(WalSource *source, uint64_t offset, uint64_t wanted,
				 size_t *len)
{
	ssize_t		got;

	if (wanted > WAL_PIECE_BYTES)
		wanted = WAL_PIECE_BYTES;
	if (source->file == NULL)
	{
		uint64_t	left = offset < source->size ? source->size - offset : 0;

		wal_host_interrupts();
		*len = (size_t) (wanted < left ? wanted : left);
		return left > 0 ? source->data + offset : source->data;
	}
	got = file_scan_read(source->file, source->buffer, (size_t) wanted,
						 (off_t) offset);
	if (got < 0)
		note_failure(source, offset, errno);
	*len = got < 0 ? 0 : (size_t) got;
	return source->buffer;
}
