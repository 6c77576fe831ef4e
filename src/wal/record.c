/*
 * record.c
 *	  Says what is wrong with the header, the length or the CRC of a WAL
 *	  record.
 */
#include "wal/record.h"

static bool
blame(WalVerdict *verdict, WalReason reason, WalLsn at, uint64_t value,
	  uint64_t expected)
{
	verdict->reason = reason;
	verdict->at = at;
	verdict->value = value;
	verdict->expected = expected;
	verdict->more = 0;
	return false;
}

bool
wal_record_check(const WalRecordExpectation *expect, const uint8_t *rec,
				 WalVerdict *verdict)
{
	WalLsn		prev = wal_load64(rec + WAL_REC_PREV);
	uint8_t		rmid = rec[WAL_REC_RMID];

	if (expect->prev != 0 && prev != expect->prev)
		return blame(verdict, WAL_REASON_PREV_LINK, expect->lsn, prev,
					 expect->prev);
	if (expect->prev == 0 && prev >= expect->lsn)
		return blame(verdict, WAL_REASON_PREV_LINK_AHEAD, expect->lsn, prev,
					 0);
	if (!wal_rmgr_exists(rmid, expect->last_rmgr))
		return blame(verdict, WAL_REASON_RESOURCE_MANAGER, expect->lsn, rmid,
					 expect->last_rmgr);
	if (expect->overwrite && !wal_record_is(rec, WAL_XLOG_OVERWRITE))
		return blame(verdict, WAL_REASON_OVERWRITE_EXPECTED, expect->lsn,
					 rmid, WAL_RMGR_XLOG);
	return true;
}

void
wal_record_blame_crc(WalVerdict *verdict, WalLsn lsn, uint32_t computed,
					 const uint8_t *rec)
{
	blame(verdict, WAL_REASON_RECORD_CRC, lsn, computed,
		  wal_load32(rec + WAL_REC_CRC));
}

bool
wal_record_length_check(WalLsn lsn, const uint8_t *rec, uint32_t rest,
						WalVerdict *verdict)
{
	uint32_t	len = wal_load32(rec + WAL_REC_TOT_LEN);

	if (len > WAL_REC_MAX)
		return blame(verdict, WAL_REASON_RECORD_TOO_LONG, lsn, len,
					 WAL_REC_MAX);
	if (len >= WAL_REC_HEADER)
		return true;
	return blame(verdict, wal_is_zero(rec, rest) ?
				 WAL_REASON_RECORD_MISSING : WAL_REASON_RECORD_LENGTH, lsn,
				 len, WAL_REC_HEADER);
}
