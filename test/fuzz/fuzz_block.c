/* needs: wal max_len:20480 */
/*
 * fuzz_block.c
 *	  Anything fed to the decoder of block references, and its images restored.
 *
 * Input: a byte that chooses the block size, then a record.  Its lengths must
 * add up or it is refused at the end, so the mutator makes them, most of the
 * time.  Whatever is decoded must lie within the record, piece after piece, and
 * fill it.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "wal/block_image.h"

#define RECORD_MAX	(20480 - 1)

/* Any bytes will do: what fits is repeated. */
static bool
decompress(const uint8_t *data, uint32_t len, uint8_t *out, uint32_t raw)
{
	if (data[0] % 8 == 0)
		return false;
	for (uint32_t at = 0; at < raw; at += len)
		memcpy(out + at, data, raw - at < len ? raw - at : len);
	return true;
}

static void
check_image(const WalImage *image, uint32_t block_size)
{
	static const WalDecompressors mine = {{NULL, decompress, decompress, NULL}};
	uint8_t    *page = malloc(block_size);	/* exactly: the sanitizer guards it */
	WalImageResult result;

	must(image->length > 0 && image->length <= block_size);
	must((uint32_t) image->hole_offset + image->hole_length <= block_size);
	must((image->hole_offset == 0) == (image->hole_length == 0));
	must(wal_image_method_name(image->compression)[0] != '\0');
	result = wal_block_image_restore(image, block_size, &mine, page);
	must((result == WAL_IMAGE_UNAVAILABLE) == (image->compression == WAL_METHOD_ZSTD));
	if (result == WAL_IMAGE_RESTORED)
	{
		must(wal_is_zero(page + image->hole_offset, image->hole_length));
		if (image->compression == WAL_METHOD_NONE)
			must(memcmp(page, image->data, image->hole_length > 0 ? image->hole_offset : block_size) == 0);
	}
	free(page);
}

static void
check_blocks(const WalBlocks *blocks, const uint8_t *rec, uint32_t len,
			 uint32_t block_size)
{
	const uint8_t *p = NULL;
	bool		restores = false;

	must(blocks->count >= 0 && blocks->count <= WAL_BLOCKS_MAX);
	for (int i = 0; i < blocks->count; i++)
	{
		const WalBlockRef *ref = &blocks->refs[i];

		must(p == NULL || ref->image.data == p);
		p = ref->image.data;
		must(p >= rec + WAL_REC_HEADER && p <= rec + len);
		must(ref->tag.fork <= WAL_FORK_MAX && ref->id <= WAL_BLOCK_MAX_ID);
		must(i == 0 || ref->id > blocks->refs[i - 1].id);
		must(ref->has_data == (ref->data_length > 0));
		if (ref->has_image)
			check_image(&ref->image, block_size);
		p += ref->has_image ? ref->image.length : 0;
		must(ref->data == p);
		p += ref->data_length;
		restores |= wal_block_restores(ref);
	}
	must(p == NULL || blocks->main == p);
	must(blocks->main + blocks->main_present == rec + len);
	must(blocks->main_present <= blocks->main_length);
	must(!restores || !wal_blocks_restore_nothing(rec, len));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t	block_size = size > 0 && data[0] % 4 == 0 ? 1024u << data[0] / 4 % 6 : 8192;
	uint32_t	len = (uint32_t) size - 1;
	WalBlocks	blocks;
	WalBlocksReason reason;
	uint8_t    *rec;

	if (size < 1)
		return 0;
	rec = malloc(len > 0 ? len : 1);
	memcpy(rec, data + 1, len);
	reason = wal_blocks_decode(&blocks, rec, len, block_size);
	must(reason < WAL_BLOCKS_NREASONS);
	must((wal_blocks_words(reason)[0] == '\0') == (reason == WAL_BLOCKS_OK));
	(void) wal_blocks_restore_nothing(rec, len);
	if (reason == WAL_BLOCKS_OK)
		check_blocks(&blocks, rec, len, block_size);
	free(rec);
	return 0;
}

/* ---- the mutator ---- */

#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)

static uint32_t
put(uint8_t *rec, uint32_t at, uint32_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		rec[at + i] = (uint8_t) (value >> (8 * i));
	return at + bytes;
}

/* A block as a server writes it, in the byte order of x86. */
static uint32_t
fresh_block(uint8_t *rec, uint32_t at, uint32_t id, unsigned int *seed)
{
	uint32_t	flags = next_random(seed) & 0xE3;
	bool		image = next_random(seed) % 3 == 0;
	uint32_t	method = next_random(seed) % 4;
	uint32_t	hole = next_random(seed) % 2 ? 1 + next_random(seed) % 8000 : 0;

	at = put(rec, at, id, 1);
	at = put(rec, at, flags | (image ? WAL_BLOCK_HAS_IMAGE : 0), 1);
	at = put(rec, at, flags & WAL_BLOCK_HAS_DATA ? 1 + next_random(seed) % 200 : 0, 2);
	if (image)
	{
		at = put(rec, at, method > 0 ? 1 + next_random(seed) % 8191 : 8192 - hole, 2);
		at = put(rec, at, hole > 0 ? 1 + next_random(seed) % (8192 - hole) : 0, 2);
		at = put(rec, at, (hole > 0) | (next_random(seed) % 2) << 1 | (method > 0 ? 2u << method : 0), 1);
		if (hole > 0 && method > 0)
			at = put(rec, at, hole, 2);
	}
	if (!(flags & WAL_BLOCK_SAME_REL))
		for (int i = 0; i < 3; i++)
			at = put(rec, at, next_random(seed), 4);
	return put(rec, at, next_random(seed), 4);
}

/* Headers of a fresh record; returns where they end. */
static uint32_t
fresh_headers(uint8_t *rec, unsigned int *seed)
{
	uint32_t	at = WAL_REC_HEADER;
	uint32_t	blocks = next_random(seed) % (next_random(seed) % 8 == 0 ? 34 : 4);

	for (uint32_t id = 0; id < blocks; id++)
	{
		at = fresh_block(rec, at, id, seed);
		if (next_random(seed) % 8 == 0)
			at = put(rec, put(rec, at, WAL_ID_ORIGIN, 1), next_random(seed), 2);
		if (next_random(seed) % 8 == 0)
			at = put(rec, put(rec, at, WAL_ID_TOP_XID, 1), next_random(seed), 4);
	}
	if (next_random(seed) % 4 != 0)
		at = put(rec, put(rec, at, WAL_ID_DATA_SHORT, 1), next_random(seed) % 100, 1);
	return at;
}

/* The length that the headers say the record has. */
static uint32_t
length_of(const uint8_t *rec, uint32_t size)
{
	uint32_t	at = WAL_REC_HEADER;
	uint32_t	data = 0;

	while (at + 40 < size)
	{
		uint8_t		id = rec[at];

		if (id == WAL_ID_ORIGIN)
			at += 3;
		else if (id == WAL_ID_TOP_XID)
			at += 5;
		else if (id == WAL_ID_DATA_SHORT)
			return at + 2 + rec[at + 1] + data;
		else if (id == WAL_ID_DATA_LONG)
			return at + 5 + wal_load32(rec + at + 1) % 1024 + data;
		else if (id > WAL_BLOCK_MAX_ID)
			break;
		else
		{
			uint8_t		flags = rec[at + 1];

			data += wal_load16(rec + at + 2);
			at += 4;
			if (flags & WAL_BLOCK_HAS_IMAGE)
			{
				uint8_t		info = rec[at + 4];

				data += wal_load16(rec + at);
				at += 5 + ((info & WAL_IMAGE_HAS_HOLE) && (info & WAL_IMAGE_COMPRESSED) ? 2 : 0);
			}
			at += flags & WAL_BLOCK_SAME_REL ? 4 : 16;
		}
	}
	return at + data;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						unsigned int seed)
{
	uint8_t    *rec = data + 1;
	uint32_t	len;

	if (max_size < RECORD_MAX + 1)
		return LLVMFuzzerMutate(data, size, max_size);
	if (size < WAL_REC_HEADER + 2 || next_random(&seed) % 16 == 0)
	{
		memset(data, 1, RECORD_MAX + 1);
		size = fresh_headers(rec, &seed) + 64;
	}
	else
		size = LLVMFuzzerMutate(data, size, max_size);
	if (size < WAL_REC_HEADER + 2 || next_random(&seed) % 8 == 0)
		return size;
	if (size < RECORD_MAX + 1)
		memset(data + size, 0x5A, RECORD_MAX + 1 - size);
	len = length_of(rec, RECORD_MAX);
	if (len <= RECORD_MAX && len >= WAL_REC_HEADER)
		size = len + 1;
	len = (uint32_t) size - 1;
	memcpy(rec + WAL_REC_TOT_LEN, &len, 4);
	if (next_random(&seed) % 16 == 0)	/* cut within the main data, maybe */
		size -= next_random(&seed) % 64 % size;
	return size;
}

#pragma clang attribute pop
