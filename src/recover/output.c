/*
 * output.c
 *	  Segments of WAL that are written again, with some bytes changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/print.h"
#include "recover/output.h"
#include "wal/page.h"
#include "wal/source.h"

static uint32_t
segment_size(const RecoverOutput *ctx)
{
	return ctx->dir->limits.segment_size;
}

void
recover_output_begin(RecoverOutput *ctx)
{
	ctx->files = wal_files_begin(ctx->dir);
	ctx->buffer = host_alloc(WAL_PIECE_BYTES);
	ctx->segment = host_alloc(segment_size(ctx));
	ctx->done = 0;
	ctx->failed[0] = '\0';
}

void
recover_output_free(RecoverOutput *ctx)
{
	wal_files_end(ctx->files);
	host_free(ctx->files);
	host_free(ctx->buffer);
	host_free(ctx->segment);
}

/* Reads all there is of a file, which a partial one has not, then zeros. */
static bool
read_file(RecoverOutput *ctx, const WalName *name)
{
	FileScanResult opened;
	WalFile    *file = wal_files_open(ctx->files, name, &opened);
	WalSource	source;
	uint64_t	at = 0;
	size_t		len = 1;

	if (file == NULL)
		return false;
	source = wal_source_file(file, ctx->buffer);
	memset(ctx->segment, 0, segment_size(ctx));
	while (at < segment_size(ctx) && len > 0)
	{
		const uint8_t *piece = wal_source_piece(&source, at,
												segment_size(ctx) - at, &len);

		memcpy(ctx->segment + at, piece, len);
		at += len;
	}
	wal_files_close(ctx->files, file);
	errno = EIO;
	return source.failed.reason == WAL_REASON_NONE;
}

static bool
write_file(RecoverOutput *ctx, const WalName *name)
{
	WalName		plain = wal_name_of(name->timeline,
									wal_name_segno(name, segment_size(ctx)),
									segment_size(ctx), WAL_KIND_SEGMENT);
	char		words[WAL_NAME_SIZE];
	char	   *path;
	size_t		done = 0;
	ssize_t		got = 0;
	int			fd;

	wal_name_print(&plain, words);
	path = host_print("%s/%s", ctx->folder, words);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	host_free(path);
	if (fd < 0)
		return false;
	while (done < segment_size(ctx) &&
		   (got = write(fd, ctx->segment + done, segment_size(ctx) - done)) > 0)
		done += (size_t) got;
	return close(fd) == 0 && done == segment_size(ctx);
}

/* Goes on to the next segment. */
static bool
advance(RecoverOutput *ctx)
{
	const WalName *names = ctx->list->names;
	const WalName *name = &names[ctx->done];
	bool		fine = true;

	host_interrupts();
	if (ctx->done > 0)
	{
		name = &names[ctx->done - 1];
		fine = write_file(ctx, name);
	}
	if (fine && ctx->done < ctx->list->count)
	{
		name = &names[ctx->done++];
		fine = read_file(ctx, name);
	}
	if (!fine)
	{
		int			why = errno;

		wal_name_print(name, ctx->failed);
		errno = why;
	}
	return fine;
}

/* Goes on until the segment at work holds the byte at lsn. */
static bool
reach(RecoverOutput *ctx, WalLsn lsn)
{
	uint64_t	first = wal_name_segno(&ctx->list->names[0], segment_size(ctx));
	uint64_t	wanted = lsn / segment_size(ctx) - first + 1;

	while (ctx->done < wanted)
		if (!advance(ctx))
			return false;
	return true;
}

bool
recover_output_put(RecoverOutput *ctx, WalLsn *at, const uint8_t *bytes,
				   uint32_t n)
{
	while (n > 0)
	{
		uint32_t	room;
		uint8_t    *to;

		if (*at % ctx->page_size == 0)
			*at += wal_page_header_size(*at, segment_size(ctx));
		if (!reach(ctx, *at))
			return false;
		room = ctx->page_size - (uint32_t) (*at % ctx->page_size);
		room = n < room ? n : room;
		to = ctx->segment + *at % segment_size(ctx);
		if (bytes != NULL)
		{
			memcpy(to, bytes, room);
			bytes += room;
		}
		else
			memset(to, 0, room);
		*at += room;
		n -= room;
	}
	return true;
}

bool
recover_output_end(RecoverOutput *ctx, WalLsn end)
{
	uint32_t	offset = (uint32_t) (end % segment_size(ctx));

	if (!reach(ctx, end - 1))
		return false;
	if (offset != 0)
		memset(ctx->segment + offset, 0, segment_size(ctx) - offset);
	if (write_file(ctx, &ctx->list->names[ctx->done - 1]))
		return true;
	wal_name_print(&ctx->list->names[ctx->done - 1], ctx->failed);
	return false;
}
