/* needs: kernel */
/*
 * test_long.c
 *	  CRC kernels over inputs that reach their largest steps: prefetched loops,
 *	  stretches that are joined, at any alignment, up to 3 MB.
 *
 * Expected by slicing-by-8, which test_crc.c compares with the reference.  A
 * single call beyond 2^25 bytes follows, where a kernel may change its loop.  The
 * long form (UNIT_LONG=1) adds others beyond 2^30, 2^31 and 2^32 bytes: one file
 * of HUGE_PIECE bytes, mapped again and again, one mapping after the other.  What
 * they must give is put together from the CRC of the piece.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rows.h"

#define LONGEST		(3 << 20)

#define HUGE_PIECE	((size_t) 16 << 20)

static const uint64_t huge_lengths[] = {
	(UINT64_C(1) << 25) + 4097, (UINT64_C(1) << 30) - 1,
	(UINT64_C(1) << 31) + 4097, (UINT64_C(1) << 32) + 12345
};
#define NHUGE		((int) (sizeof(huge_lengths) / sizeof(huge_lengths[0])))

static unsigned char data[LONGEST + 64];
static int	nhuge;				/* how many of huge_lengths are wanted */

static void
test_row(const ChecksumKernel *kernel, int cases)
{
	ChecksumCrcFn expect = checksum_find(kernel->algorithm, "slicing8")->crc;

	for (int i = 0; i < cases; i++)
	{
		size_t		offset = (size_t) (unit_random() % 64);
		size_t		len = LONGEST >> (i % 8);
		uint32_t	reg = (uint32_t) unit_random();
		uint32_t	got;
		uint32_t	want;

		len -= (size_t) (unit_random() % 1000);
		got = kernel->crc(reg, data + offset, len);
		want = expect(reg, data + offset, len);
		check(got == want, "%s %s: length %zu at offset %zu: %08x, not %08x",
			  checksum_algorithm_name(kernel->algorithm), kernel->name, len,
			  offset, (unsigned) got, (unsigned) want);
	}
	printf("%s %s: %d long cases\n",
		   checksum_algorithm_name(kernel->algorithm), kernel->name, cases);
}

/* As many mappings of one file as the longest input needs, or NULL. */
static unsigned char *
map_huge(void)
{
	size_t		pieces = huge_lengths[nhuge - 1] / HUGE_PIECE + 1;
	unsigned char *start;
	char		name[] = "/tmp/test_long.XXXXXX";
	int			file = mkstemp(name);

	if (file < 0 || unlink(name) != 0 ||
		ftruncate(file, (off_t) HUGE_PIECE) != 0)
		return NULL;
	start = mmap(NULL, pieces * HUGE_PIECE, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < pieces; i++)
		if (mmap(start + i * HUGE_PIECE, HUGE_PIECE, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
			return NULL;
	close(file);
	unit_fill(start, HUGE_PIECE);
	return start;
}

/* The register over len bytes of the repeated piece. */
static uint32_t
huge_expected(ChecksumAlgorithm algorithm, const unsigned char *piece,
			  uint64_t len)
{
	ChecksumCrcFn crc = checksum_find(algorithm, "slicing8")->crc;
	uint32_t	whole = ~crc(CHECKSUM_CRC_INIT, piece, HUGE_PIECE);
	uint32_t	rest = ~crc(CHECKSUM_CRC_INIT, piece, len % HUGE_PIECE);
	uint32_t	all = 0;

	for (uint64_t i = 0; i < len / HUGE_PIECE; i++)
		all = algorithm == CHECKSUM_crc32c ?
			checksum_crc32c_combine(all, whole, HUGE_PIECE) :
			checksum_crc32_combine(all, whole, HUGE_PIECE);
	return algorithm == CHECKSUM_crc32c ?
		checksum_crc32c_combine(all, rest, len % HUGE_PIECE) :
		checksum_crc32_combine(all, rest, len % HUGE_PIECE);
}

static void
test_huge(const ChecksumKernel *kernel, const unsigned char *piece)
{
	for (int i = 0; i < nhuge; i++)
	{
		uint64_t	len = huge_lengths[i];
		uint32_t	want = huge_expected(kernel->algorithm, piece, len);
		uint32_t	got = ~kernel->crc(CHECKSUM_CRC_INIT, piece, len);

		check(got == want, "%s %s: length %llu in one call: %08x, not %08x",
			  checksum_algorithm_name(kernel->algorithm), kernel->name,
			  (unsigned long long) len, (unsigned) got, (unsigned) want);
	}
	printf("%s %s: %d huge cases\n",
		   checksum_algorithm_name(kernel->algorithm), kernel->name, nhuge);
}

static unsigned char *
huge_wanted(void)
{
	const char *wanted = getenv("UNIT_LONG");
	unsigned char *piece;

	if (unit.scale != UNIT_FULL || sizeof(size_t) < 8)
		return NULL;
	nhuge = wanted == NULL || *wanted == '\0' ? 1 : NHUGE;
	piece = map_huge();
	if (piece == NULL)
		skip("single calls beyond 32 MB: no address space or no file for them");
	return piece;
}

int
main(int argc, char **argv)
{
	unsigned char *huge;

	unit_begin("test_long", argc, argv);
	checksum_init();
	unit_fill(data, sizeof(data));
	huge = huge_wanted();
	for (int i = 0; i < EXPECTED_ROWS; i++)
	{
		const ChecksumKernel *kernel;

		if (expected_rows[i].algorithm == CHECKSUM_page ||
			(expected_rows[i].needs & CHECKSUM_POLICY_REFERENCE))
			continue;
		kernel = kernel_to_test(&expected_rows[i]);
		if (kernel == NULL)
			continue;
		test_row(kernel, unit.scale == UNIT_SMALL ? 8 : 40);
		if (huge != NULL)
			test_huge(kernel, huge);
	}
	return unit_finish();
}
