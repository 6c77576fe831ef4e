/* needs: kernel */
/*
 * test_crc.c
 *	  Every CRC kernel that this machine can run against the bitwise reference.
 *
 * The right answers of one seed are computed once, for every prefix and every
 * suffix of a buffer, so that a case costs one call of the kernel: all lengths
 * to 4096, at all alignments, behind a guard page and before one, in memory
 * that is read-only, from several incoming registers; then splits, and lengths
 * that reach the loops for large inputs.
 */
#include "rows.h"
#include "oracle.h"

#define LONGEST		4096
#define ALIGNMENTS	64
#define NREGS		4

typedef struct CrcContext
{
	ChecksumAlgorithm algorithm;
	const ChecksumKernel *kernel;
	uint64_t	cases;
	Arena		arena;			/* LONGEST + ALIGNMENTS at least */
	Arena		large;
	uint32_t   *large_prefix;	/* of the bytes of large_data */
	unsigned char *large_data;
	size_t		large_len;
	unsigned char data[LONGEST];
	uint32_t	regs[NREGS];
	uint32_t	prefix[NREGS][LONGEST + 1];
	uint32_t	suffix[NREGS][LONGEST + 1];
} CrcContext;

static CrcContext contexts[CHECKSUM_NALGORITHMS];

static void
compare(CrcContext *ctx, uint32_t got, uint32_t want, const char *what,
		size_t len, size_t where)
{
	ctx->cases++;
	check(got == want, "%s %s: %s, length %zu, %zu: %08x instead of %08x",
		  checksum_algorithm_name(ctx->algorithm), ctx->kernel->name, what,
		  len, where, (unsigned) got, (unsigned) want);
}

/* New data, new registers, their right answers. */
static void
new_seed(CrcContext *ctx)
{
	unit_fill(ctx->data, LONGEST);
	ctx->regs[0] = CHECKSUM_CRC_INIT;
	ctx->regs[1] = 0;
	for (int r = 2; r < NREGS; r++)
		ctx->regs[r] = (uint32_t) unit_random();
	for (int r = 0; r < NREGS; r++)
	{
		oracle_prefixes(ctx->algorithm, ctx->regs[r], ctx->data, LONGEST,
						ctx->prefix[r]);
		oracle_suffixes(ctx->algorithm, ctx->regs[r], ctx->data, LONGEST,
						ctx->suffix[r]);
		check(ctx->suffix[r][LONGEST] == ctx->prefix[r][LONGEST],
			  "the two oracles differ");
		check(ctx->suffix[r][77] ==
			  oracle_crc(ctx->algorithm, ctx->regs[r],
						 ctx->data + LONGEST - 77, 77),
			  "the oracle of suffixes is wrong");
	}
}

/* Emulators see every length to 640 and a sample of the longer ones. */
static size_t
next_length(size_t len)
{
	return unit.scale == UNIT_SMALL && len >= 640 ? len + 29 : len + 1;
}

static size_t
next_alignment(size_t alignment)
{
	return alignment + (unit.scale == UNIT_SMALL ? 3 : 1);
}

/* Prefixes that start a few bytes behind the front guard page. */
static void
test_starts(CrcContext *ctx)
{
	for (size_t a = 0; a < ALIGNMENTS; a = next_alignment(a))
	{
		const unsigned char *p = ctx->arena.start + a;

		arena_writable(ctx->arena, true);
		memcpy(ctx->arena.start + a, ctx->data, LONGEST);
		arena_writable(ctx->arena, false);
		for (size_t len = 0; len <= LONGEST; len = next_length(len))
		{
			size_t		r = (len + a) % NREGS;

			unit_at(1, len, a);
			compare(ctx, ctx->kernel->crc(ctx->regs[r], p, len),
					ctx->prefix[r][len], "behind a guard page", len, a);
		}
	}
}

/* Suffixes that end a few bytes before the rear guard page. */
static void
test_ends(CrcContext *ctx)
{
	for (size_t gap = 0; gap < ALIGNMENTS; gap = next_alignment(gap))
	{
		const unsigned char *end = ctx->arena.end - gap;

		arena_writable(ctx->arena, true);
		memcpy(ctx->arena.end - gap - LONGEST, ctx->data, LONGEST);
		arena_writable(ctx->arena, false);
		for (size_t len = 0; len <= LONGEST; len = next_length(len))
		{
			size_t		r = (len + gap) % NREGS;

			unit_at(2, len, gap);
			compare(ctx, ctx->kernel->crc(ctx->regs[r], end - len, len),
					ctx->suffix[r][len], "before a guard page", len, gap);
		}
	}
}

static void
split_at(CrcContext *ctx, const unsigned char *p, size_t len, size_t at)
{
	size_t		r = at % NREGS;
	uint32_t	reg = ctx->kernel->crc(ctx->regs[r], p, at);

	unit_at(3, len, at);
	compare(ctx, reg, ctx->prefix[r][at], "first part", len, at);
	compare(ctx, ctx->kernel->crc(reg, p + at, len - at),
			ctx->prefix[r][len], "split", len, at);
}

/* Two parts, split at every point; then parts of random lengths. */
static void
test_splits(CrcContext *ctx)
{
	const unsigned char *p = ctx->arena.start + 5;

	arena_writable(ctx->arena, true);
	memcpy(ctx->arena.start + 5, ctx->data, LONGEST);
	arena_writable(ctx->arena, false);
	for (size_t len = 1; len <= 400; len += unit.scale == UNIT_SMALL ? 7 : 1)
		for (size_t at = 0; at <= len; at++)
			split_at(ctx, p, len, at);
	for (size_t at = 0; at <= LONGEST; at++)
		split_at(ctx, p, LONGEST, at);
	for (int round = 0; round < 2000; round++)
	{
		size_t		r = unit_random() % NREGS;
		size_t		limit = (size_t) 1 << (1 + unit_random() % 11);
		uint32_t	reg = ctx->regs[r];
		size_t		at = 0;

		while (at < LONGEST)
		{
			size_t		n = unit_random() % limit + 1;

			n = n < LONGEST - at ? n : LONGEST - at;
			unit_at(4, n, at);
			reg = ctx->kernel->crc(reg, p + at, n);
			at += n;
			if (reg != ctx->prefix[r][at])
				break;
		}
		compare(ctx, reg, ctx->prefix[r][at], "chain", at, limit);
		if (unit.scale == UNIT_SMALL && round >= 200)
			break;
	}
}

static void
test_large(CrcContext *ctx)
{
	int			rounds = unit.scale == UNIT_SMALL ? 12 : 96;

	for (int round = 0; round < rounds; round++)
	{
		size_t		a = unit_random() % ALIGNMENTS;
		size_t		span = round % 4 ? 1024 * 1024 : ctx->large_len;
		size_t		len;

		span = span < ctx->large_len ? span : ctx->large_len;
		len = round ? LONGEST + unit_random() % (span - LONGEST + 1) : span;
		if (round % 2)
			a = (size_t) (ctx->large.end - ctx->large.start) - len;
		arena_writable(ctx->large, true);
		memcpy(ctx->large.start + a, ctx->large_data, len);
		arena_writable(ctx->large, false);
		unit_at(5, len, a);
		compare(ctx, ctx->kernel->crc(CHECKSUM_CRC_INIT,
									  ctx->large.start + a, len),
				ctx->large_prefix[len], "large", len, a);
	}
}

static void
test_known_answers(CrcContext *ctx)
{
	static const unsigned char zeros[32];
	bool		c = ctx->algorithm == CHECKSUM_crc32c;
	ChecksumCrcFn crc = ctx->kernel->crc;
	unsigned char ones[32];
	ChecksumSelfTest self;

	memset(ones, 0xFF, sizeof(ones));
	compare(ctx, ~crc(CHECKSUM_CRC_INIT, "123456789", 9),
			c ? 0xE3069283u : 0xCBF43926u, "check value", 9, 0);
	/* RFC 3720, B.4; the others from its bitwise definition */
	compare(ctx, ~crc(CHECKSUM_CRC_INIT, zeros, 32),
			c ? 0x8A9136AAu : 0x190A55ADu, "32 zeros", 32, 0);
	compare(ctx, ~crc(CHECKSUM_CRC_INIT, ones, 32),
			c ? 0x62A8AB43u : 0xFF6CAB0Bu, "32 ones", 32, 0);
	compare(ctx, crc(12345, NULL, 0), 12345, "no data", 0, 0);
	checksum_self_test(ctx->kernel, true, &self);
	check(self.cases > 500 && self.failures == 0, "%s: quick self-test: %s",
		  ctx->kernel->name, self.first_failure);
}

/* The row that is the reference itself would take minutes for all cases. */
static void
test_kernel(CrcContext *ctx)
{
	UnitScale	scale = unit.scale;
	int			seeds = unit.scale == UNIT_FULL ? 3 : 1;

	if (ctx->kernel->needs & CHECKSUM_POLICY_REFERENCE)
	{
		unit.scale = UNIT_SMALL;
		seeds = 1;
	}
	ctx->cases = 0;
	unit.subject = ctx->kernel->name;
	test_known_answers(ctx);
	for (int seed = 0; seed < seeds; seed++)
	{
		new_seed(ctx);
		test_starts(ctx);
		if (seed == 0)
		{
			test_ends(ctx);
			test_splits(ctx);
		}
	}
	test_large(ctx);
	unit.scale = scale;
	printf("%s %s: %llu cases\n", checksum_algorithm_name(ctx->algorithm),
		   ctx->kernel->name, (unsigned long long) ctx->cases);
}

static void
prepare(CrcContext *ctx, ChecksumAlgorithm algorithm)
{
	ctx->algorithm = algorithm;
	ctx->large_len = unit.scale == UNIT_SMALL ? 150000 : 3 * 1024 * 1024 + 77;
	ctx->arena = arena_make(LONGEST + ALIGNMENTS);
	ctx->large = arena_make(ctx->large_len + ALIGNMENTS);
	ctx->large_data = malloc(ctx->large_len);
	ctx->large_prefix = malloc((ctx->large_len + 1) * sizeof(uint32_t));
	if (ctx->large_data == NULL || ctx->large_prefix == NULL)
		exit(3);
	unit_fill(ctx->large_data, ctx->large_len);
	oracle_prefixes(algorithm, CHECKSUM_CRC_INIT, ctx->large_data,
					ctx->large_len, ctx->large_prefix);
}

int
main(int argc, char **argv)
{
	unit_begin("test_crc", argc, argv);
	checksum_init();
	prepare(&contexts[CHECKSUM_crc32c], CHECKSUM_crc32c);
	prepare(&contexts[CHECKSUM_crc32], CHECKSUM_crc32);
	for (int i = 0; i < EXPECTED_ROWS; i++)
	{
		CrcContext *ctx = &contexts[expected_rows[i].algorithm];

		if (expected_rows[i].algorithm == CHECKSUM_page)
			continue;
		ctx->kernel = kernel_to_test(&expected_rows[i]);
		if (ctx->kernel != NULL)
			test_kernel(ctx);
	}
	return unit_finish();
}
