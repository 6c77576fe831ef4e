/*
 * directory.h
 *	  Finds out what a directory of WAL is, how far it is complete, and its
 *	  timelines.
 */
#ifndef ACCEL_WAL_DIRECTORY_H
#define ACCEL_WAL_DIRECTORY_H

#include "host/host.h"
#include "wal/file.h"
#include "wal/name.h"
#include "wal/timelines.h"

/* Judging a segment needs to know this of its directory.  It is flat. */
typedef struct WalLimits
{
	HostServer	server;
	uint32_t	segment_size;	/* bytes, of the server until a file tells */
	bool		live;			/* this server's own pg_wal */
	bool		pg_wal;			/* this or another server's (not an archive) */
	bool		direct;			/* segments are read past the page cache */

	/* If live, how far it was removed, and complete, when the scan began. */
	uint64_t	removed;		/* a segment's number, 0 if unknown */
	int			nlimits;
	WalLiveLimit limits[WAL_LIVE_LIMITS_MAX];
} WalLimits;

typedef struct WalNames
{
	WalName    *names;
	size_t		count;
	size_t		room;
} WalNames;

/* What is in a directory and in its folders of segments. */
typedef struct WalListing
{
	bool		complete;		/* if not, it is made when it is asked for */
	WalNames	files;			/* sorted */
	uint64_t	others;			/* entries that are neither */
	int			error;			/* why it could not be made, 0 if it was */
	char		failed[WAL_NAME_FOLDER + 1];	/* the folder not read */
} WalListing;

/* It is immutable once it is open, and lives in the caller's memory. */
typedef struct WalDirectory
{
	const char *path;
	WalLimits	limits;
	WalTimelines timelines;
	WalListing *listing;
} WalDirectory;

typedef enum WalDirectoryResult
{
	WAL_DIRECTORY_OK,
	WAL_DIRECTORY_FAILED,		/* errno says why */
	WAL_DIRECTORY_NONE			/* it is something else */
} WalDirectoryResult;

/*
 * Opens a directory, whose path must outlive it.  This server's pg_wal is at
 * own.  If direct, files are read past the page cache.  Lists its segments if
 * only is NULL.  Else only is the one that is wanted, and becomes the name of
 * its file, see wal_directory_find().
 */
extern WalDirectoryResult wal_directory_open(WalDirectory *dir,
											 const char *path,
											 const char *own, bool direct,
											 WalName *only);

/*
 * Takes the segment size from an open file of this name.  The buffer has
 * WAL_PIECE_BYTES.  Returns false if the file does not tell it.
 */
extern bool wal_directory_ask(WalDirectory *dir, WalFile *file,
							  uint8_t *buffer, const WalName *name);

/* A worker begins with its leader's limits. */
extern WalDirectoryResult wal_directory_join(WalDirectory *dir,
											 const char *path,
											 const WalLimits *limits);

/*
 * Tells up to where this server's own WAL of a timeline was complete when the
 * scan began.  Returns false if it is not a timeline at work, or not this
 * server's WAL.
 */
extern bool wal_live_limit(const WalLimits *limits, uint32_t timeline,
						   WalLsn *limit);

extern void wal_names_add(WalNames *names, const WalName *name);

/* Returns its segments, which are listed once. */
extern const WalListing *wal_directory_listing(const WalDirectory *dir);

/*
 * Lists them anew, after which a listing that was returned is invalid.  Returns
 * whether there are others now.
 */
extern bool wal_directory_list_again(const WalDirectory *dir);

/* Returns the path of a file of a directory. */
extern char *wal_directory_file(const WalDirectory *dir, const WalName *name);

/*
 * Makes *name the name of a file that is there, if the directory has one of
 * this timeline, number and kind.  It may be compressed, or in a folder.  What
 * *name says of that must fit.  A name as the server gives it fits all files.
 */
extern bool wal_directory_find(const WalDirectory *dir, WalName *name);

#endif							/* ACCEL_WAL_DIRECTORY_H */
