/*
 * kernel_pclmul.c
 *	  CRCs by carry-less multiplications of 128-bit vectors.
 *
 * CRC-32C takes them from FUSED_FROM on, beside crc32 instructions.  Below,
 * one and three chains of these are faster.
 */
#include "kernel.h"

#if defined(__x86_64__)
#include <smmintrin.h>
#include <wmmintrin.h>

#include "kernel_x86.h"

#define TARGET __attribute__((target("sse4.2,pclmul")))
#define INLINE TARGET inline __attribute__((always_inline))

#define VBYTES 16
#include "vector_x86.inc.h"

#define CRC(x) crc32c_##x
#define CRC_CONST_(x) CRC32C_##x
#define FN(x) crc32c_pclmul_##x
#define REDUCE(w, s) reduce_crc32c(w, s)
#define WITHOUT_BULK
#define FUSED
#include "fold_x86.inc.h"

#define CRC(x) crc32_##x
#define CRC_CONST_(x) CRC32_##x
#define FN(x) crc32_pclmul_##x
#define FEW(reg, p, n) crc32_few(reg, p, n)
#define REDUCE(w, s) reduce_crc32(w, s)
#include "fold_x86.inc.h"

TARGET __attribute__((noinline)) static uint32_t
crc32c_fused_and_rest(uint32_t reg, const unsigned char *p, size_t len)
{
	reg = crc32c_pclmul_fused_run(reg, &p, &len);
	return crc32c_pclmul(reg, p, len);
}

TARGET uint32_t
crc32c_pclmul(uint32_t reg, const void *data, size_t len)
{
	const unsigned char *p = data;

	if (len >= FUSED_FROM)
		return crc32c_fused_and_rest(reg, p, len);
	if (len < INSTRUCTIONS_BELOW)
		return crc32c_instructions(reg, p, len);
	return crc32c_sse42_x3(reg, p, len);
}

TARGET uint32_t
crc32_pclmul(uint32_t reg, const void *data, size_t len)
{
	const unsigned char *p = data;

	if (len <= VBYTES)
		return crc32_few(reg, p, len);
	if (len <= (SHORT_WHOLE + 1) * VBYTES)
		return crc32_pclmul_short(reg, p, len);
	return crc32_pclmul_bulk(reg, p, len);
}
#endif
