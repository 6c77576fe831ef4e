/*
 * decompress.c
 *	  The decompressors of full-page images that the program has.
 *
 * The server's own method, pglz, is a byte of control bits before each eight
 * items, the lowest bit first.  A bit that is not set is one literal byte.  A
 * bit that is set is a copy of what was written before, in two bytes or three.
 * The low half of the first is the length less 3, its high half the high bits
 * of how far back it is, and the second the low ones.  A length of 18 goes on
 * in a third byte, which is added.  (Format: the head comment of
 * src/common/pg_lzcompress.c in PostgreSQL.)
 */
#ifdef DECODE_HAVE_LZ4
#include <lz4.h>

#define WAL_LINKS_LZ4
#endif
#ifdef DECODE_HAVE_ZSTD
#include <zstd.h>

#define WAL_LINKS_ZSTD
#endif

#include "program/decompress.h"
#include "wal/block_library.h"

#define PGLZ_LONG	18			/* a length that goes on */

typedef struct Pglz
{
	const uint8_t *in;
	const uint8_t *in_end;
	uint8_t    *out;
	uint8_t    *start;
	uint8_t    *out_end;
} Pglz;

/*
 * Copies may reach into what they write, which repeats it.  What goes beyond
 * the end is cut off, as the server does.
 */
static bool
copy_back(Pglz *pglz)
{
	uint32_t	length;
	uint32_t	back;

	if (pglz->in_end - pglz->in < 2)
		return false;
	length = (pglz->in[0] & 0x0F) + 3u;
	back = (uint32_t) (pglz->in[0] & 0xF0) << 4 | pglz->in[1];
	pglz->in += 2;
	if (length == PGLZ_LONG)
	{
		if (pglz->in == pglz->in_end)
			return false;
		length += *pglz->in++;
	}
	if (back == 0 || (ptrdiff_t) back > pglz->out - pglz->start)
		return false;
	for (; length > 0 && pglz->out < pglz->out_end; length--, pglz->out++)
		*pglz->out = pglz->out[-(ptrdiff_t) back];
	return true;
}

/* Restores the items of one control byte. */
static bool
restore_items(Pglz *pglz)
{
	unsigned	control = *pglz->in++;

	for (int i = 0; i < 8 && pglz->in < pglz->in_end && pglz->out < pglz->out_end;
		 i++, control >>= 1)
	{
		if ((control & 1) == 0)
			*pglz->out++ = *pglz->in++;
		else if (!copy_back(pglz))
			return false;
	}
	return true;
}

bool
pglz_restore(const uint8_t *data, uint32_t len, uint8_t *out, uint32_t raw)
{
	Pglz		pglz = {data, data + len, out, out, out + raw};

	while (pglz.in < pglz.in_end && pglz.out < pglz.out_end)
		if (!restore_items(&pglz))
			return false;
	return pglz.in == pglz.in_end && pglz.out == pglz.out_end;
}

const WalDecompressors program_decompressors = {
	{
		[WAL_METHOD_PGLZ] = pglz_restore,
		[WAL_METHOD_LZ4] = wal_block_lz4,
		[WAL_METHOD_ZSTD] = wal_block_zstd,
	}
};
