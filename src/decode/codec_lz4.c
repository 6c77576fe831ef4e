/*
 * codec_lz4.c
 *	  LZ4 frames, by liblz4, which checks their checksums.
 */
#include <stdlib.h>

#include "decode/codec.h"

#ifndef DECODE_HAVE_LZ4

const DecodeCodec decode_codec_lz4 = {DECODE_LZ4, NULL, NULL, NULL};

#else

#include <lz4frame.h>

typedef struct Lz4
{
	LZ4F_dctx  *context;
	bool		in_frame;		/* the last frame was left unfinished */
} Lz4;

/*
 * A context that stopped within a frame is not used again.  Resetting it keeps
 * the length that the frame had announced (liblz4 1.9.4), so that an intact
 * one would be refused.
 */
static bool
new_context(Lz4 *lz4)
{
	LZ4F_freeDecompressionContext(lz4->context);
	lz4->context = NULL;
	lz4->in_frame = false;
	return !LZ4F_isError(LZ4F_createDecompressionContext(&lz4->context,
														 LZ4F_VERSION));
}

static bool
lz4_begin(void **state)
{
	Lz4		   *lz4 = *state;

	if (lz4 == NULL)
		lz4 = *state = calloc(1, sizeof(Lz4));
	if (lz4 == NULL)
		return false;
	if (lz4->context != NULL && !lz4->in_frame)
		LZ4F_resetDecompressionContext(lz4->context);
	else if (!new_context(lz4))
		return false;
	lz4->in_frame = true;
	return true;
}

static void
lz4_end(void *state)
{
	Lz4		   *lz4 = state;

	LZ4F_freeDecompressionContext(lz4->context);
	free(lz4);
}

/*
 * Was the frame's header read, and does it name a dictionary?  The error that
 * LZ4F_getFrameInfo() may return is again that of the block that failed.
 */
static bool
needs_dictionary(const Lz4 *lz4)
{
	LZ4F_frameInfo_t info = {0};
	size_t		none = 0;

	(void) LZ4F_getFrameInfo(lz4->context, &info, NULL, &none);
	return info.dictID != 0;
}

static CodecResult
lz4_step(void *state, CodecSpan *span, DecodeFailure *failure)
{
	Lz4		   *lz4 = state;
	size_t		taken = span->in_len;
	size_t		given = span->out_len;
	size_t		result = LZ4F_decompress(lz4->context, span->out, &given,
										 span->in, &taken, NULL);

	if (LZ4F_isError(result))
	{
		failure->reason = needs_dictionary(lz4) ? DECODE_DICTIONARY :
			DECODE_DAMAGED;
		return CODEC_FAILED;
	}
	span->in += taken;
	span->in_len -= taken;
	span->out += given;
	span->out_len -= given;
	lz4->in_frame = result != 0;
	return lz4->in_frame ? CODEC_MORE : CODEC_FRAME_END;
}

const DecodeCodec decode_codec_lz4 = {
	DECODE_LZ4, lz4_begin, lz4_step, lz4_end
};

#endif							/* DECODE_HAVE_LZ4 */
