/*
 * init.c
 *	  The first process of a virtual machine: prints what the kernel layer
 *	  detects and selects there, computes with all of it, and switches off.
 *
 * A wrong detection shows as "Illegal instruction", which ends the first
 * process and so the machine, without the last line.
 */
#include <stdio.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "kernel/checksum.h"

int
main(void)
{
	long		failures = 0;

	checksum_init();
	printf("probe: features");
	for (int i = 0; i < CHECKSUM_NFEATURES; i++)
		if ((checksum_features() >> i) & 1)
			printf(" %s", checksum_feature_name(i));
	printf("\n");
	for (int a = 0; a < CHECKSUM_NALGORITHMS; a++)
		printf("probe: selected %s/%s\n", checksum_algorithm_name(a),
			   checksum_selected(a)->name);
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		ChecksumSelfTest result;

		if (!checksum_available(&checksum_kernel_table[i]))
			continue;
		checksum_self_test(&checksum_kernel_table[i], true, &result);
		failures += result.failures;
	}
	printf("probe: failures %ld\n", failures);
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
