/*
 * server_compare.c
 *	  Compares a kernel with the server's own CRC-32C function.
 *
 * The last gate before a kernel enters the server's durability path.  The
 * kernels have proved themselves against the bitwise reference already
 * (selftest.c at load, test/unit exhaustively).  Here the question is whether
 * this kernel gives what this server would have computed, on this CPU, today.
 */
#include <stdio.h>
#include <string.h>

#include "server/server_compare.h"

#define PAGE			4096
#define LINE			64
#define SHORT_MAX		320
#define MIDDLE_MAX		1100
#define SPLIT_SIZE		8192

typedef struct Comparison
{
	ChecksumCrcFn ours;
	ChecksumCrcFn theirs;
	unsigned char *data;		/* at a page border */
	uint32_t	reg;			/* incoming CRC of the next case */
	ChecksumSelfTest *result;
} Comparison;

/* xorshift64 (G. Marsaglia, "Xorshift RNGs", 2003) */
static void
fill(void *buffer, size_t size)
{
	uint64_t	random = UINT64_C(0x9E3779B97F4A7C15);

	for (size_t i = 0; i + 8 <= size; i += 8)
	{
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		memcpy((char *) buffer + i, &random, 8);
	}
}

static void
judge(Comparison *ctx, uint32_t got, uint32_t want, const char *what,
	  size_t len, size_t offset)
{
	ctx->result->cases++;
	ctx->reg = want;
	if (got == want)
		return;
	if (ctx->result->failures++ == 0)
		snprintf(ctx->result->first_failure,
				 sizeof(ctx->result->first_failure),
				 "%s %zu at offset %zu: %08x instead of %08x",
				 what, len, offset, (unsigned) got, (unsigned) want);
}

static void
compare(Comparison *ctx, size_t offset, size_t len)
{
	const unsigned char *p = ctx->data + offset;

	judge(ctx, ctx->ours(ctx->reg, p, len), ctx->theirs(ctx->reg, p, len),
		  "length", len, offset);
}

/*
 * Compares every length to SHORT_MAX at every alignment within a cache line.
 * The others are compared at 16 of the 64, which ones turning with the length.
 * The start lies so far before a page border that middle lengths end before,
 * at and after it.
 */
static void
compare_short(Comparison *ctx)
{
	for (size_t len = 0; len <= MIDDLE_MAX; len++)
	{
		size_t		step = len <= SHORT_MAX ? 1 : 4;

		for (size_t offset = len % step; offset < LINE; offset += step)
			compare(ctx, PAGE - SHORT_MAX + offset, len);
	}
}

/* Around the sizes at which kernels change their method. */
static void
compare_long(Comparison *ctx)
{
	for (size_t size = 2048; size <= 32768; size *= 2)
		for (size_t offset = 0; offset < LINE; offset += 7)
			for (size_t less = 0; less < 3; less++)
				compare(ctx, offset, size + 65 - 65 * less);
	compare(ctx, 3, 1024 * 1024 + 1);
	compare(ctx, 0, 2 * 1024 * 1024);
}

/* Our pieces, chained, against their whole. */
static void
compare_split(Comparison *ctx)
{
	for (size_t piece = 1; piece <= 2 * MIDDLE_MAX; piece = piece * 5 / 4 + 1)
	{
		uint32_t	before = ctx->reg;
		uint32_t	reg = before;

		for (size_t done = 0; done < SPLIT_SIZE; done += piece)
			reg = ctx->ours(reg, ctx->data + done,
							SPLIT_SIZE - done < piece ?
							SPLIT_SIZE - done : piece);
		judge(ctx, reg, ctx->theirs(before, ctx->data, SPLIT_SIZE),
			  "pieces of", piece, 0);
	}
}

void
server_compare(ChecksumCrcFn ours, ChecksumCrcFn theirs, void *buffer,
			   ChecksumSelfTest *result)
{
	uintptr_t	border = ((uintptr_t) buffer + PAGE - 1) & ~(uintptr_t) (PAGE - 1);
	Comparison	ctx = {ours, theirs, (unsigned char *) border,
	CHECKSUM_CRC_INIT, result};

	memset(result, 0, sizeof(*result));
	fill(buffer, SERVER_COMPARE_SIZE);
	compare_short(&ctx);
	compare_long(&ctx);
	compare_split(&ctx);
}
