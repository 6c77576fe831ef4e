/*
 * decode.h
 *	  Compressed files as streams of bytes.
 *
 * The frames of a file (members, in gzip) are one stream.  What goes wrong is
 * a value, and what was decoded before it is delivered.  Memory is bounded by
 * DECODE_WINDOW_LOG_MAX whatever the file says.  How much is decoded is the
 * caller's to bound.
 */
#ifndef DECODE_H
#define DECODE_H

#include <sys/types.h>

#include "decode/codec.h"

/*
 * Reads a file at an offset.  Returns bytes read, 0 at its end, -1 with errno.
 */
typedef ssize_t (*DecodeReadFn) (void *arg, void *buffer, size_t len,
								 uint64_t offset);

typedef struct Decoder Decoder;

/* Can this build read the format? */
extern bool decode_can(DecodeFormat format);

/*
 * Returns NULL without memory.  It is freed by decode_free(), at whatever
 * point.
 */
extern Decoder *decode_new(void);
extern void decode_free(Decoder *decoder);

/*
 * Begins a file, or the same one again.  A format that this build cannot read
 * is a failure of the first read.  Where skippable frames come first, the
 * frame after them may be of another format.  After the first read,
 * decode_format() tells.
 */
extern void decode_begin(Decoder *decoder, DecodeFormat format,
						 DecodeReadFn read, void *arg);

/*
 * Reads the next len bytes.  Returns fewer at the end, and before a failure,
 * which decode_failure() tells.  After that it returns 0.
 */
extern size_t decode_read(Decoder *decoder, uint8_t *out, size_t len);

extern DecodeFormat decode_format(const Decoder *decoder);

/* its reason is DECODE_FINE if nothing failed yet */
extern DecodeFailure decode_failure(const Decoder *decoder);

#endif							/* DECODE_H */
