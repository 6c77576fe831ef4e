/*
 * table.c
 *	  The table of kernels, its rows, and questions that they answer alone.
 *
 * Selection is a pure function of the feature mask and of the rows that the
 * load-time self-test rejected.
 */
#include "kernel.h"

#define NEED(id)	CHECKSUM_FEATURE_##id
#define REFERENCE	CHECKSUM_POLICY_REFERENCE
#define ANY			0

#define POINTER_any(fn)		fn
#if defined(__x86_64__)
#define POINTER_x86_64(fn)	fn
#else
#define POINTER_x86_64(fn)	NULL
#endif
#if defined(__aarch64__)
#define POINTER_aarch64(fn) fn
#else
#define POINTER_aarch64(fn) NULL
#endif

#define POINTERS_crc32c(arch, name) POINTER_##arch(crc32c_##name), NULL
#define POINTERS_crc32(arch, name)	POINTER_##arch(crc32_##name), NULL
#define POINTERS_page(arch, name)	NULL, POINTER_##arch(page_##name)

const ChecksumKernel checksum_kernel_table[] = {
#define KERNEL(algorithm, arch, name, needs, preferred, summary) \
	{CHECKSUM_##algorithm, #arch, #name, needs, preferred, summary, \
	POINTERS_##algorithm(arch, name)},
#include "kernels.def"
#undef KERNEL
};

const int	checksum_kernel_count = sizeof(checksum_kernel_table) /
sizeof(checksum_kernel_table[0]);

_Static_assert(sizeof(checksum_kernel_table) /
			   sizeof(checksum_kernel_table[0]) <= 64,
			   "failed_rows has one bit a row");

bool
checksum_compiled(const ChecksumKernel *kernel)
{
	return kernel->crc != NULL || kernel->page != NULL;
}

const char *
checksum_algorithm_name(ChecksumAlgorithm algorithm)
{
	static const char *const names[] = {"crc32c", "crc32", "page"};

	return names[algorithm];
}

const ChecksumKernel *
checksum_find(ChecksumAlgorithm algorithm, const char *name)
{
	for (int i = 0; i < checksum_kernel_count; i++)
		if (checksum_kernel_table[i].algorithm == algorithm &&
			strcmp(checksum_kernel_table[i].name, name) == 0)
			return &checksum_kernel_table[i];
	return NULL;
}

/* The row that needs nothing is compiled everywhere, so the search succeeds. */
const ChecksumKernel *
checksum_select(ChecksumAlgorithm algorithm, uint32_t mask, uint64_t skip)
{
	const ChecksumKernel *last = checksum_kernel_table;

	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *row = &checksum_kernel_table[i];

		if (row->algorithm != algorithm || !checksum_compiled(row) ||
			(row->needs & CHECKSUM_POLICY_REFERENCE))
			continue;
		last = row;
		if (((row->needs | row->preferred) & ~mask) == 0 && !((skip >> i) & 1))
			return row;
	}
	return last;
}
