/*
 * relations.c
 *	  Which files the relations of a database have, by its pg_class in a data
 *	  directory or plain backup.
 *
 * Temporary relations do not count, nor do indexes of unlogged ones, since
 * CREATE INDEX CONCURRENTLY leaves some without an init fork.  Access methods of
 * extensions may keep their data elsewhere.
 *
 * These are facts of PostgreSQL's pg_class.h and relpath.h, 15 to 19.
 */
#include <stdio.h>

#include "cluster/format.h"
#include "cluster/map.h"
#include "cluster/relations.h"
#include "cluster/rows.h"

#define PG_GLOBAL		1664	/* GLOBALTABLESPACE_OID */

#define CLASS_OID		0
#define CLASS_METHOD	84		/* relam, 0 for none */
#define CLASS_FILE		88		/* relfilenode, 0 if there is none or a map
								 * has it */
#define CLASS_TABLESPACE	92	/* reltablespace, 0 for the database's own */
#define CLASS_PERSISTENCE	114 /* relpersistence */
#define CLASS_KIND		115		/* relkind */
#define CLASS_MORE		4		/* since 18, where relallfrozen precedes */
#define CLASS_BYTES		(CLASS_KIND + CLASS_MORE + 1)

#define LAST_CATALOG_17	202406281

typedef struct Reading
{
	const ClusterDatabase *database;
	int			major;
	uint32_t	catalog;
	uint32_t	more;			/* bytes before the columns that follow */
	ClusterRelationFn relation;
	void	   *arg;
} Reading;

static bool
has_file(uint32_t file, char persistence, char kind)
{
	if (file == 0 || (persistence != 'p' && persistence != 'u'))
		return false;
	return memchr("rStm", kind, 4) != NULL || (kind == 'i' && persistence == 'p');
}

static bool
take_relation(void *arg, const uint8_t *columns, uint32_t bytes, bool certain)
{
	const Reading *reading = arg;
	ClusterDatabase folder = *reading->database;
	ClusterRelation relation = {0};
	char		persistence;
	char		path[CLUSTER_PATH_SIZE];

	if (bytes < CLASS_BYTES)
		return false;
	relation.oid = cluster_load32(columns + CLASS_OID);
	relation.file = cluster_load32(columns + CLASS_FILE);
	relation.tablespace = cluster_load32(columns + CLASS_TABLESPACE);
	persistence = (char) columns[CLASS_PERSISTENCE + reading->more];
	if (!certain || relation.tablespace == PG_GLOBAL ||
		cluster_load32(columns + CLASS_METHOD) >= CLUSTER_FIRST_NORMAL ||
		!has_file(relation.file, persistence,
				  (char) columns[CLASS_KIND + reading->more]))
		return true;
	if (relation.tablespace == 0)
		relation.tablespace = folder.tablespace;
	folder.tablespace = relation.tablespace;
	relation.init = persistence == 'u';
	cluster_database_folder_of(&folder, reading->major, reading->catalog, path,
							   sizeof(path));
	snprintf(relation.path, sizeof(relation.path), "%s/%u%s", path,
			 relation.file, relation.init ? "_init" : "");
	reading->relation(reading->arg, &relation);
	return true;
}

void
cluster_relations_read(const char *directory, const ClusterControl *control,
					   int major, const ClusterDatabase *database,
					   ClusterRelationFn relation, void *arg)
{
	Reading		reading = {database, major, control->catalog};
	char		folder[CLUSTER_PATH_SIZE];

	cluster_database_folder_of(database, major, control->catalog, folder,
							   sizeof(folder));
	reading.more = control->catalog > LAST_CATALOG_17 ? CLASS_MORE : 0;
	reading.relation = relation;
	reading.arg = arg;
	(void) cluster_rows_read(directory, control, folder, CLUSTER_PG_CLASS,
							 take_relation, &reading);
}
