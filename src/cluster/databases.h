/*
 * databases.h
 *	  Which databases a data directory or plain backup has, by its pg_database.
 */
#ifndef ACCEL_CLUSTER_DATABASES_H
#define ACCEL_CLUSTER_DATABASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ClusterDatabases
{
	bool		known;			/* else its rows could not be read */
	uint32_t   *oids;
	size_t		count;
	size_t		room;
} ClusterDatabases;

/* Reads them.  What is allocated is freed by cluster_databases_free(). */
extern void cluster_databases_read(ClusterDatabases *databases,
								   const char *directory);
extern void cluster_databases_free(ClusterDatabases *databases);

/*
 * Is it certain that no row of the files has this OID, but such as were never
 * committed, are deleted, or are of a database that is half dropped?
 */
extern bool cluster_databases_lack(const ClusterDatabases *databases,
								   uint32_t oid);

#endif							/* ACCEL_CLUSTER_DATABASES_H */
