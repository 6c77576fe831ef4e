/*
 * selftest.c
 *	  Compares a kernel with the bitwise definition.
 *
 * Runs at load for the kernels that are about to be used (quick) and on
 * request from SQL.  The exhaustive comparison, with guard pages, is test/unit.
 */
#include <stdio.h>

#include "kernel.h"

#define BUFFER_SIZE		(32 * 1024)
#define MAX_PAGES		8

typedef struct SelfTestContext
{
	const ChecksumKernel *kernel;
	const ChecksumKernel *reference;
	ChecksumSelfTest *result;
	uint64_t	random;			/* state of the generator, fixed seed */
	unsigned char buffer[BUFFER_SIZE + 64];
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
		   const char *what, size_t len, size_t offset)
{
	ctx->result->cases++;
	if (got == want)
		return;
	if (ctx->result->failures++ == 0)
		snprintf(ctx->result->first_failure,
				 sizeof(ctx->result->first_failure),
				 "%s %zu at offset %zu: %08x instead of %08x",
				 what, len, offset, (unsigned) got, (unsigned) want);
}

void
checksum_self_test(const ChecksumKernel *kernel, bool quick,
				   ChecksumSelfTest *result)
{
	SelfTestContext ctx;

	memset(result, 0, sizeof(*result));
	ctx.kernel = kernel;
	ctx.result = result;
	ctx.random = UINT64_C(0x9E3779B97F4A7C15);
	for (size_t i = 0; i < sizeof(ctx.buffer); i += 8)
	{
		uint64_t	word = next_random(&ctx);

		memcpy(ctx.buffer + i, &word, 8);
	}
	if (kernel->algorithm == CHECKSUM_page)
		test_page(&ctx, quick);
	else
		test_crc(&ctx, quick);
}

static void
test_crc_case(SelfTestContext *ctx, uint32_t reg, size_t len, size_t offset)
{
	const unsigned char *p = ctx->buffer + offset;

	count_case(ctx, ctx->kernel->crc(reg, p, len),
			   ctx->reference->crc(reg, p, len), "length", len, offset);
}

/*
 * The reference for the quick form is slicing-by-8: the bitwise definition
 * would take longer than a backend's start should.
 */
static void
test_crc(SelfTestContext *ctx, bool quick)
{
	static const char check[] = "123456789";
	ChecksumAlgorithm algorithm = ctx->kernel->algorithm;
	uint32_t	want = algorithm == CHECKSUM_crc32c ? 0xE3069283u : 0xCBF43926u;

	ctx->reference = checksum_find(algorithm, quick ? "slicing8" : "bitwise");
	count_case(ctx, ctx->kernel->crc(CHECKSUM_CRC_INIT, check, 9) ^
			   CHECKSUM_CRC_INIT, want, "check value", 9, 0);
	for (size_t len = 0; len <= (quick ? 400 : 1024); len++)
		for (size_t offset = 0; offset < 64; offset += quick ? 61 : 1)
			test_crc_case(ctx, (uint32_t) next_random(ctx), len, offset);
	for (size_t len = 1024; len <= BUFFER_SIZE;
		 len += quick ? len - 1 : 509)
		test_crc_case(ctx, (uint32_t) next_random(ctx), len, len % 64);
}

static void
test_page(SelfTestContext *ctx, bool quick)
{
	ctx->reference = checksum_find(CHECKSUM_page, "portable");
	for (size_t page_size = 1024; page_size <= 32768; page_size *= 2)
	{
		uint32_t	most = BUFFER_SIZE / page_size;

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
			ctx->kernel->page(ctx->buffer, page_size, n, blknos, got);
			ctx->reference->page(ctx->buffer, page_size, n, blknos, want);
			for (uint32_t i = 0; i < n; i++)
				count_case(ctx, got[i], want[i], "page size", page_size,
						   i * page_size);
		}
	}
}
