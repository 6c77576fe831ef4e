/*
 * kernel_pmull_eor3.c
 *	  As kernel_pmull.c, with the three-way xor of the SHA-3 extension, which
 *	  saves one instruction of five.
 */
#include "kernel.h"
#include "kernel_arm.h"

#if defined(__aarch64__)
#include "constants.auto.h"

#define TARGET			TARGET_PMULL_EOR3
#define XOR3(a, b, c)	arm_eor3((a), (b), (c))

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
crc32c_pmull_eor3(uint32_t reg, const void *data, size_t len)
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
crc32_pmull_eor3(uint32_t reg, const void *data, size_t len)
{
	return len < FOLD_FROM ? crc32_chain(reg, data, len) :
		crc32_bulk(reg, data, len);
}
#endif							/* __aarch64__ */
