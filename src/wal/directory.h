/*
 * directory.h
 *	  A directory of WAL: what it is, how far it is complete, its timelines.
 */
#ifndef ACCEL_WAL_DIRECTORY_H
#define ACCEL_WAL_DIRECTORY_H

#include "host/host.h"
#include "wal/name.h"
#include "wal/timelines.h"

/* What judging a segment needs to know of its directory; flat. */
typedef struct WalLimits
{
	HostServer	server;
	uint32_t	segment_size;	/* bytes; of the server until a file tells */
	bool		live;			/* this server's own pg_wal */
	bool		pg_wal;			/* this or another server's (not an archive) */

	/* live: how far it was removed, and complete, when the scan began */
	uint64_t	removed;		/* a segment's number, 0: unknown */
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
	bool		complete;		/* else it is made when it is asked for */
	WalNames	files;			/* sorted */
	uint64_t	others;			/* entries that are neither */
	int			error;			/* why it could not be made, 0: it was */
	char		failed[WAL_NAME_FOLDER + 1];	/* the folder not read */
} WalListing;

/* Immutable once it is open; lives in the caller's memory. */
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
 * Opens a directory (path must outlive it); own is the path of this server's
 * pg_wal.  only NULL: lists its segments; else it is the one that is wanted,
 * and its name becomes that of its file, see wal_directory_find().
 */
extern WalDirectoryResult wal_directory_open(WalDirectory *dir,
											 const char *path,
											 const char *own,
											 WalName *only);

/* A worker begins with its leader's limits. */
extern WalDirectoryResult wal_directory_join(WalDirectory *dir,
											 const char *path,
											 const WalLimits *limits);

/*
 * Up to where this server's own WAL of a timeline was complete when the scan
 * began.  false: it is not a timeline at work, or not this server's WAL.
 */
extern bool wal_live_limit(const WalLimits *limits, uint32_t timeline,
						   WalLsn *limit);

extern void wal_names_add(WalNames *names, const WalName *name);

/* Its segments, listed once. */
extern const WalListing *wal_directory_listing(const WalDirectory *dir);

/* The path of a file of a directory. */
extern char *wal_directory_file(const WalDirectory *dir, const WalName *name);

/*
 * Makes *name the name of a file that is there, if the directory has one of
 * this timeline, number and kind: compressed perhaps, or in a folder.  What
 * *name says of that must fit.  A name as the server gives it fits all files.
 */
extern bool wal_directory_find(const WalDirectory *dir, WalName *name);

#endif							/* ACCEL_WAL_DIRECTORY_H */
