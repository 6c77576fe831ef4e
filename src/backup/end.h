/*
 * end.h
 *	  Where a backup ends, from the records of its WAL.
 *
 * Pure.  A server that recovers from a backup waits for the record that ends
 * it (XLOG_BACKUP_END), which names the backup by the location where it began.
 * The formats of records are those of PostgreSQL's pg_control.h, the same from
 * 15 to 19.
 */
#ifndef ACCEL_BACKUP_END_H
#define ACCEL_BACKUP_END_H

#include "wal/blocks.h"

typedef struct BackupEnd
{
	/* These are of backup_label, 0 if there is none. */
	WalLsn		start;
	WalLsn		checkpoint;

	/* found */
	WalLsn		end;			/* after the record that ends the backup,
								 * without a label any backup, 0 if there is
								 * none */
	WalLsn		began;			/* where that backup began */
	bool		has_checkpoint; /* that of the label, with its start */
	bool		switched;		/* the last record ends its segment */
	WalBlocks	blocks;
} BackupEnd;

/*
 * Takes the next record, from lsn up to end, of which present bytes are at
 * hand.  Returns false if all is found that is looked for.
 */
extern bool backup_end_record(BackupEnd *ctx, WalLsn lsn, WalLsn end,
							  const uint8_t *record, uint32_t present);

#endif							/* ACCEL_BACKUP_END_H */
