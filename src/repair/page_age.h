/*
 * page_age.h
 *	  Is a page of shared buffers the newest version that WAL knows of?
 */
#ifndef ACCEL_REPAIR_PAGE_AGE_H
#define ACCEL_REPAIR_PAGE_AGE_H

#include "page/fork.h"

typedef enum PageAge
{
	PAGE_AGE_NEWEST,			/* WAL is there from its LSN on, and has none */
	PAGE_AGE_OLDER,				/* WAL has a newer one */
	PAGE_AGE_UNKNOWN			/* WAL does not tell */
} PageAge;

/*
 * Returns the age of the page of a block with this LSN, and why in words, if
 * it is not the newest.  The parameter end is that of the WAL
 * (lost_server_end()), asked for before the page was looked at.  Reads pg_wal
 * from the LSN on.
 */
extern PageAge page_age(const Fork *fork, BlockNumber blkno, XLogRecPtr lsn,
						XLogRecPtr end, char why[SCAN_MESSAGE_SIZE]);

#endif							/* ACCEL_REPAIR_PAGE_AGE_H */
