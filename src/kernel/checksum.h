/*
 * checksum.h
 *	  The one header of the checksum kernels that upper layers include.
 *
 * Computes CRC-32C (RFC 3720, polynomial 0x1EDC6F41), CRC-32/ISO-HDLC (RFC
 * 1952, polynomial 0x04C11DB7) and PostgreSQL's page checksum (32 parallel
 * FNV-1a lanes).  The best kernel that this CPU and operating system can run
 * does it.  This layer knows no PostgreSQL.  It is C11 only, has total
 * functions, and makes no allocation, I/O or errors.
 *
 * CRC kernels take and return the raw register.  Start with CHECKSUM_CRC_INIT,
 * and xor with CHECKSUM_CRC_INIT at the end to get the finished value.  The
 * register is in native byte order on every machine.  PostgreSQL's own macros
 * keep it byte-reversed on big-endian machines, so exchange finished values
 * only.
 */
#ifndef ACCEL_CHECKSUM_H
#define ACCEL_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_CRC_INIT	UINT32_C(0xFFFFFFFF)

typedef enum ChecksumAlgorithm
{
	CHECKSUM_crc32c,
	CHECKSUM_crc32,
	CHECKSUM_page
} ChecksumAlgorithm;

#define CHECKSUM_NALGORITHMS	3

/*
 * Advances a raw CRC register over len bytes at data, of any alignment.  Data
 * may be NULL when len is 0.
 */
typedef uint32_t (*ChecksumCrcFn) (uint32_t reg, const void *data, size_t len);

/*
 * Computes the page checksums of npages contiguous pages of page_size bytes (a
 * power of two, 1024 to 32768).  They are aligned to 4 bytes at least.  Page i
 * is block blknos[i].  Its checksum, 1 to 65535, goes to sums[i].  The two
 * bytes at offset 8 of a page (pd_checksum) count as zero.  Nothing is written
 * to the pages.
 */
typedef void (*ChecksumPageFn) (const void *pages, size_t page_size,
								uint32_t npages, const uint32_t *blknos,
								uint16_t *sums);

/*
 * The bits of a feature mask are CPU capabilities (features.def), then policy.
 */
enum ChecksumFeatureIndex
{
#define FEATURE(id, name) CHECKSUM_FEATURE_INDEX_##id,
#include "features.def"
#undef FEATURE
	CHECKSUM_NFEATURES
};

enum
{
#define FEATURE(id, name) \
	CHECKSUM_FEATURE_##id = 1 << CHECKSUM_FEATURE_INDEX_##id,
#include "features.def"
#undef FEATURE
	/* policy, never set by detection, so such a row is never selected */
	CHECKSUM_POLICY_REFERENCE = 1 << 30
};

/* One row of the table, see kernels.def. */
typedef struct ChecksumKernel
{
	ChecksumAlgorithm algorithm;
	const char *arch;
	const char *name;
	uint32_t	needs;			/* feature and policy bits, to run */
	uint32_t	preferred;		/* feature bits, besides, to be selected */
	const char *summary;
	ChecksumCrcFn crc;			/* NULL of a page kernel, or if not compiled
								 * here */
	ChecksumPageFn page;		/* NULL of a CRC kernel, or if not compiled
								 * here */
} ChecksumKernel;

/*
 * Hidden data is reached without the global offset table.  The compiler's
 * option hides definitions alone.
 */
#pragma GCC visibility push(hidden)

extern const ChecksumKernel checksum_kernel_table[];
extern const int checksum_kernel_count;

/* The dispatch pointers, to portable kernels before checksum_init(). */
extern ChecksumCrcFn checksum_crc32c;
extern ChecksumCrcFn checksum_crc32;
extern ChecksumPageFn checksum_page;

#pragma GCC visibility pop

/* cpu.c has the capabilities of this CPU under this operating system. */
extern uint32_t checksum_detect_features(void);
extern const char *checksum_feature_name(int index);

/* table.c */
extern bool checksum_compiled(const ChecksumKernel *kernel);
extern const char *checksum_algorithm_name(ChecksumAlgorithm algorithm);
extern const ChecksumKernel *checksum_find(ChecksumAlgorithm algorithm,
										   const char *name);

/*
 * Returns the first compiled row of an algorithm that needs and is preferred
 * with nothing outside the mask and has no bit in skip.  Bit i is row i of the
 * table.  This is a pure function, and never returns NULL.
 */
extern const ChecksumKernel *checksum_select(ChecksumAlgorithm algorithm,
											 uint32_t mask, uint64_t skip);

/*
 * dispatch.c
 *
 * checksum_init() detects features, self-tests the best kernel of each
 * algorithm (the next row is taken when one fails) and sets the pointers.
 * checksum_kernel_failed() tells which rows failed then.
 */
extern void checksum_init(void);
extern uint32_t checksum_features(void);
extern bool checksum_kernel_failed(const ChecksumKernel *kernel);
extern bool checksum_available(const ChecksumKernel *kernel);

/* The row in use. */
extern const ChecksumKernel *checksum_selected(ChecksumAlgorithm algorithm);

/*
 * The row for the server's own CRC-32C, a small part of much other work.  It is
 * the one in use, but where vectors of 512 bits lower the clock for all that
 * work, the best one without them, unless a kernel is forced.  No self-test has
 * run on that one.
 */
extern const ChecksumKernel *checksum_for_server(void);

/* Uses this kernel (which must be available) until told otherwise. */
extern void checksum_use(const ChecksumKernel *kernel);

/* Uses the best row for a mask among those that passed the self-test. */
extern void checksum_use_best(ChecksumAlgorithm algorithm, uint32_t mask);

/* Tells why a kernel is not available, in words, or "" when it is. */
#define CHECKSUM_REASON_SIZE	128
extern void checksum_unavailable_reason(const ChecksumKernel *kernel,
										char reason[CHECKSUM_REASON_SIZE]);

/* selftest.c */
typedef struct ChecksumSelfTest
{
	int64_t		cases;
	int64_t		failures;
	char		first_failure[128]; /* "" when none */
} ChecksumSelfTest;

/*
 * Compares a kernel with the reference.  It takes known answers, every length
 * to 1 kB at several alignments, and longer ones in steps, some of them
 * chained.  If quick, it takes fewer, in well under a millisecond (used at
 * load), else a fraction of a second.
 */
extern void checksum_self_test(const ChecksumKernel *kernel, bool quick,
							   ChecksumSelfTest *result);

/*
 * combine.c
 *
 * Computes the CRC of a||b from the finished CRCs of a and b and the length of
 * b in bytes.  The time is constant for any length.
 */
extern uint32_t checksum_crc32c_combine(uint32_t crc1, uint32_t crc2,
										uint64_t len2);
extern uint32_t checksum_crc32_combine(uint32_t crc1, uint32_t crc2,
									   uint64_t len2);

#endif							/* ACCEL_CHECKSUM_H */
