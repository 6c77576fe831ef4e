/*
 * databases.c
 *	  Which databases a data directory or plain backup has, by its pg_database.
 *
 * A crash in CREATE or DROP DATABASE, or as one is moved to another tablespace,
 * leaves a folder that belongs to no database, and nobody ever removes it.  What
 * it lacks is no damage.  From 15.4 on DROP DATABASE marks the row before it
 * removes files (DATCONNLIMIT_INVALID_DB).
 *
 * These are facts of PostgreSQL's pg_database.h, 15 to 19.
 */
#include <stdio.h>

#include "cluster/databases.h"
#include "cluster/format.h"
#include "cluster/map.h"
#include "cluster/read.h"
#include "cluster/rows.h"
#include "host/host.h"

#define DATABASE_OID	0
#define DATABASE_LIMIT	80		/* datconnlimit, 32 bits */
#define DATABASE_TABLESPACE 92	/* dattablespace */
#define DATABASE_BYTES	96
#define LIMIT_INVALID	(-2)

static bool
take_database(void *arg, const uint8_t *columns, uint32_t bytes, bool certain)
{
	ClusterDatabases *databases = arg;
	ClusterDatabaseRow *taken;

	if (bytes < DATABASE_BYTES)
		return false;
	if ((int32_t) cluster_load32(columns + DATABASE_LIMIT) == LIMIT_INVALID)
		return true;
	HOST_MAKE_ROOM(databases->rows, databases->count, databases->room);
	taken = &databases->rows[databases->count++];
	taken->database.oid = cluster_load32(columns + DATABASE_OID);
	taken->database.tablespace = cluster_load32(columns + DATABASE_TABLESPACE);
	taken->certain = certain;
	return true;
}

bool
cluster_databases_read(ClusterDatabases *databases, const char *directory)
{
	ClusterRows rows;

	if (databases->read)
		return databases->known;
	databases->read = true;
	if (!cluster_read_control(directory, false, &databases->control))
		return false;
	rows = cluster_rows_read(directory, &databases->control, "global",
							 CLUSTER_PG_DATABASE, take_database, databases);
	databases->known = rows == CLUSTER_ROWS_KNOWN;
	databases->incremental = rows == CLUSTER_ROWS_INCREMENTAL;
	return databases->known;
}

bool
cluster_databases_lack(ClusterDatabases *databases, const char *directory,
					   const ClusterDatabase *database)
{
	if (!cluster_databases_read(databases, directory))
		return false;
	for (size_t i = 0; i < databases->count; i++)
	{
		const ClusterDatabase *row = &databases->rows[i].database;

		if (row->oid == database->oid && row->tablespace == database->tablespace)
			return false;
	}
	return true;
}

void
cluster_database_folder(const ClusterDatabase *database,
						const char *of_release, char *folder, size_t size)
{
	if (database->tablespace == CLUSTER_PG_DEFAULT)
		snprintf(folder, size, "base/%u", database->oid);
	else
		snprintf(folder, size, "pg_tblspc/%u/%s/%u", database->tablespace,
				 of_release, database->oid);
}

void
cluster_release_folder(int major, uint32_t catalog, char *folder, size_t size)
{
	snprintf(folder, size, "PG_%d_%u", major, catalog);
}

void
cluster_database_folder_of(const ClusterDatabase *database, int major,
						   uint32_t catalog, char *folder, size_t size)
{
	char		of_release[32];

	cluster_release_folder(major, catalog, of_release, sizeof(of_release));
	cluster_database_folder(database, of_release, folder, size);
}

void
cluster_databases_free(ClusterDatabases *databases)
{
	host_free(databases->rows);
	memset(databases, 0, sizeof(*databases));
}
