/*
 * fold_x86.inc.h
 *	  Template of the x86-64 kernels that fold vectors by carry-less multiplications.
 *
 * Included once per CRC by a kernel file, which has included vector_x86.inc.h
 * and defined
 *
 *	  TARGET, INLINE	attributes of functions
 *
 * and for each inclusion, which undefines them
 *
 *	  CRC(x), CRC_CONST_(x)	crc32c_##x and CRC32C_##x, say
 *	  FN(x)				name of a function
 *	  FEW(reg, p, n)	the register over n < VBYTES bytes
 *	  REDUCE(w, s)		the register from 128 bits of sum and a joiner
 *	  FUSED				if defined, makes the long path that also uses the crc32
 *						instruction
 *	  ROWS				if defined, makes another such path, of 512 bits
 *	  WITHOUT_BULK		if defined, leaves the bulk loop out
 *	  MIXED				if defined, makes mixed(), for CRC-32C of 65 bytes and more
 *
 * README.md derives what is computed here in "Multipliers", "Straight to the
 * end", "Folding", "Joining the incoming register".
 */

#define CRC_CONST(x) CRC_CONST_(x)

/* Returns sum + data * powers, lane by lane.  A sum in memory needs no load. */
static INLINE V
FN(add_product) (V sum, V data, V powers)
{
	return VXOR3(VCLMUL(data, powers, 0x00), VCLMUL(data, powers, 0x11), sum);
}

/* Adds the i-th last vector before end, with the multiplier for its distance. */
static INLINE V
FN(add_last) (V sum, const unsigned char *end, size_t i)
{
	return FN(add_product) (sum, VLOAD(end - i * VBYTES),
							VLOAD_ALIGNED(CRC(straight_powers) + STRAIGHT_END -
										  i * (VBYTES / 8)));
}

/*
 * Adds the whole vectors, at most most, that end at end.  There is a branch per
 * vector and no more multiplications than these need.
 */
static INLINE V
FN(add_whole) (V sum, const unsigned char *end, size_t whole, size_t most)
{
#define ADD_WHOLE(i) \
	if ((i) > most || whole < (i)) \
		return sum; \
	sum = FN(add_last) (sum, end, i)
	ADD_WHOLE(1);
	ADD_WHOLE(2);
	ADD_WHOLE(3);
	ADD_WHOLE(4);
	ADD_WHOLE(5);
	ADD_WHOLE(6);
	ADD_WHOLE(7);
#undef ADD_WHOLE
	return sum;
}

/*
 * For VBYTES < n <= (SHORT_WHOLE + 1) * VBYTES.  The odd bytes come first, at
 * the beginning of a vector whose other bytes are zero.  Ending VBYTES - odd
 * bytes early is but another exponent.
 */
static INLINE uint32_t
FN(short) (uint32_t reg, const unsigned char *p, size_t n)
{
	size_t		whole = (n - 1) / VBYTES;
	__m128i		joiner = shift_near(reg, CRC(powers), n);
	V			sum = VMULTIPLY(VLOAD_BEGIN(p, n - whole * VBYTES),
								VPOWERS(powers_at(CRC(powers), n) + 1));

	sum = FN(add_whole) (sum, p + n, whole, SHORT_WHOLE);
	return REDUCE(VTO128(sum), joiner);
}

/*
 * Adds the n < (most + 1) * VBYTES bytes at p, which stand after VBYTES others
 * or more.
 */
static INLINE V
FN(add_tail) (V sum, const unsigned char *p, size_t n, size_t most)
{
	size_t		odd = n % VBYTES;

	if (odd > 0)
		sum = FN(add_product) (sum, VLOAD_END(p + odd - VBYTES, odd),
							   VLOAD_ALIGNED(CRC(straight_powers) + STRAIGHT_END -
											 (n / VBYTES + 1) * (VBYTES / 8)));
	return FN(add_whole) (sum, p + n, n / VBYTES, most);
}

#ifdef MIXED

/*
 * CRC-32C of 65 <= n <= 64 + 6 * VBYTES bytes.  The first 64 take crc32
 * instructions, and the others carry-less multiplications beside them.
 */
static INLINE uint32_t
FN(mixed) (uint32_t reg, const unsigned char *p, size_t n)
{
	V			sum = FN(add_tail) (VBROADCAST(0, 0), p + 64, n - 64, 6);

	reg = crc32c_64(reg, p);
	return REDUCE(VTO128(sum), shift_near(reg, CRC(powers), n - 64));
}

#endif							/* MIXED */

/* The four sums of a block, multiplied for their distances from the end. */
static INLINE V
FN(finish) (V a0, V a1, V a2, V a3, const uint64_t *powers)
{
	V			sum = VMULTIPLY(a0, VLOAD_ALIGNED(powers));

	sum = FN(add_product) (sum, a1, VLOAD_ALIGNED(powers + VBYTES / 8));
	sum = FN(add_product) (sum, a2, VLOAD_ALIGNED(powers + 2 * (VBYTES / 8)));
	return FN(add_product) (sum, a3, VLOAD_ALIGNED(powers + 3 * (VBYTES / 8)));
}

#define BLOCK (4 * VBYTES)
#define SHIFT_FAR(reg, n) \
	shift_far(reg, CRC(powers), CRC(block_powers), n)

/*
 * In one block the four sums move by a block and take up the next data.  After
 * the i-th of them stands BESIDE(i).  The compiler must keep this order.  Zen
 * 4 dispatches a carry-less multiplication alone in its cycle.  So what is
 * done beside these has to come in portions that fill the cycles between them.
 */
#define KEEP_ORDER() __asm__ volatile("")
#define FOLD_VECTOR(sum, p, i, BESIDE) \
	do { \
		sum = FN(add_product) (VLOAD((p) + (i) * VBYTES), sum, k); \
		KEEP_ORDER(); \
		BESIDE(i); \
		KEEP_ORDER(); \
	} while (0)
#define FOLD_BLOCK(p, BESIDE) \
	do { \
		FOLD_VECTOR(a0, p, 0, BESIDE); \
		FOLD_VECTOR(a1, p, 1, BESIDE); \
		FOLD_VECTOR(a2, p, 2, BESIDE); \
		FOLD_VECTOR(a3, p, 3, BESIDE); \
	} while (0)
#define NOTHING(i)

#ifndef WITHOUT_BULK

/* The i-th quarter of a block; VBYTES may be less than a line. */
#define PREFETCH(i) \
	if ((i) * VBYTES % 64 == 0) \
		_mm_prefetch((const char *) p + ahead + (i) * VBYTES, _MM_HINT_T0)

/*
 * For n > (SHORT_WHOLE + 1) * VBYTES.  Long inputs are aligned first.  Vectors
 * that cross cache lines cost 15 %, less than aligning does below ALIGN_FROM.
 */
static TARGET __attribute__((noinline)) uint32_t
FN(bulk) (uint32_t reg, const unsigned char *p, size_t n)
{
	V			k = VBROADCAST(CRC_CONST(VBLOCK_HIGH), CRC_CONST(VBLOCK_LOW));
	V			a0,
				a1,
				a2,
				a3,
				sum;
	__m128i		w;
	const uint32_t *powers;
	const unsigned char *end = p + n;
	const unsigned char *fence;

	if (n >= ALIGN_FROM)
	{
		size_t		odd = -(uintptr_t) p % VBYTES;

		if (odd > 0)
			reg = FEW(reg, p, odd);
		p += odd;
		w = _mm_setzero_si128();
		a0 = VXOR(VLOAD(p), VFROM128(_mm_cvtsi32_si128((int) reg)));
	}
	else
	{
		w = SHIFT_FAR(reg, n);
		a0 = VLOAD(p);
	}
	a1 = VLOAD(p + VBYTES);
	a2 = VLOAD(p + 2 * VBYTES);
	a3 = VLOAD(p + 3 * VBYTES);
	p += BLOCK;
	if (n >= NEAR_FROM)
	{
		size_t		ahead = n < PREFETCH_FROM ? NEAR_AHEAD : PREFETCH_AHEAD;

		fence = end - ahead - BLOCK;
		for (; p <= fence; p += BLOCK)
			FOLD_BLOCK(p, PREFETCH);
	}
	fence = end - BLOCK;
	for (; p <= fence; p += BLOCK)
		FOLD_BLOCK(p, NOTHING);

	n = end - p;
	powers = powers_at(CRC(powers), n + BLOCK - 8);
	sum = VMULTIPLY(a0, VPOWERS(powers));
	sum = FN(add_product) (sum, a1, VPOWERS(powers + VBYTES / 8));
	sum = FN(add_product) (sum, a2, VPOWERS(powers + 2 * (VBYTES / 8)));
	sum = FN(add_product) (sum, a3, VPOWERS(powers + 3 * (VBYTES / 8)));
	sum = FN(add_tail) (sum, p, n, 3);
	return REDUCE(_mm_xor_si128(VTO128(sum), w), _mm_setzero_si128());
}

#undef PREFETCH
#endif							/* WITHOUT_BULK */

#ifdef FUSED

#define FUSED_BLOCK (BLOCK + 3 * 8 * FUSED_WORDS)
#define CHAIN_WORD(i) \
	if ((i) < FUSED_WORDS) \
	{ \
		a = _mm_crc32_u64(a, load_native64(q + (i) * 8)); \
		b = _mm_crc32_u64(b, load_native64(q + third + (i) * 8)); \
		c = _mm_crc32_u64(c, load_native64(q + 2 * third + (i) * 8)); \
	}
#define CHAIN_WORD_AHEAD(i) \
	CHAIN_WORD(i); \
	if (FUSED_AHEAD > 0) \
		_mm_prefetch((const char *) p + FUSED_AHEAD + (i) * VBYTES, _MM_HINT_T0)

/*
 * CRC-32C of a long stretch, with two units of the CPU at work.  Carry-less
 * multiplications take its first part, and three chains of crc32 instructions
 * the rest.  Advances *start and *n until fewer than FUSED_BLOCK + BLOCK bytes
 * stay.
 */
static TARGET __attribute__((noinline)) uint32_t
FN(fused_run) (uint32_t reg, const unsigned char **start, size_t *n)
{
	const uint64_t *last_block = CRC(straight_powers) + STRAIGHT_END - BLOCK / 8;
	V			k = VBROADCAST(CRC_CONST(VBLOCK_HIGH), CRC_CONST(VBLOCK_LOW));
	const unsigned char *p = *start;

	while (*n >= FUSED_BLOCK + BLOCK)
	{
		size_t		rounds = (*n - BLOCK) / FUSED_BLOCK < FUSED_MOST ?
			(*n - BLOCK) / FUSED_BLOCK : FUSED_MOST;
		size_t		third = rounds * 8 * FUSED_WORDS;
		const unsigned char *q = p + (rounds + 1) * BLOCK;
		const unsigned char *end = q;
		uint64_t	a = 0,
					b = 0,
					c = 0;
		V			a0 = VXOR(VLOAD(p),
							  VFROM128(_mm_cvtsi32_si128((int) reg))),
					a1 = VLOAD(p + VBYTES),
					a2 = VLOAD(p + 2 * VBYTES),
					a3 = VLOAD(p + 3 * VBYTES),
					sum;

		for (p += BLOCK; p < end; p += BLOCK, q += 8 * FUSED_WORDS)
		{
			FOLD_BLOCK(p, CHAIN_WORD_AHEAD);
			CHAIN_WORD(4);
		}
		sum = FN(finish) (a0, a1, a2, a3, last_block);
		reg = reduce_crc32c(VTO128(sum), _mm_setzero_si128());
		reg = (uint32_t) c ^ reduce_crc32c(
			_mm_xor_si128(SHIFT_FAR(reg, 3 * third),
						  _mm_xor_si128(SHIFT_FAR((uint32_t) a, 2 * third),
										SHIFT_FAR((uint32_t) b, third))),
			_mm_setzero_si128());
		p = q + 2 * third;
		*n -= BLOCK + rounds * FUSED_BLOCK;
	}
	*start = p;
	return reg;
}
#undef CHAIN_WORD
#undef CHAIN_WORD_AHEAD
#endif

#ifdef ROWS
#include "rows_avx512.inc.h"
#endif

#undef BLOCK
#undef KEEP_ORDER
#undef FOLD_VECTOR
#undef FOLD_BLOCK
#undef NOTHING
#undef SHIFT_FAR

#undef CRC
#undef CRC_CONST
#undef CRC_CONST_
#undef FN
#undef FEW
#undef REDUCE
#undef FUSED
#undef ROWS
#undef WITHOUT_BULK
#undef MIXED
