/*
 * format.h
 *	  WAL as it lies in files, for readers without a server.
 *
 * The facts are those of PostgreSQL's xlog_internal.h, xlogrecord.h and
 * pg_control.h, valid from 15 to 19.  The record format is valid from 9.5 on.
 * What differs by version is in the table of wal/version.c.  The server's
 * names are in the comments.  Everything is in the byte order of the machine
 * that wrote it.  Fields are read by offset, through the load helpers, since a
 * page in memory has no alignment.
 */
#ifndef ACCEL_WAL_FORMAT_H
#define ACCEL_WAL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel/load.h"

/* byte position in the WAL, an XLogRecPtr */
typedef uint64_t WalLsn;

#define WAL_LSN_MAX			UINT64_MAX

/* As the server prints it: the format, and the arguments for that. */
#define WAL_LSN_FORMAT		"%X/%X"
#define WAL_LSN_ARGS(lsn)	(unsigned) ((lsn) >> 32), (unsigned) (lsn)

/* page header, of which the long one stands at the start of a segment */
#define WAL_PAGE_MAGIC		0	/* xlp_magic, 16 bits */
#define WAL_PAGE_INFO		2	/* xlp_info, 16 bits, flags */
#define WAL_PAGE_TLI		4	/* xlp_tli, 32 bits */
#define WAL_PAGE_ADDR		8	/* xlp_pageaddr, 64 bits, LSN of the page */
#define WAL_PAGE_REM_LEN	16	/* xlp_rem_len, 32 bits, of a record that
								 * began before */
#define WAL_PAGE_PADDING	20	/* 4 bytes of zero */
#define WAL_PAGE_SHORT		24	/* bytes of the short header */
#define WAL_PAGE_SYSTEM		24	/* xlp_sysid, 64 bits */
#define WAL_PAGE_SEG_SIZE	32	/* xlp_seg_size, 32 bits */
#define WAL_PAGE_BLCKSZ		36	/* xlp_xlog_blcksz, 32 bits */
#define WAL_PAGE_LONG		40	/* bytes of the long header */

/*
 * the flags of all versions, but not XLP_BKP_REMOVABLE, which nothing can
 * judge
 */
#define WAL_FLAG_CONTRECORD		0x0001	/* XLP_FIRST_IS_CONTRECORD */
#define WAL_FLAG_LONG			0x0002	/* XLP_LONG_HEADER */

/* record header */
#define WAL_REC_TOT_LEN		0	/* xl_tot_len, 32 bits, this header included */
#define WAL_REC_XID			4	/* xl_xid, 32 bits, 0 if of no transaction */
#define WAL_REC_PREV		8	/* xl_prev, 64 bits, start of the record
								 * before */
#define WAL_REC_INFO		16	/* xl_info, 8 bits */
#define WAL_REC_RMID		17	/* xl_rmid, 8 bits */
#define WAL_REC_CRC			20	/* xl_crc, 32 bits, over the body, then 0..19 */
#define WAL_REC_HEADER		24
#define WAL_REC_ALIGN		8

/* more than any record has (the server allocates below 1 GB) */
#define WAL_REC_MAX			0x3FFFFFFF

#define WAL_RMGR_XLOG		0
#define WAL_RMGR_DATABASE	4
#define WAL_RMGR_CUSTOM		128 /* first one of extensions */
#define WAL_INFO_MASK		0xF0	/* the part that belongs to the rmgr */
#define WAL_XLOG_SWITCH		0x40
#define WAL_DATABASE_COPY	0x00	/* XLOG_DBASE_CREATE_FILE_COPY */
#define WAL_XLOG_OVERWRITE	0xD0

/* of an OVERWRITE_CONTRECORD, the start of the aborted contrecord, 64 bits */
#define WAL_OVERWRITE_LSN	(WAL_REC_HEADER + 2)

/* block references within a record */
#define WAL_BLOCK_MAX_ID	32
#define WAL_BLOCK_SECOND	(WAL_REC_HEADER + 4 + 16)	/* what follows one
														 * without an image */
#define WAL_BLOCK_FORK_MASK	0x0F
#define WAL_BLOCK_HAS_IMAGE 0x10
#define WAL_BLOCK_HAS_DATA	0x20
#define WAL_BLOCK_WILL_INIT 0x40
#define WAL_BLOCK_SAME_REL	0x80
#define WAL_IMAGE_HAS_HOLE	0x01
#define WAL_IMAGE_APPLY		0x02
#define WAL_IMAGE_PGLZ		0x04
#define WAL_IMAGE_LZ4		0x08
#define WAL_IMAGE_ZSTD		0x10
#define WAL_IMAGE_COMPRESSED	0x1C	/* pglz, lz4, zstd */
#define WAL_FORK_MAX		3	/* INIT_FORKNUM */

/* the other headers within a record have an id, and then */
#define WAL_ID_DATA_SHORT	255 /* 8 bits, length of the main data */
#define WAL_ID_DATA_LONG	254 /* 32 bits, the same */
#define WAL_ID_ORIGIN		253 /* 16 bits, replication origin */
#define WAL_ID_TOP_XID		252 /* 32 bits, top-level transaction */

#define WAL_PAGE_MIN		1024
#define WAL_PAGE_MAX		65536
#define WAL_SEGMENT_MIN		(UINT32_C(1) << 20)
#define WAL_SEGMENT_MAX		(UINT32_C(1) << 30)

#define wal_load16	load_native16
#define wal_load32	load_native32
#define wal_load64	load_native64

static inline bool
wal_is_zero(const uint8_t *data, size_t len)
{
	return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

static inline uint64_t
wal_align(uint64_t n)
{
	return (n + WAL_REC_ALIGN - 1) & ~(uint64_t) (WAL_REC_ALIGN - 1);
}

static inline bool
wal_power_of_two(uint64_t n, uint64_t least, uint64_t most)
{
	return n >= least && n <= most && (n & (n - 1)) == 0;
}

#endif							/* ACCEL_WAL_FORMAT_H */
