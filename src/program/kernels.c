/*
 * kernels.c
 *	  The command that shows and tests the kernels.
 */
#include <inttypes.h>
#include <stdio.h>

#include "kernel/checksum.h"
#include "program/host.h"
#include "program/kernels.h"

/* Returns whether it passes, if it can run here. */
static bool
test_kernel(const ChecksumKernel *kernel)
{
	ChecksumSelfTest result;

	if (!checksum_compiled(kernel) ||
		(kernel->needs & ~(checksum_features() | (uint32_t) CHECKSUM_POLICY_REFERENCE)))
		return true;
	checksum_self_test(kernel, false, &result);
	printf(", %" PRId64 " tests, %" PRId64 " failed", result.cases, result.failures);
	if (result.failures > 0)
		printf(" (%s)", result.first_failure);
	return result.failures == 0;
}

int
kernels_command(void)
{
	int			status = EXIT_SOUND;

	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *kernel = &checksum_kernel_table[i];
		char		reason[CHECKSUM_REASON_SIZE];

		host_interrupts();
		checksum_unavailable_reason(kernel, reason);
		printf("%s %s (%s): %s", checksum_algorithm_name(kernel->algorithm),
			   kernel->name, kernel->summary,
			   reason[0] != '\0' ? reason :
			   checksum_selected(kernel->algorithm) == kernel ? "in use" : "available");
		if (!test_kernel(kernel))
			status = EXIT_FINDINGS;
		putchar('\n');
	}
	if (fflush(stdout) != 0 || ferror(stdout))
		program_fail("could not write to standard output");
	return status;
}
