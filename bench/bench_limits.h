/*
 * bench_limits.h
 *	  The roofline of this machine, measured: the clock, what the ports for crc32
 *	  and carry-less multiplication give, and how fast memory can be read.
 *
 * Each returns 0 where this CPU has no such instruction.
 */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include <stddef.h>

extern double bench_clock_ghz(void);
extern double bench_crc32q_gb_per_s(void);

/*
 * Bytes that folding takes in a second when the multiplier is the only limit:
 * two multiplications for each vector of so many bits.
 */
extern double bench_clmul_gb_per_s(int bits);
extern double bench_read_gb_per_s(const void *data, size_t size);

#endif							/* BENCH_LIMITS_H */
