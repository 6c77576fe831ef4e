/*
 * segment.h
 *	  Judges one WAL segment, of a directory or of memory.
 *
 * Where the WAL may end is decided here (wal/segment.c).  What is right and
 * wrong in it is decided in wal/walk.c.
 */
#ifndef ACCEL_WAL_SEGMENT_H
#define ACCEL_WAL_SEGMENT_H

#include "wal/list.h"
#include "wal/neighbour.h"

/* This is a row of SQL.  It is flat, so that a worker may send it as bytes. */
typedef struct WalSegmentResult
{
	WalName		name;
	WalStatus	status;
	bool		has_position;	/* start_lsn */
	bool		has_counts;		/* end_lsn and counts, if it was walked */
	bool		has_crc;		/* of the whole segment, decompressed, but not
								 * where records are handed out */
	bool		has_format;		/* of the file */
	uint16_t	magic;			/* 0 if unknown */
	uint32_t	crc;
	DecodeFormat format;
	WalLsn		start_lsn;
	WalLsn		end_lsn;
	WalCounts	counts;
	WalVerdict	message;		/* no reason if there is nothing to say */
} WalSegmentResult;

/* The findings of a segment, the first max of them as they come. */
typedef struct WalFindings
{
	size_t		max;
	size_t		count;
	size_t		room;
	WalFinding *items;
} WalFindings;

/* What judging several segments in succession shares. */
typedef struct WalSession
{
	const WalDirectory *dir;	/* NULL for bytes in memory */
	HostServer	server;			/* whose WAL it should be, of any version if
								 * its magic is 0, of any cluster if its
								 * system is 0 */
	WalRange	range;
	uint8_t    *buffer;			/* WAL_PIECE_BYTES, NULL for bytes in memory */
	WalFiles   *files;
	WalCarry   *carry;
	int			pauses;			/* left, see wal_file_grows() */
	const WalRecordSink *records;	/* of server.system alone, NULL if nobody
									 * wants them */
} WalSession;

extern void wal_session_begin(WalSession *session, const WalDirectory *dir,
							  WalRange range);

/* Does the same without a directory, for bytes that stand alone. */
extern void wal_session_begin_alone(WalSession *session);
extern void wal_session_end(WalSession *session);

/*
 * Judges one segment.  A result other than FILE_SCAN_OK means that it could
 * not be opened, and errno says why.  Then *result is not set.  NULL is
 * allowed for findings.
 */
extern FileScanResult wal_segment_judge(WalSession *session,
										const WalName *name,
										WalSegmentResult *result,
										WalFindings *findings);

/*
 * Judges an open file that stands alone, in a session of bytes that do.  What
 * continues in its neighbours is not verified.
 */
extern void wal_segment_judge_alone(WalSession *session, WalFile *file,
									const WalName *name,
									WalSegmentResult *result);

extern void wal_segment_judge_bytes(WalSession *session, const uint8_t *data,
									uint64_t size, const WalName *name,
									WalSegmentResult *result);

/*
 * Sets the result for a name that has no file.  NULL is allowed for findings.
 */
extern void wal_segment_missing(const WalSession *session,
								const WalName *name,
								WalSegmentResult *result,
								WalFindings *findings);

/* Prints what the row of a segment says, "" if nothing. */
#define WAL_RESULT_WORDS	(WAL_MESSAGE_SIZE + 32)
extern void wal_segment_words(const WalSegmentResult *result,
							  char words[WAL_RESULT_WORDS]);

/* Sets the one result for a directory in which there is no segment. */
extern void wal_segment_none(const WalDirectory *dir,
							 WalSegmentResult *result);

/* Returns the status of a file whose opening failed with this errno. */
extern WalStatus wal_status_of_open(int error);

/* Judges a name of a list.  What cannot be read is a row, too. */
extern void wal_segment_judge_entry(WalSession *session, const WalName *name,
									WalSegmentResult *result);

#endif							/* ACCEL_WAL_SEGMENT_H */
