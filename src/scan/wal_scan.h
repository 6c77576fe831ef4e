/*
 * wal_scan.h
 *	  Reads write-ahead log from a directory, or from memory, and has it judged.
 *
 * Where the log may end is decided here (wal_scan.c, "Where the log may end");
 * what is right and wrong in it, in verify/wal.c.
 */
#ifndef WAL_SCAN_H
#define WAL_SCAN_H

#include "access/xlogdefs.h"

#include "scan/file_scan.h"
#include "verify/wal.h"

#pragma GCC visibility push(hidden)

/* One timeline's history file, as an array that ends with itself. */
typedef struct WalTimeline
{
	TimeLineID	timeline;
	int			nentries;
	WalHistory *entries;
} WalTimeline;

/* A directory of log; lives in the memory context of wal_scan_begin(). */
typedef struct WalScan
{
	char	   *directory;
	bool		live;			/* this server's own pg_wal */
	bool		pg_wal;			/* this or another server's (not an archive) */
	XLogRecPtr	from;			/* of wal_scan_range(), else 0 */
	XLogRecPtr	to;				/* likewise, else WAL_LSN_MAX */
	uint32		segment_size;	/* bytes; of the server until a file tells */

	/* live: how far the log was removed, and complete, when the scan began */
	uint64		removed;		/* a segment's number, 0: unknown */
	int			nlimits;
	struct
	{
		TimeLineID	timeline;
		XLogRecPtr	limit;
	}			limits[2];

	int			ntimelines;
	WalTimeline *timelines;		/* of the history files, ascending */
	uint8	   *buffer;
} WalScan;

/* A row of SQL; flat, so that a worker may send it as bytes. */
typedef struct WalSegmentResult
{
	char		segment[64];
	bool		has_position;	/* timeline, start_lsn */
	TimeLineID	timeline;
	XLogRecPtr	start_lsn;
	bool		has_counts;		/* it was walked: all that follows */
	XLogRecPtr	end_lsn;
	WalStatus	status;
	uint16		magic;			/* 0: unknown */
	bool		has_crc;
	uint32		crc;			/* of the whole file */
	WalCounts	counts;
	char		message[WAL_MESSAGE_SIZE + 64]; /* "": none */
} WalSegmentResult;

/* What a directory holds, by number; kind is one of these, or compressed. */
typedef struct WalEntry
{
	uint32		timeline;
	uint32		log;
	uint32		seg;
	uint32		kind;
} WalEntry;

#define WAL_ENTRY_SEGMENT	0
#define WAL_ENTRY_PARTIAL	1
#define WAL_ENTRY_MISSING	UINT32_MAX

typedef struct WalList
{
	WalEntry   *entries;
	Size		count;
	Size		room;
} WalList;

/*
 * directory NULL: pg_wal.  Errors: 42501 (path rules), 58P01 (missing), 42809
 * (no directory).
 */
extern void wal_scan_begin(WalScan *scan, const char *directory);

/*
 * A worker begins as its leader did, and judges by the leader's limits; of
 * *leader, which another process filled in, no pointer is followed.
 */
extern void wal_scan_join(WalScan *scan, const WalScan *leader,
						  const char *directory);

/* A timeline's history, NULL if unknown. */
extern const WalTimeline *wal_scan_timeline(const WalScan *scan,
											TimeLineID timeline);

/* A segment's name from SQL, else 22023. */
extern void wal_scan_name(const char *name, WalName *result);

/*
 * Judges one segment.  A result other than FILE_SCAN_OK means that it could
 * not be opened, and errno says why; *result is then not set.  finding is
 * called with NULL when all that it was told is to be forgotten: the segment is
 * looked at once more.
 */
extern FileScanResult wal_scan_segment(WalScan *scan, const char *name,
									   WalSegmentResult *result,
									   WalFindingFn finding, void *arg);

/* The same for bytes in memory, which stand alone. */
extern void wal_scan_bytes(const uint8 *data, Size len, const char *name,
						   WalSegmentResult *result);

/*
 * The segments of a directory by number (timeline first), gaps as entries of
 * their own; within the names first..last (NULL: all).
 */
extern void wal_scan_list(WalScan *scan, const char *first, const char *last,
						  WalList *list);

/*
 * The segments that hold the log of a timeline (0: the newest) between two
 * positions (end WAL_LSN_MAX: as far as there are).
 */
extern void wal_scan_range(WalScan *scan, XLogRecPtr start, XLogRecPtr end,
						   TimeLineID timeline, WalList *list);

/* Judges an entry of a list; what cannot be read is a row too. */
extern void wal_scan_entry(WalScan *scan, const WalEntry *entry,
						   WalSegmentResult *result);

#pragma GCC visibility pop

#endif							/* WAL_SCAN_H */
