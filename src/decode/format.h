/*
 * format.h
 *	  The forms in which archivers keep files, by names and magic bytes.
 */
#ifndef DECODE_FORMAT_H
#define DECODE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The names are those of pg_basebackup where it has one.  After them stands
 * what archivers append to the names of files.
 */
#define DECODE_FORMAT_LIST \
	DECODE_FORMAT(DECODE_PLAIN, "none", "") \
	DECODE_FORMAT(DECODE_GZIP, "gzip", ".gz") \
	DECODE_FORMAT(DECODE_LZ4, "lz4", ".lz4") \
	DECODE_FORMAT(DECODE_ZSTD, "zstd", ".zst") \
	/* those from here on are told apart, never read */ \
	DECODE_FORMAT(DECODE_BZIP2, "bzip2", ".bz2") \
	DECODE_FORMAT(DECODE_XZ, "xz", ".xz") \
	DECODE_FORMAT(DECODE_LZOP, "lzop", ".lzo") \
	DECODE_FORMAT(DECODE_BROTLI, "brotli", ".br") \
	DECODE_FORMAT(DECODE_ENCRYPTED, "encrypted", ".gpg") \
	DECODE_FORMAT(DECODE_LZ4_LEGACY, "lz4_legacy", ".lz4")	/* of "lz4 -l" */

typedef enum DecodeFormat
{
#define DECODE_FORMAT(id, name, suffix) id,
	DECODE_FORMAT_LIST
#undef DECODE_FORMAT
} DecodeFormat;

#define DECODE_LAST_READ	DECODE_ZSTD

/* No magic number is longer. */
#define DECODE_MAGIC_MAX	8

extern const char *decode_format_name(DecodeFormat format);
extern const char *decode_format_suffix(DecodeFormat format);

/* Returns the first format whose suffix text begins with, or DECODE_PLAIN. */
extern DecodeFormat decode_format_suffixed(const char *text);

/* Is the text the suffix of a format that is read, and of which? */
extern bool decode_format_named(const char *text, DecodeFormat *format);

/*
 * Tells by the first bytes of a file what it is.  They are fewer than
 * DECODE_MAGIC_MAX only if it has no more.  DECODE_PLAIN is none of the
 * others.
 */
extern DecodeFormat decode_format_of(const uint8_t *bytes, size_t len);

#endif							/* DECODE_FORMAT_H */
