/*
 * kernel_page_avx512.c
 *	  Page checksums with AVX-512, up to four pages side by side.
 *
 * A page that comes alone is computed in twice as many registers, even and odd
 * lanes apart.  For vpmuludq has half of the latency that vpmulld has on
 * Intel's CPUs.
 */
#define WANT_PAGE_BASE_OFFSETS
#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "constants.auto.h"
#include "kernel_page.h"
#include "page_avx512.inc.h"

/* The even and odd lanes of a page, in the low halves of 64-bit elements. */
typedef struct SplitLanes
{
	__m512i		lo_even;
	__m512i		lo_odd;
	__m512i		hi_even;
	__m512i		hi_odd;
} SplitLanes;

/* The bits above the low half of an element are never looked at. */
INLINE __m512i
mix_split(__m512i t, __m512i word)
{
	__m512i		product = _mm512_mul_epu32(t,
										   _mm512_set1_epi64(PAGE_FNV_PRIME));

	return _mm512_ternarylogic_epi64(product, _mm512_srli_epi32(t, 17), word,
									 XOR3);
}

INLINE SplitLanes
step_split(SplitLanes t, __m512i lo, __m512i hi)
{
	t.lo_even = mix_split(t.lo_even, lo);
	t.lo_odd = mix_split(t.lo_odd, _mm512_srli_epi64(lo, 32));
	t.hi_even = mix_split(t.hi_even, hi);
	t.hi_odd = mix_split(t.hi_odd, _mm512_srli_epi64(hi, 32));
	return t;
}

TARGET static uint16_t
checksum_one(const unsigned char *page, size_t page_size, uint32_t blkno)
{
	__m512i		zero = _mm512_setzero_si512();
	__m512i		folded;
	Lanes		whole = start(page);
	SplitLanes	t;

	t.lo_even = whole.lo;
	t.lo_odd = _mm512_srli_epi64(whole.lo, 32);
	t.hi_even = whole.hi;
	t.hi_odd = _mm512_srli_epi64(whole.hi, 32);
	for (size_t row = PAGE_ROW; row < page_size; row += PAGE_ROW)
		t = step_split(t, _mm512_loadu_si512(page + row),
					   _mm512_loadu_si512(page + row + 64));
	t = step_split(t, zero, zero);
	t = step_split(t, zero, zero);
	t = step_split(t, zero, zero);
	folded = _mm512_ternarylogic_epi64(t.lo_even, t.lo_odd, t.hi_even, XOR3);
	folded = _mm512_xor_si512(folded, t.hi_odd);
	return page_reduce(xor_elements(_mm512_maskz_mov_epi32(0x5555, folded)),
					   blkno);
}

TARGET void
page_avx512(const void *pages, size_t page_size, uint32_t npages,
			const uint32_t *blknos, uint16_t *sums)
{
	checksum_pages(pages, page_size, npages, blknos, sums);
}
#endif							/* __x86_64__ */
