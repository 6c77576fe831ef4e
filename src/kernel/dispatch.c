/*
 * dispatch.c
 *	  The kernels in use, and why the others are not.
 */
#include <stdio.h>

#include "kernel.h"

ChecksumCrcFn checksum_crc32c = crc32c_slicing8;
ChecksumCrcFn checksum_crc32 = crc32_slicing8;
ChecksumPageFn checksum_page = page_portable;

static const ChecksumKernel *selected[CHECKSUM_NALGORITHMS];
static bool forced[CHECKSUM_NALGORITHMS];
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
				checksum_use_best(a, features);
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
checksum_available(const ChecksumKernel *kernel)
{
	return checksum_compiled(kernel) && !checksum_kernel_failed(kernel) &&
		(kernel->needs & ~(features | CHECKSUM_POLICY_REFERENCE)) == 0;
}

const ChecksumKernel *
checksum_selected(ChecksumAlgorithm algorithm)
{
	return selected[algorithm];
}

void
checksum_use(const ChecksumKernel *kernel)
{
	selected[kernel->algorithm] = kernel;
	forced[kernel->algorithm] = true;
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
	forced[algorithm] = false;
}

const ChecksumKernel *
checksum_for_server(void)
{
	const ChecksumKernel *row = selected[CHECKSUM_crc32c];

	if (forced[CHECKSUM_crc32c] || !(features & CHECKSUM_FEATURE_slowclock) ||
		!(row->needs & CHECKSUM_FEATURE_avx512f))
		return row;
	return checksum_select(CHECKSUM_crc32c,
						   features & ~(uint32_t) CHECKSUM_FEATURE_avx512f,
						   failed_rows);
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
