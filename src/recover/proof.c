/*
 * proof.c
 *	  Takes pages out of the server's files, where they are proven.
 *
 * A page is that of the cluster at the end of the WAL under three conditions.
 * A record in the WAL makes all of it, and none ended its storage after that.
 * Its LSN is the end of the last record that names it, so that redo passed
 * over none that sets the LSN.  And its checksum is right, at this block
 * number.  The first two leave nothing to the backup, whose page is not used
 * (filter.c).
 *
 * A record that changes a page and sets no LSN would be passed over unseen by
 * the second.  Redo has no choice there either.  It does what the record says
 * if the page's LSN is older, which it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/host.h"
#include "host/print.h"
#include "kernel/checksum.h"
#include "recover/path.h"
#include "recover/proof.h"
#include "recover/skeleton.h"

/* page header */
#define PAGE_LSN		0		/* pd_lsn, two words of 32 bits, high first */
#define PAGE_CHECKSUM	8		/* pd_checksum, 16 bits */

static bool
			refuse(RecoverWanted *wanted, const char *format,...)
			__attribute__((format(printf, 2, 3)));

static bool
refuse(RecoverWanted *wanted, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(wanted->message, sizeof(wanted->message), format, args);
	va_end(args);
	return false;
}

char *
recover_proof_path(const Recover *ctx, const RecoverWanted *wanted)
{
	return host_print("%s/%s.%u", ctx->out, wanted->path,
					  wanted->tag.block);
}

/* ---- what the records say ---- */

static const char *
ending_words(RecoverEnding ending)
{
	switch (ending)
	{
		case RECOVER_CUT_OFF:
			return "the block was cut off";
		case RECOVER_DROPPED:
			return "its storage was dropped";
		case RECOVER_MADE_ANEW:
			return "its storage was made anew";
		default:
			return "its database was made as a copy of files";
	}
}

static bool
expect(const Recover *ctx, RecoverWanted *wanted,
	   const RecoverBlock *block)
{
	if (block->restored)
		return true;
	if (block->ending != RECOVER_GOES_ON)
		return refuse(wanted, "%s up to " WAL_LSN_FORMAT ", and no record makes all of the page since",
					  ending_words(block->ending), WAL_LSN_ARGS(block->ended));
	if (block->last == 0 && ctx->is_cluster)
		return refuse(wanted, "no record names it since the oldest checkpoint at " WAL_LSN_FORMAT,
					  WAL_LSN_ARGS(ctx->restart.checkpoint));
	if (block->last == 0)
		return refuse(wanted, "no record names it since the backup: restore_block(..., backup => '...') gives its page back");
	return refuse(wanted, "records change it up to " WAL_LSN_FORMAT ", and none of them makes all of the page (full_page_writes)",
				  WAL_LSN_ARGS(block->last));
}

size_t
recover_proof_expect(Recover *ctx)
{
	size_t		count = 0;

	for (size_t i = 0; i < ctx->nwanted; i++)
	{
		RecoverWanted *wanted = &ctx->wanted[i];

		wanted->recovered = expect(ctx, wanted, recover_set_find(&ctx->filter.blocks,
																 &wanted->tag));
		count += wanted->recovered ? 1 : 0;
	}
	return count;
}

/* ---- what the server made ---- */

static bool
read_page(const Recover *ctx, const WalBlockTag *tag, uint8_t *page)
{
	uint32_t	most = ctx->control.relation_segment_blocks;
	char	   *path = recover_skeleton_file(ctx, tag, tag->block / most);
	int			fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t		got = fd < 0 ? -1 : pread(fd, page, ctx->control.block_size,
										  (off_t) (tag->block % most) * ctx->control.block_size);

	if (fd >= 0)
		close(fd);
	host_free(path);
	return got == (ssize_t) ctx->control.block_size;
}

static bool
judge(const Recover *ctx, RecoverWanted *wanted, const uint8_t *page)
{
	const RecoverBlock *block = recover_set_find(&ctx->filter.blocks,
												 &wanted->tag);
	uint16_t	sum;

	wanted->lsn = (WalLsn) load_native32(page + PAGE_LSN) << 32 |
		load_native32(page + PAGE_LSN + 4);
	checksum_page(page, ctx->control.block_size, 1, &wanted->tag.block, &sum);
	if (wanted->lsn != block->last)
		return refuse(wanted, "redo made a page with LSN " WAL_LSN_FORMAT ", and the last record that names it ends at " WAL_LSN_FORMAT,
					  WAL_LSN_ARGS(wanted->lsn), WAL_LSN_ARGS(block->last));
	if (sum != load_native16(page + PAGE_CHECKSUM))
		return refuse(wanted, "redo made a page with checksum %u instead of %u",
					  load_native16(page + PAGE_CHECKSUM), sum);
	return true;
}

static bool
write_page(Recover *ctx, const RecoverWanted *wanted, const uint8_t *page)
{
	char	   *path = recover_proof_path(ctx, wanted);
	int			fd = !recover_make_above(path) ? -1 :
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	bool		written = fd >= 0 &&
		write(fd, page, ctx->control.block_size) == (ssize_t) ctx->control.block_size;

	if (fd >= 0 && close(fd) != 0)
		written = false;
	if (!written)
		recover_fail_file(ctx, "write", path);
	if (!written && fd >= 0)
		unlink(path);
	host_free(path);
	return written;
}

bool
recover_proof_write(Recover *ctx)
{
	uint8_t    *page = host_alloc(ctx->control.block_size);
	bool		written = true;

	for (size_t i = 0; written && i < ctx->nwanted; i++)
	{
		RecoverWanted *wanted = &ctx->wanted[i];

		if (!wanted->recovered)
			continue;
		if (!read_page(ctx, &wanted->tag, page))
			wanted->recovered = refuse(wanted, "redo made no such block");
		else
			wanted->recovered = judge(ctx, wanted, page);
		if (wanted->recovered)
			written = write_page(ctx, wanted, page);
	}
	host_free(page);
	return written;
}
