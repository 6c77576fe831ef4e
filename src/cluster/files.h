/*
 * files.h
 *	  All files of a data directory or plain backup that carry a CRC-32C of
 *	  their own, judged in order, and those that catalogs name.
 *
 * The first are pg_control, relation maps, prepared transactions, replication
 * slots, replication origins, logical snapshots and WAL summaries.  A file
 * that ends with its own CRC-32C has the same CRC-32C whatever it holds.  So
 * what a file says is compared with its name, with the files next to it and,
 * in the running server, with memory.
 */
#ifndef ACCEL_CLUSTER_FILES_H
#define ACCEL_CLUSTER_FILES_H

#include "cluster/control.h"
#include "cluster/live.h"

/* A file, valid during the call only. */
typedef struct ClusterRow
{
	const char *path;			/* from the directory */
	ClusterKind kind;
	int64_t		bytes;			/* -1 if no file can be read */
	ClusterVerdict verdict;
	bool		live;			/* of the running server, so words have
								 * remedies */
	const ClusterControl *control;	/* of a pg_control that is ok, else NULL */
	const uint8_t *map;			/* one that is in order, but lacks a file that
								 * it names, else NULL */
} ClusterRow;

typedef void (*ClusterRowFn) (void *arg, const ClusterRow *row);

typedef enum ClusterFilesResult
{
	CLUSTER_FILES_OK,
	CLUSTER_FILES_FAILED,		/* errno says why */
	CLUSTER_FILES_NONE,			/* it is something else */
	CLUSTER_FILES_NO_CLUSTER	/* it has no PG_VERSION */
} ClusterFilesResult;

struct Throttle;

/* Is it the data directory of this server? */
extern bool cluster_files_own(const char *directory);

/*
 * Calls row for every file, ok included, in the order of kinds and names.
 * "directory" is a path as it is, since user input goes through
 * file_path_parse() first.  "server" is what this server says if the directory
 * is its own, else NULL.  If "catalogs", a directory where none is at work is
 * held against pg_database and pg_class, too.  If direct, files are read past the page cache, or
 * the work ends where they cannot be.  A throttle bounds what is read of files
 * and WAL.  It is NULL if there is a server, whose locks are held.  Otherwise
 * raises no error of its own, but checks for interrupts.
 */
extern ClusterFilesResult cluster_files_scan(const char *directory,
											 const ClusterServer *server,
											 bool catalogs, bool direct,
											 struct Throttle *throttle,
											 ClusterRowFn row, void *arg);

#endif							/* ACCEL_CLUSTER_FILES_H */
