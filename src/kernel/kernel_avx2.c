/*
 * kernel_avx2.c
 *	  CRCs by carry-less multiplications of 256-bit vectors.
 *
 * For CPUs with VPCLMULQDQ but without AVX-512.  There are no masked loads of
 * bytes, so CRC-32C of few bytes takes the crc32 instruction and CRC-32 the
 * 128-bit kernel.  CRC-32C runs crc32 instructions beside the multiplications
 * up to 256 bytes and from FUSED_FROM on, and three chains of them between.
 */
#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernel_x86.h"

#define TARGET \
	__attribute__((target("sse4.2,pclmul,avx2,vpclmulqdq")))
#define INLINE TARGET inline __attribute__((always_inline))

#define VBYTES 32
#include "vector_x86.inc.h"

#define CRC(x) crc32c_##x
#define CRC_CONST_(x) CRC32C_##x
#define FN(x) crc32c_avx2_##x
#define REDUCE(w, s) reduce_crc32c(w, s)
#define WITHOUT_BULK
#define MIXED
#define FUSED
#include "fold_x86.inc.h"

#define CRC(x) crc32_##x
#define CRC_CONST_(x) CRC32_##x
#define FN(x) crc32_avx2_##x
#define FEW(reg, p, n) crc32_pclmul(reg, p, n)
#define REDUCE(w, s) reduce_crc32(w, s)
#include "fold_x86.inc.h"

TARGET __attribute__((noinline)) static uint32_t
crc32c_fused_and_rest(uint32_t reg, const unsigned char *p, size_t len)
{
	reg = crc32c_avx2_fused_run(reg, &p, &len);
	return crc32c_avx2(reg, p, len);
}

TARGET uint32_t
crc32c_avx2(uint32_t reg, const void *data, size_t len)
{
	const unsigned char *p = data;

	if (len >= FUSED_FROM)
		return crc32c_fused_and_rest(reg, p, len);
	if (len < INSTRUCTIONS_BELOW)
		return crc32c_instructions(reg, p, len);
	if (len <= 64 + 6 * VBYTES)
		return crc32c_avx2_mixed(reg, p, len);
	return crc32c_sse42_x3(reg, p, len);
}

TARGET uint32_t
crc32_avx2(uint32_t reg, const void *data, size_t len)
{
	const unsigned char *p = data;

	if (len <= VBYTES)
		return crc32_pclmul(reg, p, len);
	if (len <= (SHORT_WHOLE + 1) * VBYTES)
		return crc32_avx2_short(reg, p, len);
	return crc32_avx2_bulk(reg, p, len);
}
#endif
