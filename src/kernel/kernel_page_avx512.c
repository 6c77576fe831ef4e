/*
 * kernel_page_avx512.c
 *	  Page checksums with AVX-512: four pages side by side, or one.
 *
 * A page is a chain of multiplications, 16 lanes a register, so one page alone
 * waits for vpmulld (10 cycles and more on Intel's CPUs); pages are independent,
 * and four of them fill both ports.  A page that comes alone is computed in
 * twice as many registers, even and odd lanes apart, because vpmuludq has half
 * of that latency.  Where vpmulld is quick (AMD Zen 4) that costs the single
 * page a factor of two, and it is still ahead of the 256-bit code.
 *
 * A lane is kept before its multiplication: t' = mix(t) ^ word, with one
 * three-way xor (vpternlogq).
 */
#define WANT_PAGE_BASE_OFFSETS
#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "constants.auto.h"
#include "kernel_page.h"

#define TARGET		__attribute__((target("avx512f,avx512vl,avx512bw")))
#define INLINE		TARGET static inline __attribute__((always_inline))
#define XOR3		0x96		/* truth table of a ^ b ^ c */

/* The 32 lanes of a page; its even and odd lanes, in 64-bit elements. */
typedef struct Lanes
{
	__m512i		lo;
	__m512i		hi;
} Lanes;

typedef struct SplitLanes
{
	__m512i		lo_even;
	__m512i		lo_odd;
	__m512i		hi_even;
	__m512i		hi_odd;
} SplitLanes;

INLINE uint32_t
xor_elements(__m512i v)
{
	__m256i		y = _mm256_xor_si256(_mm512_castsi512_si256(v),
									 _mm512_extracti64x4_epi64(v, 1));
	__m128i		x = _mm_xor_si128(_mm256_castsi256_si128(y),
								  _mm256_extracti128_si256(y, 1));

	x = _mm_xor_si128(x, _mm_shuffle_epi32(x, 0x4E));
	x = _mm_xor_si128(x, _mm_shuffle_epi32(x, 0xB1));
	return (uint32_t) _mm_cvtsi128_si32(x);
}

/* The first row, without pd_checksum: the low half of word 2. */
INLINE Lanes
start(const unsigned char *page)
{
	__m512i		keep = _mm512_mask_set1_epi32(_mm512_set1_epi32(-1), 1 << 2,
											  (int) 0xFFFF0000);
	__m512i		first = _mm512_and_si512(keep, _mm512_loadu_si512(page));
	Lanes		t;

	t.lo = _mm512_xor_si512(first, _mm512_loadu_si512(page_base_offsets));
	t.hi = _mm512_xor_si512(_mm512_loadu_si512(page + 64),
							_mm512_loadu_si512(page_base_offsets + 16));
	return t;
}

INLINE __m512i
mix(__m512i t, __m512i word)
{
	__m512i		product = _mm512_mullo_epi32(t,
											 _mm512_set1_epi32(PAGE_FNV_PRIME));

	return _mm512_ternarylogic_epi32(product, _mm512_srli_epi32(t, 17), word,
									 XOR3);
}

INLINE Lanes
step(Lanes t, const unsigned char *row)
{
	t.lo = mix(t.lo, _mm512_loadu_si512(row));
	t.hi = mix(t.hi, _mm512_loadu_si512(row + 64));
	return t;
}

/* The last row's multiplication and two rows of zeros. */
INLINE uint16_t
finish(Lanes t, uint32_t blkno)
{
	__m512i		zero = _mm512_setzero_si512();

	for (int i = 0; i < 3; i++)
	{
		t.lo = mix(t.lo, zero);
		t.hi = mix(t.hi, zero);
	}
	return page_reduce(xor_elements(_mm512_xor_si512(t.lo, t.hi)), blkno);
}

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
	for (int i = 0; i < 3; i++)
		t = step_split(t, zero, zero);
	folded = _mm512_ternarylogic_epi64(t.lo_even, t.lo_odd, t.hi_even, XOR3);
	folded = _mm512_xor_si512(folded, t.hi_odd);
	return page_reduce(xor_elements(_mm512_maskz_mov_epi32(0x5555, folded)),
					   blkno);
}

TARGET static void
checksum_two(const unsigned char *p, size_t page_size, const uint32_t *blknos,
			 uint16_t *sums)
{
	const unsigned char *q = p + page_size;
	Lanes		a = start(p);
	Lanes		b = start(q);

	for (size_t row = PAGE_ROW; row < page_size; row += PAGE_ROW)
	{
		a = step(a, p + row);
		b = step(b, q + row);
	}
	sums[0] = finish(a, blknos[0]);
	sums[1] = finish(b, blknos[1]);
}

TARGET static void
checksum_three(const unsigned char *p, size_t page_size, const uint32_t *blknos,
			   uint16_t *sums)
{
	const unsigned char *q = p + page_size;
	const unsigned char *r = q + page_size;
	Lanes		a = start(p);
	Lanes		b = start(q);
	Lanes		c = start(r);

	for (size_t row = PAGE_ROW; row < page_size; row += PAGE_ROW)
	{
		a = step(a, p + row);
		b = step(b, q + row);
		c = step(c, r + row);
	}
	sums[0] = finish(a, blknos[0]);
	sums[1] = finish(b, blknos[1]);
	sums[2] = finish(c, blknos[2]);
}

TARGET static void
checksum_four(const unsigned char *p, size_t page_size, const uint32_t *blknos,
			  uint16_t *sums)
{
	const unsigned char *q = p + page_size;
	const unsigned char *r = q + page_size;
	const unsigned char *s = r + page_size;
	Lanes		a = start(p);
	Lanes		b = start(q);
	Lanes		c = start(r);
	Lanes		d = start(s);

	for (size_t row = PAGE_ROW; row < page_size; row += PAGE_ROW)
	{
		a = step(a, p + row);
		b = step(b, q + row);
		c = step(c, r + row);
		d = step(d, s + row);
	}
	sums[0] = finish(a, blknos[0]);
	sums[1] = finish(b, blknos[1]);
	sums[2] = finish(c, blknos[2]);
	sums[3] = finish(d, blknos[3]);
}

TARGET void
page_avx512(const void *pages, size_t page_size, uint32_t npages,
			const uint32_t *blknos, uint16_t *sums)
{
	const unsigned char *p = pages;

	for (; npages >= 4; npages -= 4, p += 4 * page_size, blknos += 4, sums += 4)
		checksum_four(p, page_size, blknos, sums);
	if (npages == 3)
		checksum_three(p, page_size, blknos, sums);
	else if (npages == 2)
		checksum_two(p, page_size, blknos, sums);
	else if (npages == 1)
		sums[0] = checksum_one(p, page_size, blknos[0]);
}
#endif							/* __x86_64__ */
