/*
 * pmull_arm.inc.h
 *	  The two kernels with pmull, CRC-32C and CRC-32, by fold_arm.inc.h.
 *
 * Included by kernel_pmull.c and kernel_pmull_eor3.c, which differ in
 *
 *	  TARGET			attribute that enables the instructions
 *	  XOR3(a, b, c)		of three vectors
 *	  KERNEL_NAME(crc)	crc32c_pmull, say, for crc32c
 */
#include "constants.auto.h"

/* From here on folding is ahead of a chain of CRC instructions. */
#define FOLD_FROM		192

#define FN(x)			crc32c_##x
#define CRC_CONST(x)	CRC32C_##x
#define CRC_U64			arm_crc32c_u64
#define CRC_U32			arm_crc32c_u32
#define CRC_U8			arm_crc32c_u8
#include "fold_arm.inc.h"
#undef FN
#undef CRC_CONST
#undef CRC_U64
#undef CRC_U32
#undef CRC_U8

TARGET uint32_t
KERNEL_NAME(crc32c) (uint32_t reg, const void *data, size_t len)
{
	return len < FOLD_FROM ? crc32c_chain(reg, data, len) :
		crc32c_bulk(reg, data, len);
}

#define FN(x)			crc32_##x
#define CRC_CONST(x)	CRC32_##x
#define CRC_U64			arm_crc32_u64
#define CRC_U32			arm_crc32_u32
#define CRC_U8			arm_crc32_u8
#include "fold_arm.inc.h"

TARGET uint32_t
KERNEL_NAME(crc32) (uint32_t reg, const void *data, size_t len)
{
	return len < FOLD_FROM ? crc32_chain(reg, data, len) :
		crc32_bulk(reg, data, len);
}
