/*
 * sha2.h
 *	  SHA-224, SHA-256, SHA-384 and SHA-512 (FIPS 180-4), of backup manifests.
 *
 * They tell damage from what was backed up.  They are here for the reason that
 * sha1.h has.
 */
#ifndef ACCEL_PROGRAM_SHA2_H
#define ACCEL_PROGRAM_SHA2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA2_BYTES_MAX	64
#define SHA2_BLOCK_MAX	128

typedef struct Sha2
{
	uint32_t	bytes;			/* of the digest, which names the algorithm */
	bool		wide;			/* words of 64 bits, not of 32 */
	uint64_t	state[8];		/* words, of 32 bits in the low half */
	uint64_t	len;			/* bytes so far */
	uint8_t		block[SHA2_BLOCK_MAX];	/* those of the last, incomplete block */
} Sha2;

/* bytes is 28, 32, 48 or 64. */
extern void sha2_begin(Sha2 *sha2, uint32_t bytes);
extern void sha2_add(Sha2 *sha2, const void *data, size_t len);
extern void sha2_end(Sha2 *sha2, uint8_t *digest);

#endif							/* ACCEL_PROGRAM_SHA2_H */
