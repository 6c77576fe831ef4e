/*
 * look.h
 *	  Looks at a file of a cluster as often as it takes to be sure.
 */
#ifndef ACCEL_CLUSTER_LOOK_H
#define ACCEL_CLUSTER_LOOK_H

#include <stdio.h>

#include "cluster/databases.h"
#include "cluster/live.h"
#include "cluster/map.h"
#include "cluster/past.h"
#include "cluster/read.h"

/* A file to look at. */
typedef struct ClusterTarget
{
	char		path[CLUSTER_PATH_SIZE];	/* from the data directory */
	ClusterFile file;
	uint32_t	database;		/* of a database's map */
	uint32_t	tablespace;		/* of another directory's, the same */
	bool		required;		/* that it is not there is a finding */
	bool		found;			/* by the last look */
	bool		lacks;			/* a map in order, but not a file that it
								 * names */
} ClusterTarget;

/* What all looks share. */
typedef struct ClusterLook
{
	const char *directory;
	const ClusterServer *server;	/* NULL if it is not this server's */
	ClusterReader reader;
	int			pauses;			/* left for files that may be in change */

	/* of a server that was shut down, what its WAL says, NULL if nothing */
	const ClusterPast *past;
	ClusterControl control;		/* as it was then */

	/* those of another directory, if they were asked for */
	ClusterDatabases databases;
} ClusterLook;

/*
 * Judges a target.  Returns false if there is no file, and need not be one
 * (any more).
 */
extern bool cluster_look_at(ClusterLook *look, ClusterTarget *target,
							ClusterVerdict *verdict);

/*
 * Judges the file of a mapping, which lies beside the map.  "own" says that the
 * directory is that of the running server.  Returns true if it is ok.
 */
extern bool cluster_look_mapped(const char *directory, const char *map,
								bool own, ClusterMapping mapping,
								ClusterVerdict *verdict);

/* Has a server that runs there gone on since its pg_control was read? */
extern bool cluster_look_gone_on(const ClusterLook *look,
								 const ClusterControl *control);

/* The path of the map of a database of this server. */
extern void cluster_look_map_path(const ClusterServer *server,
								  ClusterTarget *target,
								  const ClusterDatabase *database);

/* Puts the directory before a path that is below it. */
extern void cluster_look_path(const ClusterLook *look, const char *path,
							  char whole[FILENAME_MAX]);

#endif							/* ACCEL_CLUSTER_LOOK_H */
