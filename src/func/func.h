/*
 * func.h
 *	  What the SQL functions share: arguments, checked.
 */
#ifndef ACCEL_FUNC_H
#define ACCEL_FUNC_H

#include "kernel/checksum.h"

#pragma GCC visibility push(hidden)

/* func_checksum.c: a finished CRC from SQL, else SQLSTATE 22003. */
extern uint32 accel_crc_argument(int64 crc);

/*
 * func_kernel.c: an available kernel of an algorithm (crc32c) by name, else
 * SQLSTATE 22023 (unknown) or 0A000 (cannot run here).
 */
extern const ChecksumKernel *accel_kernel_of(ChecksumAlgorithm algorithm,
											 text *name);
extern const ChecksumKernel *accel_kernel_argument(text *name);

#pragma GCC visibility pop

#endif							/* ACCEL_FUNC_H */
