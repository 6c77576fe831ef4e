/*
 * source.c
 *	  Reads bytes of WAL, of a file or of memory.
 */
#include "wal/source.h"

WalSource
wal_source_file(WalFile *file, uint8_t *buffer)
{
	WalSource	source = {0};

	source.file = file;
	source.size = wal_file_size(file);
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

void
wal_source_restart(WalSource *source)
{
	if (source->file == NULL)
		return;
	wal_file_restart(source->file);
	source->size = wal_file_size(source->file);
}

const uint8_t *
wal_source_piece(WalSource *source, uint64_t offset, uint64_t wanted,
				 size_t *len)
{
	const uint8_t *piece;

	if (wanted > WAL_PIECE_BYTES)
		wanted = WAL_PIECE_BYTES;
	if (source->file == NULL)
	{
		uint64_t	left = offset < source->size ? source->size - offset : 0;

		host_interrupts();
		*len = (size_t) (wanted < left ? wanted : left);
		return left > 0 ? source->data + offset : source->data;
	}
	piece = wal_file_piece(source->file, source->buffer, offset,
						   (size_t) wanted, len, &source->failed);
	if (source->size == WAL_SIZE_UNKNOWN)
		source->size = wal_file_size(source->file);
	return piece;
}

uint64_t
wal_source_kept(const WalSource *source)
{
	return source->file == NULL || source->file->format == DECODE_PLAIN ? 0 :
		source->file->held;
}

void
wal_source_measure(WalSource *source, uint64_t expected)
{
	size_t		len;

	if (source->file == NULL || source->file->format == DECODE_PLAIN)
		return;
	wal_source_piece(source, expected, 1, &len);
	if (source->size == WAL_SIZE_UNKNOWN)
		source->size = expected + 1;
}
