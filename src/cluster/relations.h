/*
 * relations.h
 *	  Which files the relations of a database have, by its pg_class in a data
 *	  directory or plain backup.
 */
#ifndef ACCEL_CLUSTER_RELATIONS_H
#define ACCEL_CLUSTER_RELATIONS_H

#include "cluster/databases.h"
#include "cluster/look.h"

/* A file that must be there: the main fork, or init fork if it is unlogged. */
typedef struct ClusterRelation
{
	uint32_t	oid;
	uint32_t	tablespace;
	uint32_t	file;
	bool		init;
	char		path[CLUSTER_PATH_SIZE + 32];	/* of its first segment */
} ClusterRelation;

typedef void (*ClusterRelationFn) (void *arg, const ClusterRelation *relation);

/*
 * Calls the function for each relation that is certain to be there and has a
 * file of its own, which neither a map names nor a session drops.  The
 * directory has this pg_control, and is of this major version.  What cannot be
 * read has no relations.
 */
extern void cluster_relations_read(const char *directory,
								   const ClusterControl *control, int major,
								   const ClusterDatabase *database,
								   ClusterRelationFn relation, void *arg);

#endif							/* ACCEL_CLUSTER_RELATIONS_H */
