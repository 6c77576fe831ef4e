/*
 * selftest.c
 *	  Compares a kernel with the bitwise reference.
 *
 * Runs at load for the kernels that are about to be used (quick) and on
 * request from SQL.  The exhaustive comparison, with guard pages, is test/unit.
 *
 * One pass over the bytes that start at some place gives the registers of all
 * lengths there, so the reference costs almost nothing.
 */
#include <stdio.h>

#include "kernel.h"

#define PAGE			4096
#define SHORTEST_LONG	1024
#define BUFFER_SIZE		(80 * 1024)
#define MAX_PAGES		8

typedef struct SelfTestContext
{
	const ChecksumKernel *kernel;
	ChecksumCrcFn define;		/* takes single bytes only */
	ChecksumSelfTest *result;
	uint64_t	random;			/* state of the generator, fixed seed */
	unsigned char *edge;		/* page boundary in buffer, 1 page in */
	unsigned char buffer[BUFFER_SIZE];
} SelfTestContext;

static void test_crc(SelfTestContext *ctx, bool quick);
static void test_page(SelfTestContext *ctx, bool quick);

/* xorshift64 (G. Marsaglia, "Xorshift RNGs", 2003) */
static uint64_t
next_random(SelfTestContext *ctx)
{
	ctx->random ^= ctx->random << 13;
	ctx->random ^= ctx->random >> 7;
	ctx->random ^= ctx->random << 17;
	return ctx->random;
}

static void
count_case(SelfTestContext *ctx, uint32_t got, uint32_t want,
		   const char *what, size_t len, ptrdiff_t offset)
{
	ctx->result->cases++;
	if (got == want)
		return;
	if (ctx->result->failures++ == 0)
		snprintf(ctx->result->first_failure,
				 sizeof(ctx->result->first_failure),
				 "%s %zu at offset %td: %08x instead of %08x",
				 what, len, offset, (unsigned) got, (unsigned) want);
}

void
checksum_self_test(const ChecksumKernel *kernel, bool quick,
				   ChecksumSelfTest *result)
{
	SelfTestContext ctx;
	size_t		used = quick ? BUFFER_SIZE / 2 : BUFFER_SIZE;

	memset(result, 0, sizeof(*result));
	ctx.kernel = kernel;
	ctx.result = result;
	ctx.random = UINT64_C(0x9E3779B97F4A7C15);
	ctx.edge = ctx.buffer + PAGE + -(uintptr_t) ctx.buffer % PAGE;
	for (size_t i = 0; i < used; i += 8)
	{
		uint64_t	word = next_random(&ctx);

		memcpy(ctx.buffer + i, &word, 8);
	}
	if (kernel->algorithm == CHECKSUM_page)
		test_page(&ctx, quick);
	else
		test_crc(&ctx, quick);
}

/*
 * Every length from 0 to most at p, and lengths beyond it to last, step apart.
 * All start from one register.  Calls whose length 3 divides are made in two
 * parts, chained.
 */
static void
test_lengths(SelfTestContext *ctx, const unsigned char *p, size_t most,
			 size_t last, size_t step)
{
	ChecksumCrcFn crc = ctx->kernel->crc;
	uint32_t	start = (uint32_t) next_random(ctx);
	uint32_t	want = start;
	size_t		next = 0;

	for (size_t len = 0; len <= last; len++)
	{
		if (len == next)
		{
			uint32_t	got;

			if (len % 3 == 0)
				got = crc(crc(start, p, len / 3), p + len / 3, len - len / 3);
			else
				got = crc(start, p, len);
			count_case(ctx, got, want, "length", len, p - ctx->edge);
			next += len < most ? 1 : step;
		}
		want = ctx->define(want, p + len, 1);
	}
}

/* Every length that ends right before a page. */
static void
test_ends(SelfTestContext *ctx, size_t most)
{
	uint32_t	start = (uint32_t) next_random(ctx);

	for (size_t len = 0; len <= most; len++)
	{
		const unsigned char *p = ctx->edge + PAGE - len;
		uint32_t	want = start;

		for (size_t i = 0; i < len; i++)
			want = ctx->define(want, p + i, 1);
		count_case(ctx, ctx->kernel->crc(start, p, len), want,
				   "length", len, p - ctx->edge);
	}
}

/*
 * The full form starts at every alignment to 64 bytes right before the start
 * of a page, and at some after it.  It takes the bitwise reference.  The quick
 * form takes some of them, and single bytes through slicing-by-8.  It must see
 * that each path of the kernel gives the right answer on this CPU.  A bitwise
 * kernel under test is slow, so it gets fewer starts, and slicing-by-8 too.
 */
static void
test_crc(SelfTestContext *ctx, bool quick)
{
	static const char check[] = "123456789";
	ChecksumAlgorithm algorithm = ctx->kernel->algorithm;
	bool		slow = (ctx->kernel->needs & CHECKSUM_POLICY_REFERENCE) != 0;
	uint32_t	want = algorithm == CHECKSUM_crc32c ? 0xE3069283u : 0xCBF43926u;

	ctx->define = checksum_find(algorithm, quick || slow ? "slicing8" :
								"bitwise")->crc;
	count_case(ctx, ctx->kernel->crc(CHECKSUM_CRC_INIT, check, 9) ^
			   CHECKSUM_CRC_INIT, want, "check value", 9, 0);
	if (quick)
	{
		test_lengths(ctx, ctx->edge - 40, 700, 5000, 601);
		test_lengths(ctx, ctx->edge + 3, 400, 20000, 4001);
		return;
	}
	for (int offset = -64; offset < 64; offset += slow ? 31 : offset < 0 ? 1 : 9)
		test_lengths(ctx, ctx->edge + offset, SHORTEST_LONG, SHORTEST_LONG, 1);
	test_ends(ctx, slow ? 64 : 400);
	test_lengths(ctx, ctx->edge, 0, slow ? 8192 : BUFFER_SIZE - 3 * PAGE, 509);
	test_lengths(ctx, ctx->edge - 21, 0, slow ? 0 : BUFFER_SIZE - 3 * PAGE, 769);
}

static void
test_page(SelfTestContext *ctx, bool quick)
{
	ChecksumPageFn define = checksum_find(CHECKSUM_page, "portable")->page;

	for (size_t page_size = 1024; page_size <= 32768; page_size *= 2)
	{
		uint32_t	most = (quick ? 32768 : 65536) / page_size;

		if (quick && page_size != 8192)
			continue;
		if (most > MAX_PAGES)
			most = MAX_PAGES;
		for (uint32_t n = 1; n <= most; n++)
		{
			uint32_t	blknos[MAX_PAGES];
			uint16_t	got[MAX_PAGES];
			uint16_t	want[MAX_PAGES];

			for (uint32_t i = 0; i < n; i++)
				blknos[i] = (uint32_t) next_random(ctx);
			ctx->kernel->page(ctx->edge, page_size, n, blknos, got);
			define(ctx->edge, page_size, n, blknos, want);
			for (uint32_t i = 0; i < n; i++)
				count_case(ctx, got[i], want[i], "page size", page_size,
						   i * page_size);
		}
	}
}
