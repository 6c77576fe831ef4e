/* needs: kernel */
/*
 * test_combine.c
 *	  Combining CRCs: against concatenation, and at lengths no memory holds.
 *
 * The form by products is also called by itself: if it were wrong everywhere,
 * checksum_init() would quietly stay with the portable one.
 */
#include "rows.h"
#include "oracle.h"
#include "kernel/kernel.h"

#define LONGEST		8192

typedef uint32_t (*CombineFn) (uint32_t crc1, uint32_t crc2, uint64_t len2);

static CombineFn combine[] = {checksum_crc32c_combine,
checksum_crc32_combine};

/* a * b mod P, polynomials in the usual order: bit i is x^i. */
static uint32_t
multiply(uint32_t a, uint32_t b, uint32_t poly)
{
	uint32_t	product = 0;

	for (int i = 31; i >= 0; i--)
	{
		product = (product << 1) ^ (product >> 31 ? poly : 0);
		if ((b >> i) & 1)
			product ^= a;
	}
	return product;
}

static uint32_t
reflect(uint32_t v)
{
	uint32_t	r = 0;

	for (int i = 0; i < 32; i++)
		r |= ((v >> i) & 1) << (31 - i);
	return r;
}

/* crc1 * x^(8 len2) + crc2, by squaring in the usual order of bits. */
static uint32_t
expected_combine(ChecksumAlgorithm a, uint32_t crc1, uint32_t crc2,
				 uint64_t len2)
{
	uint32_t	poly = reflect(oracle_poly(a));
	uint32_t	result = reflect(crc1);
	uint32_t	power = 1u << 8;	/* x^8 */

	for (; len2 > 0; len2 >>= 1)
	{
		if (len2 & 1)
			result = multiply(result, power, poly);
		power = multiply(power, power, poly);
	}
	return reflect(result) ^ crc2;
}

/* What combine means: the CRC of a concatenation. */
static void
test_concatenation(ChecksumAlgorithm a)
{
	static unsigned char data[LONGEST];
	static uint32_t prefix[LONGEST + 1];
	static uint32_t suffix[LONGEST + 1];

	unit_fill(data, LONGEST);
	oracle_prefixes(a, CHECKSUM_CRC_INIT, data, LONGEST, prefix);
	oracle_suffixes(a, CHECKSUM_CRC_INIT, data, LONGEST, suffix);
	for (size_t len2 = 0; len2 <= LONGEST; len2++)
	{
		uint32_t	got;

		got = combine[a] (~prefix[LONGEST - len2], ~suffix[len2], len2);
		check(got == ~prefix[LONGEST], "%s: second part %zu: %08x, not %08x",
			  checksum_algorithm_name(a), len2, (unsigned) got,
			  (unsigned) ~prefix[LONGEST]);
	}
}

static void
test_length(ChecksumAlgorithm a, uint64_t len2)
{
	uint32_t	crc1 = (uint32_t) unit_random();
	uint32_t	crc2 = (uint32_t) unit_random();
	uint32_t	got = combine[a] (crc1, crc2, len2);
	uint32_t	want = expected_combine(a, crc1, crc2, len2);

	check(got == want, "%s: length %llu: %08x instead of %08x",
		  checksum_algorithm_name(a), (unsigned long long) len2,
		  (unsigned) got, (unsigned) want);
}

/* Around every power of two, every byte of the length alone, and random. */
static void
test_lengths(ChecksumAlgorithm a)
{
	int			random = unit.scale == UNIT_SMALL ? 2000 : 200000;

	test_length(a, UINT64_MAX);
	test_length(a, (uint64_t) INT64_MAX);
	for (int bit = 0; bit < 64; bit++)
		for (int delta = -3; delta <= 3; delta++)
			test_length(a, (UINT64_C(1) << bit) + (uint64_t) delta);
	for (int shift = 0; shift < 64; shift += 4)
		for (uint64_t digit = 0; digit < 256; digit++)
			test_length(a, digit << shift);
	for (int i = 0; i < random; i++)
		test_length(a, unit_random() >> (unit_random() % 64));
}

/* (a b) c = a (b c) */
static void
test_associative(ChecksumAlgorithm a)
{
	for (int i = 0; i < 5000; i++)
	{
		uint32_t	c1 = (uint32_t) unit_random();
		uint32_t	c2 = (uint32_t) unit_random();
		uint32_t	c3 = (uint32_t) unit_random();
		uint64_t	n2 = unit_random() >> 2;
		uint64_t	n3 = unit_random() >> 2;

		check(combine[a] (combine[a] (c1, c2, n2), c3, n3) ==
			  combine[a] (c1, combine[a] (c2, c3, n3), n2 + n3),
			  "%s: not associative at %llu, %llu", checksum_algorithm_name(a),
			  (unsigned long long) n2, (unsigned long long) n3);
	}
}

static void
test_all(const char *when)
{
	for (int a = CHECKSUM_crc32c; a <= CHECKSUM_crc32; a++)
	{
		uint64_t	before = unit.passed + unit.failed;

		test_concatenation((ChecksumAlgorithm) a);
		test_lengths((ChecksumAlgorithm) a);
		test_associative((ChecksumAlgorithm) a);
		printf("%s combine, %s: %llu cases\n",
			   checksum_algorithm_name((ChecksumAlgorithm) a), when,
			   (unsigned long long) (unit.passed + unit.failed - before));
	}
}

int
main(int argc, char **argv)
{
	unit_begin("test_combine", argc, argv);
	test_all("portable");
	checksum_init();
	test_all("this CPU's");
#if defined(__x86_64__)
	if ((~checksum_features() & (CHECKSUM_FEATURE_sse42 | CHECKSUM_FEATURE_pclmul)) == 0)
	{
		combine[CHECKSUM_crc32c] = crc32c_combine_pclmul;
		combine[CHECKSUM_crc32] = crc32_combine_pclmul;
		test_all("by products");
	}
#endif
	return unit_finish();
}
