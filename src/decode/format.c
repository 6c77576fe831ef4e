/*
 * format.c
 *	  The forms in which archivers keep files, by names and magic bytes.
 *
 * The magic numbers are those of RFC 1952 (gzip), RFC 8878 (Zstandard) and the
 * LZ4 frame format 1.6.  The others are from the documents of xz, bzip2, lzop
 * and openssl-enc.
 */
#include <string.h>

#include "decode/format.h"

typedef struct Magic
{
	DecodeFormat format;
	size_t		len;
	const char *bytes;
} Magic;

static const Magic magics[] = {
	{DECODE_GZIP, 2, "\x1F\x8B"},
	{DECODE_LZ4, 4, "\x04\x22\x4D\x18"},
	{DECODE_ZSTD, 4, "\x28\xB5\x2F\xFD"},
	{DECODE_BZIP2, 3, "BZh"},
	{DECODE_XZ, 6, "\xFD" "7zXZ\0"},
	{DECODE_LZOP, 4, "\x89LZO"},
	{DECODE_ENCRYPTED, 8, "Salted__"},
	{DECODE_LZ4_LEGACY, 4, "\x02\x21\x4C\x18"}
};

static const struct
{
	const char *name;
	const char *suffix;
}			formats[] = {
#define DECODE_FORMAT(id, name, suffix) {name, suffix},
#include "decode/format.def"
};

#define NFORMATS	(sizeof(formats) / sizeof(formats[0]))

const char *
decode_format_name(DecodeFormat format)
{
	return (size_t) format < NFORMATS ? formats[format].name : "";
}

const char *
decode_format_suffix(DecodeFormat format)
{
	return formats[format].suffix;
}

DecodeFormat
decode_format_suffixed(const char *text)
{
	for (size_t i = 1; i < NFORMATS; i++)
		if (strncmp(text, formats[i].suffix, strlen(formats[i].suffix)) == 0)
			return (DecodeFormat) i;
	return DECODE_PLAIN;
}

bool
decode_format_named(const char *text, DecodeFormat *format)
{
	*format = decode_format_suffixed(text);
	return *format <= DECODE_LAST_READ &&
		strcmp(text, formats[*format].suffix) == 0;
}

DecodeFormat
decode_format_of(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (len >= magics[i].len &&
			memcmp(bytes, magics[i].bytes, magics[i].len) == 0)
			return magics[i].format;
	/* a skippable frame, maybe of LZ4, which the decoder finds out after it */
	if (len >= 4 && (bytes[0] & 0xF0) == 0x50 &&
		memcmp(bytes + 1, "\x2A\x4D\x18", 3) == 0)
		return DECODE_ZSTD;
	return DECODE_PLAIN;
}
