/*
 * bench_limits.c
 *	  What this machine's ports and memory can give at best (x86-64).
 *
 * The best of many short repetitions counts.  Register loops are written in
 * assembly, so that no compiler shortens them: a chain of multiplications of
 * latency 3 (true of every x86-64 core since 2008) tells the clock, eight
 * independent chains tell a port's throughput.
 */
#define _GNU_SOURCE
#include "bench_limits.h"

#include <stdint.h>
#include <time.h>

#define REPETITIONS		40
#define LOOPS			4000

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernel/checksum.h"

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* The shortest time that LOOPS rounds of fn take, ns. */
static double
best_time(void (*fn) (void))
{
	double		best = 1e300;

	for (int i = 0; i < REPETITIONS; i++)
	{
		double		start = now_ns();

		fn();
		if (now_ns() - start < best)
			best = now_ns() - start;
	}
	return best;
}

static void
imul_chain(void)
{
	uint64_t	x = 3;

	for (int i = 0; i < LOOPS; i++)
		__asm__ volatile (
						  "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
						  "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
						  :"+r" (x));
}

double
bench_clock_ghz(void)
{
	return LOOPS * 8 * 3 / best_time(imul_chain);
}

static void
crc32q_chains(void)
{
	uint64_t	a = 1,
				b = 2,
				c = 3,
				d = 4,
				e = 5,
				f = 6,
				g = 7,
				h = 8;

	for (int i = 0; i < LOOPS; i++)
		__asm__ volatile (
						  "crc32q %8, %0\n crc32q %8, %1\n crc32q %8, %2\n crc32q %8, %3\n"
						  "crc32q %8, %4\n crc32q %8, %5\n crc32q %8, %6\n crc32q %8, %7\n"
						  :"+r" (a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
						  :"r"((uint64_t) i));
}

double
bench_crc32q_gb_per_s(void)
{
	if (!(checksum_features() & CHECKSUM_FEATURE_sse42))
		return 0;
	return LOOPS * 8 * 8 / best_time(crc32q_chains);
}

/* Eight independent multiplications, each into its own operand. */
#define CLMUL_LOOP(target_list, type, zero, instruction) \
	__attribute__((target(target_list))) static void \
	clmul_##type(void) \
	{ \
		type a = zero, b = zero, c = zero, d = zero; \
		type e = zero, f = zero, g = zero, h = zero; \
		for (int i = 0; i < LOOPS; i++) \
			__asm__ volatile ( \
				instruction(0) instruction(1) instruction(2) instruction(3) \
				instruction(4) instruction(5) instruction(6) instruction(7) \
				: "+v"(a), "+v"(b), "+v"(c), "+v"(d), \
				  "+v"(e), "+v"(f), "+v"(g), "+v"(h)); \
	}

#define CLMUL_SSE(n) "pclmulqdq $0, %" #n ", %" #n "\n"
#define CLMUL_AVX(n) "vpclmulqdq $0, %" #n ", %" #n ", %" #n "\n"

CLMUL_LOOP("pclmul,sse4.2", __m128i, _mm_setzero_si128(), CLMUL_SSE)
CLMUL_LOOP("vpclmulqdq,avx2", __m256i, _mm256_setzero_si256(), CLMUL_AVX)
CLMUL_LOOP("vpclmulqdq,avx512f", __m512i, _mm512_setzero_si512(), CLMUL_AVX)

double
bench_clmul_gb_per_s(int bits)
{
	uint32_t	has = checksum_features();
	double		bytes = (double) LOOPS * 8 / 2 * bits / 8;

	if (bits == 128 && (has & CHECKSUM_FEATURE_pclmul))
		return bytes / best_time(clmul___m128i);
	if (bits == 256 && (has & CHECKSUM_FEATURE_vpclmul) && (has & CHECKSUM_FEATURE_avx2))
		return bytes / best_time(clmul___m256i);
	if (bits == 512 && (has & CHECKSUM_FEATURE_vpclmul) && (has & CHECKSUM_FEATURE_avx512f))
		return bytes / best_time(clmul___m512i);
	return 0;
}

/* size is a multiple of 512 bytes */
#define READ_LOOP(name, target_list, type, load, op) \
	__attribute__((target(target_list))) static void \
	name(const unsigned char *p, size_t size) \
	{ \
		const type *v = (const type *) p; \
		const type *end = (const type *) (p + size); \
		type a = load(v), b = a, c = a, d = a; \
		for (; v < end; v += 8) \
		{ \
			a = op(op(a, load(v)), load(v + 4)); \
			b = op(op(b, load(v + 1)), load(v + 5)); \
			c = op(op(c, load(v + 2)), load(v + 6)); \
			d = op(op(d, load(v + 3)), load(v + 7)); \
		} \
		a = op(op(a, b), op(c, d)); \
		__asm__ volatile ("" : : "v"(a)); \
	}

READ_LOOP(read_sse2, "sse2", __m128i, _mm_loadu_si128, _mm_xor_si128)
READ_LOOP(read_avx2, "avx2", __m256i, _mm256_loadu_si256, _mm256_xor_si256)
READ_LOOP(read_avx512, "avx512f", __m512i, _mm512_loadu_si512, _mm512_xor_si512)

double
bench_read_gb_per_s(const void *data, size_t size)
{
	uint32_t	has = checksum_features();
	void		(*read_all) (const unsigned char *, size_t) =
		has & CHECKSUM_FEATURE_avx512f ? read_avx512 :
		has & CHECKSUM_FEATURE_avx2 ? read_avx2 : read_sse2;
	double		best = 1e300;
	size_t		inner = size < 1048576 ? 1048576 / size : 1;

	for (int i = 0; i < (size >= 134217728 ? 8 : REPETITIONS); i++)
	{
		double		start = now_ns();

		for (size_t k = 0; k < inner; k++)
			read_all(data, size);
		if ((now_ns() - start) / inner < best)
			best = (now_ns() - start) / inner;
	}
	return size / best;
}

#else

double
bench_clock_ghz(void)
{
	return 0;
}

double
bench_crc32q_gb_per_s(void)
{
	return 0;
}

double
bench_clmul_gb_per_s(int bits)
{
	(void) bits;
	return 0;
}

double
bench_read_gb_per_s(const void *data, size_t size)
{
	(void) data;
	(void) size;
	return 0;
}

#endif
