/* needs: kernel liars */
/*
 * test_broken.c
 *	  A CPU whose every special instruction computes something else.
 *
 * The linker puts the functions below into the place of all kernels that need
 * a feature (needs.sh, "liars").  Each must be rejected by its self-test at
 * load, and what is left must give right answers and say why.
 */
#include "rows.h"

#define LIAR_crc32c(name) \
	uint32_t __wrap_crc32c_##name(uint32_t reg, const void *data, size_t len); \
	uint32_t \
	__wrap_crc32c_##name(uint32_t reg, const void *data, size_t len) \
	{ \
		(void) data; \
		return reg ^ (uint32_t) len; \
	}
#define LIAR_crc32(name) \
	uint32_t __wrap_crc32_##name(uint32_t reg, const void *data, size_t len); \
	uint32_t \
	__wrap_crc32_##name(uint32_t reg, const void *data, size_t len) \
	{ \
		(void) data; \
		return reg ^ (uint32_t) len; \
	}
#define LIAR_page(name) \
	void __wrap_page_##name(const void *pages, size_t page_size, \
							uint32_t npages, const uint32_t *blknos, \
							uint16_t *sums); \
	void \
	__wrap_page_##name(const void *pages, size_t page_size, uint32_t npages, \
					   const uint32_t *blknos, uint16_t *sums) \
	{ \
		(void) pages; \
		(void) page_size; \
		for (uint32_t i = 0; i < npages; i++) \
			sums[i] = (uint16_t) (blknos[i] + 1); \
	}
#define KERNEL(algorithm, arch, name, needs, preferred, summary) LIAR_##algorithm(name)
#include "kernel/kernels.def"
#undef KERNEL

uint32_t	__wrap_crc32c_combine_pclmul(uint32_t crc1, uint32_t crc2, uint64_t len2);
uint32_t
__wrap_crc32c_combine_pclmul(uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	return crc1 ^ crc2 ^ (uint32_t) len2;
}

static void
test_row(const ChecksumKernel *row)
{
	ChecksumSelfTest result;
	char		reason[CHECKSUM_REASON_SIZE];

	checksum_unavailable_reason(row, reason);
	if (row->needs == 0 || (row->needs & CHECKSUM_POLICY_REFERENCE))
		check(checksum_available(row) && reason[0] == '\0', "%s/%s: \"%s\"",
			  checksum_algorithm_name(row->algorithm), row->name, reason);
	else if (checksum_compiled(row) && (row->needs & ~checksum_features()) == 0 &&
			 (row->preferred & ~checksum_features()) != 0)
	{
		check(checksum_available(row), "%s was rejected untried", row->name);
		checksum_self_test(row, false, &result);
		check(result.failures > 0, "%s passes", row->name);
	}
	else if (checksum_compiled(row) && (row->needs & ~checksum_features()) == 0)
	{
		check(checksum_kernel_failed(row) && !checksum_available(row) &&
			  strcmp(reason, "it failed its self-test") == 0,
			  "%s/%s is not rejected: \"%s\"",
			  checksum_algorithm_name(row->algorithm), row->name, reason);
		checksum_self_test(row, false, &result);
		check(result.failures > 0 && result.failures <= result.cases &&
			  strstr(result.first_failure, " instead of ") != NULL,
			  "%s: \"%s\"", row->name, result.first_failure);
	}
	else
		check(!checksum_kernel_failed(row) && !checksum_available(row) &&
			  reason[0] != '\0', "%s was never tried", row->name);
}

int
main(int argc, char **argv)
{
	unit_begin("test_broken", argc, argv);
	checksum_init();
	for (int i = 0; i < checksum_kernel_count; i++)
		test_row(&checksum_kernel_table[i]);
	for (int a = 0; a < CHECKSUM_NALGORITHMS; a++)
	{
		check(checksum_selected((ChecksumAlgorithm) a)->needs == 0,
			  "%s is in use", checksum_selected((ChecksumAlgorithm) a)->name);
		checksum_use_best((ChecksumAlgorithm) a, checksum_features());
		check(checksum_selected((ChecksumAlgorithm) a)->needs == 0,
			  "%s comes back", checksum_selected((ChecksumAlgorithm) a)->name);
	}
	check(checksum_crc32c(CHECKSUM_CRC_INIT, "123456789", 9) == ~0xE3069283u,
		  "wrong CRC-32C");
	check(checksum_crc32(CHECKSUM_CRC_INIT, "123456789", 9) == ~0xCBF43926u,
		  "wrong CRC-32");
	check(checksum_crc32c_combine(~checksum_crc32c(CHECKSUM_CRC_INIT, "12345", 5),
								  ~checksum_crc32c(CHECKSUM_CRC_INIT, "6789", 4),
								  4) == 0xE3069283u,
		  "wrong combination");
	return unit_finish();
}
