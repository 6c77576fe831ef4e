/*
 * databases.h
 *	  Which databases a data directory or plain backup has, by its pg_database.
 */
#ifndef ACCEL_CLUSTER_DATABASES_H
#define ACCEL_CLUSTER_DATABASES_H

#include "cluster/control.h"

#define CLUSTER_PG_DEFAULT	1663	/* DEFAULTTABLESPACE_OID */

typedef struct ClusterDatabase
{
	uint32_t	oid;
	uint32_t	tablespace;		/* where its folder is */
} ClusterDatabase;

/* A row that may be of a database. */
typedef struct ClusterDatabaseRow
{
	ClusterDatabase database;
	bool		certain;		/* it was committed, and nothing deletes it */
} ClusterDatabaseRow;

/* All zero at first.  They are read when they are asked for. */
typedef struct ClusterDatabases
{
	bool		read;
	bool		known;			/* else its rows could not be read */
	bool		incremental;	/* since the backup does not have all of them */
	ClusterControl control;		/* of the directory, if they are known */
	ClusterDatabaseRow *rows;
	size_t		count;
	size_t		room;
} ClusterDatabases;

/*
 * Reads them, unless they are.  Returns whether they are known.  The directory
 * is the same for all calls.
 */
extern bool cluster_databases_read(ClusterDatabases *databases,
								   const char *directory);

/*
 * Is it certain that no row of the directory's files is of this database, and
 * has it in this tablespace, but such as were never committed, are deleted, or
 * are of a database that is half dropped?
 */
extern bool cluster_databases_lack(ClusterDatabases *databases,
								   const char *directory,
								   const ClusterDatabase *database);

/*
 * Sets the path of a database's folder, from the data directory.  That of a
 * tablespace has one for each release.
 */
extern void cluster_database_folder(const ClusterDatabase *database,
									const char *of_release, char *folder,
									size_t size);

/* Sets the name of a release's folder: TABLESPACE_VERSION_DIRECTORY. */
extern void cluster_release_folder(int major, uint32_t catalog, char *folder,
								   size_t size);

/*
 * Sets the path of a database's folder where the release has this major and
 * this catalog version.
 */
extern void cluster_database_folder_of(const ClusterDatabase *database,
									   int major, uint32_t catalog,
									   char *folder, size_t size);
extern void cluster_databases_free(ClusterDatabases *databases);

#endif							/* ACCEL_CLUSTER_DATABASES_H */
