/* needs: kernel decode native */
/*
 * test_decode.c
 *	  Streams of compressed bytes: whole, cut off, damaged, in frames, as bombs.
 *
 * What the libraries' own encoders make must come back whole however it is
 * read; after any damage what is delivered is the beginning of that, or there
 * is a failure.
 */
#include "unit.h"

#include <errno.h>

#include "decode/decode.h"
#include "kernel/checksum.h"

#ifdef DECODE_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef DECODE_HAVE_LZ4
#include <lz4frame.h>
#endif
#ifdef DECODE_HAVE_ZSTD
#include <zstd.h>
#endif

#define ROOM	(4 * 1024 * 1024)

/* A file in memory, read in pieces of at most piece bytes. */
typedef struct Stored
{
	uint8_t    *bytes;
	size_t		len;
	size_t		piece;
	size_t		read;			/* how far it was read */
	int			error;			/* at its end, 0: none */
} Stored;

static uint8_t plain[ROOM];
static uint8_t out[ROOM];
static uint8_t frame[ROOM];

static ssize_t
read_stored(void *arg, void *buffer, size_t len, uint64_t offset)
{
	Stored	   *stored = arg;

	if (offset >= stored->len && stored->error != 0)
	{
		errno = stored->error;
		return -1;
	}
	if (offset >= stored->len)
		return 0;
	if (len > stored->piece)
		len = stored->piece;
	if (len > stored->len - offset)
		len = stored->len - (size_t) offset;
	memcpy(buffer, stored->bytes + offset, len);
	if (offset + len > stored->read)
		stored->read = (size_t) offset + len;
	return (ssize_t) len;
}

/* ---- encoders ---- */

#ifdef DECODE_HAVE_ZLIB
static size_t
encode_gzip(uint8_t *to, const uint8_t *from, size_t len)
{
	z_stream	stream = {0};
	gz_header	header = {0};
	size_t		size;

	deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
	header.name = (Bytef *) (uintptr_t) "segment";
	header.comment = (Bytef *) (uintptr_t) "a comment";
	header.extra = (Bytef *) (uintptr_t) "extra";
	header.extra_len = 5;
	header.hcrc = 1;			/* so that every bit is covered */
	deflateSetHeader(&stream, &header);
	stream.next_in = (Bytef *) (uintptr_t) from;
	stream.avail_in = (uInt) len;
	stream.next_out = to;
	stream.avail_out = ROOM;
	deflate(&stream, Z_FINISH);
	size = ROOM - stream.avail_out;
	deflateEnd(&stream);
	return size;
}
#endif

#ifdef DECODE_HAVE_LZ4
static size_t
encode_lz4(uint8_t *to, const uint8_t *from, size_t len)
{
	LZ4F_preferences_t preferences = {0};

	preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
	preferences.frameInfo.blockMode = LZ4F_blockLinked;
	return LZ4F_compressFrame(to, ROOM, from, len, &preferences);
}
#endif

#ifdef DECODE_HAVE_ZSTD
static size_t
encode_zstd(uint8_t *to, const uint8_t *from, size_t len)
{
	ZSTD_CCtx  *context = ZSTD_createCCtx();
	size_t		size;

	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	size = ZSTD_compress2(context, to, ROOM, from, len);
	ZSTD_freeCCtx(context);
	return size;
}
#endif

typedef struct Format
{
	DecodeFormat format;
	size_t		(*encode) (uint8_t *to, const uint8_t *from, size_t len);
} Format;

static const Format formats[] = {
#ifdef DECODE_HAVE_ZLIB
	{DECODE_GZIP, encode_gzip},
#else
	{DECODE_GZIP, NULL},
#endif
#ifdef DECODE_HAVE_LZ4
	{DECODE_LZ4, encode_lz4},
#else
	{DECODE_LZ4, NULL},
#endif
#ifdef DECODE_HAVE_ZSTD
	{DECODE_ZSTD, encode_zstd},
#else
	{DECODE_ZSTD, NULL},
#endif
};

#define NFORMATS	(sizeof(formats) / sizeof(formats[0]))

static Decoder *decoder;		/* one for all: formats may follow each other */

static Stored
stored_of(uint8_t *bytes, size_t len)
{
	Stored		stored = {bytes, len, ROOM, 0, 0};

	return stored;
}

/* Decodes all of it, at most ROOM bytes, in reads of at most step bytes. */
static size_t
decode(const Format *format, Stored *stored, size_t step)
{
	size_t		done = 0;

	decode_begin(decoder, format->format, read_stored, stored);
	for (;;)
	{
		size_t		wanted = step < ROOM - done ? step : ROOM - done;
		size_t		got = decode_read(decoder, out + done, wanted);

		done += got;
		if (got < wanted || wanted == 0)
			return done;
	}
}

static const char *
name(const Format *format)
{
	return decode_format_name(format->format);
}

/* Half of it compresses well. */
static void
make_plain(size_t len)
{
	for (size_t at = 0; at < len; at += 64)
	{
		if (unit_random() % 2)
			memset(plain + at, (int) (unit_random() % 4), 64);
		else
			unit_fill(plain + at, 64);
	}
}

/* Is what was delivered the beginning of what was encoded? */
static bool
is_prefix(size_t done, size_t len)
{
	return done <= len && memcmp(out, plain, done) == 0;
}

/* ---- cases ---- */

static void
test_whole(const Format *format)
{
	static const size_t sizes[] = {0, 1, 2, 63, 4096, 65535, 65536, 65537, 131072, 1048576};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		Stored		stored = stored_of(frame, 0);
		size_t		done;

		make_plain(sizes[i]);
		stored.len = format->encode(frame, plain, sizes[i]);
		stored.piece = 1 + unit_random() % 70000;
		done = decode(format, &stored, 1 + unit_random() % 200000);
		check(done == sizes[i] && is_prefix(done, sizes[i]) &&
			  decode_failure(decoder).reason == DECODE_FINE,
			  "%s: %zu of %zu bytes, failure %d", name(format), done, sizes[i],
			  decode_failure(decoder).reason);
		check(decode_read(decoder, out, 1) == 0, "%s: stays at its end", name(format));
	}
}

/* One file of several frames, with skippable ones between them. */
static void
test_frames(const Format *format)
{
	static const uint8_t skippable[] = {0x53, 0x2A, 0x4D, 0x18, 5, 0, 0, 0, 1, 2, 3, 4, 5};
	bool		skips = format->format != DECODE_GZIP;
	size_t		len = 0;
	size_t		size = 0;
	Stored		stored;
	size_t		done;

	make_plain(300000);
	for (int i = 0; i < 3; i++)
	{
		size_t		part = i == 1 ? 0 : 150000;

		/* LZ4 tools write them after the first frame: shared magic */
		if (skips && (i > 0 || format->format == DECODE_ZSTD))
		{
			memcpy(frame + size, skippable, sizeof(skippable));
			size += sizeof(skippable);
		}
		size += format->encode(frame + size, plain + len, part);
		len += part;
	}
	stored = stored_of(frame, size);
	stored.piece = 1000;
	done = decode(format, &stored, 100000);
	check(done == len && is_prefix(done, len) &&
		  decode_failure(decoder).reason == DECODE_FINE,
		  "%s: frames, %zu of %zu bytes", name(format), done, len);
	check(decode_format_of(frame, size) == format->format, "%s: by its magic", name(format));

	frame[size] = 'x';
	stored = stored_of(frame, size + 1);
	done = decode(format, &stored, 100000);
	check(done == len && decode_failure(decoder).reason == DECODE_TRAILING &&
		  decode_failure(decoder).offset == size,
		  "%s: trailing byte at %llu", name(format),
		  (unsigned long long) decode_failure(decoder).offset);
}

static void
test_truncated(const Format *format)
{
	size_t		size;

	make_plain(3000);
	size = format->encode(frame, plain, 3000);
	for (size_t len = 0; len < size; len++)
	{
		Stored		stored = stored_of(frame, len);
		size_t		done = decode(format, &stored, 1000);
		DecodeFailure failure = decode_failure(decoder);

		unit_at(len, done, (size_t) failure.reason);
		/* less than a magic number is none */
		check(is_prefix(done, 3000) && failure.offset <= len &&
			  (failure.reason == DECODE_TRUNCATED ||
			   (len < 4 && failure.reason == DECODE_DAMAGED)),
			  "%s: cut off at %zu: failure %d after %zu bytes", name(format),
			  len, failure.reason, done);
		stored = stored_of(frame, len);
		stored.error = EIO;
		check(decode(format, &stored, 7) == done &&
			  decode_failure(decoder).reason == DECODE_READ &&
			  decode_failure(decoder).stored == EIO,
			  "%s: a read fails at %zu, after %zu bytes", name(format), len, done);
	}
}

/* what encode_gzip() puts before the data: 10, 2 + 5, 8, 10 and 2 bytes */
#define GZIP_HEADER_BYTES	37

/*
 * All bits are covered by checksums: of gzip, see encode_gzip().  Those of the
 * data may be flipped into others that stand for the same.
 */
static void
test_flips(const Format *format)
{
	size_t		size;
	size_t		harmless = 0;

	make_plain(2000);
	size = format->encode(frame, plain, 2000);
	for (size_t bit = 0; bit < size * 8; bit++)
	{
		Stored		stored = stored_of(frame, size);
		size_t		done;

		frame[bit / 8] ^= (uint8_t) (1 << bit % 8);
		unit_at(bit, size, 0);
		done = decode(format, &stored, 1500);
		if (decode_failure(decoder).reason == DECODE_FINE)
		{
			check(done == 2000 && is_prefix(done, 2000) &&
				  (format->format != DECODE_GZIP || bit / 8 >= GZIP_HEADER_BYTES),
				  "%s: bit %zu goes unseen", name(format), bit);
			harmless++;
		}
		else
			check(done <= ROOM, "%s: bit %zu", name(format), bit);
		frame[bit / 8] ^= (uint8_t) (1 << bit % 8);
	}
	check(harmless < size, "%s: %zu flips without a failure", name(format), harmless);
}

/* Only what is asked for is decoded, and read. */
static void
test_bomb(const Format *format)
{
	size_t		size;
	Stored		stored;

	memset(plain, 0, ROOM);
	size = 0;
	for (int i = 0; i < 20; i++)
		size += format->encode(frame + size, plain, ROOM / 2);
	stored = stored_of(frame, size);
	decode_begin(decoder, format->format, read_stored, &stored);
	check(decode_read(decoder, out, 100000) == 100000, "%s: a bomb", name(format));
	stored.piece = 100;
	decode_begin(decoder, format->format, read_stored, &stored);
	stored.read = 0;
	decode_read(decoder, out, 100000);
	check(stored.read < size, "%s: a bomb is read as far as needed", name(format));
}

#ifdef DECODE_HAVE_ZLIB
static void
put_little32(uint8_t *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t) (value >> 8 * i);
}

static void
test_gzip_trailer(void)
{
	const Format *format = &formats[0];
	size_t		size;
	Stored		stored;
	DecodeFailure failure;
	uint32_t	crc;

	make_plain(1000);
	size = format->encode(frame, plain, 1000);
	crc = checksum_crc32(CHECKSUM_CRC_INIT, plain, 1000) ^ CHECKSUM_CRC_INIT;
	put_little32(frame + size - 8, crc ^ 1);
	stored = stored_of(frame, size);
	check(decode(format, &stored, 400) == 1000, "all of it comes before the trailer");
	failure = decode_failure(decoder);
	check(failure.reason == DECODE_CHECKSUM && failure.stored == (crc ^ 1) &&
		  failure.computed == crc && failure.offset == size, "gzip: CRC-32");
	put_little32(frame + size - 8, crc);
	put_little32(frame + size - 4, 999);
	decode(format, &stored, 400);
	failure = decode_failure(decoder);
	check(failure.reason == DECODE_LENGTH && failure.stored == 999 &&
		  failure.computed == 1000, "gzip: length");
	put_little32(frame + size - 4, 1001);
	decode(format, &stored, 400);
	check(decode_failure(decoder).reason == DECODE_LENGTH, "gzip: a longer one");
}
#endif

#ifdef DECODE_HAVE_LZ4
/* A frame that names a dictionary, and refers to what is in that alone. */
static void
test_lz4_dictionary(void)
{
	static const uint8_t block[] = {13, 0, 0, 0, 0x10, 'a', 0x00, 0x01,
	0x80, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0};
	LZ4F_preferences_t preferences = {0};
	Stored		stored = stored_of(frame, 0);
	size_t		header;

	preferences.frameInfo.dictID = 7;
	header = LZ4F_compressFrame(frame, ROOM, plain, 0, &preferences) - 4;
	memcpy(frame + header, block, sizeof(block));
	stored.len = header + sizeof(block);
	for (stored.piece = 1; stored.piece <= stored.len; stored.piece++)
	{
		decode(&formats[1], &stored, 1000);
		check(decode_failure(decoder).reason == DECODE_DICTIONARY,
			  "lz4: a dictionary, pieces of %zu: failure %d", stored.piece, decode_failure(decoder).reason);
	}
	frame[header - 1] ^= 1;		/* the checksum of the header */
	decode(&formats[1], &stored, 1000);
	check(decode_failure(decoder).reason == DECODE_DAMAGED,
		  "lz4: a damaged header: failure %d", decode_failure(decoder).reason);
}

/* A frame that tells its length, cut off, says nothing of the next one. */
static void
test_lz4_length(void)
{
	LZ4F_preferences_t preferences = {0};
	Stored		stored;
	size_t		done;

	make_plain(3000);
	preferences.frameInfo.contentSize = 3000;
	LZ4F_compressFrame(frame, ROOM, plain, 3000, &preferences);
	stored = stored_of(frame, 100);
	decode(&formats[1], &stored, 1000);
	check(decode_failure(decoder).reason == DECODE_TRUNCATED, "lz4: a length, cut off");
	stored.len = encode_lz4(frame, plain, 2000);
	done = decode(&formats[1], &stored, 1000);
	check(done == 2000 && is_prefix(done, 2000) &&
		  decode_failure(decoder).reason == DECODE_FINE,
		  "lz4: a whole frame after it: failure %d", decode_failure(decoder).reason);
	stored.len = 20;
	decode(&formats[1], &stored, 1000);
	stored.len = LZ4F_compressFrame(frame, ROOM, plain, 3000, &preferences);
	check(decode(&formats[1], &stored, 1000) == 3000 &&
		  decode_failure(decoder).reason == DECODE_FINE, "lz4: the same one, whole");
}
#endif

#ifdef DECODE_HAVE_ZSTD
/* A header that wants a window of 2^31 bytes, then a block of zeros. */
static void
test_zstd_window(void)
{
	static uint8_t bytes[] = {0x28, 0xB5, 0x2F, 0xFD, 0x00, 21 << 3, 0x0B, 0x00, 0x00, 0x00};
	Stored		stored = stored_of(bytes, sizeof(bytes));

	check(decode(&formats[2], &stored, 100) == 0 &&
		  decode_failure(decoder).reason == DECODE_WINDOW, "zstd: window");
	bytes[5] = 17 << 3;			/* 128 MB */
	stored = stored_of(bytes, sizeof(bytes));
	check(decode(&formats[2], &stored, 100) == 1 &&
		  decode_failure(decoder).reason == DECODE_FINE, "zstd: the largest window");
}

/* A skippable frame that claims 4 GB. */
static void
test_skippable(void)
{
	static uint8_t bytes[100] = {0x50, 0x2A, 0x4D, 0x18, 0xFF, 0xFF, 0xFF, 0xFF};
	Stored		stored = stored_of(bytes, sizeof(bytes));

	check(decode_format_of(bytes, 8) == DECODE_ZSTD, "skippable: its format");
	check(decode(&formats[2], &stored, 100) == 0 &&
		  decode_failure(decoder).reason == DECODE_TRUNCATED, "skippable: cut off");
}

/* A header that names dictionary 1, and a block of one byte. */
static void
test_zstd_dictionary(void)
{
	static uint8_t bytes[] = {0x28, 0xB5, 0x2F, 0xFD, 0x21, 0x01, 0x01, 0x09, 0x00, 0x00, 'x'};
	Stored		stored = stored_of(bytes, sizeof(bytes));

	check(decode(&formats[2], &stored, 100) == 0 &&
		  decode_failure(decoder).reason == DECODE_DICTIONARY,
		  "zstd: a dictionary: failure %d", decode_failure(decoder).reason);
}
#endif

#if defined(DECODE_HAVE_LZ4) && defined(DECODE_HAVE_ZSTD)
/* Frames of both formats, behind what either may begin with. */
static void
test_first_frame(void)
{
	static const uint8_t skippable[] = {0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 0};

	for (size_t i = 1; i < NFORMATS; i++)
	{
		const Format *format = &formats[i];
		Stored		stored = stored_of(frame, 0);
		size_t		done;

		make_plain(5000);
		memcpy(frame, skippable, sizeof(skippable));
		memcpy(frame + sizeof(skippable), skippable, sizeof(skippable));
		stored.len = 2 * sizeof(skippable) +
			format->encode(frame + 2 * sizeof(skippable), plain, 5000);
		stored.piece = 10;
		done = decode(&formats[2], &stored, 1000);
		check(done == 5000 && is_prefix(done, 5000) &&
			  decode_failure(decoder).reason == DECODE_FINE &&
			  decode_format(decoder) == format->format,
			  "%s after skippable frames: %zu bytes, failure %d", name(format),
			  done, decode_failure(decoder).reason);
		/* and what is told apart, in the place of the frame */
		memcpy(frame + 2 * sizeof(skippable), "\x02\x21\x4C\x18 and so on", 14);
		check(decode(&formats[i], &stored, 1000) == 0 &&
			  decode_failure(decoder).reason == DECODE_UNSUPPORTED &&
			  decode_format(decoder) == DECODE_LZ4_LEGACY,
			  "legacy LZ4 after skippable frames");
	}
}
#endif

/* A file that repeats a pattern for ever, after whatever it begins with. */
typedef struct Endless
{
	const char *what;
	Stored		first;
	const uint8_t *pattern;
	size_t		period;
	uint64_t	read;			/* how far */
} Endless;

static ssize_t
read_endless(void *arg, void *buffer, size_t len, uint64_t offset)
{
	Endless    *endless = arg;
	uint8_t    *to = buffer;

	if (offset < endless->first.len)
		return read_stored(&endless->first, buffer, len, offset);
	for (size_t i = 0; i < len; i++)
		to[i] = endless->pattern[(offset - endless->first.len + i) % endless->period];
	endless->read = offset + len;
	return (ssize_t) len;
}

static void
test_excess(const Format *format, Endless *endless)
{
	size_t		done;
	DecodeFailure failure;

	decode_begin(decoder, format->format, read_endless, endless);
	done = decode_read(decoder, out, ROOM);
	failure = decode_failure(decoder);
	check(done == 100000 && is_prefix(done, done) &&
		  failure.reason == DECODE_EXCESS && failure.stored == done,
		  "%s, %s: %zu bytes, failure %d", name(format), endless->what, done,
		  failure.reason);
	check(endless->read > DECODE_EXCESS_MAX &&
		  endless->read <= 2 * done + DECODE_EXCESS_MAX + 65536,
		  "%s, %s: %llu bytes are read", name(format), endless->what,
		  (unsigned long long) endless->read);
}

/*
 * What gives nothing is not read for ever, whatever it consists of: frames that
 * are skipped, frames and blocks that are empty.
 */
static void
test_excesses(const Format *format)
{
	static const uint8_t open_frame[] = {0x28, 0xB5, 0x2F, 0xFD, 0, 0x58};
	static uint8_t skippable[70000] = {0x53, 0x2A, 0x4D, 0x18};
	static uint8_t empty[1000];
	Endless		endless = {"empty frames", stored_of(frame, 0), empty, 0, 0};
	size_t		len = sizeof(skippable) - 8;

	make_plain(100000);
	endless.first.len = format->encode(frame, plain, 100000);
	endless.period = format->encode(empty, plain, 0);
	test_excess(format, &endless);
	if (format->format == DECODE_GZIP)
		return;
	for (int i = 0; i < 4; i++)
		skippable[4 + i] = (uint8_t) (len >> 8 * i);
	endless.what = "skippable frames";
	endless.pattern = skippable;
	endless.period = sizeof(skippable);
	test_excess(format, &endless);
	if (format->format != DECODE_ZSTD)
		return;
	memcpy(frame + endless.first.len, open_frame, sizeof(open_frame));
	endless.first.len += sizeof(open_frame);
	endless.what = "blocks of zeros";
	endless.pattern = (const uint8_t *) "";
	endless.period = 1;
	test_excess(format, &endless);
}

/* Formats that are told apart and not read. */
static void
test_unsupported(void)
{
	static uint8_t xz[] = "\xFD" "7zXZ\0 and so on";
	static const Format unread = {DECODE_XZ, NULL};
	Stored		stored = stored_of(xz, sizeof(xz));

	check(decode_format_of(xz, sizeof(xz)) == DECODE_XZ &&
		  decode_format_of((const uint8_t *) "Salted__", 8) == DECODE_ENCRYPTED &&
		  decode_format_of((const uint8_t *) "BZh9", 4) == DECODE_BZIP2 &&
		  decode_format_of((const uint8_t *) "\x02\x21\x4C\x18", 4) == DECODE_LZ4_LEGACY &&
		  decode_format_of((const uint8_t *) "\x10\xD1\x05\0\1\0\0\0", 8) == DECODE_PLAIN &&
		  decode_format_of(NULL, 0) == DECODE_PLAIN, "formats");
	check(decode(&unread, &stored, 10) == 0 &&
		  decode_failure(decoder).reason == DECODE_UNSUPPORTED, "xz is not read");
	check(!decode_can(DECODE_XZ) && !decode_can(DECODE_PLAIN), "nor promised");
}

int
main(int argc, char **argv)
{
	unit_begin("test_decode", argc, argv);
	checksum_init();
	decoder = decode_new();
	test_unsupported();
	for (size_t i = 0; i < NFORMATS; i++)
	{
		check(decode_can(formats[i].format) == (formats[i].encode != NULL),
			  "%s: can be read if its library is there", name(&formats[i]));
		if (formats[i].encode == NULL)
		{
			Stored		stored = stored_of(frame, 100);

			skip("%s: no headers of its library", name(&formats[i]));
			check(decode(&formats[i], &stored, 10) == 0 &&
				  decode_failure(decoder).reason == DECODE_UNSUPPORTED,
				  "%s: not without its library", name(&formats[i]));
			continue;
		}
		test_whole(&formats[i]);
		test_frames(&formats[i]);
		test_truncated(&formats[i]);
		test_flips(&formats[i]);
		test_bomb(&formats[i]);
		test_excesses(&formats[i]);
	}
#ifdef DECODE_HAVE_ZLIB
	test_gzip_trailer();
#endif
#ifdef DECODE_HAVE_LZ4
	test_lz4_length();
	test_lz4_dictionary();
#endif
#ifdef DECODE_HAVE_ZSTD
	test_zstd_window();
	test_skippable();
	test_zstd_dictionary();
#endif
#if defined(DECODE_HAVE_LZ4) && defined(DECODE_HAVE_ZSTD)
	test_first_frame();
#endif
	decode_free(decoder);
	return unit_finish();
}
