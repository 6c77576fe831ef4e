/*
 * blocks.c
 *	  The block references of a WAL record.
 *
 * A record is a header, then small headers one after the other.  They are of
 * blocks in ascending order, of a replication origin, of a top-level
 * transaction, and last of the main data.  A record without main data has no
 * such mark.  Its headers end where as much of the record is left as they
 * announced data.  Then come, block by block, its image and its data, and the
 * main data.
 */
#include "wal/blocks.h"

#define LOCATOR_BYTES	12		/* RelFileLocator, three OIDs */

/* One record at work. */
typedef struct Decoder
{
	WalBlocks  *blocks;
	const uint8_t *rec;
	uint32_t	total;			/* bytes of the record */
	uint32_t	present;		/* of which these are at hand */
	uint32_t	at;				/* the next header's offset */
	uint64_t	data;			/* bytes that the headers announced */
	uint32_t	block_size;
	WalBlocksReason reason;
} Decoder;

static bool
refuse(Decoder *ctx, WalBlocksReason reason)
{
	ctx->reason = reason;
	return false;
}

/* Returns the next n bytes of headers, or NULL if the record has not as many. */
static const uint8_t *
take(Decoder *ctx, uint32_t n)
{
	const uint8_t *p = ctx->rec + ctx->at;

	if (n > ctx->present - ctx->at)
	{
		refuse(ctx, WAL_BLOCKS_TRUNCATED);
		return NULL;
	}
	ctx->at += n;
	return p;
}

/* ---- images ---- */

static WalImageMethod
compression_of(uint8_t info)
{
	switch (info & WAL_IMAGE_COMPRESSED)
	{
		case WAL_IMAGE_PGLZ:
			return WAL_METHOD_PGLZ;
		case WAL_IMAGE_LZ4:
			return WAL_METHOD_LZ4;
		case WAL_IMAGE_ZSTD:
			return WAL_METHOD_ZSTD;
		default:
			return WAL_METHOD_NONE;
	}
}

/* Does a server set these bits, with one compression at most? */
static bool
info_is_valid(uint8_t info)
{
	uint8_t		methods = info & WAL_IMAGE_COMPRESSED;

	return (info & ~(WAL_IMAGE_HAS_HOLE | WAL_IMAGE_APPLY |
					 WAL_IMAGE_COMPRESSED)) == 0 &&
		(methods & (methods - 1)) == 0;
}

/* Does the image give a page of the block size? */
static bool
check_image(Decoder *ctx, const WalImage *image, bool has_hole)
{
	uint32_t	hole_end = (uint32_t) image->hole_offset + image->hole_length;
	uint32_t	raw = ctx->block_size - image->hole_length;

	if (has_hole ? image->hole_offset == 0 || image->hole_length == 0 ||
		hole_end > ctx->block_size :
		image->hole_offset != 0 || image->hole_length != 0)
		return refuse(ctx, WAL_BLOCKS_HOLE);
	if (image->compression == WAL_METHOD_NONE ? image->length != raw :
		image->length == 0 || image->length >= ctx->block_size)
		return refuse(ctx, WAL_BLOCKS_IMAGE_LENGTH);
	return true;
}

static bool
parse_image(Decoder *ctx, WalBlockRef *ref)
{
	WalImage   *image = &ref->image;
	const uint8_t *header = take(ctx, 5);
	bool		has_hole;

	if (header == NULL)
		return false;
	if (!info_is_valid(header[4]))
		return refuse(ctx, WAL_BLOCKS_IMAGE_FLAGS);
	has_hole = (header[4] & WAL_IMAGE_HAS_HOLE) != 0;
	ref->apply = (header[4] & WAL_IMAGE_APPLY) != 0;
	ref->info_at = (uint32_t) (header + 4 - ctx->rec);
	image->length = wal_load16(header);
	image->hole_offset = wal_load16(header + 2);
	image->hole_length = 0;
	image->compression = compression_of(header[4]);
	if (image->compression == WAL_METHOD_NONE)
	{
		if (image->length > ctx->block_size)
			return refuse(ctx, WAL_BLOCKS_IMAGE_LENGTH);
		if (has_hole)
			image->hole_length = (uint16_t) (ctx->block_size - image->length);
	}
	else if (has_hole)
	{
		const uint8_t *hole = take(ctx, 2);

		if (hole == NULL)
			return false;
		image->hole_length = wal_load16(hole);
	}
	ctx->data += image->length;
	return check_image(ctx, image, has_hole);
}

/* ---- headers ---- */

/* The relation is named, or it is that of the block before. */
static bool
parse_relation(Decoder *ctx, WalBlockTag *tag, bool same)
{
	const uint8_t *locator;

	if (same)
	{
		const WalBlockTag *before;

		if (ctx->blocks->count == 0)
			return refuse(ctx, WAL_BLOCKS_NO_RELATION);
		before = &ctx->blocks->refs[ctx->blocks->count - 1].tag;
		tag->tablespace = before->tablespace;
		tag->database = before->database;
		tag->relation = before->relation;
		return true;
	}
	locator = take(ctx, LOCATOR_BYTES);
	if (locator == NULL)
		return false;
	tag->tablespace = wal_load32(locator);
	tag->database = wal_load32(locator + 4);
	tag->relation = wal_load32(locator + 8);
	return true;
}

/* Returns the place for a reference.  Since ids ascend, there is room. */
static WalBlockRef *
next_ref(Decoder *ctx, uint8_t id)
{
	WalBlocks  *blocks = ctx->blocks;

	if (blocks->count > 0 && id <= blocks->refs[blocks->count - 1].id)
	{
		refuse(ctx, WAL_BLOCKS_ID_ORDER);
		return NULL;
	}
	return &blocks->refs[blocks->count];
}

static bool
check_block_header(Decoder *ctx, const WalBlockRef *ref)
{
	if (ref->tag.fork > WAL_FORK_MAX)
		return refuse(ctx, WAL_BLOCKS_FORK);
	if (ref->has_data != (ref->data_length > 0))
		return refuse(ctx, WAL_BLOCKS_DATA_FLAG);
	return true;
}

/* Takes the header of a block, whose id was taken before. */
static bool
parse_block(Decoder *ctx, uint8_t id)
{
	WalBlockRef *ref = next_ref(ctx, id);
	const uint8_t *header = ref == NULL ? NULL : take(ctx, 3);
	const uint8_t *block;

	if (header == NULL)
		return false;
	ref->id = id;
	ref->tag.fork = header[0] & WAL_BLOCK_FORK_MASK;
	ref->has_image = (header[0] & WAL_BLOCK_HAS_IMAGE) != 0;
	ref->has_data = (header[0] & WAL_BLOCK_HAS_DATA) != 0;
	ref->will_init = (header[0] & WAL_BLOCK_WILL_INIT) != 0;
	ref->apply = false;
	ref->data_length = wal_load16(header + 1);
	if (!check_block_header(ctx, ref))
		return false;
	ctx->data += ref->data_length;
	if ((ref->has_image && !parse_image(ctx, ref)) ||
		!parse_relation(ctx, &ref->tag, (header[0] & WAL_BLOCK_SAME_REL) != 0))
		return false;
	block = take(ctx, 4);
	if (block == NULL)
		return false;
	ref->tag.block = wal_load32(block);
	ctx->blocks->count++;
	return true;
}

/* Takes the header that ends the headers. */
static bool
parse_main(Decoder *ctx, uint32_t bytes)
{
	const uint8_t *length = take(ctx, bytes);

	if (length == NULL)
		return false;
	ctx->blocks->main_length = bytes == 1 ? length[0] : wal_load32(length);
	ctx->data += ctx->blocks->main_length;
	return true;
}

static bool
parse_origin(Decoder *ctx)
{
	const uint8_t *origin = take(ctx, 2);

	if (origin == NULL)
		return false;
	ctx->blocks->has_origin = true;
	ctx->blocks->origin = wal_load16(origin);
	return true;
}

static bool
parse_top_xid(Decoder *ctx)
{
	const uint8_t *xid = take(ctx, 4);

	if (xid == NULL)
		return false;
	ctx->blocks->has_top_xid = true;
	ctx->blocks->top_xid = wal_load32(xid);
	return true;
}

/* Takes the next header.  Sets *last if no other comes after it. */
static bool
parse_header(Decoder *ctx, bool *last)
{
	const uint8_t *id = take(ctx, 1);

	if (id == NULL)
		return false;
	if (*id <= WAL_BLOCK_MAX_ID)
		return parse_block(ctx, *id);
	switch (*id)
	{
		case WAL_ID_ORIGIN:
			return parse_origin(ctx);
		case WAL_ID_TOP_XID:
			return parse_top_xid(ctx);
		case WAL_ID_DATA_SHORT:
		case WAL_ID_DATA_LONG:
			*last = true;
			return parse_main(ctx, *id == WAL_ID_DATA_SHORT ? 1 : 4);
		default:
			return refuse(ctx, WAL_BLOCKS_UNKNOWN_ID);
	}
}

/* ---- data ---- */

/* Images and data lie in the order of the headers. */
static bool
place_data(Decoder *ctx)
{
	const uint8_t *p = ctx->rec + ctx->at;
	WalBlocks  *blocks = ctx->blocks;

	if (ctx->data != ctx->total - ctx->at)
		return refuse(ctx, WAL_BLOCKS_DATA_LENGTH);
	if (ctx->data - blocks->main_length > ctx->present - ctx->at)
		return refuse(ctx, WAL_BLOCKS_TRUNCATED);
	for (int i = 0; i < blocks->count; i++)
	{
		WalBlockRef *ref = &blocks->refs[i];

		ref->image.data = p;
		p += ref->has_image ? ref->image.length : 0;
		ref->data = p;
		p += ref->data_length;
	}
	blocks->main = p;
	blocks->main_present = (uint32_t) (ctx->rec + ctx->present - p);
	return true;
}

WalBlocksReason
wal_blocks_decode(WalBlocks *blocks, const uint8_t *rec, uint32_t len,
				  uint32_t block_size)
{
	Decoder		ctx = {blocks, rec, 0, len, WAL_REC_HEADER, 0, block_size,
	WAL_BLOCKS_OK};
	bool		last = false;

	blocks->count = 0;
	blocks->main_length = 0;
	blocks->has_origin = false;
	blocks->has_top_xid = false;
	if (len < WAL_REC_HEADER)
		return WAL_BLOCKS_HEADER;
	ctx.total = wal_load32(rec + WAL_REC_TOT_LEN);
	if (ctx.total < len)
		return WAL_BLOCKS_LENGTH;
	while (!last && ctx.total - ctx.at > ctx.data)
		if (!parse_header(&ctx, &last))
			return ctx.reason;
	place_data(&ctx);
	return ctx.reason;
}

const char *
wal_blocks_words(WalBlocksReason reason)
{
	static const char *const words[] = {
		"",
#define WAL_BLOCKS_REASON(id, text) text,
		WAL_BLOCKS_REASONS(WAL_BLOCKS_REASON)
#undef WAL_BLOCKS_REASON
	};

	return reason < WAL_BLOCKS_NREASONS ? words[reason] : "";
}
