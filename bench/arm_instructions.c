/*
 * arm_instructions.c
 *	  Calls one kernel a given number of times, for arm_instructions.sh.
 *
 * Usage: arm_instructions ALGORITHM KERNEL BYTES CALLS.  Exit status 2: this
 * CPU lacks what the kernel needs.  No self-test: it would fill the log.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/checksum.h"

#define PAGE		8192
#define MOST_PAGES	8

static unsigned char data[PAGE * MOST_PAGES] __attribute__((aligned(64)));

int
main(int argc, char **argv)
{
	static const uint32_t blknos[MOST_PAGES];
	uint16_t	sums[MOST_PAGES];
	ChecksumAlgorithm algorithm = CHECKSUM_crc32c;
	const ChecksumKernel *kernel;
	size_t		len;

	if (argc != 5)
		return 1;
	while (strcmp(checksum_algorithm_name(algorithm), argv[1]) != 0)
		algorithm++;
	kernel = checksum_find(algorithm, argv[2]);
	len = strtoull(argv[3], NULL, 10);
	if (kernel == NULL || len > sizeof(data))
		return 1;
	if (!checksum_compiled(kernel) ||
		(kernel->needs & ~checksum_detect_features()) != 0)
		return 2;
	for (int calls = atoi(argv[4]); calls > 0; calls--)
	{
		if (kernel->crc != NULL)
			kernel->crc(CHECKSUM_CRC_INIT, data, len);
		else
			kernel->page(data, PAGE, (uint32_t) (len / PAGE), blknos, sums);
	}
	return 0;
}
