/*
 * kernel_pclmul.c
 *	  CRCs by carry-less products of 128-bit vectors.
 *
 * CRC-32C takes them from FUSED_FROM on, beside crc32 instructions; below, one
 * and three chains of these are faster.
 */
#include "kernel.h"

#if defined(__x86_64__)
#include <smmintrin.h>
#include <wmmintrin.h>

#include "kernel_x86.h"

#define TARGET __attribute__((target("sse4.2,pclmul")))
#define INLINE TARGET inline __attribute__((always_inline))

#define V __m128i
#define VBYTES 16
#define VLOAD(p) _mm_loadu_si128((const __m128i *) (p))
#define VLOAD_ALIGNED(p) _mm_load_si128((const __m128i *) (p))
#define VLOAD_BEGIN(p, n) \
	_mm_and_si128(VLOAD(p), VLOAD(kernel_bytes_mask + 128 - (n)))
#define VLOAD_END(p, n) \
	_mm_and_si128(VLOAD(p), VLOAD(kernel_bytes_mask + 48 + (n)))
#define VPOWERS(p) \
	_mm_cvtepu32_epi64(_mm_loadl_epi64((const __m128i *) (p)))
#define VXOR(a, b) _mm_xor_si128(a, b)
#define VXOR3(a, b, c) VXOR(a, VXOR(b, c))
#define VCLMUL(a, b, i) _mm_clmulepi64_si128(a, b, i)
#define VMULTIPLY(a, b) VXOR(VCLMUL(a, b, 0x00), VCLMUL(a, b, 0x11))
#define VBROADCAST(hi, lo) _mm_set_epi64x(hi, lo)
#define VFROM128(x) (x)
#define VTO128(v) (v)
#define SHORT_WHOLE 7
#define ALIGN_FROM 4096
#define PREFETCH_FROM (1 << 20)
#define PREFETCH_AHEAD 2048
#define BLOCK_HIGH X479
#define BLOCK_LOW X543

static const int16_t whole_offsets[SHORT_WHOLE + 1][SHORT_WHOLE] = {
	{-16, -16, -16, -16, -16, -16, -16},
	{0, 0, 0, 0, 0, 0, 0},
	{0, 16, 16, 16, 16, 16, 16},
	{0, 16, 32, 32, 32, 32, 32},
	{0, 16, 32, 48, 48, 48, 48},
	{0, 16, 32, 48, 64, 64, 64},
	{0, 16, 32, 48, 64, 80, 80},
	{0, 16, 32, 48, 64, 80, 96}
};

#define CRC(x) crc32c_##x
#define CRC_CONST_(x) CRC32C_##x
#define CRC_CONST(x) CRC_CONST_(x)
#define FN(x) crc32c_pclmul_##x
#define REDUCE(w, s) reduce_crc32c(w, s)
#define WITHOUT_BULK
#define FUSED_WORDS 4
#define FUSED_MOST 256
#define FUSED_FROM 1280
#define INSTRUCTIONS_BELOW 192
#include "fold_x86.inc.h"
#undef FUSED_WORDS
#undef WITHOUT_BULK
#undef CRC
#undef CRC_CONST_
#undef FN
#undef REDUCE

#define CRC(x) crc32_##x
#define CRC_CONST_(x) CRC32_##x
#define FN(x) crc32_pclmul_##x
#define FEW(reg, p, n) crc32_slicing8(reg, p, n)
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
		return crc32_slicing8(reg, p, len);
	if (len <= (SHORT_WHOLE + 1) * VBYTES)
		return crc32_pclmul_short(reg, p, len);
	return crc32_pclmul_bulk(reg, p, len);
}
#endif
