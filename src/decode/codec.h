/*
 * codec.h
 *	  What each library does for the decoder, which is one frame, step by step.
 *
 * A codec whose library this build lacks has no functions.
 */
#ifndef DECODE_CODEC_H
#define DECODE_CODEC_H

#include <stdbool.h>

#include "decode/format.h"

/*
 * Windows up to 128 MB are the most that a reader of Zstandard accepts without
 * being told to.  Nothing here allocates more, whatever a header says.
 */
#define DECODE_WINDOW_LOG_MAX	27

/*
 * Of a file at most twice the bytes that it gave are read, and this many more.
 * So skippable frames and empty ones, of whatever length, do not take time.
 */
#define DECODE_EXCESS_MAX	(16 * 1024 * 1024)

typedef enum DecodeReason
{
	DECODE_FINE,
	DECODE_READ,				/* reading the file failed, errno is in stored */
	DECODE_TRUNCATED,			/* the file ends within a frame */
	DECODE_DAMAGED,				/* no encoder writes that */
	DECODE_CHECKSUM,			/* of gzip, with stored and computed */
	DECODE_LENGTH,				/* of gzip, with stored and computed */
	DECODE_TRAILING,			/* bytes after the last frame */
	/* nothing from here on is said against the file */
	DECODE_WINDOW,				/* needs more than DECODE_WINDOW_LOG_MAX */
	DECODE_DICTIONARY,			/* needs one that is not in the file */
	DECODE_EXCESS,				/* above DECODE_EXCESS_MAX, bytes given are in
								 * stored */
	DECODE_MEMORY,				/* there is none */
	DECODE_UNSUPPORTED			/* by this build, or ever */
} DecodeReason;

typedef struct DecodeFailure
{
	DecodeReason reason;
	uint64_t	offset;			/* in the file, where it was noticed */
	uint64_t	stored;
	uint64_t	computed;
} DecodeFailure;

typedef enum CodecResult
{
	CODEC_MORE,					/* in or out is used up */
	CODEC_FRAME_END,
	CODEC_FAILED
} CodecResult;

/* Bytes to take and room to fill.  Each step moves both on. */
typedef struct CodecSpan
{
	const uint8_t *in;
	size_t		in_len;
	uint8_t    *out;
	size_t		out_len;
} CodecSpan;

typedef struct DecodeCodec
{
	DecodeFormat format;

	/* makes *state (NULL at first) ready for a frame, false without memory */
	bool		(*begin) (void **state);

	/* sets failure, but for its offset, if it returns CODEC_FAILED */
	CodecResult (*step) (void *state, CodecSpan *span, DecodeFailure *failure);
	void		(*end) (void *state);
} DecodeCodec;

#define DECODE_CODEC(id, name, suffix, codec) \
	extern const DecodeCodec decode_codec_##codec;
#include "decode/format.def"

#endif							/* DECODE_CODEC_H */
