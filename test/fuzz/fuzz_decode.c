/* needs: kernel decode max_len:16384 long:10000000 */
/*
 * fuzz_decode.c
 *	  Anything fed to the decoders of compressed files.
 *
 * Input: 4 bytes of options, then a file.  It is decoded twice by one decoder,
 * read and taken in different pieces, which must not matter.  What was decoded
 * without a failure the library's own decoder of whole files must give, too
 * (libzstd's is stricter); of gzip, what failed must fail there.
 *
 * Checksums and headers would stop nearly every mutation at the door, so the
 * mutator begins with what encoders make and repairs what it has mutated, most
 * of the time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "fuzz.h"

#ifdef DECODE_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef DECODE_HAVE_LZ4
#include <lz4frame.h>
#endif
#ifdef DECODE_HAVE_ZSTD
#include <zstd.h>
#endif

#define OPTIONS		4
#define ROOM		(256 * 1024)	/* no more is decoded of an input */
#define PLAIN		4096		/* of a fresh frame, at most */

static const DecodeFormat formats[] = {
	DECODE_GZIP, DECODE_LZ4, DECODE_ZSTD, DECODE_XZ
};

/* A file in memory, read in pieces; its end may be an error. */
typedef struct Stored
{
	const uint8_t *bytes;
	size_t		len;
	size_t		piece;
	int			error;
} Stored;

typedef struct Decoded
{
	uint8_t    *bytes;
	size_t		len;
	bool		ended;			/* else it was cut off at ROOM */
	DecodeFailure failure;
} Decoded;

static ssize_t
read_stored(void *arg, void *buffer, size_t len, uint64_t offset)
{
	const Stored *stored = arg;

	must(len > 0 && offset <= stored->len);
	if (offset == stored->len && stored->error != 0)
	{
		errno = stored->error;
		return -1;
	}
	if (len > stored->piece)
		len = stored->piece;
	if (len > stored->len - offset)
		len = stored->len - (size_t) offset;
	memcpy(buffer, stored->bytes + offset, len);
	return (ssize_t) len;
}

/* ---- what a decoder must keep ---- */

static void
check_failure(const Decoded *decoded, const Stored *stored, DecodeFormat format)
{
	DecodeReason reason = decoded->failure.reason;

	must(reason <= DECODE_UNSUPPORTED && reason != DECODE_MEMORY);
	must(decoded->failure.offset <= stored->len);
	must((reason == DECODE_UNSUPPORTED) == !decode_can(format));
	if (reason == DECODE_READ)
		must(stored->error != 0 && decoded->failure.stored == (uint64_t) stored->error);
	if (reason == DECODE_TRUNCATED || reason == DECODE_FINE)
		must(stored->error == 0 || !decoded->ended);
	if (reason == DECODE_CHECKSUM || reason == DECODE_LENGTH)
		must(format == DECODE_GZIP && decoded->failure.stored != decoded->failure.computed);
	if (reason == DECODE_WINDOW)
		must(format == DECODE_ZSTD);
}

/* Takes pieces of step bytes, each into memory of just that size. */
static Decoded
decode(Decoder *decoder, DecodeFormat format, Stored *stored, size_t step)
{
	Decoded		decoded = {malloc(ROOM), 0, false, {DECODE_FINE, 0, 0, 0}};

	decode_begin(decoder, format, read_stored, stored);
	while (!decoded.ended && decoded.len < ROOM)
	{
		size_t		wanted = step < ROOM - decoded.len ? step : ROOM - decoded.len;
		uint8_t    *piece = malloc(wanted);
		size_t		got = decode_read(decoder, piece, wanted);

		must(got <= wanted);
		memcpy(decoded.bytes + decoded.len, piece, got);
		free(piece);
		decoded.len += got;
		decoded.ended = got < wanted;
	}
	decoded.failure = decode_failure(decoder);
	check_failure(&decoded, stored, decode_format(decoder));
	if (decoded.ended)
		must(decode_read(decoder, decoded.bytes, 1) == 0);
	return decoded;
}

static bool
is_fine(const Decoded *decoded)
{
	return decoded->ended && decoded->failure.reason == DECODE_FINE;
}

/*
 * How much comes before a failure is up to the library.  So is what libzstd says
 * of a frame that it has as a whole, with room for all of it: it needs no window
 * then, and the announced length counts even where the last block is empty.
 */
static void
check_same(const Decoded *a, const Decoded *b, DecodeFormat format)
{
	size_t		len = a->len < b->len ? a->len : b->len;

	must(memcmp(a->bytes, b->bytes, len) == 0);
	if (!a->ended || !b->ended)
		return;
	must(!is_fine(a) || !is_fine(b) || a->len == b->len);
	must(a->failure.reason == b->failure.reason || format == DECODE_ZSTD);
}

/* ---- the libraries' own decoders ---- */

/* All of a file at once; whether it is whole. */
#ifdef DECODE_HAVE_ZLIB
static bool
whole_gzip(const uint8_t *in, size_t len, uint8_t *out, size_t *done)
{
	z_stream	stream = {0};
	int			result = Z_STREAM_END;

	must(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK);
	stream.next_in = (Bytef *) (uintptr_t) in;
	stream.avail_in = (uInt) len;
	stream.next_out = out;
	stream.avail_out = ROOM + 1;
	do
	{
		inflateReset(&stream);
		result = inflate(&stream, Z_FINISH);
	} while (result == Z_STREAM_END && stream.avail_in > 0);
	*done = ROOM + 1 - stream.avail_out;
	inflateEnd(&stream);
	return result == Z_STREAM_END;
}
#endif

#ifdef DECODE_HAVE_LZ4
static bool
whole_lz4(const uint8_t *in, size_t len, uint8_t *out, size_t *done)
{
	LZ4F_dctx  *context;
	size_t		result = 1;
	size_t		at = 0;

	must(!LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)));
	*done = 0;
	while (at < len)
	{
		size_t		taken = len - at;
		size_t		given = ROOM + 1 - *done;

		result = LZ4F_decompress(context, out + *done, &given, in + at, &taken, NULL);
		if (LZ4F_isError(result) || taken + given == 0)
			break;
		at += taken;
		*done += given;
	}
	LZ4F_freeDecompressionContext(context);
	return result == 0;
}
#endif

#ifdef DECODE_HAVE_ZSTD
static bool
whole_zstd(const uint8_t *in, size_t len, uint8_t *out, size_t *done)
{
	*done = ZSTD_decompress(out, ROOM + 1, in, len);
	return !ZSTD_isError(*done);
}
#endif

static void
check_whole(const Decoded *decoded, DecodeFormat format, const Stored *stored)
{
	static uint8_t out[ROOM + 1];
	size_t		done = 0;
	bool		whole = is_fine(decoded);

	(void) format;
	if (!decoded->ended || stored->error != 0)
		return;
#ifdef DECODE_HAVE_ZLIB
	if (format == DECODE_GZIP)
		must(whole_gzip(stored->bytes, stored->len, out, &done) == whole);
#endif
#ifdef DECODE_HAVE_LZ4
	if (format == DECODE_LZ4 && whole)
		must(whole_lz4(stored->bytes, stored->len, out, &done));
#endif
#ifdef DECODE_HAVE_ZSTD
	if (format == DECODE_ZSTD && whole)
		whole = whole_zstd(stored->bytes, stored->len, out, &done);
#endif
	if (whole)
		must(done == decoded->len && memcmp(out, decoded->bytes, done) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	DecodeFormat named;
	DecodeFormat format;
	Stored		stored;
	Decoder    *decoder;
	Decoded		first;
	Decoded		second;
	uint8_t    *file;

	if (size < OPTIONS)
		return 0;
	named = formats[data[0] % 4];
	size -= OPTIONS;
	file = malloc(size + 1);	/* a decoder that writes to it is seen */
	memcpy(file, data + OPTIONS, size);
	stored = (Stored) {file, size, SIZE_MAX, data[0] & 0x80 ? EIO : 0};
	must(decode_format_name(decode_format_of(file, size < DECODE_MAGIC_MAX ? size : DECODE_MAGIC_MAX))[0] != '\0');
	decoder = decode_new();
	first = decode(decoder, named, &stored, ROOM);
	format = decode_format(decoder);
	stored.piece = 1 + data[1];
	second = decode(decoder, named, &stored, (size_t) 1 + data[2] + 256 * (size_t) (data[3] % 64));
	must(decode_format(decoder) == format);
	check_same(&first, &second, format);
	check_whole(&first, format, &stored);
	must(memcmp(file, data + OPTIONS, size) == 0);
	decode_free(decoder);
	free(first.bytes);
	free(second.bytes);
	free(file);
	return 0;
}

/* ---- the mutator ---- */

#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)

static size_t
fresh_plain(uint8_t *plain, unsigned int *seed)
{
	size_t		len = next_random(seed) % PLAIN;

	for (size_t at = 0; at < len; at++)
		plain[at] = (uint8_t) (at / 64 % 3 == 0 ? next_random(seed) : at / 64);
	return len;
}

#ifdef DECODE_HAVE_ZLIB
static size_t
fresh_gzip(uint8_t *to, size_t room, const uint8_t *plain, size_t len, uint32_t how)
{
	z_stream	stream = {0};
	gz_header	header = {0};
	size_t		size;

	deflateInit2(&stream, (int) (how % 10), Z_DEFLATED, MAX_WBITS + 16, 8, (int) (how / 16 % 5));
	header.name = how & 256 ? (Bytef *) (uintptr_t) "segment" : NULL;
	header.comment = how & 512 ? (Bytef *) (uintptr_t) "comment" : NULL;
	header.extra = how & 1024 ? (Bytef *) (uintptr_t) "extra" : NULL;
	header.extra_len = 5;
	header.hcrc = (how & 2048) != 0;
	deflateSetHeader(&stream, &header);
	stream.next_in = (Bytef *) (uintptr_t) plain;
	stream.avail_in = (uInt) len;
	stream.next_out = to;
	stream.avail_out = (uInt) room;
	deflate(&stream, Z_FINISH);
	size = room - stream.avail_out;
	deflateEnd(&stream);
	return size;
}

/* Where the header ends that the flags describe; its CRC is made right. */
static size_t
repair_gzip_header(uint8_t *data, size_t size)
{
	size_t		at = 10;
	uint8_t		flags = data[3];

	memcpy(data, "\x1F\x8B\x08", 3);
	data[3] = flags &= 0x1F;
	if (flags & 4)
		at += at + 2 <= size ? 2u + data[at] + 256u * data[at + 1] : 2u;
	for (int part = 8; part <= 16; part *= 2)
	{
		while ((flags & part) && at < size && data[at] != 0)
			at++;
		at += (flags & part) != 0;
	}
	if ((flags & 2) && at + 2 <= size)
	{
		uint32_t	crc = (uint32_t) crc32(0, data, (uInt) at);

		data[at] = (uint8_t) crc;
		data[at + 1] = (uint8_t) (crc >> 8);
	}
	return flags & 2 ? at + 2 : at;
}

/* Makes the first member right, as far as it inflates. */
static void
repair_gzip(uint8_t *data, size_t size)
{
	static uint8_t out[ROOM];
	z_stream	stream = {0};
	size_t		at = repair_gzip_header(data, size);

	if (at >= size)
		return;
	must(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
	stream.next_in = data + at;
	stream.avail_in = (uInt) (size - at);
	stream.next_out = out;
	stream.avail_out = sizeof(out);
	if (inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in >= 8)
	{
		uint32_t	crc = (uint32_t) crc32(0, out, (uInt) stream.total_out);

		for (int i = 0; i < 4; i++)
		{
			data[size - stream.avail_in + i] = (uint8_t) (crc >> 8 * i);
			data[size - stream.avail_in + 4 + i] = (uint8_t) (stream.total_out >> 8 * i);
		}
	}
	inflateEnd(&stream);
}
#endif

#ifdef DECODE_HAVE_LZ4
static size_t
fresh_lz4(uint8_t *to, size_t room, const uint8_t *plain, size_t len, uint32_t how)
{
	LZ4F_preferences_t preferences = {0};
	size_t		size;

	preferences.frameInfo.blockMode = how & 1 ? LZ4F_blockIndependent : LZ4F_blockLinked;
	preferences.frameInfo.contentChecksumFlag = how & 2 ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
	preferences.frameInfo.blockChecksumFlag = how & 4 ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum;
	preferences.frameInfo.contentSize = how & 8 ? len : 0;
	preferences.compressionLevel = (int) (how / 16 % 12);
	size = LZ4F_compressFrame(to, room, plain, len, &preferences);
	return LZ4F_isError(size) ? 0 : size;
}

static uint32_t
rotated(uint32_t value, int bits)
{
	return value << bits | value >> (32 - bits);
}

/* The header's own check byte: of XXH32, as the xxHash specification has it. */
static void
repair_lz4(uint8_t *data, size_t size)
{
	size_t		len = 2u + (data[4] & 8) + (data[4] & 1 ? 4 : 0);
	uint32_t	hash = 374761393u + (uint32_t) len;
	size_t		at = 4;

	memcpy(data, "\x04\x22\x4D\x18", 4);
	if (size < 4 + len + 1)
		return;
	for (; at + 4 <= 4 + len; at += 4)
	{
		uint32_t	word = (uint32_t) data[at] | (uint32_t) data[at + 1] << 8 |
			(uint32_t) data[at + 2] << 16 | (uint32_t) data[at + 3] << 24;

		hash = rotated(hash + word * 3266489917u, 17) * 668265263u;
	}
	for (; at < 4 + len; at++)
		hash = rotated(hash + data[at] * 374761393u, 11) * 2654435761u;
	hash = (hash ^ hash >> 15) * 2246822519u;
	hash = (hash ^ hash >> 13) * 3266489917u;
	data[4 + len] = (uint8_t) ((hash ^ hash >> 16) >> 8);
}
#endif

#ifdef DECODE_HAVE_ZSTD
static size_t
fresh_zstd(uint8_t *to, size_t room, const uint8_t *plain, size_t len, uint32_t how)
{
	ZSTD_CCtx  *context = ZSTD_createCCtx();
	size_t		size;

	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, (how & 1) != 0);
	ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, (how & 2) != 0);
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, (int) (how / 16 % 8));
	size = ZSTD_compress2(context, to, room, plain, len);
	ZSTD_freeCCtx(context);
	return ZSTD_isError(size) ? 0 : size;
}

/* Nothing but its checksum can be wrong of a block that decodes: it goes. */
static void
repair_zstd(uint8_t *data)
{
	memcpy(data, "\x28\xB5\x2F\xFD", 4);
	data[4] &= (uint8_t) ~4;
}
#endif

static size_t
fresh_frame(uint8_t *to, size_t room, DecodeFormat format, unsigned int *seed)
{
	static uint8_t plain[PLAIN];
	size_t		len = fresh_plain(plain, seed);
	uint32_t	how = next_random(seed);

	(void) to, (void) room, (void) format, (void) len, (void) how;
#ifdef DECODE_HAVE_ZLIB
	if (format == DECODE_GZIP)
		return fresh_gzip(to, room, plain, len, how);
#endif
#ifdef DECODE_HAVE_LZ4
	if (format == DECODE_LZ4)
		return fresh_lz4(to, room, plain, len, how);
#endif
#ifdef DECODE_HAVE_ZSTD
	if (format == DECODE_ZSTD)
		return fresh_zstd(to, room, plain, len, how);
#endif
	return 0;
}

static void
repair(uint8_t *data, size_t size, DecodeFormat format)
{
	(void) data, (void) format;
	if (size < 32)
		return;
#ifdef DECODE_HAVE_ZLIB
	if (format == DECODE_GZIP)
		repair_gzip(data, size);
#endif
#ifdef DECODE_HAVE_LZ4
	if (format == DECODE_LZ4)
		repair_lz4(data, size);
#endif
#ifdef DECODE_HAVE_ZSTD
	if (format == DECODE_ZSTD)
		repair_zstd(data);
#endif
}

/* Another frame after those that are there, some of them to be skipped. */
static size_t
add_frame(uint8_t *data, size_t size, size_t max_size, unsigned int *seed)
{
	DecodeFormat format = formats[data[0] % 4];

	if (format != DECODE_GZIP && next_random(seed) % 4 == 0 && size + 16 <= max_size)
	{
		memcpy(data + size, "\x50\x2A\x4D\x18\x08\0\0\0 skipped", 16);
		return size + 16;
	}
	return size + fresh_frame(data + size, max_size - size, format, seed);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						unsigned int seed)
{
	if (max_size < 2 * OPTIONS)
		return LLVMFuzzerMutate(data, size, max_size);
	if (size <= OPTIONS || next_random(&seed) % 32 == 0)
	{
		for (size_t i = 0; i < OPTIONS; i++)
			data[i] = (uint8_t) next_random(&seed);
		data[0] &= next_random(&seed) % 8 == 0 ? 0xFF : 0x7F;
		size = OPTIONS;
	}
	if (size == OPTIONS || next_random(&seed) % 16 == 0)
		size = add_frame(data, size, max_size, &seed);
	else
		size = LLVMFuzzerMutate(data, size, max_size);
	if (size > OPTIONS && next_random(&seed) % 4 != 0)
		repair(data + OPTIONS, size - OPTIONS, formats[data[0] % 4]);
	return size;
}

#pragma clang attribute pop
