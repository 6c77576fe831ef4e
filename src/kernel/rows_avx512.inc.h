/*
 * rows_avx512.inc.h
 *	  CRC-32C of long inputs for CPUs, as Zen 4, Zen 5 and Ice Lake, on which
 *	  carry-less multiplications of 512 bits leave time for crc32 instructions.
 *
 * See README.md, "Folding".  It is included by fold_x86.inc.h.
 *
 * A row is 256 bytes, which are folded, and after them a part of 128, which a
 * chain of crc32 instructions takes in four stages of four words.  Each stage
 * stands beside another row.  So four chains are at work at once, in the parts
 * of this row and of the three that follow.
 */
#define ROW_PART		128
#define ROW_BYTES		(BLOCK + ROW_PART)

/* The i-th of the four words of a stage, which begins at p + from. */
#define STAGE_WORD(chain, from, i) \
	chain = _mm_crc32_u64(chain, load_native64(p + (from) + (i) * 8))
#define STAGE(chain, from) \
	STAGE_WORD(chain, from, 0); \
	STAGE_WORD(chain, from, 1); \
	STAGE_WORD(chain, from, 2); \
	STAGE_WORD(chain, from, 3)
#define STAGE_BYTES		32

/* A stage (0 to 3) in the part of a row, counted from that at p. */
#define IN_PART(row, stage) \
	((row) * ROW_BYTES + BLOCK + (stage) * STAGE_BYTES)

/* What stands beside the i-th vector of a row, by the number of the chains. */
#define BESIDE_1(i) STAGE_WORD(d, IN_PART(0, 3), i)
#define BESIDE_2(i) BESIDE_1(i); STAGE_WORD(c, IN_PART(1, 2), i)
#define BESIDE_3(i) BESIDE_2(i); STAGE_WORD(b, IN_PART(2, 1), i)
#define BESIDE_4(i) BESIDE_3(i); STAGE_WORD(a, IN_PART(3, 0), i)
#define AHEAD(bytes) \
	_mm_prefetch((const char *) p + PREFETCH_AHEAD + (bytes), _MM_HINT_T1)
#define BESIDE_4_AHEAD(i) \
	BESIDE_4(i); \
	AHEAD(64 * (i)); \
	if ((i) < 2) \
		AHEAD(64 * (i) + 256)

/* Adds a register to the data after it, of which the vector begins. */
#define ADD_REGISTER(sum, register) \
	sum = VXOR(sum, _mm512_maskz_set1_epi32(1, (int) (register)))

/* The register over the part before this row is added to its first vector. */
#define FOLD_ROW(BESIDE) \
	do { \
		FOLD_BLOCK(p, BESIDE); \
		ADD_REGISTER(a0, before); \
		before = d, d = c, c = b, b = a, a = 0; \
		p += ROW_BYTES; \
	} while (0)

/*
 * Takes FUSED_FROM bytes at least, and leaves fewer than ROW_BYTES.  The first
 * 512 bytes are two blocks without parts, beside which the chains begin.
 */
static TARGET __attribute__((noinline)) uint32_t
crc32c_rows(uint32_t reg, const unsigned char **start, size_t *len)
{
	const uint64_t *powers = crc32c_straight_powers + STRAIGHT_END - ROW_BYTES / 8;
	const unsigned char *p = *start;
	size_t		rows = (*len - 2 * BLOCK) / ROW_BYTES;
	const unsigned char *last_rows = p + 2 * BLOCK + (rows - 3) * ROW_BYTES;
	uint64_t	a = 0,
				b = 0,
				c = 0,
				d = 0,
				before = 0;
	V			k = VBROADCAST(CRC32C_X2015, CRC32C_X2079);
	V			a0 = VXOR(VLOAD(p), VFROM128(_mm_cvtsi32_si128((int) reg))),
				a1 = VLOAD(p + 64),
				a2 = VLOAD(p + 128),
				a3 = VLOAD(p + 192),
				sum;

	p += 2 * BLOCK;
#define BEGIN_3(i) \
	STAGE_WORD(d, IN_PART(0, 0), i); \
	STAGE_WORD(c, IN_PART(1, 0), i); \
	STAGE_WORD(b, IN_PART(2, 0), i)
	FOLD_BLOCK(p - BLOCK, BEGIN_3);
	STAGE(d, IN_PART(0, 1));
	STAGE(c, IN_PART(1, 1));
	STAGE(d, IN_PART(0, 2));
#undef BEGIN_3
	FOLD_ROW(BESIDE_4);
	k = VBROADCAST(CRC32C_X3039, CRC32C_X3103);
	if (last_rows - p > PREFETCH_AHEAD)
	{
		const unsigned char *fence = last_rows - PREFETCH_AHEAD;

		while (p < fence)
			FOLD_ROW(BESIDE_4_AHEAD);
	}
	while (p < last_rows)
		FOLD_ROW(BESIDE_4);
	FOLD_ROW(BESIDE_3);
	FOLD_ROW(BESIDE_2);
	FOLD_ROW(BESIDE_1);
	sum = FN(finish) (a0, a1, a2, a3, powers);
	*len -= (size_t) (p - *start);
	*start = p;
	return (uint32_t) before ^ reduce_crc32c(VTO128(sum), _mm_setzero_si128());
}
#undef ROW_BYTES
#undef IN_PART
#undef BESIDE_1
#undef BESIDE_2
#undef BESIDE_3
#undef BESIDE_4
#undef BESIDE_4_AHEAD
#undef AHEAD
#undef FOLD_ROW

/*
 * The same for CPUs, as Zen 5, that start several crc32 instructions per
 * cycle.  A row is two pairs of vectors, and a part stands before each pair.
 * Eight chains are at work at once, two per stage, in the parts of the four
 * rows that follow.  So both registers of a row are there when it begins.
 */
#define PAIR_BYTES		(2 * VBYTES)
#define HALF_ROW		(ROW_PART + PAIR_BYTES)
#define ROW_BYTES		(2 * HALF_ROW)
#define MIN_ROWS		5

/* The i-th word of a stage in both parts of a row. */
#define BOTH(first, second, row, stage, i) \
	STAGE_WORD(first, (row) * ROW_BYTES + (stage) * STAGE_BYTES, i); \
	STAGE_WORD(second, (row) * ROW_BYTES + HALF_ROW + (stage) * STAGE_BYTES, i)
#define BOTH_STAGES(first, second, row, stage) \
	BOTH(first, second, row, stage, 0); \
	BOTH(first, second, row, stage, 1); \
	BOTH(first, second, row, stage, 2); \
	BOTH(first, second, row, stage, 3)
#define BESIDE_2(i) BOTH(d, h, 1, 3, i)
#define BESIDE_4(i) BESIDE_2(i); BOTH(c, g, 2, 2, i)
#define BESIDE_6(i) BESIDE_4(i); BOTH(b, f, 3, 1, i)
#define BESIDE_8(i) BESIDE_6(i); BOTH(a, e, 4, 0, i)
#define BESIDE_8_AHEAD(i) \
	BESIDE_8(i); \
	_mm_prefetch((const char *) p + ahead + 128 * (i), _MM_HINT_T0); \
	_mm_prefetch((const char *) p + ahead + 128 * (i) + 64, _MM_HINT_T0)
#define NEXT_ROW() \
	before_first = d, d = c, c = b, b = a, a = 0; \
	before_second = h, h = g, g = f, f = e, e = 0
#define FOLD_FIRST_PAIR(BESIDE) \
	FOLD_VECTOR(a0, p + ROW_PART, 0, BESIDE); \
	ADD_REGISTER(a0, before_first); \
	FOLD_VECTOR(a1, p + ROW_PART, 1, BESIDE)
#define FOLD_SECOND_PAIR(BESIDE) \
	FOLD_VECTOR(a2, p + 2 * ROW_PART, 2, BESIDE); \
	ADD_REGISTER(a2, before_second); \
	FOLD_VECTOR(a3, p + 2 * ROW_PART, 3, BESIDE)
#define FOLD_PAIRS(BESIDE) \
	do { \
		FOLD_FIRST_PAIR(BESIDE); \
		FOLD_SECOND_PAIR(BESIDE); \
		NEXT_ROW(); \
		p += ROW_BYTES; \
	} while (0)

/* The four sums of a row, multiplied for their distances from its end. */
static INLINE V
finish_pairs(V a0, V a1, V a2, V a3)
{
	const uint64_t *end = crc32c_straight_powers + STRAIGHT_END;
	V			sum = VMULTIPLY(a0, VLOAD_ALIGNED(end - (HALF_ROW + PAIR_BYTES) / 8));

	sum = FN(add_product) (sum, a1, VLOAD_ALIGNED(end - (HALF_ROW + VBYTES) / 8));
	sum = FN(add_product) (sum, a2, VLOAD_ALIGNED(end - PAIR_BYTES / 8));
	return FN(add_product) (sum, a3, VLOAD_ALIGNED(end - VBYTES / 8));
}

/*
 * Takes PAIRS_FROM bytes at least, and leaves fewer than ROW_BYTES.  The first
 * 512 bytes are two blocks without parts, beside which the chains begin.
 */
static INLINE uint32_t
crc32c_pairs(uint32_t reg, const unsigned char **start, size_t *len,
			 const ptrdiff_t ahead)
{
	const unsigned char *p = *start;
	size_t		rows = (*len - 2 * BLOCK) / ROW_BYTES;
	const unsigned char *last_rows = p + 2 * BLOCK + (rows - MIN_ROWS + 1) * ROW_BYTES;
	uint64_t	a = 0,
				b = 0,
				c = 0,
				d = 0,
				e = 0,
				f = 0,
				g = 0,
				h = 0,
				before_first,
				before_second;
	V			k = VBROADCAST(CRC32C_X2015, CRC32C_X2079);
	V			a0 = VXOR(VLOAD(p), VFROM128(_mm_cvtsi32_si128((int) reg))),
				a1 = VLOAD(p + 64),
				a2 = VLOAD(p + 128),
				a3 = VLOAD(p + 192);

	if (*len > PAIRS_AHEAD + ROW_BYTES)
		for (int i = 0; i < PAIRS_BURST; i += 64)
			_mm_prefetch((const char *) p + MIN_ROWS * ROW_BYTES + i, _MM_HINT_T0);
	p += 2 * BLOCK;
#define BEGIN_8(i) \
	BOTH(d, h, 0, 0, i); \
	BOTH(c, g, 1, 0, i); \
	BOTH(b, f, 2, 0, i); \
	BOTH(a, e, 3, 0, i)
	FOLD_BLOCK(p - BLOCK, BEGIN_8);
	BOTH_STAGES(d, h, 0, 1);
	BOTH_STAGES(c, g, 1, 1);
	BOTH_STAGES(b, f, 2, 1);
	BOTH_STAGES(d, h, 0, 2);
	BOTH_STAGES(c, g, 1, 2);
	BOTH_STAGES(d, h, 0, 3);
#undef BEGIN_8
	NEXT_ROW();
	k = VBROADCAST(CRC32C_X3039, CRC32C_X3103);
	FOLD_FIRST_PAIR(BESIDE_8);
	k = VBROADCAST(CRC32C_X4063, CRC32C_X4127);
	FOLD_SECOND_PAIR(BESIDE_8);
	NEXT_ROW();
	p += ROW_BYTES;
	if (last_rows - p > ahead - (MIN_ROWS - 1) * ROW_BYTES)
	{
		const unsigned char *fence = last_rows + (MIN_ROWS - 1) * ROW_BYTES - ahead;

		while (p < fence)
			FOLD_PAIRS(BESIDE_8_AHEAD);
	}
	while (p < last_rows)
		FOLD_PAIRS(BESIDE_8);
	FOLD_PAIRS(BESIDE_6);
	FOLD_PAIRS(BESIDE_4);
	FOLD_PAIRS(BESIDE_2);
	FOLD_PAIRS(NOTHING);
	*len -= (size_t) (p - *start);
	*start = p;
	return reduce_crc32c(VTO128(finish_pairs(a0, a1, a2, a3)), _mm_setzero_si128());
}

static TARGET __attribute__((noinline)) uint32_t
crc32c_pairs_near(uint32_t reg, const unsigned char **start, size_t *len)
{
	return crc32c_pairs(reg, start, len, PAIRS_AHEAD);
}

static TARGET __attribute__((noinline)) uint32_t
crc32c_pairs_far(uint32_t reg, const unsigned char **start, size_t *len)
{
	return crc32c_pairs(reg, start, len, PREFETCH_AHEAD);
}
#undef PAIR_BYTES
#undef HALF_ROW
#undef ROW_BYTES
#undef ROW_PART
#undef MIN_ROWS
#undef STAGE_WORD
#undef STAGE
#undef STAGE_BYTES
#undef ADD_REGISTER
#undef BOTH
#undef BOTH_STAGES
#undef BESIDE_2
#undef BESIDE_4
#undef BESIDE_6
#undef BESIDE_8
#undef BESIDE_8_AHEAD
#undef NEXT_ROW
#undef FOLD_FIRST_PAIR
#undef FOLD_SECOND_PAIR
#undef FOLD_PAIRS
