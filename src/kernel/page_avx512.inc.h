/*
 * page_avx512.inc.h
 *	  What the AVX-512 page kernels share, for two, three or four pages at
 *	  once.
 *
 * A page is a chain of multiplications, 16 lanes per register, so one page
 * alone waits for vpmulld (10 cycles and more on Intel's CPUs).  Pages are
 * independent, and four of them fill both ports.  A lane is kept before its
 * multiplication, so that one three-way xor (vpternlogq) ends each step.
 * Loops are unrolled twice because gcc 12 else moves half of the lanes around.
 *
 * The includer defines checksum_one() and its kernel, which calls
 * checksum_pages().
 */
#define TARGET		__attribute__((target("avx512f,avx512vl,avx512bw")))
#define INLINE		TARGET static inline __attribute__((always_inline))
#define XOR3		0x96		/* truth table of a ^ b ^ c */

/* The lanes of a page, before their multiplication, by t' = mix(t) ^ word. */
typedef struct Lanes
{
	__m512i		lo;
	__m512i		hi;
} Lanes;

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

/* The first row, without pd_checksum, which is the low half of word 2. */
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
	__m512i		lo = mix(mix(mix(t.lo, zero), zero), zero);
	__m512i		hi = mix(mix(mix(t.hi, zero), zero), zero);

	return page_reduce(xor_elements(_mm512_xor_si512(lo, hi)), blkno);
}

TARGET static uint16_t checksum_one(const unsigned char *page,
									size_t page_size, uint32_t blkno);

TARGET static void
checksum_two(const unsigned char *p, size_t page_size, const uint32_t *blknos,
			 uint16_t *sums)
{
	const unsigned char *q = p + page_size;
	Lanes		a = start(p);
	Lanes		b = start(q);

#pragma GCC unroll 2
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

#pragma GCC unroll 2
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

#pragma GCC unroll 2
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

INLINE void
checksum_pages(const unsigned char *p, size_t page_size, uint32_t npages,
			   const uint32_t *blknos, uint16_t *sums)
{
	for (; npages >= 4; npages -= 4, p += 4 * page_size, blknos += 4, sums += 4)
		checksum_four(p, page_size, blknos, sums);
	if (npages == 3)
		checksum_three(p, page_size, blknos, sums);
	else if (npages == 2)
		checksum_two(p, page_size, blknos, sums);
	else if (npages == 1)
		sums[0] = checksum_one(p, page_size, blknos[0]);
}
