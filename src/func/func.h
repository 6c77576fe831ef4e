/*
 * func.h
 *	  What the SQL functions share, mostly checks of arguments.
 */
#ifndef ACCEL_FUNC_H
#define ACCEL_FUNC_H

#include "func/signature.h"
#include "kernel/checksum.h"
#include "page/relation_scan.h"
#include "wal/directory.h"

/*
 * Says what to do about damage.  The Makefile knows where the documents are.
 */
#define ACCEL_RUNBOOK	"\"" ACCEL_DOCUMENTS "/docs/corruption.md\""

/*
 * func/argument.c checks that a value is in min .. max, else an error with
 * this SQLSTATE.
 */
extern void accel_check_range(int sqlstate, const char *name, int64 value,
							  int64 min, int64 max);

/* func/argument.c checks that an argument is not NULL, else SQLSTATE 22004. */
extern void accel_check_null(FunctionCallInfo fcinfo, int argument,
							 const char *name);

/* func/argument.c returns an argument, or what is given for NULL. */
extern bool accel_boolean(FunctionCallInfo fcinfo, int argument, bool absent);
extern int	accel_integer(FunctionCallInfo fcinfo, int argument, int absent);

/*
 * func/backup.c returns the paths of prior_backups text[], count of them.  There
 * are none for NULL.
 */
extern const char **accel_prior_backups(FunctionCallInfo fcinfo, int argument,
										int *count);

/* func/argument.c returns a text argument, or NULL for NULL. */
extern char *accel_text(FunctionCallInfo fcinfo, int argument);

/*
 * func/argument.c checks that the ends of a range of WAL are in order, else
 * SQLSTATE 22023.
 */
extern void accel_check_lsns(XLogRecPtr start, XLogRecPtr end);

/*
 * func/argument.c returns an interval in microseconds, 0 for NULL.  If it is
 * less than least (0 or 1), this is SQLSTATE 22023.
 */
extern int64 accel_interval(FunctionCallInfo fcinfo, int argument,
							const char *name, int64 least);

/* func/amount.c returns "412 GB", "1.2 GB" */
extern const char *accel_size_text(double bytes);

/* func/amount.c */
extern int64 accel_bytes_per_second(int64 bytes, double seconds);

/* func/amount.c returns "1 finding", "2 findings" */
extern const char *accel_counted(int64 number, const char *one,
								 const char *several);

/* func/checksum.c takes a finished CRC from SQL, else SQLSTATE 22003. */
extern uint32 accel_crc_argument(const char *name, int64 crc);

/*
 * func/kernel.c returns an available kernel of an algorithm by name, else
 * SQLSTATE 22023 (unknown) or 0A000 (cannot run here).
 */
extern const ChecksumKernel *accel_kernel_of(ChecksumAlgorithm algorithm,
											 text *name);

/*
 * func/page.c takes a block number, and a fork by name, else SQLSTATE 22023.
 */
extern BlockNumber accel_block_argument(const char *name, int64 blkno);
extern ForkNumber accel_fork_argument(text *name);

/*
 * func/page.c takes the arguments fork, first_block, last_block from argument
 * n on, else SQLSTATE 22023.  If one is NULL, the default stays.
 */
extern void accel_scan_options(FunctionCallInfo fcinfo, int n,
							   RelationScanOptions *options);

/* func/page.c fills the columns of verify_relation. */
typedef enum FindingColumn
{
#define FINDING_COLUMN(name, ...) FINDING_COLUMN_##name,
#include "func/finding.def"
	FINDING_COLUMNS				/* how many */
} FindingColumn;

extern void accel_finding_values(const PageFinding *finding, Datum *values,
								 bool *nulls);

/*
 * func/wal.c opens a directory, where NULL is pg_wal, or raises the errors of
 * a directory.  If direct, files are read past the page cache.  only is the
 * one segment that is wanted.  If it is NULL, all are listed.
 */
extern void accel_wal_directory(WalDirectory *dir, const char *argument,
								bool direct, WalName *only);

#endif							/* ACCEL_FUNC_H */
