/* needs: kernel server native */
/*
 * test_server_page.c
 *	  The page kernels against the server's own pg_checksum_page, as its header
 *	  storage/checksum_impl.h compiles here, at the server's block size.
 */
#include "postgres_fe.h"
#include "storage/checksum_impl.h"

/* The server's replacements of the C library are not linked. */
#undef printf
#undef vprintf
#undef snprintf
#undef strerror

#include "rows.h"

#define PAGES	9

static PGAlignedBlock pages[PAGES];

static void
test_kernel(const ChecksumKernel *kernel, int rounds)
{
	uint64_t	before = unit.passed + unit.failed;

	for (int round = 0; round < rounds; round++)
	{
		uint32_t	blknos[PAGES];
		uint16_t	sums[PAGES];
		uint32_t	n = 1 + (uint32_t) round % PAGES;

		for (uint32_t i = 0; i < n; i++)
		{
			blknos[i] = (uint32_t) unit_random();
			((uint32_t *) pages[i].data)[unit_random() % (BLCKSZ / 4)] =
				(uint32_t) unit_random();
		}
		kernel->page(pages, BLCKSZ, n, blknos, sums);
		for (uint32_t i = 0; i < n; i++)
			check(sums[i] == pg_checksum_page(pages[i].data, blknos[i]),
				  "%s: page %u of %u differs from the server's checksum",
				  kernel->name, (unsigned) i, (unsigned) n);
	}
	printf("page %s: %llu pages against PostgreSQL %s's pg_checksum_page\n",
		   kernel->name,
		   (unsigned long long) (unit.passed + unit.failed - before),
		   PG_VERSION);
}

int
main(int argc, char **argv)
{
	unit_begin("test_server_page", argc, argv);
	checksum_init();
	unit_fill(pages, sizeof(pages));
	for (int i = 0; i < EXPECTED_ROWS; i++)
	{
		const ChecksumKernel *kernel;

		if (expected_rows[i].algorithm != CHECKSUM_page)
			continue;
		kernel = kernel_to_test(&expected_rows[i]);
		if (kernel != NULL)
			test_kernel(kernel, unit.scale == UNIT_FULL ? 9000 : 1800);
	}
	return unit_finish();
}
