/*
 * kernel_pmull.c
 *	  CRC-32C and CRC-32 with arm64's carry-less multiplication, eight vectors
 *	  of 128 bits side by side.
 */
#include "kernel.h"
#include "kernel_arm.h"

#if defined(__aarch64__)
#define TARGET			TARGET_PMULL
#define XOR3(a, b, c)	veorq_u64(veorq_u64((a), (b)), (c))
#define KERNEL_NAME(crc) crc##_pmull
#include "pmull_arm.inc.h"
#endif							/* __aarch64__ */
