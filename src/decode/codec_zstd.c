/*
 * codec_zstd.c
 *	  Zstandard frames, by libzstd, which checks their checksums.
 */
#include "decode/codec.h"

#ifndef DECODE_HAVE_ZSTD

const DecodeCodec decode_codec_zstd = {DECODE_ZSTD, NULL, NULL, NULL};

#else

#include <zstd.h>
#include <zstd_errors.h>

static bool
zstd_begin(void **state)
{
	ZSTD_DCtx  *context = *state;

	if (context == NULL)
	{
		context = ZSTD_createDCtx();
		if (context == NULL)
			return false;
		*state = context;
	}
	ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
	ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, DECODE_WINDOW_LOG_MAX);
	return true;
}

static void
zstd_end(void *state)
{
	ZSTD_freeDCtx(state);
}

static DecodeReason
reason_of(size_t result)
{
	switch (ZSTD_getErrorCode(result))
	{
		case ZSTD_error_frameParameter_windowTooLarge:
			return DECODE_WINDOW;
		case ZSTD_error_dictionary_wrong:
			return DECODE_DICTIONARY;
		case ZSTD_error_memory_allocation:
			return DECODE_MEMORY;
		default:
			return DECODE_DAMAGED;
	}
}

static CodecResult
zstd_step(void *state, CodecSpan *span, DecodeFailure *failure)
{
	ZSTD_inBuffer in = {span->in, span->in_len, 0};
	ZSTD_outBuffer out = {span->out, span->out_len, 0};
	size_t		result = ZSTD_decompressStream(state, &out, &in);

	if (ZSTD_isError(result))
	{
		failure->reason = reason_of(result);
		return CODEC_FAILED;
	}
	span->in += in.pos;
	span->in_len -= in.pos;
	span->out += out.pos;
	span->out_len -= out.pos;
	return result == 0 ? CODEC_FRAME_END : CODEC_MORE;
}

const DecodeCodec decode_codec_zstd = {
	DECODE_ZSTD, zstd_begin, zstd_step, zstd_end
};

#endif							/* DECODE_HAVE_ZSTD */
