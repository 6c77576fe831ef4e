/*
 * bench_untouched.c
 *	  MDEV-33817's measurement of CRC-32C: user CPU of one call over 1 GiB of
 *	  anonymous memory that nobody has touched, the minimum of some runs.
 *
 *	  bench_untouched RUNS
 *
 * Such memory is one page of zeros, mapped as it is read: the time of the page
 * faults is the system's and does not count, and the data come from the cache.
 * Each call is a process of its own, as it was there.  Prints rows of a CSV.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/checksum.h"

#define BYTES	((size_t) 1 << 30)
#define CASE	"kernels,crc32c/untouched/1073741824"

/* Known to every kernel: so that a wrong one is not timed. */
static uint32_t expected;

static double
seconds(struct timeval t)
{
	return t.tv_sec + t.tv_usec / 1e6;
}

/* The child's work: its exit status tells whether the CRC is right. */
static int
call_kernel(const ChecksumKernel *kernel)
{
	void	   *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 2;
	return kernel->crc(CHECKSUM_CRC_INIT, memory, BYTES) == expected ? 0 : 1;
}

static void
measure(const ChecksumKernel *kernel, int run)
{
	struct rusage usage;
	int			status;
	pid_t		pid = fork();

	if (pid == 0)
		_exit(call_kernel(kernel));
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
	{
		fprintf(stderr, "bench_untouched: kernel %s failed\n", kernel->name);
		exit(1);
	}
	printf(CASE ",%s,user,s,%d,%.6f\n", kernel->name, run, seconds(usage.ru_utime));
	printf(CASE ",%s,system,s,%d,%.6f\n", kernel->name, run, seconds(usage.ru_stime));
}

int
main(int argc, char **argv)
{
	int			runs = argc == 2 ? atoi(argv[1]) : 0;
	static const char zeros[1 << 20];

	if (runs < 1)
		return 2;
	checksum_init();
	expected = CHECKSUM_CRC_INIT;
	for (size_t done = 0; done < BYTES; done += sizeof(zeros))
		expected = checksum_find(CHECKSUM_crc32c, "slicing8")->crc(expected, zeros, sizeof(zeros));
	for (int run = 1; run <= runs; run++)
		for (int i = 0; i < checksum_kernel_count; i++)
		{
			const ChecksumKernel *kernel = &checksum_kernel_table[i];

			if (kernel->algorithm == CHECKSUM_crc32c && checksum_available(kernel) &&
				!(kernel->needs & CHECKSUM_POLICY_REFERENCE))
			{
				fflush(stdout);
				measure(kernel, run);
			}
		}
	return 0;
}
