/*
 * powers.c
 *	  Tables of powers of x, shared by the kernels that multiply and by combining.
 *
 * They are derived by gen_constants.py, see README.md, "Multipliers".
 */
#define WANT_POWERS
#define WANT_COMBINE
#include "kernel.h"
#include "powers.h"
#include "constants.auto.h"

const unsigned char kernel_bytes_mask[192] = {
#define ONES_16(at) \
	[at] = 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, \
	0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF
	ONES_16(64), ONES_16(80), ONES_16(96), ONES_16(112)
};

const unsigned char kernel_byte_places[128] = {
#define PLACES_8(at) \
	(at), (at) + 1, (at) + 2, (at) + 3, (at) + 4, (at) + 5, (at) + 6, (at) + 7
#define PLACES_32(at) \
	PLACES_8(at), PLACES_8((at) + 8), PLACES_8((at) + 16), PLACES_8((at) + 24)
	PLACES_32(0), PLACES_32(32), PLACES_32(64), PLACES_32(96)
};
