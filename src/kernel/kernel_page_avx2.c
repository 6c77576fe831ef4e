/*
 * kernel_page_avx2.c
 *	  Page checksums with AVX2, three pages side by side, two, or one.
 *
 * Four registers hold the 32 lanes of a page.  Three pages are twelve
 * independent chains of vpmulld, as many as 16 registers leave room for.
 */
#define WANT_PAGE_BASE_OFFSETS
#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "constants.auto.h"
#include "kernel_page.h"

#define TARGET		__attribute__((target("avx2")))
#define INLINE		TARGET static inline __attribute__((always_inline))

/* The lanes of a page, before their multiplication, by t' = mix(t) ^ word. */
typedef struct Lanes
{
	__m256i		l0;
	__m256i		l8;
	__m256i		l16;
	__m256i		l24;
} Lanes;

INLINE __m256i
load(const void *p)
{
	return _mm256_loadu_si256((const __m256i *) p);
}

INLINE __m256i
mix(__m256i t)
{
	__m256i		product = _mm256_mullo_epi32(t,
											 _mm256_set1_epi32(PAGE_FNV_PRIME));

	return _mm256_xor_si256(product, _mm256_srli_epi32(t, 17));
}

/* The first row, without pd_checksum, which is the low half of word 2. */
INLINE Lanes
start(const unsigned char *page)
{
	__m256i		keep = _mm256_setr_epi32(-1, -1, (int) 0xFFFF0000, -1,
										 -1, -1, -1, -1);
	Lanes		t;

	t.l0 = _mm256_xor_si256(_mm256_and_si256(keep, load(page)),
							load(page_base_offsets));
	t.l8 = _mm256_xor_si256(load(page + 32), load(page_base_offsets + 8));
	t.l16 = _mm256_xor_si256(load(page + 64), load(page_base_offsets + 16));
	t.l24 = _mm256_xor_si256(load(page + 96), load(page_base_offsets + 24));
	return t;
}

INLINE Lanes
step(Lanes t, const unsigned char *row)
{
	t.l0 = _mm256_xor_si256(mix(t.l0), load(row));
	t.l8 = _mm256_xor_si256(mix(t.l8), load(row + 32));
	t.l16 = _mm256_xor_si256(mix(t.l16), load(row + 64));
	t.l24 = _mm256_xor_si256(mix(t.l24), load(row + 96));
	return t;
}

/* The last row's multiplication and two rows of zeros. */
INLINE uint16_t
finish(Lanes t, uint32_t blkno)
{
	__m256i		y = _mm256_setzero_si256();
	__m128i		x;

	y = _mm256_xor_si256(y, mix(mix(mix(t.l0))));
	y = _mm256_xor_si256(y, mix(mix(mix(t.l8))));
	y = _mm256_xor_si256(y, mix(mix(mix(t.l16))));
	y = _mm256_xor_si256(y, mix(mix(mix(t.l24))));
	x = _mm_xor_si128(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
	x = _mm_xor_si128(x, _mm_shuffle_epi32(x, 0x4E));
	x = _mm_xor_si128(x, _mm_shuffle_epi32(x, 0xB1));
	return page_reduce((uint32_t) _mm_cvtsi128_si32(x), blkno);
}

TARGET static uint16_t
checksum_one(const unsigned char *page, size_t page_size, uint32_t blkno)
{
	Lanes		a = start(page);

	for (size_t row = PAGE_ROW; row < page_size; row += PAGE_ROW)
		a = step(a, page + row);
	return finish(a, blkno);
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

TARGET void
page_avx2(const void *pages, size_t page_size, uint32_t npages,
		  const uint32_t *blknos, uint16_t *sums)
{
	const unsigned char *p = pages;

	for (; npages >= 3; npages -= 3, p += 3 * page_size, blknos += 3, sums += 3)
		checksum_three(p, page_size, blknos, sums);
	if (npages == 2)
		checksum_two(p, page_size, blknos, sums);
	else if (npages == 1)
		sums[0] = checksum_one(p, page_size, blknos[0]);
}
#endif							/* __x86_64__ */
