/*
 * kernel_armv8.c
 *	  CRC-32C and CRC-32 with three chains of the ARMv8 CRC instructions.
 *
 * The instructions take one cycle each but two or three until their result can
 * be used.  So three independent stretches are computed side by side and
 * joined as crc(a||b||c) = shift(shift(crc(a)) + crc(b)) + crc(c).  Here shift
 * is the effect of one stretch of zero bytes on a register, looked up a byte
 * at a time.  The method is that of V. Gopal et al., "Fast CRC Computation
 * for iSCSI Polynomial Using CRC32 Instruction", Intel 2011.  The tables
 * replace its multiplication, which CPUs with this kernel lack.
 */
#define WANT_CRC32C_CHAINS
#define WANT_CRC32_CHAINS
#include "kernel.h"
#include "kernel_arm.h"

#if defined(__aarch64__)
#include "constants.auto.h"

static inline uint32_t
shift(uint32_t reg, const uint32_t t[4][256])
{
	return t[0][reg & 0xFF] ^ t[1][(reg >> 8) & 0xFF] ^
		t[2][(reg >> 16) & 0xFF] ^ t[3][reg >> 24];
}

/*
 * Three chains over 3 * n bytes, n a multiple of 8, and one for what is left.
 */
#define DEFINE_KERNEL(crc) \
TARGET_CRC static inline uint32_t \
crc##_three(uint32_t a, const unsigned char *p, size_t n, \
			const uint32_t t[4][256]) \
{ \
	uint32_t	b = 0; \
	uint32_t	c = 0; \
\
	for (size_t i = 0; i < n; i += 8) \
	{ \
		a = arm_##crc##_u64(a, load_le64(p + i)); \
		b = arm_##crc##_u64(b, load_le64(p + n + i)); \
		c = arm_##crc##_u64(c, load_le64(p + 2 * n + i)); \
	} \
	return shift(shift(a, t) ^ b, t) ^ c; \
} \
\
TARGET_CRC uint32_t \
crc##_armv8(uint32_t reg, const void *data, size_t len) \
{ \
	const unsigned char *p = data; \
\
	for (; len >= 3 * 1024; len -= 3 * 1024, p += 3 * 1024) \
		reg = crc##_three(reg, p, 1024, crc##_shift_1024); \
	for (; len >= 3 * 128; len -= 3 * 128, p += 3 * 128) \
		reg = crc##_three(reg, p, 128, crc##_shift_128); \
	for (; len >= 8; len -= 8, p += 8) \
		reg = arm_##crc##_u64(reg, load_le64(p)); \
	if (len & 4) \
	{ \
		reg = arm_##crc##_u32(reg, load_le32(p)); \
		p += 4; \
	} \
	for (len &= 3; len > 0; len--, p++) \
		reg = arm_##crc##_u8(reg, *p); \
	return reg; \
}

DEFINE_KERNEL(crc32c)
DEFINE_KERNEL(crc32)

#endif							/* __aarch64__ */
