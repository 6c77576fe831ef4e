/*
 * kernel_arm.h
 *	  What gcc and clang call differently on arm64.
 *
 * Function attributes name extensions with a plus sign in gcc and without one
 * in clang before 16; clang's arm_acle.h and arm_neon.h hide intrinsics whose
 * extension the command line does not name, so its built-ins stand for them.
 */
#ifndef KERNEL_ARM_H
#define KERNEL_ARM_H

#if defined(__aarch64__)

#if defined(__clang__)
#define TARGET_CRC				__attribute__((target("crc")))
#define arm_crc32c_u64(r, v)	__builtin_arm_crc32cd((r), (v))
#define arm_crc32c_u32(r, v)	__builtin_arm_crc32cw((r), (v))
#define arm_crc32c_u8(r, v)		__builtin_arm_crc32cb((r), (v))
#define arm_crc32_u64(r, v)		__builtin_arm_crc32d((r), (v))
#define arm_crc32_u32(r, v)		__builtin_arm_crc32w((r), (v))
#define arm_crc32_u8(r, v)		__builtin_arm_crc32b((r), (v))
#else
#include <arm_acle.h>
#define TARGET_CRC				__attribute__((target("+crc")))
#define arm_crc32c_u64(r, v)	__crc32cd((r), (v))
#define arm_crc32c_u32(r, v)	__crc32cw((r), (v))
#define arm_crc32c_u8(r, v)		__crc32cb((r), (v))
#define arm_crc32_u64(r, v)		__crc32d((r), (v))
#define arm_crc32_u32(r, v)		__crc32w((r), (v))
#define arm_crc32_u8(r, v)		__crc32b((r), (v))
#endif

/* Little-endian words of the data, as the instructions want them. */
static inline uint64_t
load_le64(const void *p)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(load_native64(p));
#else
	return load_native64(p);
#endif
}

#endif							/* __aarch64__ */

#endif							/* KERNEL_ARM_H */
