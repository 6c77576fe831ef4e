/*
 * archive.h
 *	  What to read of a WAL archive, by what is remembered of its files.
 *
 * A file that was sound and was not written since is not read again.  Times are
 * the caller's, unless it says otherwise.
 */
#ifndef ACCEL_WAL_ARCHIVE_H
#define ACCEL_WAL_ARCHIVE_H

#include "wal/segment.h"

#define WAL_MTIME_UNKNOWN	INT64_MIN

/* This tells a file that was not written since. */
typedef struct WalArchiveStat
{
	uint64_t	size;			/* bytes, as it is stored */
	int64_t		mtime;			/* microseconds since 1970 */
} WalArchiveStat;

typedef struct WalArchiveMemory
{
	WalArchiveStat stat;
	WalStatus	status;
	bool		start_open;		/* a record over that border was not judged */
	bool		end_open;
	bool		has_crc;
	uint32_t	crc;			/* of the segment when it was last sound */
	int64_t		sound_at;
	int64_t		verified_at;
} WalArchiveMemory;

typedef enum WalArchiveState
{
	WAL_ARCHIVE_THERE,
	WAL_ARCHIVE_GAP,			/* a segment between others, never seen */
	WAL_ARCHIVE_MISSING,		/* remembered, and not there */
	WAL_ARCHIVE_EXPIRED,		/* the same, and older than all that is */
	WAL_ARCHIVE_REPLACED		/* the same, and another file has its segment */
} WalArchiveState;

typedef struct WalArchiveFile
{
	WalName		name;
	WalArchiveState state;
	WalArchiveStat stat;		/* as it is now */
	bool		wanted;			/* is it to be read? */
	bool		same;			/* is it, by its stat, what is remembered? */
	bool		remembered;		/* if not, has_crc, crc and sound_at are of
								 * the file that it replaces */
	WalArchiveMemory memory;
} WalArchiveFile;

/* It is empty if all but dir is zero. */
typedef struct WalArchive
{
	const WalDirectory *dir;
	WalArchiveFile *files;
	size_t		count;
	size_t		room;
	size_t		there;			/* files that are there */
} WalArchive;

/* What becomes of a verdict. */
typedef struct WalArchiveVerdict
{
	WalArchiveMemory memory;	/* to remember from now on */
	bool		rotten;			/* it was sound, was not written since, and is
								 * something else now */
	bool		rewritten;		/* sound, with other contents than before */
} WalArchiveVerdict;

/* Adds something that is remembered, before the plan is made. */
extern void wal_archive_remember(WalArchive *archive, const WalName *name,
								 const WalArchiveMemory *memory);

/*
 * Puts what is remembered and what is there in order, by timeline and number.
 * What was verified at this time or before is to be read again.
 */
extern void wal_archive_plan(WalArchive *archive, int64_t verified_before);

/*
 * Takes the stat of a file again before it is read.  Returns false if it is
 * gone.
 */
extern bool wal_archive_look(const WalArchive *archive, WalArchiveFile *file);

/* Judges a file after it was read. */
extern WalArchiveVerdict wal_archive_judge(const WalArchive *archive,
										   const WalArchiveFile *file,
										   const WalSegmentResult *result,
										   int64_t now);

/*
 * Prints what is said of a file that was read, "" if nothing.  It was sound at
 * a time that is printed in when.
 */
#define WAL_ARCHIVE_WORDS	(WAL_MESSAGE_SIZE + 128)
extern void wal_archive_words(const WalArchiveFile *file,
							  const WalSegmentResult *result,
							  const WalArchiveVerdict *verdict,
							  const char *when,
							  char words[WAL_ARCHIVE_WORDS]);

#endif							/* ACCEL_WAL_ARCHIVE_H */
