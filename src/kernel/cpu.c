/*
 * cpu.c
 *	  Detects the features that the CPU has and the operating system enables.
 *
 * On x86-64 a vector register that the operating system does not save is as
 * good as absent, whatever CPUID says.  So OSXSAVE comes first, then XCR0
 * (Intel SDM volume 1, 13.3), then the CPUID feature bits.
 */
#include "checksum.h"

#if defined(__x86_64__)
#include <cpuid.h>

#define XCR0_YMM	0x06		/* SSE, AVX */
#define XCR0_ZMM	0xE6		/* and opmask, ZMM_Hi256, Hi16_ZMM */

static uint64_t
read_xcr0(void)
{
	uint32_t	lo,
				hi;

	__asm__ volatile ("xgetbv":"=a" (lo), "=d"(hi):"c"(0));

	return ((uint64_t) hi << 32) | lo;
}

#define TAKE(reg, bit, id) \
	((reg) & (bit) ? CHECKSUM_FEATURE_##id : 0)

/*
 * No CPUID bit tells latencies and rates, so these go by the CPU's name.  What
 * nobody has measured is taken for a CPU of full rate.
 */
#define FAMILY_ZEN4 0x19
#define FAMILY_ZEN5 0x1A

/* CPUID(1).EAX has family and model, the extended ones where the base says so. */
static uint32_t
family_of(uint32_t signature)
{
	uint32_t	family = (signature >> 8) & 0xF;

	return family == 0xF ? family + ((signature >> 20) & 0xFF) : family;
}

static uint32_t
model_of(uint32_t signature)
{
	return ((signature >> 4) & 0xF) | ((signature >> 12) & 0xF0);
}

/*
 * Every AMD CPU with AVX-512 (Zen 4 on) has a vpmulld of three cycles, every
 * Intel CPU so far one of ten or more.
 *
 * AMD's family 19h with AVX-512 is Zen 4, 1Ah is Zen 5.  Both start a 512-bit
 * multiplication every other cycle.  Zen 5 starts two crc32 instructions or
 * more per cycle.
 */
static uint32_t
timing_of_amd(uint32_t signature)
{
	switch (family_of(signature))
	{
		case FAMILY_ZEN4:
			return CHECKSUM_FEATURE_fastmulld | CHECKSUM_FEATURE_slowvpclmul |
				CHECKSUM_FEATURE_slowjump;
		case FAMILY_ZEN5:
			return CHECKSUM_FEATURE_fastmulld | CHECKSUM_FEATURE_slowvpclmul |
				CHECKSUM_FEATURE_fastcrc32;
		default:
			return CHECKSUM_FEATURE_fastmulld;
	}
}

/*
 * Ice Lake starts one every other cycle as well.  A jump by a table is cheap
 * there.  For up to 0.7 ms after a 512-bit instruction the clock is 3 % lower
 * (README.md, "CPUs").  Model 6Ah is measured.  6Ch, 7Dh and 7Eh have the same
 * core (Sunny Cove).  Emerald Rapids (CFh) starts one per cycle.
 */
static uint32_t
timing_of_intel(uint32_t signature)
{
	if (family_of(signature) != 6)
		return 0;
	switch (model_of(signature))
	{
		case 0x6A:				/* Ice Lake-SP */
		case 0x6C:				/* Ice Lake-D */
		case 0x7D:				/* Ice Lake */
		case 0x7E:
			return CHECKSUM_FEATURE_slowvpclmul | CHECKSUM_FEATURE_slowclock;
		default:
			return 0;
	}
}

static uint32_t
timing_of(uint32_t signature)
{
	uint32_t	a,
				b,
				c,
				d;

	if (!__get_cpuid(0, &a, &b, &c, &d))
		return 0;
	if (b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx)
		return timing_of_amd(signature);
	if (b == signature_INTEL_ebx && c == signature_INTEL_ecx && d == signature_INTEL_edx)
		return timing_of_intel(signature);
	return 0;
}

uint32_t
checksum_detect_features(void)
{
	uint32_t	a,
				b,
				c,
				d;
	uint64_t	xcr0 = 0;
	uint32_t	features = 0;
	uint32_t	signature;

	if (!__get_cpuid(1, &a, &b, &c, &d))
		return 0;
	signature = a;
	features |= TAKE(c, bit_SSE4_1, sse41) | TAKE(c, bit_SSE4_2, sse42) |
		TAKE(c, bit_PCLMUL, pclmul);
	if (c & bit_OSXSAVE)
		xcr0 = read_xcr0();
	if ((xcr0 & XCR0_YMM) != XCR0_YMM || !(c & bit_AVX) ||
		!__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return features;
	features |= TAKE(b, bit_AVX2, avx2) | TAKE(b, bit_BMI2, bmi2) |
		TAKE(c, bit_VPCLMULQDQ, vpclmul);
	if ((xcr0 & XCR0_ZMM) == XCR0_ZMM)
		features |= TAKE(b, bit_AVX512F, avx512f) |
			TAKE(b, bit_AVX512BW, avx512bw) |
			TAKE(b, bit_AVX512VL, avx512vl) |
			TAKE(c, bit_AVX512VBMI, avx512vbmi);
	if (features & CHECKSUM_FEATURE_avx512f)
		features |= timing_of(signature);
	return features;
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

#ifndef HWCAP_ASIMD
#define HWCAP_ASIMD (1 << 1)
#endif
#ifndef HWCAP_PMULL
#define HWCAP_PMULL (1 << 4)
#endif
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#ifndef HWCAP_SHA3
#define HWCAP_SHA3 (1 << 17)
#endif

#define TAKE(word, bit, id) \
	((word) & (bit) ? CHECKSUM_FEATURE_##id : 0)

uint32_t
checksum_detect_features(void)
{
	unsigned long hwcap = getauxval(AT_HWCAP);

	return TAKE(hwcap, HWCAP_ASIMD, neon) | TAKE(hwcap, HWCAP_CRC32, armcrc) |
		TAKE(hwcap, HWCAP_PMULL, pmull) | TAKE(hwcap, HWCAP_SHA3, sha3);
}

#else

uint32_t
checksum_detect_features(void)
{
	return 0;
}

#endif

const char *
checksum_feature_name(int index)
{
	static const char *const names[] = {
#define FEATURE(id, name) name,
#include "features.def"
#undef FEATURE
	};

	return names[index];
}
