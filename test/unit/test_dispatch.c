/* needs: kernel */
/*
 * test_dispatch.c
 *	  Detection, selection and forcing of kernels.
 *
 * Selection is a pure function, so all of its domain is tried: every
 * combination of the features that rows need, with every row rejected that a
 * random self-test might have rejected, against a second, differently written
 * rule.
 */
#include "rows.h"

#define MASKS_AT_MOST	(1u << 20)

/*
 * The rule, from the worst row to the best: the last match wins.  With no
 * match it is the algorithm's row that needs nothing.
 */
static const char *
expected_selection(ChecksumAlgorithm algorithm, uint32_t mask, uint64_t rejected)
{
	const char *plain = NULL;
	const char *match = NULL;

	for (int i = EXPECTED_ROWS - 1; i >= 0; i--)
	{
		const ExpectedRow *row = &expected_rows[i];

		if (row->algorithm != algorithm || !row_for_this_arch(row))
			continue;
		if (row->needs == 0)
			plain = row->name;
		if (((row->needs | row->preferred) & ~mask) == 0 && (rejected & (UINT64_C(1) << i)) == 0)
			match = row->name;
	}
	return match ? match : plain;
}

/* The n-th subset of the bits of all. */
static uint32_t
subset(uint32_t all, uint32_t n)
{
	uint32_t	mask = 0;

	for (int bit = 0; bit < 32; bit++)
		if ((all >> bit) & 1)
		{
			mask |= (n & 1) << bit;
			n >>= 1;
		}
	return mask;
}

static void
test_selection(ChecksumAlgorithm algorithm)
{
	uint32_t	all = (UINT32_C(1) << CHECKSUM_NFEATURES) - 1;
	uint32_t	useful = 0;
	uint32_t	subsets;

	for (int i = 0; i < EXPECTED_ROWS; i++)
		if (row_for_this_arch(&expected_rows[i]))
			useful |= expected_rows[i].needs | expected_rows[i].preferred;
	if (all < MASKS_AT_MOST)
		useful = all;
	useful &= all;
	subsets = UINT32_C(1) << __builtin_popcount(useful);
	for (uint32_t n = 0; n < subsets; n++)
	{
		uint32_t	mask = subset(useful, n);
		uint64_t	rejected = unit_random() & unit_random();

		for (int with = 0; with < 3; with++)
		{
			uint64_t	rows = with == 0 ? 0 : with == 1 ? rejected :
				UINT64_MAX;
			const char *want = expected_selection(algorithm, mask, rows);
			const ChecksumKernel *got = checksum_select(algorithm, mask, rows);

			check(got != NULL && got->algorithm == algorithm &&
				  strcmp(got->name, want) == 0,
				  "%s: features %x, rejected %llx: %s instead of %s",
				  checksum_algorithm_name(algorithm), (unsigned) mask,
				  (unsigned long long) rows, got ? got->name : "none", want);
		}
	}
	printf("%s: %u feature masks, 3 sets of rejected rows each\n",
		   checksum_algorithm_name(algorithm), (unsigned) subsets);
}

static void
test_table(void)
{
	check(checksum_kernel_count == EXPECTED_ROWS, "rows are missing");
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *row = &checksum_kernel_table[i];
		bool		is_page = row->algorithm == CHECKSUM_page;

		check(checksum_compiled(row) == row_for_this_arch(&expected_rows[i]),
			  "%s: compiled for the wrong architecture", row->name);
		check((is_page ? row->crc == NULL : row->page == NULL),
			  "%s: function of another algorithm", row->name);
		check(strlen(row->summary) > 10, "%s: no summary", row->name);
		check(checksum_find(row->algorithm, row->name) == row,
			  "%s: the name is not unique", row->name);
	}
	check(checksum_find(CHECKSUM_crc32c, "no_such") == NULL, "found no_such");
	check(checksum_find(CHECKSUM_page, "bitwise") == NULL, "found in page");
}

static void
test_features(void)
{
	uint32_t	second = second_opinion();

	check(checksum_features() == checksum_detect_features(),
		  "detection is not stable");
	check((checksum_features() ^ second) == 0,
		  "features %x, a second opinion says %x",
		  (unsigned) checksum_features(), (unsigned) second);
	for (int i = 0; i < CHECKSUM_NFEATURES; i++)
	{
		const char *name = checksum_feature_name(i);

		check(name != NULL && strlen(name) >= 3, "feature %d has no name", i);
		for (int j = 0; j < i; j++)
			check(strcmp(name, checksum_feature_name(j)) != 0,
				  "two features are called %s", name);
		printf("feature %s: %s\n", name,
			   (checksum_features() >> i) & 1 ? "yes" : "no");
	}
}

static void
test_forcing(ChecksumAlgorithm algorithm)
{
	const ChecksumKernel *best = checksum_selected(algorithm);

	check(best == checksum_select(algorithm, checksum_features(), 0),
		  "%s: %s is selected, not the best", checksum_algorithm_name(algorithm),
		  best->name);
	printf("%s: selected %s\n", checksum_algorithm_name(algorithm), best->name);
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *row = &checksum_kernel_table[i];

		if (row->algorithm != algorithm || !checksum_available(row))
			continue;
		checksum_use(row);
		check(checksum_selected(algorithm) == row, "%s: not in use", row->name);
		check(algorithm == CHECKSUM_page ? checksum_page == row->page :
			  algorithm == CHECKSUM_crc32 ? checksum_crc32 == row->crc :
			  checksum_crc32c == row->crc, "%s: wrong pointer", row->name);
	}
	checksum_use_best(algorithm, 0);
	check(checksum_selected(algorithm)->needs == 0, "no features, yet %s",
		  checksum_selected(algorithm)->name);
	checksum_use_best(algorithm, checksum_features());
	check(checksum_selected(algorithm) == best, "the best does not come back");
}

/* A reason is empty exactly when the kernel is available, and names names. */
static void
test_reasons(void)
{
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *row = &checksum_kernel_table[i];
		uint32_t	missing = row->needs & ~(checksum_features() |
											 CHECKSUM_POLICY_REFERENCE);
		char		reason[CHECKSUM_REASON_SIZE];

		checksum_unavailable_reason(row, reason);
		check((reason[0] == '\0') == checksum_available(row),
			  "%s: reason \"%s\"", row->name, reason);
		if (!row_for_this_arch(&expected_rows[i]))
			check(strstr(reason, row->arch) != NULL,
				  "%s: \"%s\" does not name the architecture", row->name,
				  reason);
		else
			for (int f = 0; f < CHECKSUM_NFEATURES; f++)
				check(((missing >> f) & 1) == 0 ||
					  strstr(reason, checksum_feature_name(f)) != NULL,
					  "%s: \"%s\" does not name %s", row->name, reason,
					  checksum_feature_name(f));
	}
}

int
main(int argc, char **argv)
{
	unit_begin("test_dispatch", argc, argv);
	check(checksum_crc32c(CHECKSUM_CRC_INIT, "123456789", 9) == ~0xE3069283u,
		  "no right answer before checksum_init()");
	checksum_init();
	test_table();
	test_features();
	test_reasons();
	for (int a = 0; a < CHECKSUM_NALGORITHMS; a++)
	{
		test_selection((ChecksumAlgorithm) a);
		test_forcing((ChecksumAlgorithm) a);
		check(!checksum_kernel_failed(checksum_selected((ChecksumAlgorithm) a)),
			  "a failed kernel is in use");
	}
	return unit_finish();
}
