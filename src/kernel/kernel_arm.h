/*
 * kernel_arm.h
 *	  What gcc and clang call differently on arm64.
 *
 * Function attributes name extensions with a plus sign in gcc and without one
 * in clang before 16.  Before that too, clang's arm_acle.h and arm_neon.h hide
 * intrinsics whose extension the command line does not name.  So its built-ins
 * stand for them.
 */
#ifndef KERNEL_ARM_H
#define KERNEL_ARM_H

#if defined(__aarch64__)
#include <arm_neon.h>

#if defined(__clang__)
#define TARGET_PMULL			__attribute__((target("crc,aes")))
#define TARGET_PMULL_EOR3		__attribute__((target("crc,aes,sha3")))
#define arm_pmull(a, b)			__builtin_neon_vmull_p64((a)[0], (b)[0])
#define arm_pmull_high(a, b)	__builtin_neon_vmull_p64((a)[1], (b)[1])
#if __has_builtin(__builtin_neon_veor3q_v)	/* gone in clang 19 */
#define arm_eor3(a, b, c) \
	((uint64x2_t) __builtin_neon_veor3q_v((int8x16_t) (a), (int8x16_t) (b), \
										  (int8x16_t) (c), NEON_UINT64X2))
#define NEON_UINT64X2			51	/* clang's number of the result's type */
#else
#define arm_eor3(a, b, c)		veor3q_u64((a), (b), (c))
#endif
#define TARGET_CRC				__attribute__((target("crc")))
#define arm_crc32c_u64(r, v)	__builtin_arm_crc32cd((r), (v))
#define arm_crc32c_u32(r, v)	__builtin_arm_crc32cw((r), (v))
#define arm_crc32c_u8(r, v)		__builtin_arm_crc32cb((r), (v))
#define arm_crc32_u64(r, v)		__builtin_arm_crc32d((r), (v))
#define arm_crc32_u32(r, v)		__builtin_arm_crc32w((r), (v))
#define arm_crc32_u8(r, v)		__builtin_arm_crc32b((r), (v))
#else
#include <arm_acle.h>
#define TARGET_PMULL			__attribute__((target("+crc+crypto")))
#define TARGET_PMULL_EOR3 \
	__attribute__((target("arch=armv8.2-a+crc+crypto+sha3")))
#define arm_pmull(a, b)			vmull_p64(vgetq_lane_p64((a), 0), \
										  vgetq_lane_p64((b), 0))
#define arm_pmull_high(a, b)	vmull_high_p64((a), (b))
#define arm_eor3(a, b, c)		veor3q_u64((a), (b), (c))
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

/* Two quadwords, the lower in memory first. */
static inline uint64x2_t
pair(uint64_t low, uint64_t high)
{
	return vcombine_u64(vcreate_u64(low), vcreate_u64(high));
}

static inline uint64x2_t
load_vector(const unsigned char *p)
{
	return vreinterpretq_u64_u8(vld1q_u8(p));
}

/* Carry-less multiplications of the lower and of the higher quadwords. */
TARGET_PMULL static inline uint64x2_t
multiply_low(uint64x2_t a, uint64x2_t b)
{
	return vreinterpretq_u64_p128(arm_pmull(vreinterpretq_p64_u64(a),
											vreinterpretq_p64_u64(b)));
}

TARGET_PMULL static inline uint64x2_t
multiply_high(uint64x2_t a, uint64x2_t b)
{
	return vreinterpretq_u64_p128(arm_pmull_high(vreinterpretq_p64_u64(a),
												 vreinterpretq_p64_u64(b)));
}

#endif							/* __aarch64__ */

#endif							/* KERNEL_ARM_H */
