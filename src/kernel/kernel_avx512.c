/*
 * kernel_avx512.c
 *	  CRCs by carry-less multiplications of 512-bit vectors.
 *
 * CRC-32C jumps by the length into straight code below 320 bytes.  CRC-32
 * takes words up to 16 bytes, one masked vector up to 64, and a branch per
 * vector up to 320.  Beyond that, four sums move 256 bytes per iteration and
 * fill the multiplier.  The rows avx512_fused, avx512_fused_x8 and
 * avx512_fused_jump are for CPUs that multiply at half the rate.  From 2 kB on
 * they have other loops, with crc32 instructions beside the multiplications.
 * The first two have branches in the place of jumps, too (short_avx512.inc.h).
 */
#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernel_x86.h"

#define TARGET \
	__attribute__((target("sse4.2,pclmul,bmi2,avx2,avx512f,avx512bw,avx512vl,vpclmulqdq")))
#define INLINE TARGET inline __attribute__((always_inline))
#define ENTRY TARGET __attribute__((aligned(64)))

#define VBYTES 64
#include "vector_x86.inc.h"

/*
 * The contribution of n <= 64 bytes.  A masked load that touches an unmapped
 * page takes 20 times as long.  So near the end of a page the bytes stand at
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
		k = VLOAD_ALIGNED(straight_powers + STRAIGHT_END - 8);
	}
	return VTO128(VMULTIPLY(data, k));
}

#define CRC(x) crc32c_##x
#define CRC_CONST_(x) CRC32C_##x
#define FN(x) crc32c_avx512_##x
#define FEW(reg, p, n) few_crc32c(reg, p, n)
#define REDUCE(w, s) reduce_crc32c(w, s)
#define FUSED
#define ROWS

static INLINE uint32_t
few_crc32c(uint32_t reg, const unsigned char *p, size_t n)
{
	return reduce_crc32c(sum_few(p, n, crc32c_powers, crc32c_straight_powers),
						 shift_near(reg, crc32c_powers, n));
}

#include "fold_x86.inc.h"

/* The i-th last 64 bytes before end, multiplied for their distance from it. */
static INLINE __m512i
last_product(const unsigned char *end, int i)
{
	return VMULTIPLY(VLOAD(end - 64 * i),
					 VLOAD_ALIGNED(crc32c_straight_powers + STRAIGHT_END - 8 * i));
}

/* The words before the last 64 * i bytes, as the joiner of the sum over these. */
#define JOIN(i) \
	return reduce_crc32c(_mm_xor_si128(VTO128(sum), \
									   shift_near((uint32_t) crc, crc32c_powers, \
												  64 * (i) - 8)), \
						 _mm_setzero_si128())

/*
 * CRC-32C of FEW_BYTES to 319 bytes.  It takes exactly as many vectors as end
 * it, and before them at most seven words and the odd bytes by crc32
 * instructions.  One jump by the length leads into straight code.  Inputs of
 * whole words, at most one of them before the vectors, are worth a branch.
 * Without it one accumulator is faster there.
 *
 * Where multiplications have half the rate, a single vector does not pay, so
 * less than 128 bytes are instructions alone.  There the branch pays for any
 * number of whole words.
 */
static INLINE uint32_t
crc32c_classes(uint64_t crc, const unsigned char *p, size_t len, bool half_rate)
{
	const unsigned char *end = p + len;
	__m512i		sum;

	if (len & (half_rate ? 7 : 0x37))
		crc = crc32c_odd(crc, p, len);
	switch (len / 8)
	{
			CRC32C_7_WORDS(32);
		case 32:
			sum = last_product(end, 4);
			sum = crc32c_avx512_add_last(sum, end, 3);
			sum = crc32c_avx512_add_last(sum, end, 2);
			sum = crc32c_avx512_add_last(sum, end, 1);
			JOIN(4);
			CRC32C_7_WORDS(24);
		case 24:
			sum = last_product(end, 3);
			sum = crc32c_avx512_add_last(sum, end, 2);
			sum = crc32c_avx512_add_last(sum, end, 1);
			JOIN(3);
			CRC32C_7_WORDS(16);
		case 16:
			sum = last_product(end, 2);
			sum = crc32c_avx512_add_last(sum, end, 1);
			JOIN(2);
			CRC32C_7_WORDS(8);
		case 8:
			if (!half_rate)
			{
				sum = last_product(end, 1);
				JOIN(1);
			}
			crc = _mm_crc32_u64(crc, load_native64(end - 64));
			__attribute__((fallthrough));
			CRC32C_7_WORDS(0);
		case 0:
			return (uint32_t) crc;
		default:
			__builtin_unreachable();
	}
}

/*
 * CRC-32C of whole vectors, at least four.  Four sums take all blocks, and
 * exactly the vectors that do not make a block are added.  Multipliers at the
 * end are constants, unlike those of crc32c_avx512_bulk(), which has to
 * multiply twice as often at its end.
 */
static INLINE uint32_t
crc32c_vectors(uint64_t crc, const unsigned char *p, const unsigned char *last)
{
	V			k = VBROADCAST(CRC32C_X2015, CRC32C_X2079);
	size_t		rest = (size_t) (last - p) / 64 % 4;
	const uint64_t *powers = crc32c_straight_powers + STRAIGHT_END -
		8 * (rest + 4);
	V			a0 = VXOR(VLOAD(p), VFROM128(_mm_cvtsi32_si128((int) crc))),
				a1 = VLOAD(p + 64),
				a2 = VLOAD(p + 128),
				a3 = VLOAD(p + 192),
				sum;

	for (p += 256; last - p >= 256; p += 256)
	{
		a0 = crc32c_avx512_add_product(VLOAD(p), a0, k);
		a1 = crc32c_avx512_add_product(VLOAD(p + 64), a1, k);
		a2 = crc32c_avx512_add_product(VLOAD(p + 128), a2, k);
		a3 = crc32c_avx512_add_product(VLOAD(p + 192), a3, k);
	}
	sum = crc32c_avx512_finish(a0, a1, a2, a3, powers);
	switch (rest)
	{
		case 3:
			sum = crc32c_avx512_add_last(sum, last, 3);
			__attribute__((fallthrough));
		case 2:
			sum = crc32c_avx512_add_last(sum, last, 2);
			__attribute__((fallthrough));
		case 1:
			sum = crc32c_avx512_add_last(sum, last, 1);
			break;
		default:
			break;
	}
	return reduce_crc32c(VTO128(sum), _mm_setzero_si128());
}

/*
 * CRC-32C of 320 bytes and more.  The odd bytes and up to seven words take
 * crc32 instructions, and then come whole vectors.
 */
static TARGET __attribute__((noinline))
uint32_t
crc32c_middle(uint32_t reg, const unsigned char *p, size_t len)
{
	const unsigned char *end = p + len % 64;
	uint64_t	crc = reg;

	if (len & 7)
		crc = crc32c_odd(crc, p, len);
	switch (len / 8 % 8)
	{
			CRC32C_7_WORDS(0);
		default:
			break;
	}
	return crc32c_vectors(crc, end, p + len);
}

/*
 * CRC-32C of FUSED_FROM bytes and more at half the rate.  Rows pay from fewer
 * bytes on.  Chains that are far apart let the CPU read ahead in several places.
 */
static TARGET __attribute__((noinline))
uint32_t
crc32c_fused_and_rest(uint32_t reg, const unsigned char *p, size_t len)
{
	reg = len < FAR_FROM ? crc32c_rows(reg, &p, &len) :
		crc32c_avx512_fused_run(reg, &p, &len);
	return crc32c_avx512_fused_jump(reg, p, len);
}

static INLINE uint32_t
crc32c_jump(uint32_t reg, const unsigned char *p, size_t len, bool half_rate)
{
	uint64_t	crc = reg;

	if (len == WAL_HEADER_BYTES)
		return crc32c_exactly(crc, p, WAL_HEADER_BYTES);
	if (len < FEW_BYTES)
		return crc32c_few(crc, p, len);
	if (__builtin_expect(len < (SHORT_WHOLE + 1) * VBYTES, 1))
		return crc32c_classes(crc, p, len, half_rate);
	if (len < (half_rate ? FUSED_FROM : ALIGN_FROM))
		return crc32c_middle(reg, p, len);
	return half_rate ? crc32c_fused_and_rest(reg, p, len) :
		crc32c_avx512_bulk(reg, p, len);
}

ENTRY uint32_t
crc32c_avx512(uint32_t reg, const void *data, size_t len)
{
	return crc32c_jump(reg, data, len, false);
}

ENTRY uint32_t
crc32c_avx512_fused_jump(uint32_t reg, const void *data, size_t len)
{
	return crc32c_jump(reg, data, len, true);
}

#include "short_avx512.inc.h"

/* CRC-32C of what rows or pairs leave. */
static BYTES_INLINE uint32_t
crc32c_rest(uint32_t reg, const unsigned char *p, size_t len)
{
	return len < (SHORT_WHOLE + 1) * VBYTES ? crc32c_branches(reg, p, len) :
		crc32c_middle_loop(reg, p, len);
}

BYTES_TARGET __attribute__((noinline)) static uint32_t
crc32c_rows_and_rest(uint32_t reg, const unsigned char *p, size_t len)
{
	reg = crc32c_rows(reg, &p, &len);
	return crc32c_rest(reg, p, len);
}

BYTES_TARGET __attribute__((noinline)) static uint32_t
crc32c_pairs_and_rest(uint32_t reg, const unsigned char *p, size_t len)
{
	if (len >= PAIRS_TO)
		return crc32c_avx512_bulk(reg, p, len);
	reg = len < PAIRS_FAR_FROM ? crc32c_pairs_near(reg, &p, &len) :
		crc32c_pairs_far(reg, &p, &len);
	return crc32c_rest(reg, p, len);
}

static BYTES_INLINE uint32_t
crc32c_without_jump(uint32_t reg, const unsigned char *p, size_t len, bool pairs)
{
	if (len == WAL_HEADER_BYTES)
		return crc32c_exactly(reg, p, WAL_HEADER_BYTES);
	if (__builtin_expect(len < (SHORT_WHOLE + 1) * VBYTES, 1))
		return crc32c_branches(reg, p, len);
	if (len < FUSED_FROM)
		return crc32c_middle_loop(reg, p, len);
	return pairs && len >= PAIRS_FROM ? crc32c_pairs_and_rest(reg, p, len) :
		crc32c_rows_and_rest(reg, p, len);
}

BYTES_TARGET __attribute__((aligned(64)))
uint32_t
crc32c_avx512_fused(uint32_t reg, const void *data, size_t len)
{
	return crc32c_without_jump(reg, data, len, false);
}

BYTES_TARGET __attribute__((aligned(64)))
uint32_t
crc32c_avx512_fused_x8(uint32_t reg, const void *data, size_t len)
{
	return crc32c_without_jump(reg, data, len, true);
}

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

ENTRY uint32_t
crc32_avx512(uint32_t reg, const void *data, size_t len)
{
	const unsigned char *p = data;

	if (__builtin_expect(len - 17 <= VBYTES - 17, 1))
		return few_crc32(reg, p, len);
	if (len <= 16)
		return crc32_few(reg, p, len);
	if (len <= (SHORT_WHOLE + 1) * VBYTES)
		return crc32_avx512_short(reg, p, len);
	return crc32_avx512_bulk(reg, p, len);
}
#endif
