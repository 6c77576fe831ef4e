/*
 * block_image.c
 *	  Pages from the full-page images of WAL records.
 *
 * An image is the page without the hole between pd_lower and pd_upper, which
 * held zeros.  The rest may be compressed.  It is put into the page at once.
 * Then the part after the hole moves to its place.
 */
#include "wal/block_image.h"

WalImageResult
wal_block_image_restore(const WalImage *image, uint32_t block_size,
						const WalDecompressors *decompressors, uint8_t *page)
{
	uint32_t	raw = block_size - image->hole_length;
	uint32_t	hole_end = (uint32_t) image->hole_offset + image->hole_length;
	WalDecompressFn decompress = decompressors->by[image->compression];

	if (image->compression == WAL_METHOD_NONE)
		memcpy(page, image->data, raw);
	else if (decompress == NULL)
		return WAL_IMAGE_UNAVAILABLE;
	else if (!decompress(image->data, image->length, page, raw))
		return WAL_IMAGE_DAMAGED;
	if (image->hole_length > 0)
	{
		memmove(page + hole_end, page + image->hole_offset,
				block_size - hole_end);
		memset(page + image->hole_offset, 0, image->hole_length);
	}
	return WAL_IMAGE_RESTORED;
}

const char *
wal_image_method_name(WalImageMethod compression)
{
	static const char *const names[] = {"none", "pglz", "lz4", "zstd"};

	return names[compression];
}
