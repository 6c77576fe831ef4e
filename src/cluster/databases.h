/*
 * databases.h
 *	  Which databases a data directory or plain backup has, by its pg_database.
 */
#ifndef ACCEL_CLUSTER_DATABASES_H
#define ACCEL_CLUSTER_DATABASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero at first.  They are read when they are asked for. */
typedef struct ClusterDatabases
{
	bool		read;
	bool		known;			/* else its rows could not be read */
	uint32_t   *oids;
	size_t		count;
	size_t		room;
} ClusterDatabases;

/*
 * Is it certain that no row of the directory's files has this OID, but such as
 * were never committed, are deleted, or are of a database that is half dropped?
 * The directory is the same for all questions.
 */
extern bool cluster_databases_lack(ClusterDatabases *databases,
								   const char *directory, uint32_t oid);
extern void cluster_databases_free(ClusterDatabases *databases);

#endif							/* ACCEL_CLUSTER_DATABASES_H */
