/*
 * sha1.h
 *	  SHA-1 (FIPS 180-4), by which pgBackRest names segments.
 *
 * It tells damage from what was archived, and secures nothing.  It is here, of
 * 60 lines, so that the program needs no library but those that decompress.
 */
#ifndef ACCEL_PROGRAM_SHA1_H
#define ACCEL_PROGRAM_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES		20
#define SHA1_BLOCK		64

typedef struct Sha1
{
	uint32_t	state[5];
	uint64_t	len;			/* bytes so far */
	uint8_t		block[SHA1_BLOCK];	/* those of the last, incomplete block */
} Sha1;

extern void sha1_begin(Sha1 *sha1);
extern void sha1_add(Sha1 *sha1, const void *data, size_t len);
extern void sha1_end(Sha1 *sha1, uint8_t digest[SHA1_BYTES]);

#endif							/* ACCEL_PROGRAM_SHA1_H */
