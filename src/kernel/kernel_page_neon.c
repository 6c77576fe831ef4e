/*
 * kernel_page_neon.c
 *	  Page checksums with NEON, two pages side by side, or one.
 *
 * Eight registers hold the 32 lanes of a page, so two pages fill half of the
 * registers.  Cores with one multiplying pipe are busy with one page.  Wider
 * ones (Neoverse V1 and up, Apple's) gain from the second.
 */
#define WANT_PAGE_BASE_OFFSETS
#include "kernel.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#include "constants.auto.h"
#include "kernel_page.h"

#define INLINE		static inline __attribute__((always_inline))

/* The lanes of a page, before their multiplication, by t' = mix(t) ^ word. */
typedef struct Lanes
{
	uint32x4_t	l0;
	uint32x4_t	l4;
	uint32x4_t	l8;
	uint32x4_t	l12;
	uint32x4_t	l16;
	uint32x4_t	l20;
	uint32x4_t	l24;
	uint32x4_t	l28;
} Lanes;

/* Loads native words as bytes, since vld1q_u8 demands no alignment. */
INLINE uint32x4_t
load(const unsigned char *p)
{
	return vreinterpretq_u32_u8(vld1q_u8(p));
}

INLINE uint32x4_t
mix(uint32x4_t t)
{
	return veorq_u32(vmulq_u32(t, vdupq_n_u32(PAGE_FNV_PRIME)),
					 vshrq_n_u32(t, 17));
}

INLINE uint32x4_t
last(uint32x4_t t)
{
	return mix(mix(mix(t)));
}

/* The first row, without pd_checksum, which is bytes 8 and 9. */
INLINE Lanes
start(const unsigned char *page)
{
	uint8x16_t	first = vld1q_u8(page);
	const uint32_t *base = page_base_offsets;
	Lanes		t;

	first = vsetq_lane_u8(0, first, 8);
	first = vsetq_lane_u8(0, first, 9);
	t.l0 = veorq_u32(vreinterpretq_u32_u8(first), vld1q_u32(base));
	t.l4 = veorq_u32(load(page + 16), vld1q_u32(base + 4));
	t.l8 = veorq_u32(load(page + 32), vld1q_u32(base + 8));
	t.l12 = veorq_u32(load(page + 48), vld1q_u32(base + 12));
	t.l16 = veorq_u32(load(page + 64), vld1q_u32(base + 16));
	t.l20 = veorq_u32(load(page + 80), vld1q_u32(base + 20));
	t.l24 = veorq_u32(load(page + 96), vld1q_u32(base + 24));
	t.l28 = veorq_u32(load(page + 112), vld1q_u32(base + 28));
	return t;
}

INLINE Lanes
step(Lanes t, const unsigned char *row)
{
	t.l0 = veorq_u32(mix(t.l0), load(row));
	t.l4 = veorq_u32(mix(t.l4), load(row + 16));
	t.l8 = veorq_u32(mix(t.l8), load(row + 32));
	t.l12 = veorq_u32(mix(t.l12), load(row + 48));
	t.l16 = veorq_u32(mix(t.l16), load(row + 64));
	t.l20 = veorq_u32(mix(t.l20), load(row + 80));
	t.l24 = veorq_u32(mix(t.l24), load(row + 96));
	t.l28 = veorq_u32(mix(t.l28), load(row + 112));
	return t;
}

/* The last row's multiplication and two rows of zeros. */
INLINE uint16_t
finish(Lanes t, uint32_t blkno)
{
	uint32x4_t	a = veorq_u32(last(t.l0), last(t.l4));
	uint32x4_t	b = veorq_u32(last(t.l8), last(t.l12));
	uint64x2_t	wide;
	uint64_t	folded;

	a = veorq_u32(a, veorq_u32(last(t.l16), last(t.l20)));
	b = veorq_u32(b, veorq_u32(last(t.l24), last(t.l28)));
	wide = vreinterpretq_u64_u32(veorq_u32(a, b));
	folded = vgetq_lane_u64(wide, 0) ^ vgetq_lane_u64(wide, 1);
	return page_reduce((uint32_t) (folded ^ (folded >> 32)), blkno);
}

static uint16_t
checksum_one(const unsigned char *page, size_t page_size, uint32_t blkno)
{
	Lanes		a = start(page);

	for (size_t row = PAGE_ROW; row < page_size; row += PAGE_ROW)
		a = step(a, page + row);
	return finish(a, blkno);
}

static void
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

void
page_neon(const void *pages, size_t page_size, uint32_t npages,
		  const uint32_t *blknos, uint16_t *sums)
{
	const unsigned char *p = pages;

	for (; npages >= 2; npages -= 2, p += 2 * page_size, blknos += 2, sums += 2)
		checksum_two(p, page_size, blknos, sums);
	if (npages == 1)
		sums[0] = checksum_one(p, page_size, blknos[0]);
}
#endif							/* __aarch64__ */
