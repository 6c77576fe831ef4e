/*
 * fuzz.h
 *	  What the fuzz targets share.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/checksum.h"

extern size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
extern int	LLVMFuzzerInitialize(int *argc, char ***argv);
extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
									  size_t max_size, unsigned int seed);

#define must(condition) \
	do { if (!(condition)) __builtin_trap(); } while (0)

#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void) argc;
	(void) argv;
	checksum_init();
	return 0;
}

/* For mutators. */
static inline uint32_t
next_random(unsigned int *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 8;
}

#pragma clang attribute pop

#endif							/* FUZZ_H */
