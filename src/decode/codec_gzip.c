/*
 * codec_gzip.c
 *	  Members of gzip files (RFC 1952), inflated by zlib and checked by our kernel.
 *
 * zlib is given the deflate stream alone.  Header and trailer are read here, so
 * that CRC-32 is computed by the kernel of this CPU.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/codec.h"
#include "kernel/checksum.h"
#include "kernel/load.h"

#ifndef DECODE_HAVE_ZLIB

const DecodeCodec decode_codec_gzip = {DECODE_GZIP, NULL, NULL, NULL};

#else

#include <zlib.h>

#define HEADER_BYTES	10
#define TRAILER_BYTES	8

/* flags of a header, of which the others are reserved */
#define FLAG_HEADER_CRC	0x02
#define FLAG_EXTRA		0x04
#define FLAG_NAME		0x08
#define FLAG_COMMENT	0x10
#define FLAGS_RESERVED	0xE0

typedef enum GzipPhase
{
	GZIP_HEADER,
	GZIP_EXTRA_LENGTH,
	GZIP_EXTRA,
	GZIP_NAME,
	GZIP_COMMENT,
	GZIP_HEADER_CRC,
	GZIP_BODY,
	GZIP_TRAILER
} GzipPhase;

typedef struct Gzip
{
	z_stream	stream;
	GzipPhase	phase;
	uint8_t		bytes[HEADER_BYTES];	/* collected so far */
	size_t		have;
	uint8_t		flags;
	uint32_t	left;			/* of the extra field */
	uint32_t	header_reg;		/* raw CRC-32 of the header */
	uint32_t	reg;			/* of what was inflated */
	uint32_t	length;			/* of that, modulo 2^32 */
} Gzip;

static bool
gzip_begin(void **state)
{
	Gzip	   *gzip = *state;

	if (gzip == NULL)
	{
		gzip = calloc(1, sizeof(Gzip));
		if (gzip == NULL || inflateInit2(&gzip->stream, -MAX_WBITS) != Z_OK)
		{
			free(gzip);
			return false;
		}
		*state = gzip;
	}
	else
		inflateReset(&gzip->stream);
	gzip->phase = GZIP_HEADER;
	gzip->have = 0;
	gzip->flags = 0;
	gzip->header_reg = gzip->reg = CHECKSUM_CRC_INIT;
	gzip->length = 0;
	return true;
}

static void
gzip_end(void *state)
{
	Gzip	   *gzip = state;

	inflateEnd(&gzip->stream);
	free(gzip);
}

static CodecResult
fail(DecodeFailure *failure, DecodeReason reason, uint64_t stored,
	 uint64_t computed)
{
	failure->reason = reason;
	failure->stored = stored;
	failure->computed = computed;
	return CODEC_FAILED;
}

/* ---- the header ---- */

/* Collects bytes into gzip->bytes until there are n. */
static bool
collect(Gzip *gzip, CodecSpan *span, size_t n)
{
	while (gzip->have < n && span->in_len > 0)
	{
		gzip->bytes[gzip->have++] = *span->in++;
		span->in_len--;
	}
	if (gzip->have < n)
		return false;
	gzip->have = 0;
	return true;
}

static bool
collect_header(Gzip *gzip, CodecSpan *span, size_t n)
{
	if (!collect(gzip, span, n))
		return false;
	gzip->header_reg = checksum_crc32(gzip->header_reg, gzip->bytes, n);
	return true;
}

/* Passes over the rest of the extra field. */
static bool
skip_extra(Gzip *gzip, CodecSpan *span)
{
	size_t		n = gzip->left < span->in_len ? gzip->left : span->in_len;

	gzip->header_reg = checksum_crc32(gzip->header_reg, span->in, n);
	span->in += n;
	span->in_len -= n;
	gzip->left -= (uint32_t) n;
	return gzip->left == 0;
}

/* Passes over a string and its terminator. */
static bool
skip_string(Gzip *gzip, CodecSpan *span)
{
	const uint8_t *zero = span->in_len == 0 ? NULL :
		memchr(span->in, 0, span->in_len);
	size_t		n = zero == NULL ? span->in_len : (size_t) (zero + 1 - span->in);

	gzip->header_reg = checksum_crc32(gzip->header_reg, span->in, n);
	span->in += n;
	span->in_len -= n;
	return zero != NULL;
}

/* After a part of the header comes the next one that the flags announce. */
static GzipPhase
next_phase(const Gzip *gzip)
{
	static const struct
	{
		GzipPhase	phase;
		uint8_t		flag;
	}			parts[] = {
		{GZIP_EXTRA_LENGTH, FLAG_EXTRA},
		{GZIP_NAME, FLAG_NAME},
		{GZIP_COMMENT, FLAG_COMMENT},
		{GZIP_HEADER_CRC, FLAG_HEADER_CRC}
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].phase > gzip->phase && (gzip->flags & parts[i].flag) != 0)
			return parts[i].phase;
	return GZIP_BODY;
}

static CodecResult
check_start(Gzip *gzip, DecodeFailure *failure)
{
	const uint8_t *bytes = gzip->bytes;

	/* deflate is the only method */
	if (bytes[0] != 0x1F || bytes[1] != 0x8B || bytes[2] != 8 ||
		(bytes[3] & FLAGS_RESERVED) != 0)
		return fail(failure, DECODE_DAMAGED, 0, 0);
	gzip->flags = bytes[3];
	return CODEC_MORE;
}

static CodecResult
check_header_crc(Gzip *gzip, CodecSpan *span, DecodeFailure *failure)
{
	uint16_t	computed = (uint16_t) (gzip->header_reg ^ CHECKSUM_CRC_INIT);
	uint16_t	stored;

	if (!collect(gzip, span, 2))
		return CODEC_MORE;
	stored = (uint16_t) (gzip->bytes[0] | gzip->bytes[1] << 8);
	if (stored != computed)
		return fail(failure, DECODE_CHECKSUM, stored, computed);
	gzip->phase = GZIP_BODY;
	return CODEC_MORE;
}

/* Reads one part of the header. */
static CodecResult
read_header(Gzip *gzip, CodecSpan *span, DecodeFailure *failure)
{
	bool		done = false;

	switch (gzip->phase)
	{
		case GZIP_HEADER:
			done = collect_header(gzip, span, HEADER_BYTES);
			if (done && check_start(gzip, failure) == CODEC_FAILED)
				return CODEC_FAILED;
			break;
		case GZIP_EXTRA_LENGTH:
			if (!collect_header(gzip, span, 2))
				break;
			gzip->left = (uint32_t) (gzip->bytes[0] | gzip->bytes[1] << 8);
			gzip->phase = GZIP_EXTRA;
			break;
		case GZIP_EXTRA:
			done = skip_extra(gzip, span);
			break;
		case GZIP_NAME:
		case GZIP_COMMENT:
			done = skip_string(gzip, span);
			break;
		default:
			return check_header_crc(gzip, span, failure);
	}
	if (done)
		gzip->phase = next_phase(gzip);
	return CODEC_MORE;
}

/* ---- the body and the trailer ---- */

static CodecResult
inflate_body(Gzip *gzip, CodecSpan *span, DecodeFailure *failure)
{
	z_stream   *stream = &gzip->stream;
	size_t		done;
	int			result;

	stream->next_in = (Bytef *) (uintptr_t) span->in;
	stream->avail_in = (uInt) span->in_len;
	stream->next_out = span->out;
	stream->avail_out = (uInt) span->out_len;
	result = inflate(stream, Z_NO_FLUSH);
	done = span->out_len - stream->avail_out;
	gzip->reg = checksum_crc32(gzip->reg, span->out, done);
	gzip->length += (uint32_t) done;
	span->in += span->in_len - stream->avail_in;
	span->in_len = stream->avail_in;
	span->out += done;
	span->out_len -= done;
	if (result == Z_STREAM_END)
		gzip->phase = GZIP_TRAILER;
	else if (result == Z_MEM_ERROR)
		return fail(failure, DECODE_MEMORY, 0, 0);
	else if (result != Z_OK && result != Z_BUF_ERROR)
		return fail(failure, DECODE_DAMAGED, 0, 0);
	return CODEC_MORE;
}

static CodecResult
check_trailer(Gzip *gzip, CodecSpan *span, DecodeFailure *failure)
{
	uint32_t	crc = gzip->reg ^ CHECKSUM_CRC_INIT;

	if (!collect(gzip, span, TRAILER_BYTES))
		return CODEC_MORE;
	if (load_le32(gzip->bytes) != crc)
		return fail(failure, DECODE_CHECKSUM, load_le32(gzip->bytes), crc);
	if (load_le32(gzip->bytes + 4) != gzip->length)
		return fail(failure, DECODE_LENGTH, load_le32(gzip->bytes + 4),
					gzip->length);
	return CODEC_FRAME_END;
}

static CodecResult
gzip_step(void *state, CodecSpan *span, DecodeFailure *failure)
{
	Gzip	   *gzip = state;

	if (gzip->phase < GZIP_BODY)
		return read_header(gzip, span, failure);
	if (gzip->phase == GZIP_BODY)
		return inflate_body(gzip, span, failure);
	return check_trailer(gzip, span, failure);
}

const DecodeCodec decode_codec_gzip = {
	DECODE_GZIP, gzip_begin, gzip_step, gzip_end
};

#endif							/* DECODE_HAVE_ZLIB */
