/*
 * codec_lz4.c
 *	  LZ4 frames, by liblz4, which checks their checksums.
 */
#include "decode/codec.h"

#ifndef DECODE_HAVE_LZ4

const DecodeCodec decode_codec_lz4 = {DECODE_LZ4, NULL, NULL, NULL};

#else

#include <lz4frame.h>

static bool
lz4_begin(void **state)
{
	LZ4F_dctx  *context = *state;

	if (context != NULL)
	{
		LZ4F_resetDecompressionContext(context);
		return true;
	}
	if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
		return false;
	*state = context;
	return true;
}

static void
lz4_end(void *state)
{
	LZ4F_freeDecompressionContext(state);
}

static CodecResult
lz4_step(void *state, CodecSpan *span, DecodeFailure *failure)
{
	size_t		taken = span->in_len;
	size_t		given = span->out_len;
	size_t		result = LZ4F_decompress(state, span->out, &given, span->in,
										 &taken, NULL);

	if (LZ4F_isError(result))
	{
		failure->reason = DECODE_DAMAGED;
		return CODEC_FAILED;
	}
	span->in += taken;
	span->in_len -= taken;
	span->out += given;
	span->out_len -= given;
	return result == 0 ? CODEC_FRAME_END : CODEC_MORE;
}

const DecodeCodec decode_codec_lz4 = {
	DECODE_LZ4, lz4_begin, lz4_step, lz4_end
};

#endif							/* DECODE_HAVE_LZ4 */
