/*
 * format.h
 *	  The forms in which archivers keep files, by names and magic bytes.
 */
#ifndef DECODE_FORMAT_H
#define DECODE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DecodeFormat
{
#define DECODE_FORMAT(id, name, suffix) id,
#include "decode/format.def"

	/* the last one with a codec */
	DECODE_LAST_READ = DECODE_PLAIN
#define DECODE_CODEC(id, name, suffix, codec) + 1
#include "decode/format.def"
} DecodeFormat;

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
