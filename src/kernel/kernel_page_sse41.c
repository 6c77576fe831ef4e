/*
 * kernel_page_sse41.c
 *	  Page checksums with SSE4.1's pmulld, one page at a time.
 *
 * Eight registers hold the 32 lanes.  Eight chains already fill the one port
 * that multiplies in the CPUs that end here (Nehalem to Ivy Bridge).  Two
 * pages would not fit into 16 registers.  In two halves each they were
 * measured and gained one per cent.
 */
#define WANT_PAGE_BASE_OFFSETS
#include "kernel.h"

#if defined(__x86_64__)
#include <smmintrin.h>

#include "constants.auto.h"
#include "kernel_page.h"

#define TARGET		__attribute__((target("sse4.1")))
#define INLINE		TARGET static inline __attribute__((always_inline))

INLINE __m128i
load(const void *p)
{
	return _mm_loadu_si128((const __m128i *) p);
}

INLINE __m128i
mix(__m128i t)
{
	__m128i		product = _mm_mullo_epi32(t, _mm_set1_epi32(PAGE_FNV_PRIME));

	return _mm_xor_si128(product, _mm_srli_epi32(t, 17));
}

/*
 * start() gives the four lanes from i on before multiplication, finish() the
 * end.
 */
INLINE __m128i
start(const unsigned char *page, int i)
{
	return _mm_xor_si128(load(page + 4 * i), load(page_base_offsets + i));
}

INLINE __m128i
step(__m128i t, const unsigned char *word)
{
	return _mm_xor_si128(mix(t), load(word));
}

INLINE __m128i
finish(__m128i t)
{
	return mix(mix(mix(t)));
}

TARGET static uint16_t
checksum_one(const unsigned char *page, size_t page_size, uint32_t blkno)
{
	/* all of the first row but pd_checksum, the low half of word 2 */
	__m128i		skip = _mm_and_si128(load(page),
									 _mm_setr_epi32(0, 0, 0x0000FFFF, 0));
	__m128i		l0 = _mm_xor_si128(start(page, 0), skip);
	__m128i		l4 = start(page, 4);
	__m128i		l8 = start(page, 8);
	__m128i		l12 = start(page, 12);
	__m128i		l16 = start(page, 16);
	__m128i		l20 = start(page, 20);
	__m128i		l24 = start(page, 24);
	__m128i		l28 = start(page, 28);

	for (size_t row = PAGE_ROW; row < page_size; row += PAGE_ROW)
	{
		l0 = step(l0, page + row);
		l4 = step(l4, page + row + 16);
		l8 = step(l8, page + row + 32);
		l12 = step(l12, page + row + 48);
		l16 = step(l16, page + row + 64);
		l20 = step(l20, page + row + 80);
		l24 = step(l24, page + row + 96);
		l28 = step(l28, page + row + 112);
	}
	l0 = _mm_xor_si128(finish(l0), finish(l4));
	l8 = _mm_xor_si128(finish(l8), finish(l12));
	l16 = _mm_xor_si128(finish(l16), finish(l20));
	l24 = _mm_xor_si128(finish(l24), finish(l28));
	l0 = _mm_xor_si128(_mm_xor_si128(l0, l8), _mm_xor_si128(l16, l24));
	l0 = _mm_xor_si128(l0, _mm_shuffle_epi32(l0, 0x4E));
	l0 = _mm_xor_si128(l0, _mm_shuffle_epi32(l0, 0xB1));
	return page_reduce((uint32_t) _mm_cvtsi128_si32(l0), blkno);
}

TARGET void
page_sse41(const void *pages, size_t page_size, uint32_t npages,
		   const uint32_t *blknos, uint16_t *sums)
{
	const unsigned char *p = pages;

	for (uint32_t i = 0; i < npages; i++, p += page_size)
		sums[i] = checksum_one(p, page_size, blknos[i]);
}
#endif							/* __x86_64__ */
