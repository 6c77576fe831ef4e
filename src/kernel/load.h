/*
 * load.h
 *	  Loads from memory of any alignment.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdint.h>
#include <string.h>

/*
 * Loads in the byte order of this machine.  The compiler makes one instruction
 * of each.
 */
static inline uint16_t
load_native16(const void *p)
{
	uint16_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
load_native32(const void *p)
{
	uint32_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t
load_native64(const void *p)
{
	uint64_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
load_le32(const void *p)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap32(load_native32(p));
#else
	return load_native32(p);
#endif
}

#endif							/* LOAD_H */
