/*
 * tuning_x86.inc.h
 *	  The numbers that measurements chose, by VBYTES.  It is included by
 *	  vector_x86.inc.h.  For figures see README.md, "Folding" and "Laboratory
 *	  notes".
 */
#if VBYTES == 16
#define BY_VBYTES(v16, v32, v64) (v16)
#elif VBYTES == 32
#define BY_VBYTES(v16, v32, v64) (v32)
#else
#define BY_VBYTES(v16, v32, v64) (v64)
#endif

/*
 * Whole vectors of the short path, 128, 224 and 320 bytes in all.
 */
#define SHORT_WHOLE			BY_VBYTES(7, 6, 4)

/* Below so many bytes CRC-32C is one chain of crc32 instructions. */
#define INSTRUCTIONS_BELOW	BY_VBYTES(192, 97, FEW_BYTES)

/*
 * For Zen 4.  Up to WORDS_MOST bytes there is a branch per word.  Above, up to
 * FIRST_MOST bytes (a word, not more) before whole vectors take one
 * instruction, not a vector.
 */
#define WORDS_MOST			48
#define FIRST_MOST			8

/*
 * Vectors across cache lines cost 15 %, from here on more than aligning them.
 */
#define ALIGN_FROM			4096

/*
 * Inputs of PREFETCH_FROM bytes come from L3 or memory.  Wider vectors are read
 * faster.  Shorter ones from NEAR_FROM on may come from there, too.
 */
#define PREFETCH_FROM		(1 << 20)
#define PREFETCH_AHEAD		BY_VBYTES(2048, 4096, 8192)
#define NEAR_FROM			BY_VBYTES(PREFETCH_FROM, PREFETCH_FROM, ALIGN_FROM)
#define NEAR_AHEAD			2048

/*
 * Multiplications beside crc32 instructions.  From FUSED_FROM on they gain
 * more than they cost, which is joining the four registers, or with 64 bytes
 * the beginning and the end of the rows.  FUSED_WORDS per chain and block fill
 * the second unit while the first is busy.  No more than FUSED_MOST blocks
 * come at once.  Their words are shifted over, and shift_far() takes fewer
 * than 65536 bytes.
 */
#define FUSED_FROM			BY_VBYTES(1280, 1024, 2048)
#define FUSED_WORDS			BY_VBYTES(4, 4, 5)
#define FUSED_MOST			256

/* Prefetches before the multiplications, in bytes.  0 is none. */
#define FUSED_AHEAD			BY_VBYTES(0, 0, 2048)

/* From here on Ice Lake takes three chains far apart in the place of rows. */
#define FAR_FROM			8192

/*
 * For Zen 5.  From PAIRS_FROM to PAIRS_TO bytes, which is memory, pairs of
 * vectors take the place of blocks.  The chains read 2 kB before the vectors,
 * the prefetches PAIRS_AHEAD, and from PAIRS_FAR_FROM on PREFETCH_AHEAD.  At
 * the beginning PAIRS_BURST bytes come at once.
 */
#define PAIRS_FROM			3072
#define PAIRS_FAR_FROM		32768
#define PAIRS_TO			(1 << 25)
#define PAIRS_AHEAD			3072
#define PAIRS_BURST			512
