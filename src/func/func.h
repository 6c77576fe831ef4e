/*
 * func.h
 *	  What the SQL functions share: arguments, checked.
 */
#ifndef ACCEL_FUNC_H
#define ACCEL_FUNC_H

#include "func/signature.h"
#include "kernel/checksum.h"
#include "page/relation_scan.h"
#include "wal/directory.h"

/* What to do about damage: the Makefile knows where the documents are. */
#define ACCEL_RUNBOOK	"\"" ACCEL_DOCUMENTS "/docs/corruption.md\""

/* func/argument.c: a value in min .. max, else an error with this SQLSTATE. */
extern void accel_check_range(int sqlstate, const char *name, int64 value,
							  int64 min, int64 max);

/* func/argument.c: an argument that is not NULL, else SQLSTATE 22004. */
extern void accel_check_null(FunctionCallInfo fcinfo, int argument,
							 const char *name);

/* func/argument.c: the ends of a range of WAL in their order, else SQLSTATE 22023. */
extern void accel_check_lsns(XLogRecPtr start, XLogRecPtr end);

/*
 * func/argument.c: an interval in microseconds, 0 for NULL; less than least (0 or 1):
 * SQLSTATE 22023.
 */
extern int64 accel_interval(FunctionCallInfo fcinfo, int argument,
							const char *name, int64 least);

/* func/amount.c: "412 GB", "1.2 GB" */
extern const char *accel_size_text(double bytes);

/* func/amount.c */
extern int64 accel_bytes_per_second(int64 bytes, double seconds);

/* func/amount.c: "1 finding", "2 findings" */
extern const char *accel_counted(int64 number, const char *one,
								 const char *several);

/* func/checksum.c: a finished CRC from SQL, else SQLSTATE 22003. */
extern uint32 accel_crc_argument(const char *name, int64 crc);

/*
 * func/kernel.c: an available kernel of an algorithm by name, else
 * SQLSTATE 22023 (unknown) or 0A000 (cannot run here).
 */
extern const ChecksumKernel *accel_kernel_of(ChecksumAlgorithm algorithm,
											 text *name);

/* func/page.c: a block number, and a fork by name, else SQLSTATE 22023. */
extern BlockNumber accel_block_argument(const char *name, int64 blkno);
extern ForkNumber accel_fork_argument(text *name);

/*
 * func/page.c: the arguments fork, first_block, last_block from argument n on
 * (NULL: the default stays), else SQLSTATE 22023.
 */
extern void accel_scan_options(FunctionCallInfo fcinfo, int n,
							   RelationScanOptions *options);

/* func/page.c: the columns of verify_relation. */
#define ACCEL_FINDING_COLUMNS	12
extern void accel_finding_values(const PageFinding *finding, Datum *values,
								 bool *nulls);

/*
 * func/wal.c: opens a directory, NULL is pg_wal, else the errors of a
 * directory; only: the one segment that is wanted, NULL: all are listed.
 */
extern void accel_wal_directory(WalDirectory *dir, const char *argument,
								WalName *only);

#endif							/* ACCEL_FUNC_H */
