/*
 * server.c
 *	  The places in WAL that the search for lost writes asks the server for.
 */
#include "compat.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_control.h"
#include "common/controldata_utils.h"
#include "miscadmin.h"
#include "storage/lwlock.h"

#include "lost/server.h"
#include "wal/page.h"

/*
 * Reads pg_control, since shared memory (GetRedoRecPtr) may have the redo
 * point of a checkpoint that is going on.
 */
WalLsn
lost_server_horizon(void)
{
	ControlFileData *control;
	bool		crc_ok;
	WalLsn		redo;

	LWLockAcquire(ControlFileLock, LW_SHARED);
	control = get_controlfile(DataDir, &crc_ok);
	LWLockRelease(ControlFileLock);
	if (!crc_ok)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("calculated CRC checksum does not match value stored in file \"%s\"",
						XLOG_CONTROL_FILE)));
	redo = control->checkPointCopy.redo;
	pfree(control);
	return redo;
}

/*
 * The insert position skips the header of a page that it is the first in.  The
 * record before it ended with the page before.
 */
WalLsn
lost_server_end(uint32_t segment_size)
{
	XLogRecPtr	end;
	uint32		header;

	if (RecoveryInProgress())
		return GetXLogReplayRecPtr(NULL);
	end = GetXLogInsertRecPtr();
	header = wal_page_header_size(end - end % XLOG_BLCKSZ, segment_size);
	if (end % XLOG_BLCKSZ == header)
		end -= header;
	XLogFlush(end);
	return end;
}
