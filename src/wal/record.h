/*
 * record.h
 *	  Checks headers and CRCs of WAL records, and counts full-page images.
 *
 * Pure, and inline where the walker passes every record.
 */
#ifndef ACCEL_WAL_RECORD_H
#define ACCEL_WAL_RECORD_H

#include "kernel/checksum.h"
#include "wal/page.h"

/* Returns the CRC of a record from the raw register over its body. */
static inline uint32_t
wal_record_crc(uint32_t body, const uint8_t *header)
{
	return checksum_crc32c(body, header, WAL_REC_CRC) ^ CHECKSUM_CRC_INIT;
}

/* Is the CRC of a record right that lies in one piece? */
static inline bool
wal_record_crc_fits(const uint8_t *rec, uint32_t len)
{
	uint32_t	body = checksum_crc32c(CHECKSUM_CRC_INIT,
									   rec + WAL_REC_HEADER,
									   len - WAL_REC_HEADER);

	return wal_record_crc(body, rec) == wal_load32(rec + WAL_REC_CRC);
}

static inline bool
wal_rmgr_exists(uint8_t rmid, uint8_t last)
{
	return rmid <= last || rmid >= WAL_RMGR_CUSTOM;
}

static inline bool
wal_record_is(const uint8_t *rec, uint8_t info)
{
	return rec[WAL_REC_RMID] == WAL_RMGR_XLOG &&
		(rec[WAL_REC_INFO] & WAL_INFO_MASK) == info;
}

/* Does it copy the files of a database as they are? */
static inline bool
wal_record_copies(const uint8_t *rec)
{
	return rec[WAL_REC_RMID] == WAL_RMGR_DATABASE &&
		(rec[WAL_REC_INFO] & WAL_INFO_MASK) == WAL_DATABASE_COPY;
}

/*
 * Are there zeros from pos up to padded, where the next record may start?  The
 * server leaves them there.  One load will do, without a branch on the length,
 * which is different for every record.
 */
static inline bool
wal_padding_is_zero(const uint8_t *page, uint32_t pos, uint32_t padded)
{
	uint64_t	last = wal_load64(page + padded - WAL_REC_ALIGN);
	uint32_t	bits = 63 - 8 * (padded - pos);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (last << 1) << bits == 0;
#else
	return (last >> 1) >> bits == 0;
#endif
}

/*
 * Counts the bytes of full-page images, from the block references that lead a
 * record, of which the first len bytes are at hand.  The references end where
 * as much is left as they announced data, or where another kind of header
 * begins.  A record without main data has no mark between headers and data.
 */
static inline uint32_t
wal_fpi_bytes(const uint8_t *rec, uint32_t len)
{
	uint32_t	total = wal_load32(rec + WAL_REC_TOT_LEN);
	uint32_t	at = WAL_REC_HEADER;
	uint32_t	images = 0;
	uint32_t	data = 0;

	/* most records have one block of a relation named in full, and no image */
	if (len > WAL_BLOCK_SECOND && rec[WAL_BLOCK_SECOND] > WAL_BLOCK_MAX_ID &&
		(rec[WAL_REC_HEADER + 1] & (WAL_BLOCK_HAS_IMAGE | WAL_BLOCK_SAME_REL)) == 0)
		return 0;
	while (at + 4 <= len && total - at > data + images &&
		   rec[at] <= WAL_BLOCK_MAX_ID)
	{
		uint8_t		flags = rec[at + 1];

		data += wal_load16(rec + at + 2);
		at += 4;
		if (flags & WAL_BLOCK_HAS_IMAGE)
		{
			if (at + 5 > len)
				break;
			images += wal_load16(rec + at);
			at += 5 + ((rec[at + 4] & WAL_IMAGE_HAS_HOLE) &&
					   (rec[at + 4] & WAL_IMAGE_COMPRESSED) ? 2 : 0);
		}
		at += (flags & WAL_BLOCK_SAME_REL) ? 4 : 16;
	}
	return images;
}

/* What the header of a record must say. */
typedef struct WalRecordExpectation
{
	WalLsn		lsn;			/* of the record */
	WalLsn		prev;			/* of the one before, 0 if an unknown earlier
								 * one */
	bool		overwrite;		/* it must be an OVERWRITE_CONTRECORD */
	uint8_t		last_rmgr;
} WalRecordExpectation;

/* Is a header possible here?  If not, *verdict is the reason why. */
extern bool wal_record_check(const WalRecordExpectation *expect,
							 const uint8_t *rec, WalVerdict *verdict);

/* Makes the verdict on a record at lsn whose CRC is not the computed one. */
extern void wal_record_blame_crc(WalVerdict *verdict, WalLsn lsn,
								 uint32_t computed, const uint8_t *rec);

/*
 * Can there be a record of this length?  If not, *verdict is the reason why.
 * The page has rest bytes from rec on.
 */
extern bool wal_record_length_check(WalLsn lsn, const uint8_t *rec,
									uint32_t rest, WalVerdict *verdict);

#endif							/* ACCEL_WAL_RECORD_H */
