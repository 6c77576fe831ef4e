/*
 * gaps.c
 *	  Files that a backup must have, by those that it has.
 *
 * Without a manifest, these are asked of all of it:
 *
 * (1) The server reads a relation up to the first segment file that is missing,
 *	   and so without those after it.  It makes and cuts off the last one
 *	   alone, and keeps the first until the next checkpoint.  But a crash while
 *	   it removes those of a dropped relation may leave any of them for ever
 *	   (mdunlinkfork(), 15 to 19).  So this is no proof, but a question.
 *
 * (2) The folder of a database in its own tablespace has PG_VERSION and
 *	   pg_filenode.map, without which nobody can connect.  Elsewhere a database
 *	   has files of relations alone.  Numbers below CLUSTER_FIRST_NORMAL are
 *	   given by initdb, to catalogs, which stay in the database's own
 *	   tablespace.  A folder of no database (cluster/databases.c) needs
 *	   nothing.
 *
 * (3) A database that pg_database names has a folder, unless it was made,
 *	   dropped or moved while the backup was made.  WAL says so, but the server
 *	   removes a folder before it logs that.  So after the end of a backup of a
 *	   server at work this is a question, too.
 *
 * (4) A relation that pg_class names has a file, unless WAL makes or drops it.
 *
 * A manifest lists what was there when the backup came to it.  The server
 * removes the folder of a database that was moved, or copied and dropped, while
 * recovery from this backup copies what it has of that folder once more.  So
 * (2) and (4) are asked of such a folder in every backup.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backup/gaps.h"
#include "backup/meta.h"
#include "cluster/databases.h"
#include "cluster/format.h"
#include "cluster/read.h"
#include "cluster/relations.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/names.h"

#define VERSION_NAME	"PG_VERSION"

/*
 * This is the folder that was looked at last, since paths come in their order.
 */
typedef struct Gaps
{
	const BackupList *list;
	const char *root;
	const char *major;
	BackupSuspects *suspects;
	char		last[BACKUP_PATH_MAX];
	ClusterDatabases databases; /* those that pg_database names */
} Gaps;

static bool
is_there(const Gaps *gaps, const char *path)
{
	char		incremental[BACKUP_PATH_MAX];

	return backup_list_find(gaps->list, path) >= 0 ||
		(backup_incremental_path(path, incremental) &&
		 backup_list_find(gaps->list, incremental) >= 0);
}

/* ---- segments ---- */

static void
check_segment_before(Gaps *gaps, const char *path, BackupRelationFile file)
{
	int			len = (int) (strrchr(path, '.') - path);
	char	   *before;

	file.segment--;
	before = file.segment == 0 ? host_print("%.*s", len, path) :
		host_print("%.*s.%u", len, path, file.segment);
	if (!is_there(gaps, before))
		backup_suspects_add_file(gaps->suspects, before, &file,
								 BACKUP_SUSPECT_FILE, BACKUP_UNDECIDED,
								 "segment file is not there, but the next one is: rows are lost, unless a crash left that of a dropped relation");
	host_free(before);
}

/* ---- folders of databases ---- */

static bool
is_no_database(Gaps *gaps, const BackupRelationFile *file)
{
	ClusterDatabase database = {file->database, file->tablespace};

	return cluster_databases_lack(&gaps->databases, gaps->root, &database);
}

static bool
has_in_folder(const Gaps *gaps, const char *folder, const char *name)
{
	char	   *path = host_print("%s/%s", folder, name);
	bool		has = is_there(gaps, path);

	host_free(path);
	return has;
}

static void
need_in_folder(Gaps *gaps, const char *folder, const char *name,
			   BackupSuspectKind kind, const BackupRelationFile *file)
{
	BackupRelationFile of_database = {file->tablespace, file->database};
	char	   *path;

	if (has_in_folder(gaps, folder, name))
		return;
	path = host_print("%s/%s", folder, name);
	backup_suspects_add_file(gaps->suspects, path, &of_database, kind,
							 BACKUP_MISSING, "the folder of a database needs it");
	host_free(path);
}

static void
need_both(Gaps *gaps, const char *folder, const BackupRelationFile *file)
{
	need_in_folder(gaps, folder, VERSION_NAME, BACKUP_SUSPECT_VERSION, file);
	need_in_folder(gaps, folder, CLUSTER_MAP_NAME, BACKUP_SUSPECT_MAP, file);
}

/* A file says that its folder is a database's own. */
static void
check_folder(Gaps *gaps, const char *path, const BackupRelationFile *file)
{
	char		folder[BACKUP_PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s",
			 (int) (strrchr(path, '/') - path), path);
	if (strcmp(folder, gaps->last) == 0)
		return;
	snprintf(gaps->last, sizeof(gaps->last), "%s", folder);
	if ((!has_in_folder(gaps, folder, VERSION_NAME) ||
		 !has_in_folder(gaps, folder, CLUSTER_MAP_NAME)) &&
		!is_no_database(gaps, file))
		need_both(gaps, folder, file);
}

/* Is the tablespace in this copy? */
static bool
has_tablespace(const Gaps *gaps, uint32_t tablespace)
{
	char		folder[32];

	snprintf(folder, sizeof(folder), "pg_tblspc/%u", tablespace);
	return tablespace == CLUSTER_PG_DEFAULT ||
		backup_list_has_below(gaps->list, folder);
}

static void
check_relation(void *arg, const ClusterRelation *relation)
{
	const Gaps *gaps = arg;
	BackupRelationFile file;
	char	   *message;

	host_interrupts();
	if (is_there(gaps, relation->path) ||
		!backup_relation_file(relation->path, &file) ||
		!has_tablespace(gaps, relation->tablespace))
		return;
	message = host_print("relation %u has this file, by pg_class of its database, but it is not there: all of it is lost",
						 relation->oid);
	backup_suspects_add_file(gaps->suspects, relation->path, &file,
							 BACKUP_SUSPECT_NAMED, BACKUP_MISSING, message);
	host_free(message);
}

/* If anything of its folder is there, that says what it lacks. */
static void
check_database(Gaps *gaps, const ClusterDatabase *database)
{
	const ClusterControl *control = &gaps->databases.control;
	BackupRelationFile file = {database->tablespace, database->oid};
	int			major = atoi(gaps->major);
	char		folder[BACKUP_PATH_MAX];
	char	   *path;

	cluster_database_folder_of(database, major, control->catalog, folder,
							   sizeof(folder));
	if (!has_tablespace(gaps, database->tablespace))
		return;
	if (backup_list_has_below(gaps->list, folder))
	{
		cluster_relations_read(gaps->root, control, major, database,
							   check_relation, gaps);
		return;
	}
	path = host_print("%s/" VERSION_NAME, folder);
	if (control->state == CLUSTER_STATE_SHUTDOWNED)
		backup_suspects_add_file(gaps->suspects, path, &file,
								 BACKUP_SUSPECT_VERSION, BACKUP_MISSING,
								 "pg_database names this database, of whose folder nothing is there: all of it is lost");
	else
		backup_suspects_add_file(gaps->suspects, path, &file,
								 BACKUP_SUSPECT_VERSION, BACKUP_UNDECIDED,
								 "pg_database names this database, of whose folder nothing is there: all of it is lost, unless it was dropped or moved as the backup ended");
	host_free(path);
}

static void
check_databases(Gaps *gaps)
{
	ClusterDatabases *databases = &gaps->databases;

	if (gaps->major[0] == '\0' || !cluster_databases_read(databases, gaps->root))
		return;
	for (size_t i = 0; i < databases->count; i++)
		if (databases->rows[i].certain)
			check_database(gaps, &databases->rows[i].database);
}

/* Else the server refuses every connection to the database. */
static void
check_version(Gaps *gaps, const char *path, const BackupRelationFile *file)
{
	char		major[BACKUP_MAJOR_SIZE];
	char	   *message;

	backup_meta_release(gaps->root, path, major);
	if (strcmp(major, gaps->major) == 0 ||
		is_no_database(gaps, file))
		return;
	message = host_print("says release \"%s\", but PG_VERSION of the backup \"%s\"",
						 major, gaps->major);
	backup_suspects_add_file(gaps->suspects, path, file,
							 BACKUP_SUSPECT_VERSION, BACKUP_BAD_FORMAT, message);
	host_free(message);
}

static void
look_at(Gaps *gaps, const char *path)
{
	BackupRelationFile file = {0};

	if (backup_relation_file(path, &file) ||
		backup_incremental_file(path, &file))
	{
		if (file.segment > 0)
			check_segment_before(gaps, path, file);
		if (file.database != 0 && file.number < CLUSTER_FIRST_NORMAL)
			check_folder(gaps, path, &file);
	}
	else if (backup_version_file(path, &file))
	{
		check_version(gaps, path, &file);
		check_folder(gaps, path, &file);
	}
	else if (backup_map_file(path, &file) && file.database != 0)
		check_folder(gaps, path, &file);
}

void
backup_gaps_find(const BackupList *list, const char *root, const char *major,
				 BackupSuspects *suspects)
{
	Gaps		gaps = {list, root, major, suspects};

	for (uint32_t i = 0; i < list->count; i++)
	{
		host_interrupts();
		look_at(&gaps, backup_list_path(list, list->by_path[i]));
	}
	check_databases(&gaps);
	cluster_databases_free(&gaps.databases);
}

/* ---- folders that recovery copies ---- */

/* Does the folder have catalogs, which are in a database's own tablespace? */
static bool
is_own(const Gaps *gaps, const char *folder, const BackupFolder *source)
{
	if (has_in_folder(gaps, folder, VERSION_NAME) ||
		has_in_folder(gaps, folder, CLUSTER_MAP_NAME))
		return true;
	for (uint32_t i = 0; i < gaps->list->count; i++)
	{
		BackupRelationFile file;

		host_interrupts();
		if (backup_relation_file(backup_list_path(gaps->list, i), &file) &&
			file.tablespace == source->tablespace &&
			file.database == source->database && file.number < CLUSTER_FIRST_NORMAL)
			return true;
	}
	return false;
}

void
backup_gaps_in_source(const BackupList *list, const char *root,
					  const char *major, const BackupFolder *source,
					  BackupSuspects *suspects)
{
	Gaps		gaps = {list, root, major, suspects};
	ClusterDatabase database = {source->database, source->tablespace};
	BackupRelationFile file = {source->tablespace, source->database};
	ClusterControl control;
	char		folder[BACKUP_PATH_MAX];

	if (major[0] == '\0' || !cluster_read_control(root, false, &control) ||
		!has_tablespace(&gaps, source->tablespace))
		return;
	cluster_database_folder_of(&database, atoi(major), control.catalog, folder,
							   sizeof(folder));
	if (!backup_list_has_below(list, folder))
		backup_suspects_add_file(suspects, folder, &file,
								 BACKUP_SUSPECT_VERSION, BACKUP_MISSING,
								 "a database is copied from this folder, of which nothing is there");
	else if (is_own(&gaps, folder, source))
	{
		need_both(&gaps, folder, &file);
		cluster_relations_read(root, &control, atoi(major), &database,
							   check_relation, &gaps);
	}
}
