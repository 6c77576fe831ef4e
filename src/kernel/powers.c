/*
 * powers.c
 *	  Tables of powers of x, shared by the kernels that multiply.
 *
 * README.md, "Multipliers"; derived by gen_constants.py.
 */
#define WANT_POWERS
#include "kernel.h"
#include "powers.h"
#include "constants.auto.h"

const unsigned char kernel_bytes_mask[192] = {
#define ONES_16(at) \
	[at] = 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, \
	0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF
	ONES_16(64), ONES_16(80), ONES_16(96), ONES_16(112)
};
