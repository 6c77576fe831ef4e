/*
 * dispatch.c
 *	  The table of kernels and the choice among its rows.
 *
 * Selection is a pure function of the feature mask and of the rows that the
 * load-time self-test rejected.
 */
#include <stdio.h>

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

ChecksumCrcFn checksum_crc32c = crc32c_slicing8;
ChecksumCrcFn checksum_crc32 = crc32_slicing8;
ChecksumPageFn checksum_page = page_portable;

static const ChecksumKernel *selected[CHECKSUM_NALGORITHMS];
static uint32_t features;
static uint64_t failed_rows;

void
checksum_init(void)
{
	features = checksum_detect_features();
	failed_rows = 0;
	combine_init(features);
	for (int a = 0; a < CHECKSUM_NALGORITHMS; a++)
	{
		for (;;)
		{
			const ChecksumKernel *row = checksum_select(a, features,
														failed_rows);
			ChecksumSelfTest result;

			checksum_self_test(row, true, &result);
			if (result.failures == 0 || row->needs == 0)
			{
				checksum_use(row);
				break;
			}
			failed_rows |= UINT64_C(1) << (row - checksum_kernel_table);
		}
	}
}

uint32_t
checksum_features(void)
{
	return features;
}

bool
checksum_kernel_failed(const ChecksumKernel *kernel)
{
	return (failed_rows >> (kernel - checksum_kernel_table)) & 1;
}

bool
checksum_compiled(const ChecksumKernel *kernel)
{
	return kernel->crc != NULL || kernel->page != NULL;
}

bool
checksum_available(const ChecksumKernel *kernel)
{
	return checksum_compiled(kernel) && !checksum_kernel_failed(kernel) &&
		(kernel->needs & ~(features | CHECKSUM_POLICY_REFERENCE)) == 0;
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

const ChecksumKernel *
checksum_selected(ChecksumAlgorithm algorithm)
{
	return selected[algorithm];
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

void
checksum_use(const ChecksumKernel *kernel)
{
	selected[kernel->algorithm] = kernel;
	switch (kernel->algorithm)
	{
		case CHECKSUM_crc32c:
			checksum_crc32c = kernel->crc;
			break;
		case CHECKSUM_crc32:
			checksum_crc32 = kernel->crc;
			break;
		case CHECKSUM_page:
			checksum_page = kernel->page;
			break;
	}
}

void
checksum_use_best(ChecksumAlgorithm algorithm, uint32_t mask)
{
	checksum_use(checksum_select(algorithm, mask, failed_rows));
}

void
checksum_unavailable_reason(const ChecksumKernel *kernel,
							char reason[CHECKSUM_REASON_SIZE])
{
	uint32_t	missing = kernel->needs &
		~(features | CHECKSUM_POLICY_REFERENCE);
	size_t		used;

	reason[0] = '\0';
	if (!checksum_compiled(kernel))
		snprintf(reason, CHECKSUM_REASON_SIZE, "it is a kernel for %s",
				 kernel->arch);
	else if (missing != 0)
	{
		snprintf(reason, CHECKSUM_REASON_SIZE, "this CPU lacks");
		for (int i = 0; i < CHECKSUM_NFEATURES; i++)
		{
			used = strlen(reason);
			if ((missing >> i) & 1)
				snprintf(reason + used, CHECKSUM_REASON_SIZE - used, " %s",
						 checksum_feature_name(i));
		}
	}
	else if (checksum_kernel_failed(kernel))
		snprintf(reason, CHECKSUM_REASON_SIZE, "it failed its self-test");
}
