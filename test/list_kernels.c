/*
 * list_kernels.c
 *	  Prints the rows of the kernel table as "algorithm kernel arch state",
 *	  state being available, other-arch or the reason why this CPU cannot.
 *
 * run.sh takes from it which kernels must have run on this machine.
 */
#include <stdio.h>

#include "kernel/checksum.h"

int
main(void)
{
	checksum_init();
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *kernel = &checksum_kernel_table[i];
		char		reason[CHECKSUM_REASON_SIZE] = "";

		if (!checksum_available(kernel))
			checksum_unavailable_reason(kernel, reason);
		printf("%s %s %s %s\n", checksum_algorithm_name(kernel->algorithm),
			   kernel->name, kernel->arch,
			   checksum_available(kernel) ? "available" : reason);
	}
	return 0;
}
