/*
 * list.h
 *	  Which segments of a directory to judge, gaps included.
 */
#ifndef ACCEL_WAL_LIST_H
#define ACCEL_WAL_LIST_H

#include "wal/backups.h"

/* What counts of the WAL is from begin up to end. */
typedef struct WalRange
{
	WalLsn		begin;
	WalLsn		end;			/* WAL_LSN_MAX if as far as there is any */
} WalRange;

#define WAL_RANGE_ALL	((WalRange) {0, WAL_LSN_MAX})

/*
 * Lists the segments of a directory by number, timeline first, and gaps as
 * names of their own.  They are within the names first..last, which are in
 * order, and NULL sets no bound.
 */
extern void wal_list_names(const WalDirectory *dir, const WalName *first,
						   const WalName *last, WalNames *list);

/*
 * Lists the segments that hold the WAL of a timeline in a range, of the newest
 * timeline if it is 0.  What is missing before the first file and after the
 * last one is not waited for if the caller looks for the rest elsewhere.
 */
extern void wal_list_range(const WalDirectory *dir, WalRange range,
						   uint32_t timeline, bool rest_elsewhere,
						   WalNames *list);

/* Returns the path that such a range is of. */
extern WalPath wal_list_path(const WalDirectory *dir, uint32_t timeline);

/*
 * Is what is between two segments of an archive gone by design, as its backup
 * files tell?  Those are read into *backups (zero) when they are asked first.
 */
extern bool wal_list_by_design(const WalDirectory *dir, WalBackups *backups,
							   const WalName *before, const WalName *after);

/* Has this server removed the segment since the scan began? */
extern bool wal_list_was_removed(const WalDirectory *dir,
								 const WalName *name);

#endif							/* ACCEL_WAL_LIST_H */
