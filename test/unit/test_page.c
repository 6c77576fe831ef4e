/* needs: kernel */
/*
 * test_page.c
 *	  Every page kernel that this machine can run against the oracle.
 *
 * The right answer of a page apart from its block number is computed once; a
 * pool of pages then is shown to the kernels from every place and in every
 * number, at every alignment that the contract allows, read-only, with guard
 * pages around the pages, the block numbers and the results.
 */
#include "rows.h"
#include "oracle.h"

#define POOL			12
#define MOST			9		/* pages in a call */
#define ALIGNMENTS		16		/* of 4 bytes each */
#define LARGEST_PAGE	32768

typedef struct PageContext
{
	const ChecksumKernel *kernel;
	uint64_t	cases;
	size_t		page_size;
	Arena		pages;
	Arena		blknos;
	Arena		sums;
	unsigned char pool[POOL * LARGEST_PAGE];
	uint32_t	folded[POOL];
} PageContext;

static PageContext context;

/* Random pages, but some of zeros, ones and repeated words among them. */
static void
new_pool(PageContext *ctx)
{
	unit_fill(ctx->pool, POOL * ctx->page_size);
	memset(ctx->pool, 0, ctx->page_size);
	memset(ctx->pool + ctx->page_size, 0xFF, ctx->page_size);
	memset(ctx->pool + 2 * ctx->page_size, 0x80, ctx->page_size);
	for (size_t i = 0; i < POOL; i++)
	{
		unsigned char *page = ctx->pool + i * ctx->page_size;

		ctx->folded[i] = oracle_page_fold(page, ctx->page_size);
		page[8] = (unsigned char) unit_random();
		page[9] = (unsigned char) unit_random();
	}
}

static uint32_t
random_blkno(void)
{
	uint64_t	r = unit_random();

	switch (r >> 61)
	{
		case 0:
			return 0xFFFFFFFEu;
		case 1:
			return (uint32_t) (r % 70000);
		default:
			return (uint32_t) r;
	}
}

/* One call for n pages that lie at p and are the pool's from first on. */
static void
run_case(PageContext *ctx, const unsigned char *p, size_t first, size_t n)
{
	uint32_t   *blknos = (uint32_t *) (void *) ctx->blknos.end - n;
	uint16_t   *sums = (uint16_t *) (void *) ctx->sums.end - n;

	for (size_t i = 0; i < n; i++)
		blknos[i] = random_blkno();
	memset(sums - 1, 0, (n + 1) * sizeof(uint16_t));
	unit_at(ctx->page_size, n, first);
	ctx->kernel->page(p, ctx->page_size, (uint32_t) n, blknos, sums);
	for (size_t i = 0; i < n; i++)
	{
		uint16_t	want = oracle_page_sum(ctx->folded[first + i], blknos[i]);

		ctx->cases++;
		check(sums[i] == want, "%s: page %zu of %zu, %zu bytes, block %u: "
			  "%04x instead of %04x", ctx->kernel->name, i, n, ctx->page_size,
			  (unsigned) blknos[i], sums[i], want);
	}
	check(sums[-1] == 0, "%s writes before its results", ctx->kernel->name);
}

/* The whole pool at one alignment, the front or the rear guard beside it. */
static void
test_alignment(PageContext *ctx, size_t alignment, bool rear)
{
	size_t		size = POOL * ctx->page_size;
	unsigned char *base = rear ? ctx->pages.end - size - 4 * alignment :
		ctx->pages.start + 4 * alignment;

	arena_writable(ctx->pages, true);
	memcpy(base, ctx->pool, size);
	arena_writable(ctx->pages, false);
	for (size_t n = 0; n <= MOST; n++)
		for (size_t first = 0; first + n <= POOL; first++)
			run_case(ctx, base + first * ctx->page_size, first, n);
}

static void
test_size(PageContext *ctx, size_t page_size)
{
	size_t		step = unit.scale == UNIT_SMALL ? 5 : 1;

	ctx->page_size = page_size;
	new_pool(ctx);
	for (size_t alignment = 0; alignment < ALIGNMENTS; alignment += step)
	{
		test_alignment(ctx, alignment, false);
		test_alignment(ctx, alignment, true);
	}
}

/* Every single flipped bit counts, save the 16 of the checksum itself. */
static void
test_bits(PageContext *ctx)
{
	size_t		step = unit.scale == UNIT_SMALL ? 61 : 1;
	uint32_t	blkno = 7;

	ctx->page_size = 1024;
	unit_fill(ctx->pool, ctx->page_size);
	for (size_t bit = 0; bit < ctx->page_size * 8; bit += step)
	{
		uint16_t	sum;
		uint16_t	want;

		ctx->pool[bit / 8] ^= (unsigned char) (1 << (bit % 8));
		want = oracle_page_sum(oracle_page_fold(ctx->pool, ctx->page_size),
							   blkno);
		ctx->kernel->page(ctx->pool, ctx->page_size, 1, &blkno, &sum);
		ctx->cases++;
		check(sum == want, "%s: bit %zu: %04x instead of %04x",
			  ctx->kernel->name, bit, sum, want);
	}
}

/*
 * Computed with the server's pg_checksum_page (test_server.c does so at run
 * time): words are (2654435761 * index) with word 2, which holds the checksum,
 * zero; native words, so the answers hold in every byte order.
 */
static void
test_known_answers(PageContext *ctx)
{
	static uint32_t words[8192 / 4];
	static const uint32_t blknos[3] = {0, 1, 0xFFFFFFFEu};
	static const uint16_t want[3] = {0x21D0, 0x21D1, 0xDE30};
	ChecksumSelfTest self;

	for (uint32_t i = 0; i < 8192 / 4; i++)
		words[i] = i == 2 ? 0 : i * 2654435761u;
	for (int i = 0; i < 3; i++)
	{
		uint16_t	sum;

		ctx->kernel->page(words, 8192, 1, &blknos[i], &sum);
		ctx->cases++;
		check(sum == want[i], "%s: known answer %d: %04x instead of %04x",
			  ctx->kernel->name, i, sum, want[i]);
	}
	checksum_self_test(ctx->kernel, true, &self);
	check(self.failures == 0, "%s: quick self-test: %s", ctx->kernel->name,
		  self.first_failure);
}

static void
test_kernel(PageContext *ctx)
{
	int			rounds = unit.scale == UNIT_FULL ? 3 : 1;

	unit.subject = ctx->kernel->name;
	ctx->cases = 0;
	test_known_answers(ctx);
	for (int round = 0; round < rounds; round++)
		for (size_t size = 1024; size <= LARGEST_PAGE; size *= 2)
			test_size(ctx, size);
	test_bits(ctx);
	printf("page %s: %llu cases\n", ctx->kernel->name,
		   (unsigned long long) ctx->cases);
}

int
main(int argc, char **argv)
{
	PageContext *ctx = &context;

	unit_begin("test_page", argc, argv);
	checksum_init();
	ctx->pages = arena_make(POOL * LARGEST_PAGE + 4 * ALIGNMENTS);
	ctx->blknos = arena_make(MOST * sizeof(uint32_t));
	ctx->sums = arena_make((MOST + 1) * sizeof(uint16_t));
	for (int i = 0; i < EXPECTED_ROWS; i++)
	{
		if (expected_rows[i].algorithm != CHECKSUM_page)
			continue;
		ctx->kernel = kernel_to_test(&expected_rows[i]);
		if (ctx->kernel != NULL)
			test_kernel(ctx);
	}
	return unit_finish();
}
