/*
 * rows_avx512.inc.h
 *	  CRC-32C of long inputs for CPUs, as Zen 4 and Ice Lake, on which
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

/* The i-th word of a stage (0 to 3) in the part of a row, counted from that at p. */
#define STAGE_WORD(chain, row, stage, i) \
	chain = _mm_crc32_u64(chain, load_native64(p + (row) * ROW_BYTES + BLOCK + \
											   (stage) * 32 + (i) * 8))

/* What stands beside the i-th vector of a row, by the number of the chains. */
#define BESIDE_1(i) STAGE_WORD(d, 0, 3, i)
#define BESIDE_2(i) BESIDE_1(i); STAGE_WORD(c, 1, 2, i)
#define BESIDE_3(i) BESIDE_2(i); STAGE_WORD(b, 2, 1, i)
#define BESIDE_4(i) BESIDE_3(i); STAGE_WORD(a, 3, 0, i)
#define AHEAD(bytes) \
	_mm_prefetch((const char *) p + PREFETCH_AHEAD + (bytes), _MM_HINT_T1)
#define BESIDE_4_AHEAD(i) \
	BESIDE_4(i); \
	AHEAD(64 * (i)); \
	if ((i) < 2) \
		AHEAD(64 * (i) + 256)

/* The register over the part before this row is added to its first vector. */
#define FOLD_ROW(BESIDE) \
	do { \
		FOLD_BLOCK(p, BESIDE); \
		a0 = VXOR(a0, _mm512_maskz_set1_epi32(1, (int) before)); \
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
#define BEGIN_3(i) STAGE_WORD(d, 0, 0, i); STAGE_WORD(c, 1, 0, i); STAGE_WORD(b, 2, 0, i)
#define BEGIN(chain, row, stage) \
	STAGE_WORD(chain, row, stage, 0); \
	STAGE_WORD(chain, row, stage, 1); \
	STAGE_WORD(chain, row, stage, 2); \
	STAGE_WORD(chain, row, stage, 3)
	FOLD_BLOCK(p - BLOCK, BEGIN_3);
	BEGIN(d, 0, 1);
	BEGIN(c, 1, 1);
	BEGIN(d, 0, 2);
#undef BEGIN_3
#undef BEGIN
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
#undef STAGE_WORD
#undef BESIDE_1
#undef BESIDE_2
#undef BESIDE_3
#undef BESIDE_4
#undef BESIDE_4_AHEAD
#undef AHEAD
#undef FOLD_ROW
