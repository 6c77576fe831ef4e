/*
 * kernel_pmull_eor3.c
 *	  As kernel_pmull.c, with the three-way xor of the SHA-3 extension, which
 *	  saves one instruction of five.
 */
#include "kernel.h"
#include "kernel_arm.h"

#if defined(__aarch64__)
#define TARGET			TARGET_PMULL_EOR3
#define XOR3(a, b, c)	arm_eor3((a), (b), (c))
#define KERNEL_NAME(crc) crc##_pmull_eor3
#include "pmull_arm.inc.h"
#endif							/* __aarch64__ */
