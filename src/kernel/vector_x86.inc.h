/*
 * vector_x86.inc.h
 *	  The vectors of fold_x86.inc.h, by their size VBYTES, 16, 32 or 64.
 *
 *	  V						the type
 *	  VLOAD, VLOAD_ALIGNED	of VBYTES bytes
 *	  VLOAD_BEGIN(p, n), VLOAD_END(p, n)	the first n bytes of the VBYTES at p,
 *							the last n.  The other bytes are read, and zero here
 *	  VPOWERS(p)			VBYTES / 8 table entries widened to quadwords
 *	  VXOR3					of three vectors
 *	  VMULTIPLY(a, b)		both halves of each lane multiplied, and xored
 *	  VBROADCAST, VFROM128	by their names
 *	  VTO128				the xor of the lanes
 *	  VBLOCK_HIGH, VBLOCK_LOW	the multipliers that fold by four vectors
 *
 * 16 needs pclmul, 32 needs avx2 and vpclmulqdq, and 64 needs avx512f, avx512bw
 * and vpclmulqdq.
 */
#if VBYTES == 16
#define V __m128i
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
#define VBROADCAST(hi, lo) _mm_set_epi64x(hi, lo)
#define VFROM128(x) (x)
#define VTO128(v) (v)
#define VBLOCK_HIGH X479
#define VBLOCK_LOW X543
#elif VBYTES == 32
#define V __m256i
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
#define VBROADCAST(hi, lo) _mm256_set_epi64x(hi, lo, hi, lo)
#define VFROM128(x) _mm256_zextsi128_si256(x)
#define VTO128(v) \
	_mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1))
#define VBLOCK_HIGH X991
#define VBLOCK_LOW X1055
#else
#define V __m512i
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
#define VBROADCAST(hi, lo) \
	_mm512_set_epi64(hi, lo, hi, lo, hi, lo, hi, lo)
#define VFROM128(x) _mm512_zextsi128_si512(x)
#define VBLOCK_HIGH X2015
#define VBLOCK_LOW X2079
#define VTO128(v) xor_of_lanes(v)

static INLINE __m128i
xor_of_lanes(__m512i v)
{
	__m256i		h = _mm256_xor_si256(_mm512_castsi512_si256(v),
									 _mm512_extracti64x4_epi64(v, 1));

	return _mm_xor_si128(_mm256_castsi256_si128(h),
						 _mm256_extracti128_si256(h, 1));
}
#endif

#define VMULTIPLY(a, b) VXOR(VCLMUL(a, b, 0x00), VCLMUL(a, b, 0x11))

#include "tuning_x86.inc.h"
