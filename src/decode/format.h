/*
 * format.h
 *	  The forms in which archivers keep files: names, and magic bytes.
 */
#ifndef DECODE_FORMAT_H
#define DECODE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* The names are those of pg_basebackup where it has one. */
#define DECODE_FORMAT_LIST \
	DECODE_FORMAT(DECODE_PLAIN, "none") \
	DECODE_FORMAT(DECODE_GZIP, "gzip") \
	DECODE_FORMAT(DECODE_LZ4, "lz4") \
	DECODE_FORMAT(DECODE_ZSTD, "zstd") \
	/* from here on: told apart, never read */ \
	DECODE_FORMAT(DECODE_BZIP2, "bzip2") \
	DECODE_FORMAT(DECODE_XZ, "xz") \
	DECODE_FORMAT(DECODE_LZOP, "lzop") \
	DECODE_FORMAT(DECODE_BROTLI, "brotli") \
	DECODE_FORMAT(DECODE_ENCRYPTED, "encrypted")

typedef enum DecodeFormat
{
#define DECODE_FORMAT(id, name) id,
	DECODE_FORMAT_LIST
#undef DECODE_FORMAT
} DecodeFormat;

/* No magic number is longer. */
#define DECODE_MAGIC_MAX	8

extern const char *decode_format_name(DecodeFormat format);

/*
 * What the first bytes of a file are: fewer than DECODE_MAGIC_MAX if it has no
 * more.  DECODE_PLAIN: none of the others.
 */
extern DecodeFormat decode_format_of(const uint8_t *bytes, size_t len);

#pragma GCC visibility pop

#endif							/* DECODE_FORMAT_H */
