/* needs: kernel */
/*
 * test_long.c
 *	  CRC kernels over inputs that reach their largest steps: prefetched loops,
 *	  stretches that are joined, at any alignment, up to 3 MB.
 *
 * Expected by slicing-by-8, which test_crc.c compares with the definition.
 */
#include "rows.h"

#define LONGEST		(3 << 20)

static unsigned char data[LONGEST + 64];

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

int
main(int argc, char **argv)
{
	unit_begin("test_long", argc, argv);
	checksum_init();
	unit_fill(data, sizeof(data));
	for (int i = 0; i < EXPECTED_ROWS; i++)
	{
		const ChecksumKernel *kernel;

		if (expected_rows[i].algorithm == CHECKSUM_page ||
			(expected_rows[i].needs & CHECKSUM_POLICY_REFERENCE))
			continue;
		kernel = kernel_to_test(&expected_rows[i]);
		if (kernel != NULL)
			test_row(kernel, unit.scale == UNIT_SMALL ? 8 : 40);
	}
	return unit_finish();
}
