/*
 * kernel_avx2.c
 *	  CRCs by carry-less products of 256-bit vectors.
 *
 * For CPUs with VPCLMULQDQ but without AVX-512.  There are no masked loads of
 * bytes, so CRC-32C of few bytes takes the crc32 instruction and CRC-32 the
 * 128-bit kernel.  CRC-32C runs crc32 instructions beside the products up to
 * 256 bytes and from FUSED_FROM on, and three chains of them between.
 */
#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernel_x86.h"

#define TARGET \
	__attribute__((target("sse4.2,pclmul,avx2,vpclmulqdq")))
#define INLINE TARGET inline __attribute__((always_inline))

#define V __m256i
#define VBYTES 32
#define VLOAD(p) _mm256_loadu_si256((const __m256i *) (p))
#define VLOAD_ALIGNED(p) _mm256_load_si256((const __m256i *) (p))
#define VLOAD_BEGIN(p, n) \
	_mm256_and_si256(VLOAD(p), VLOAD(kernel_bytes_mask + 128 - (n)))
#define VLOAD_END(p, n) \
	_mm256_and_si256(VLOAD(p), VLOAD(kernel_bytes_mask + 32 + (n)))
#define VPOWERS(p) \
	_mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *) (p)))
#define VXOR(a, b) _mm256_xor_si256(a, b)
#define VXOR3(a, b, c) VXOR(a, VXOR(b, c))
#define VCLMUL(a, b, i) _mm256_clmulepi64_epi128(a, b, i)
#define VMULTIPLY(a, b) VXOR(VCLMUL(a, b, 0x00), VCLMUL(a, b, 0x11))
#define VBROADCAST(hi, lo) _mm256_set_epi64x(hi, lo, hi, lo)
#define VFROM128(x) _mm256_zextsi128_si256(x)
#define VTO128(v) \
	_mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1))
#define SHORT_WHOLE 6
#define ALIGN_FROM 4096
#define PREFETCH_FROM (1 << 20)
#define PREFETCH_AHEAD 4096
#define BLOCK_HIGH X991
#define BLOCK_LOW X1055

static const int16_t whole_offsets[SHORT_WHOLE + 1][SHORT_WHOLE] = {
	{-32, -32, -32, -32, -32, -32},
	{0, 0, 0, 0, 0, 0},
	{0, 32, 32, 32, 32, 32},
	{0, 32, 64, 64, 64, 64},
	{0, 32, 64, 96, 96, 96},
	{0, 32, 64, 96, 128, 128},
	{0, 32, 64, 96, 128, 160}
};

#define CRC(x) crc32c_##x
#define CRC_CONST_(x) CRC32C_##x
#define CRC_CONST(x) CRC_CONST_(x)
#define FN(x) crc32c_avx2_##x
#define REDUCE(w, s) reduce_crc32c(w, s)
#define WITHOUT_BULK
#define MIXED
#define FUSED_WORDS 4
#define FUSED_MOST 256
#define FUSED_FROM 1024
#define INSTRUCTIONS_MOST 96
#include "fold_x86.inc.h"
#undef FUSED_WORDS
#undef WITHOUT_BULK
#undef MIXED
#undef CRC
#undef CRC_CONST_
#undef FN
#undef REDUCE

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
	if (len <= INSTRUCTIONS_MOST)
		return crc32c_instructions(reg, p, len);
	if (len <= 64 + 2 * VBYTES)
		return crc32c_avx2_mixed(reg, p, len, 1);
	if (len <= 64 + 6 * VBYTES)
		return crc32c_avx2_mixed(reg, p, len, 5);
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
