/*
 * kernel_avx512.c
 *	  CRCs by carry-less products of 512-bit vectors.
 *
 * One masked vector up to 64 bytes, no branch on the length up to 320, beyond
 * it four sums that move 256 bytes an iteration and fill the multiplier.  The
 * row avx512_fused differs in CRC-32C from 4 kB on.
 */
#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernel_x86.h"

#define TARGET \
	__attribute__((target("sse4.2,pclmul,bmi2,avx2,avx512f,avx512bw,avx512vl,vpclmulqdq")))
#define INLINE TARGET inline __attribute__((always_inline))

#define V __m512i
#define VBYTES 64
#define VLOAD(p) _mm512_loadu_si512((const void *) (p))
#define VLOAD_ALIGNED(p) _mm512_load_si512((const void *) (p))
#define VLOAD_BEGIN(p, n) \
	_mm512_and_si512(VLOAD(p), VLOAD(kernel_bytes_mask + 128 - (n)))
#define VLOAD_END(p, n) \
	_mm512_and_si512(VLOAD(p), VLOAD(kernel_bytes_mask + (n)))
#define VPOWERS(p) \
	_mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *) (p)))
#define VXOR(a, b) _mm512_xor_si512(a, b)
#define VXOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define VCLMUL(a, b, i) _mm512_clmulepi64_epi128(a, b, i)
#define VMULTIPLY(a, b) VXOR(VCLMUL(a, b, 0x00), VCLMUL(a, b, 0x11))
#define VBROADCAST(hi, lo) \
	_mm512_set_epi64(hi, lo, hi, lo, hi, lo, hi, lo)
#define VFROM128(x) _mm512_zextsi128_si512(x)
#define VTO128(v) to128(v)
#define SHORT_WHOLE 4
#define ALIGN_FROM 4096
#define PREFETCH_FROM (1 << 20)
#define PREFETCH_AHEAD 8192
#define BLOCK_HIGH X2015
#define BLOCK_LOW X2079

static const int16_t whole_offsets[SHORT_WHOLE + 1][SHORT_WHOLE] = {
	{-64, -64, -64, -64},
	{0, 0, 0, 0},
	{0, 64, 64, 64},
	{0, 64, 128, 128},
	{0, 64, 128, 192}
};

static INLINE __m128i
to128(__m512i v)
{
	__m256i		h = _mm256_xor_si256(_mm512_castsi512_si256(v),
									 _mm512_extracti64x4_epi64(v, 1));

	return _mm_xor_si128(_mm256_castsi256_si128(h),
						 _mm256_extracti128_si256(h, 1));
}

/*
 * The contribution of n <= 64 bytes.  A masked load that touches an unmapped
 * page takes 20 times as long, so near the end of a page the bytes stand at
 * the end of the vector.
 */
static INLINE __m128i
sum_few(const unsigned char *p, size_t n, const uint32_t powers[8][72],
		const uint64_t *straight_powers)
{
	__m512i		data;
	__m512i		k;

	if (((uintptr_t) p & 4095) <= 4096 - VBYTES)
	{
		data = _mm512_maskz_loadu_epi8(_bzhi_u64(~UINT64_C(0), (unsigned) n), p);
		k = VPOWERS(powers_at(powers, n) + 1);
	}
	else
	{
		data = _mm512_maskz_loadu_epi8(~_bzhi_u64(~UINT64_C(0),
												  (unsigned) (VBYTES - n)),
									   p + n - VBYTES);
		k = VLOAD_ALIGNED(straight_powers + 24);
	}
	return to128(VMULTIPLY(data, k));
}

#define CRC(x) crc32c_##x
#define CRC_CONST_(x) CRC32C_##x
#define CRC_CONST(x) CRC_CONST_(x)
#define FN(x) crc32c_avx512_##x
#define FEW(reg, p, n) few_crc32c(reg, p, n)
#define REDUCE(w, s) reduce_crc32c(w, s)
#define FUSED_WORDS 5
#define FUSED_MOST 160
#define FUSED_FROM 4096

static INLINE uint32_t
few_crc32c(uint32_t reg, const unsigned char *p, size_t n)
{
	return reduce_crc32c(sum_few(p, n, crc32c_powers, crc32c_straight_powers),
						 shift_near(reg, crc32c_powers, n));
}

#include "fold_x86.inc.h"

/* Both rows up to the length that long_path takes. */
static INLINE uint32_t
crc32c_by_length(uint32_t reg, const unsigned char *p, size_t len,
				 uint32_t (*long_path) (uint32_t, const unsigned char *, size_t))
{
	if (len <= 24)
		return crc32c_instructions(reg, p, len);
	if (len <= VBYTES)
		return few_crc32c(reg, p, len);
	if (len <= (SHORT_WHOLE + 1) * VBYTES)
		return crc32c_avx512_short(reg, p, len);
	return long_path(reg, p, len);
}

TARGET uint32_t
crc32c_avx512(uint32_t reg, const void *data, size_t len)
{
	return crc32c_by_length(reg, data, len, crc32c_avx512_bulk);
}

/*
 * Inputs that may well come from memory are not fused, nor prefetched: halves
 * of PREFETCH_FROM are below what crc32c_avx512_bulk() prefetches.
 */
TARGET __attribute__((noinline)) static uint32_t
crc32c_fused_and_rest(uint32_t reg, const unsigned char *p, size_t len)
{
	const size_t step = PREFETCH_FROM / 2;

	if (len < PREFETCH_FROM)
		reg = crc32c_avx512_fused_run(reg, &p, &len);
	for (; len >= PREFETCH_FROM; p += step, len -= step)
		reg = crc32c_avx512_bulk(reg, p, step);
	return crc32c_avx512(reg, p, len);
}

static INLINE uint32_t
crc32c_long_fused(uint32_t reg, const unsigned char *p, size_t len)
{
	if (len < FUSED_FROM)
		return crc32c_avx512_bulk(reg, p, len);
	return crc32c_fused_and_rest(reg, p, len);
}

TARGET uint32_t
crc32c_avx512_fused(uint32_t reg, const void *data, size_t len)
{
	return crc32c_by_length(reg, data, len, crc32c_long_fused);
}

#undef FUSED_WORDS
#undef CRC
#undef CRC_CONST_
#undef FN
#undef FEW
#undef REDUCE
#define CRC(x) crc32_##x
#define CRC_CONST_(x) CRC32_##x
#define FN(x) crc32_avx512_##x
#define FEW(reg, p, n) few_crc32(reg, p, n)
#define REDUCE(w, s) reduce_crc32(w, s)

static INLINE uint32_t
few_crc32(uint32_t reg, const unsigned char *p, size_t n)
{
	return reduce_crc32(sum_few(p, n, crc32_powers, crc32_straight_powers),
						shift_near(reg, crc32_powers, n));
}

#include "fold_x86.inc.h"

TARGET uint32_t
crc32_avx512(uint32_t reg, const void *data, size_t len)
{
	const unsigned char *p = data;

	if (len <= VBYTES)
		return few_crc32(reg, p, len);
	if (len <= (SHORT_WHOLE + 1) * VBYTES)
		return crc32_avx512_short(reg, p, len);
	return crc32_avx512_bulk(reg, p, len);
}
#endif
