/*
 * gaps.c
 *	  Files that a backup without a manifest must have, by those that it has.
 *
 * (1) The server reads a relation up to the first segment file that is missing,
 *	   and so without those after it.  It makes and cuts off the last one
 *	   alone, and keeps the first until the next checkpoint.  But a crash while
 *	   it removes those of a dropped relation may leave any of them for ever
 *	   (mdunlinkfork(), 15 to 19).  So this is no proof, but a question.
 *
 * (2) The folder of a database in its own tablespace has PG_VERSION and
 *	   pg_filenode.map, without which nobody can connect.  Elsewhere a database
 *	   has files of relations alone.  Numbers below 16384 (FIRST_NORMAL)
 *	   are given by initdb, to catalogs, which stay in the database's own
 *	   tablespace.  A folder of no database (cluster/databases.c) needs
 *	   nothing.
 */
#include <stdio.h>
#include <string.h>

#include "backup/gaps.h"
#include "backup/meta.h"
#include "cluster/databases.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/names.h"

#define VERSION_NAME	"PG_VERSION"
#define MAP_NAME		"pg_filenode.map"

#define FIRST_NORMAL	16384	/* FirstNormalObjectId */

/*
 * This is the folder that was looked at last, since paths come in their order.
 */
typedef struct Gaps
{
	const BackupList *list;
	const char *root;
	const char *major;
	BackupSuspects *suspects;
	char		told[BACKUP_PATH_MAX];	/* a folder without all of its files */
	ClusterDatabases databases; /* when a folder lacks a file */
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
is_no_database(Gaps *gaps, uint32_t oid)
{
	return cluster_databases_lack(&gaps->databases, gaps->root, oid);
}

static void
need_in_folder(Gaps *gaps, const char *folder, const char *name,
			   BackupSuspectKind kind, const BackupRelationFile *file)
{
	char	   *path = host_print("%s/%s", folder, name);
	BackupRelationFile of_database = {file->tablespace, file->database};

	if (!is_there(gaps, path))
	{
		if (!is_no_database(gaps, file->database))
			backup_suspects_add_file(gaps->suspects, path, &of_database, kind,
									 BACKUP_MISSING, "the folder of a database needs it");
		snprintf(gaps->told, sizeof(gaps->told), "%s", folder);
	}
	host_free(path);
}

/* A file says that its folder is a database's own. */
static void
check_folder(Gaps *gaps, const char *path, const BackupRelationFile *file)
{
	char		folder[BACKUP_PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s",
			 (int) (strrchr(path, '/') - path), path);
	if (strcmp(folder, gaps->told) == 0)
		return;
	need_in_folder(gaps, folder, VERSION_NAME, BACKUP_SUSPECT_VERSION, file);
	need_in_folder(gaps, folder, MAP_NAME, BACKUP_SUSPECT_MAP, file);
}

/* Else the server refuses every connection to the database. */
static void
check_version(Gaps *gaps, const char *path, const BackupRelationFile *file)
{
	char		major[BACKUP_MAJOR_SIZE];
	char	   *message;

	backup_meta_release(gaps->root, path, major);
	if (strcmp(major, gaps->major) == 0 ||
		is_no_database(gaps, file->database))
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
		if (file.database != 0 && file.number < FIRST_NORMAL)
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
	cluster_databases_free(&gaps.databases);
}
