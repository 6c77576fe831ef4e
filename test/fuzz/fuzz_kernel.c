/* needs: kernel max_len:20000 long:10000000 cc:-fno-sanitize-coverage=trace-cmp */
/*
 * fuzz_kernel.c
 *	  libFuzzer target: every kernel, on data of the fuzzer's choice, in parts
 *	  and at a place of its choice, gives what the definition gives.
 *
 * An input is a header of HEADER bytes and the data.  The header holds the
 * incoming register, the alignment, up to SPLITS split points, and the size
 * and number of pages.  The data lies between guard pages and ends at the rear
 * one; sanitizers do not see what inline assembly and intrinsics read.
 *
 * Comparisons are not traced: no value opens a way here, and tracing the loops
 * took three quarters of the time.
 */
#include "../unit/unit.h"
#include "../unit/oracle.h"

#define SPLITS		3
#define HEADER		(4 + 1 + 2 * SPLITS + 1)
#define LONGEST		(64 * 1024)
#define MOST_PAGES	8
#define BITWISE_MOST	512	/* bytes; at eight steps a byte it took most of the rest */

int			LLVMFuzzerInitialize(int *argc, char ***argv);
int			LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static Arena arena;
static uint32_t byte_table[2][256]; /* the definition, for each byte */

static void
disagree(const ChecksumKernel *kernel, const char *what, uint32_t got,
		 uint32_t want)
{
	fprintf(stderr, "%s %s: %s: %08x instead of %08x\n",
			checksum_algorithm_name(kernel->algorithm), kernel->name, what,
			(unsigned) got, (unsigned) want);
	abort();
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void) argc;
	(void) argv;
	checksum_init();
	arena = arena_make(LONGEST + 64);
	for (int byte = 0; byte < 256; byte++)
	{
		byte_table[0][byte] = oracle_byte(CHECKSUM_crc32c, 0,
										  (unsigned char) byte);
		byte_table[1][byte] = oracle_byte(CHECKSUM_crc32, 0,
										  (unsigned char) byte);
	}
	for (int i = 0; i < checksum_kernel_count; i++)
		if (checksum_kernel_failed(&checksum_kernel_table[i]))
			disagree(&checksum_kernel_table[i], "self-test", 1, 0);
	return 0;
}

static uint32_t
expected_crc(ChecksumAlgorithm algorithm, uint32_t reg,
			 const unsigned char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		reg = (reg >> 8) ^ byte_table[algorithm][(reg ^ data[i]) & 0xFF];
	return reg;
}

/* The whole, and the parts that the header's split points make. */
static void
fuzz_crc(const ChecksumKernel *kernel, uint32_t reg, const uint8_t *splits,
		 const unsigned char *data, size_t len, uint32_t want)
{
	uint32_t	parts = reg;
	size_t		at = 0;
	uint32_t	got = kernel->crc(reg, data, len);

	if (got != want)
		disagree(kernel, "whole", got, want);
	for (int i = 0; i < SPLITS; i++)
	{
		size_t		n = splits[2 * i] | ((size_t) splits[2 * i + 1] << 8);

		n = len == at ? 0 : n % (len - at + 1);
		parts = kernel->crc(parts, data + at, n);
		at += n;
	}
	parts = kernel->crc(parts, data + at, len - at);
	if (parts != want)
		disagree(kernel, "in parts", parts, want);
}

/* What the combination of the two halves must give. */
static void
fuzz_combine(ChecksumAlgorithm algorithm, const unsigned char *data,
			 size_t len, size_t at)
{
	bool		c = algorithm == CHECKSUM_crc32c;
	uint32_t	first = ~expected_crc(algorithm, CHECKSUM_CRC_INIT, data, at);
	uint32_t	second = ~expected_crc(algorithm, CHECKSUM_CRC_INIT, data + at,
									 len - at);
	uint32_t	want = ~expected_crc(algorithm, ~first, data + at, len - at);
	uint32_t	got = c ? checksum_crc32c_combine(first, second, len - at) :
		checksum_crc32_combine(first, second, len - at);

	if (got != want)
		disagree(checksum_selected(algorithm), "combine", got, want);
}

static void
fuzz_pages(const ChecksumKernel *kernel, const unsigned char *data,
		   size_t page_size, uint32_t n, uint32_t blkno, const uint32_t *folded)
{
	uint32_t	blknos[MOST_PAGES];
	uint16_t	sums[MOST_PAGES];

	for (uint32_t i = 0; i < n; i++)
		blknos[i] = blkno + i * 0x01000193u;
	kernel->page(data, page_size, n, blknos, sums);
	for (uint32_t i = 0; i < n; i++)
		if (sums[i] != oracle_page_sum(folded[i], blknos[i]))
			disagree(kernel, "page", sums[i],
					 oracle_page_sum(folded[i], blknos[i]));
}

/* As many whole pages as the data has, for the kernels; at most MOST_PAGES. */
static void
fuzz_all_pages(uint8_t shape, uint32_t blkno, const unsigned char *data,
			   size_t len)
{
	size_t		page_size = (size_t) 1024 << (shape % 6);
	size_t		n = len / page_size;
	const unsigned char *first;
	uint32_t	folded[MOST_PAGES];

	n = n < MOST_PAGES ? n : MOST_PAGES;
	/* ends at the guard page, if that is aligned to 4 bytes */
	first = data + (len - n * page_size);
	first -= (uintptr_t) first % 4;
	if (first < data)
		return;
	for (size_t i = 0; i < n; i++)
		folded[i] = oracle_page_fold(first + i * page_size, page_size);
	for (int i = 0; i < checksum_kernel_count; i++)
		if (checksum_kernel_table[i].algorithm == CHECKSUM_page &&
			checksum_available(&checksum_kernel_table[i]))
			fuzz_pages(&checksum_kernel_table[i], first, page_size,
					   (uint32_t) n, blkno, folded);
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	const uint8_t *splits = input + 5;
	size_t		len;
	uint32_t	reg;
	uint32_t	want[2];
	unsigned char *data;

	if (size < HEADER || size - HEADER > LONGEST)
		return 0;
	len = size - HEADER;
	memcpy(&reg, input, 4);
	data = arena.end - input[4] % 64 - len;
	memcpy(data, input + HEADER, len);
	for (int a = CHECKSUM_crc32c; a <= CHECKSUM_crc32; a++)
	{
		want[a] = expected_crc((ChecksumAlgorithm) a, reg, data, len);
		fuzz_combine((ChecksumAlgorithm) a, data, len, len ? reg % len : 0);
	}
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *row = &checksum_kernel_table[i];

		if (len > BITWISE_MOST && strcmp(row->name, "bitwise") == 0)
			continue;
		if (row->algorithm != CHECKSUM_page && checksum_available(row))
			fuzz_crc(row, reg, splits, data, len, want[row->algorithm]);
	}
	fuzz_all_pages(input[HEADER - 1], reg, data, len);
	if (memcmp(data, input + HEADER, len) != 0)
		disagree(checksum_selected(CHECKSUM_page), "data written", 1, 0);
	return 0;
}
