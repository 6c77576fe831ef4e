/*
 * decode.c
 *	  Compressed files as streams of bytes.
 *
 * Frames are told apart here, so that what follows the last one is seen.
 * Skippable frames (of LZ4 and Zstandard alike) are passed over without being
 * kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"

#define INPUT_BYTES		(64 * 1024)

struct Decoder
{
	/* the file */
	DecodeFormat format;
	DecodeReadFn read;
	void	   *arg;

	/* its bytes at hand are buffer[at .. end) */
	uint8_t    *buffer;
	size_t		at;
	size_t		end;
	uint64_t	offset;			/* in the file, of buffer[0] */
	bool		input_ended;
	uint64_t	given;			/* bytes that came out of them */

	/* where decoding stands */
	const DecodeCodec *codec;	/* whose state is kept for the next file */
	void	   *state;
	bool		in_frame;
	bool		any_frame;
	bool		ended;
	DecodeFailure failure;
};

static const DecodeCodec *
codec_of(DecodeFormat format)
{
	static const DecodeCodec *const codecs[] = {
#define DECODE_CODEC(id, name, suffix, codec) &decode_codec_##codec,
#include "decode/format.def"
	};

	for (size_t i = 0; i < sizeof(codecs) / sizeof(codecs[0]); i++)
		if (codecs[i]->format == format && codecs[i]->begin != NULL)
			return codecs[i];
	return NULL;
}

bool
decode_can(DecodeFormat format)
{
	return codec_of(format) != NULL;
}

Decoder *
decode_new(void)
{
	Decoder    *decoder = calloc(1, sizeof(Decoder));

	if (decoder == NULL)
		return NULL;
	decoder->buffer = malloc(INPUT_BYTES);
	if (decoder->buffer == NULL)
	{
		free(decoder);
		return NULL;
	}
	return decoder;
}

static void
free_state(Decoder *decoder)
{
	if (decoder->state != NULL)
		decoder->codec->end(decoder->state);
	decoder->state = NULL;
}

void
decode_free(Decoder *decoder)
{
	if (decoder == NULL)
		return;
	free_state(decoder);
	free(decoder->buffer);
	free(decoder);
}

DecodeFailure
decode_failure(const Decoder *decoder)
{
	return decoder->failure;
}

DecodeFormat
decode_format(const Decoder *decoder)
{
	return decoder->format;
}

static void
fail(Decoder *decoder, DecodeReason reason, uint64_t stored)
{
	decoder->failure.reason = reason;
	decoder->failure.stored = stored;
	decoder->failure.offset = decoder->offset + decoder->at;
	decoder->ended = true;
}

static void
choose(Decoder *decoder, DecodeFormat format)
{
	const DecodeCodec *codec = codec_of(format);

	if (codec != decoder->codec)
		free_state(decoder);
	decoder->codec = codec;
	decoder->format = format;
	if (codec == NULL)
		fail(decoder, DECODE_UNSUPPORTED, 0);
}

void
decode_begin(Decoder *decoder, DecodeFormat format, DecodeReadFn read,
			 void *arg)
{
	decoder->read = read;
	decoder->arg = arg;
	decoder->at = decoder->end = 0;
	decoder->offset = decoder->given = 0;
	decoder->input_ended = false;
	decoder->in_frame = decoder->any_frame = decoder->ended = false;
	memset(&decoder->failure, 0, sizeof(decoder->failure));
	choose(decoder, format);
}

/* ---- input ---- */

/*
 * Reads on until n bytes are at hand, or the file ends.  Returns false if that
 * failed.
 */
static bool
fill(Decoder *decoder, size_t n)
{
	while (decoder->end - decoder->at < n && !decoder->input_ended)
	{
		ssize_t		got;

		memmove(decoder->buffer, decoder->buffer + decoder->at,
				decoder->end - decoder->at);
		decoder->offset += decoder->at;
		decoder->end -= decoder->at;
		decoder->at = 0;
		if (decoder->offset + decoder->end > 2 * decoder->given + DECODE_EXCESS_MAX)
		{
			fail(decoder, DECODE_EXCESS, decoder->given);
			return false;
		}
		got = decoder->read(decoder->arg, decoder->buffer + decoder->end,
							INPUT_BYTES - decoder->end,
							decoder->offset + decoder->end);
		if (got < 0)
		{
			fail(decoder, DECODE_READ, (uint64_t) errno);
			return false;
		}
		decoder->end += (size_t) got;
		decoder->input_ended = got == 0;
	}
	return true;
}

/*
 * Passes over bytes of the file.  Returns false if it ends before, or fails.
 */
static bool
skip(Decoder *decoder, uint64_t n)
{
	while (n > 0)
	{
		size_t		part;

		if (!fill(decoder, 1))
			return false;
		part = decoder->end - decoder->at;
		if (part == 0)
		{
			fail(decoder, DECODE_TRUNCATED, 0);
			return false;
		}
		if (part > n)
			part = (size_t) n;
		decoder->at += part;
		n -= part;
	}
	return true;
}

/* ---- frames ---- */

#define SKIPPABLE_HEADER	8

static bool
is_skippable(const Decoder *decoder)
{
	const uint8_t *p = decoder->buffer + decoder->at;

	return decoder->format != DECODE_GZIP && decoder->end - decoder->at >= 4 &&
		(p[0] & 0xF0) == 0x50 && memcmp(p + 1, "\x2A\x4D\x18", 3) == 0;
}

static bool
skip_frame(Decoder *decoder)
{
	const uint8_t *p = decoder->buffer + decoder->at;
	uint64_t	len;

	if (decoder->end - decoder->at < SKIPPABLE_HEADER)
	{
		fail(decoder, DECODE_TRUNCATED, 0);
		return false;
	}
	len = (uint64_t) p[4] | (uint64_t) p[5] << 8 | (uint64_t) p[6] << 16 |
		(uint64_t) p[7] << 24;
	return skip(decoder, SKIPPABLE_HEADER + len);
}

/*
 * Begins the next frame, if there is another one, whose codec is then ready.
 */
static void
begin_frame(Decoder *decoder)
{
	DecodeFormat format;
	size_t		len;

	do
	{
		if (!fill(decoder, DECODE_MAGIC_MAX))
			return;
	} while (is_skippable(decoder) && skip_frame(decoder));
	if (decoder->ended)
		return;
	len = decoder->end - decoder->at;
	format = decode_format_of(decoder->buffer + decoder->at, len);
	if (!decoder->any_frame && format != DECODE_PLAIN)
		choose(decoder, format);
	if (decoder->ended)
		return;
	if (len == 0 && decoder->any_frame)
		decoder->ended = true;
	else if (len == 0)
		fail(decoder, DECODE_TRUNCATED, 0);
	else if (format != decoder->format)
		fail(decoder, decoder->any_frame ? DECODE_TRAILING : DECODE_DAMAGED, 0);
	else if (!decoder->codec->begin(&decoder->state))
		fail(decoder, DECODE_MEMORY, 0);
	else
		decoder->in_frame = decoder->any_frame = true;
}

/* Takes one step within a frame.  Returns the bytes put out. */
static size_t
step(Decoder *decoder, uint8_t *out, size_t len)
{
	CodecSpan	span = {decoder->buffer + decoder->at,
	decoder->end - decoder->at, out, len};
	size_t		had = span.in_len;
	CodecResult result = decoder->codec->step(decoder->state, &span,
											  &decoder->failure);

	decoder->at += had - span.in_len;
	if (result == CODEC_FRAME_END)
		decoder->in_frame = false;
	else if (result == CODEC_FAILED)
	{
		decoder->failure.offset = decoder->offset + decoder->at;
		decoder->ended = true;
	}
	else if (span.out_len == len && span.in_len == had &&
			 decoder->input_ended)
		fail(decoder, DECODE_TRUNCATED, 0);
	return len - span.out_len;
}

size_t
decode_read(Decoder *decoder, uint8_t *out, size_t len)
{
	size_t		done = 0;

	while (done < len && !decoder->ended)
	{
		size_t		given;

		if (!decoder->in_frame)
		{
			begin_frame(decoder);
			continue;
		}
		/* what a codec holds back comes before more of the file is read */
		given = step(decoder, out + done, len - done);
		done += given;
		decoder->given += given;
		if (given == 0 && decoder->at == decoder->end && decoder->in_frame &&
			!decoder->ended)
			(void) fill(decoder, 1);
	}
	return done;
}
