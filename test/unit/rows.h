/*
 * rows.h
 *	  The rows of the kernel table as a test expects them on this machine.
 *
 * Expanded from kernels.def again and judged by other means than dispatch.c and
 * cpu.c use: a kernel that this CPU can run but that the library does not offer
 * is a failure, not a skip.
 */
#ifndef ROWS_H
#define ROWS_H

#include "kernel/checksum.h"
#include "unit.h"

typedef struct ExpectedRow
{
	ChecksumAlgorithm algorithm;
	const char *arch;
	const char *name;
	uint32_t	needs;
	uint32_t	preferred;
} ExpectedRow;

#define NEED(id)	CHECKSUM_FEATURE_##id
#define REFERENCE	CHECKSUM_POLICY_REFERENCE
#define ANY			0
__attribute__((unused))
static const ExpectedRow expected_rows[] = {
#define KERNEL(algorithm, arch, name, needs, preferred, summary) \
	{CHECKSUM_##algorithm, #arch, #name, needs, preferred},
#include "kernel/kernels.def"
#undef KERNEL
};
#undef NEED
#undef REFERENCE
#undef ANY

#define EXPECTED_ROWS	((int) (sizeof(expected_rows) / sizeof(expected_rows[0])))

#if defined(__x86_64__)
#define THIS_ARCH	"x86_64"
#elif defined(__aarch64__)
#define THIS_ARCH	"aarch64"
#else
#define THIS_ARCH	"any"
#endif

static inline bool
row_for_this_arch(const ExpectedRow *row)
{
	return strcmp(row->arch, "any") == 0 || strcmp(row->arch, THIS_ARCH) == 0;
}

/*
 * A second opinion on the CPU: the compiler's run-time library on x86-64 (which
 * looks at XCR0 too), the identification registers on arm64, which Linux lets
 * programs read since 4.11.
 */
#if defined(__x86_64__)
#define SUPPORTS(id, name) \
	(__builtin_cpu_supports(name) ? CHECKSUM_FEATURE_##id : 0)

/* The family by the operating system.  gcc 12 does not know Zen 5 by name. */
static inline int
cpu_family(void)
{
	FILE	   *f = fopen("/proc/cpuinfo", "r");
	char		line[256];
	int			family = -1;

	while (f != NULL && family < 0 && fgets(line, sizeof(line), f) != NULL)
		(void) sscanf(line, "cpu family : %d", &family);
	if (f != NULL)
		fclose(f);
	return family;
}

static inline uint32_t
second_opinion(void)
{
	__builtin_cpu_init();
	return SUPPORTS(sse41, "sse4.1") | SUPPORTS(sse42, "sse4.2") |
		SUPPORTS(pclmul, "pclmul") | SUPPORTS(avx2, "avx2") |
		SUPPORTS(bmi2, "bmi2") | SUPPORTS(avx512f, "avx512f") |
		SUPPORTS(avx512bw, "avx512bw") | SUPPORTS(avx512vl, "avx512vl") |
		SUPPORTS(avx512vbmi, "avx512vbmi") | SUPPORTS(vpclmul, "vpclmulqdq") |
		(__builtin_cpu_supports("avx512f") && __builtin_cpu_is("amd") ?
		 CHECKSUM_FEATURE_fastmulld : 0) |
		(__builtin_cpu_supports("avx512f") && __builtin_cpu_is("amdfam19h") ?
		 CHECKSUM_FEATURE_slowvpclmul | CHECKSUM_FEATURE_slowjump : 0) |
		(__builtin_cpu_supports("avx512f") && __builtin_cpu_is("amd") &&
		 cpu_family() == 26 ?
		 CHECKSUM_FEATURE_slowvpclmul | CHECKSUM_FEATURE_fastcrc32 : 0) |
		(__builtin_cpu_supports("avx512f") &&
		 (__builtin_cpu_is("icelake-server") || __builtin_cpu_is("icelake-client")) ?
		 CHECKSUM_FEATURE_slowvpclmul | CHECKSUM_FEATURE_slowclock : 0);
}
#elif defined(__aarch64__)
static inline uint32_t
second_opinion(void)
{
	uint64_t	isar0;
	uint64_t	pfr0;

	__asm__("mrs %0, ID_AA64ISAR0_EL1":"=r"(isar0));
	__asm__("mrs %0, ID_AA64PFR0_EL1":"=r"(pfr0));
	return (((pfr0 >> 20) & 15) != 15 ? CHECKSUM_FEATURE_neon : 0) |
		(((isar0 >> 16) & 15) >= 1 ? CHECKSUM_FEATURE_armcrc : 0) |
		(((isar0 >> 4) & 15) >= 2 ? CHECKSUM_FEATURE_pmull : 0) |
		(((isar0 >> 32) & 15) >= 1 ? CHECKSUM_FEATURE_sha3 : 0);
}
#else
static inline uint32_t
second_opinion(void)
{
	return 0;
}
#endif

/*
 * The kernel of a row when it can run here.  Else NULL, and the reason is
 * printed: as a skip, or as a failure when this CPU has what the row needs.
 */
__attribute__((unused))
static const ChecksumKernel *
kernel_to_test(const ExpectedRow *row)
{
	const ChecksumKernel *kernel = checksum_find(row->algorithm, row->name);
	const char *algorithm = checksum_algorithm_name(row->algorithm);
	uint32_t	missing = row->needs &
		~(second_opinion() | (uint32_t) CHECKSUM_POLICY_REFERENCE);
	char		reason[CHECKSUM_REASON_SIZE];

	if (kernel == NULL)
	{
		unit_fail("%s %s is in kernels.def but not found", algorithm,
				  row->name);
		return NULL;
	}
	if (checksum_available(kernel))
		return kernel;
	checksum_unavailable_reason(kernel, reason);
	if (row_for_this_arch(row) && missing == 0)
		unit_fail("%s %s did not run, though this CPU has what it needs: %s",
				  algorithm, row->name, reason);
	else
		skip("%s %s: %s", algorithm, row->name, reason);
	return NULL;
}

#endif							/* ROWS_H */
