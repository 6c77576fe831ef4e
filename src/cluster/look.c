/*
 * look.c
 *	  Looks at a file of a cluster as often as it takes to be sure.
 *
 * The first look takes no lock.  What it finds in the running server is only a
 * suspicion.  The file may be half written, renamed, removed, or newer than
 * what was asked before.  So it is looked at again under the lock that its
 * writer takes.  A failed read is not repeated under a lock, so that nobody
 * waits for storage there.  In another directory there are no locks.  A few
 * looks with pauses between them get past the writes of a server that runs
 * there.  A database that it makes or drops has a map without files, or files
 * without a map, for as long as that takes.  All the time the server writes
 * files of its folder, or makes or removes them.  So nothing is said of a
 * map like that before a minute has passed without any of this.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cluster/look.h"
#include "cluster/map.h"
#include "cluster/wal.h"
#include "host/host.h"

/* under a lock, for a checkpoint that ends between two questions */
#define LOCKED_LOOKS	10

#define PAUSED_LOOKS	3
#define CHANGING_SECONDS	60
#define PAUSE_MICROSECONDS	10000

void
cluster_look_path(const ClusterLook *look, const char *path,
				  char whole[FILENAME_MAX])
{
	snprintf(whole, FILENAME_MAX, "%s/%s", look->directory, path);
}

/* ---- the files of a relation map ---- */

/* Its size in bytes, -1 if it is not there, -2 if nobody can say. */
static off_t
mapped_file_size(const char *directory, const char *map, bool own,
				 uint32_t file)
{
	char		path[FILENAME_MAX];
	struct stat status;
	int			folder = (int) (strrchr(map, '/') - map);

	snprintf(path, sizeof(path), "%s/%.*s/%u", directory, folder, map, file);
	if (stat(path, &status) == 0)
		return status.st_size;
	if (errno != ENOENT)
		return -2;
	/* an incremental backup may have a part of it */
	snprintf(path, sizeof(path), "%s/%.*s/INCREMENTAL.%u", directory, folder,
			 map, file);
	if (!own && stat(path, &status) == 0)
		return status.st_size;
	return errno == ENOENT ? -1 : -2;
}

bool
cluster_look_mapped(const char *directory, const char *map, bool own,
					ClusterMapping mapping, ClusterVerdict *verdict)
{
	off_t		size = mapped_file_size(directory, map, own, mapping.file);

	if (size == -1)
		cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
							CLUSTER_REASON_MAP_NO_FILE, mapping.relation,
							mapping.file);
	else if (size == 0 && cluster_map_never_empty(mapping.relation))
		cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
							CLUSTER_REASON_MAP_EMPTY_FILE, mapping.relation,
							mapping.file);
	return verdict->status == CLUSTER_OK;
}

static void
check_mapped_files(const ClusterLook *look, ClusterTarget *target,
				   ClusterVerdict *verdict)
{
	const uint8_t *data = target->file.head;
	int			count = cluster_map_count(data);

	for (int i = 0; i < count && !target->lacks; i++)
		target->lacks = !cluster_look_mapped(look->directory, target->path,
											 look->server != NULL,
											 cluster_map_entry(data, i), verdict);
}

/* ---- what the WAL of another directory says ---- */

bool
cluster_look_gone_on(const ClusterLook *look, const ClusterControl *control)
{
	ClusterControl now;

	return !cluster_read_control(look->directory, false, &now) ||
		now.state != control->state || now.checkpoint != control->checkpoint;
}

static void
check_by_wal(const ClusterLook *look, const ClusterTarget *target,
			 ClusterVerdict *verdict)
{
	ClusterControl control = look->control;

	if (target->file.kind == CLUSTER_CONTROL && target->found &&
		cluster_control_read(target->file.head, &control))
		cluster_wal_judge(look->directory, &control, look->reader.throttle,
						  verdict);
	else if (target->file.kind == CLUSTER_ORIGINS && look->past != NULL)
		cluster_past_judge(look->past, target->found ? &target->file : NULL,
						   verdict);
	if (verdict->status != CLUSTER_OK && cluster_look_gone_on(look, &control))
		cluster_verdict_set(verdict, CLUSTER_OK, CLUSTER_REASON_NONE, 0, 0);
}

/* ---- a database of another directory that is made or dropped ---- */

typedef struct Changes
{
	const char *folder;
	time_t		since;
	bool		found;
} Changes;

static bool
has_process(const ClusterLook *look)
{
	char		path[FILENAME_MAX];
	struct stat status;

	cluster_look_path(look, "postmaster.pid", path);
	return stat(path, &status) == 0;
}

/* A file that is gone by now is a change. */
static void
look_for_change(void *arg, const char *name)
{
	Changes    *changes = arg;
	char		path[FILENAME_MAX];
	struct stat status;

	if (changes->found || strcmp(name, "..") == 0)
		return;
	snprintf(path, sizeof(path), "%s/%s", changes->folder, name);
	changes->found = stat(path, &status) != 0 || status.st_mtime >= changes->since;
}

/* The folder's own entries are among these, as ".". */
static bool
is_changing(const ClusterLook *look, const ClusterTarget *target)
{
	char		path[FILENAME_MAX];
	Changes		changes = {path, time(NULL) - CHANGING_SECONDS, false};

	if (!has_process(look))
		return false;
	cluster_look_path(look, target->path, path);
	*strrchr(path, '/') = '\0';
	return !host_list(path, look_for_change, &changes) || changes.found;
}

/* ---- another directory that recovers ---- */

/* A standby at work has this state, too, and so has a backup of one. */
static bool
is_recovering(const ClusterLook *look, const ClusterControl *control)
{
	return control->state == CLUSTER_STATE_IN_RECOVERY ||
		(control->state == CLUSTER_STATE_IN_ARCHIVE_RECOVERY &&
		 has_process(look));
}

/*
 * Redo writes each map that it meets.  The files of an older one may have been
 * removed before the crash.  So nothing is said of them while a server
 * recovers, or where one was killed as it did.
 */
static void
excuse_redo(const ClusterLook *look, ClusterVerdict *verdict)
{
	ClusterControl now;

	if (verdict->reason != CLUSTER_REASON_MAP_NO_FILE &&
		verdict->reason != CLUSTER_REASON_MAP_EMPTY_FILE)
		return;
	if (is_recovering(look, &look->control) ||
		(cluster_read_control(look->directory, false, &now) &&
		 is_recovering(look, &now)))
		cluster_verdict_set(verdict, CLUSTER_NOT_VERIFIABLE,
							CLUSTER_REASON_MAP_REDO, verdict->value,
							verdict->expected);
}

/* ---- a folder of another directory that belongs to no database ---- */

/* Is a file what is wrong, which is not there? */
static bool
lacks_file(const ClusterVerdict *verdict)
{
	return verdict->reason == CLUSTER_REASON_NOT_THERE ||
		verdict->reason == CLUSTER_REASON_MAP_NO_FILE ||
		verdict->reason == CLUSTER_REASON_MAP_EMPTY_FILE;
}

/*
 * An incremental backup may not say whether there is a database.  If a file was
 * lost on the way, its manifest says so.
 */
static void
excuse_folder(ClusterLook *look, const ClusterTarget *target,
			  ClusterVerdict *verdict)
{
	ClusterDatabase database = {target->database, target->tablespace};
	bool		lacks;

	if (verdict->status == CLUSTER_IO_ERROR)
		return;
	lacks = cluster_databases_lack(&look->databases, look->directory, &database);
	if (lacks || (look->databases.incremental && lacks_file(verdict)))
		cluster_verdict_set(verdict, CLUSTER_NOT_VERIFIABLE,
							lacks ? CLUSTER_REASON_MAP_NO_DATABASE :
							CLUSTER_REASON_MAP_INCREMENTAL, target->database, 0);
}

/* ---- looks ---- */

/* What one look leaves for the next one. */
typedef struct Doubt
{
	bool		sure;			/* there is none */
	ClusterMapping memory;		/* a mapping that the file does not have */
} Doubt;

/*
 * Compares a map with the server's memory.  Only if memory says the same before
 * and after the file was read, nobody has changed the map in between.
 */
static void
check_memory(const ClusterLive *live, const ClusterTarget *target,
			 Doubt *doubt, ClusterVerdict *verdict)
{
	const uint8_t *data = target->file.head;
	int			count = cluster_map_count(data);

	for (int i = 0; i < count; i++)
	{
		ClusterMapping found = cluster_map_entry(data, i);
		uint32_t	file = live->mapped(target->file.shared, found.relation);

		if (file == found.file)
			continue;
		cluster_verdict_set(verdict, CLUSTER_FOREIGN, CLUSTER_REASON_MAP_MEMORY,
							found.relation, found.file);
		verdict->more = file;
		doubt->sure = doubt->memory.relation == found.relation &&
			doubt->memory.file == file;
		doubt->memory.relation = found.relation;
		doubt->memory.file = file;
		return;
	}
}

/* Is it a finding that the file is not there? */
static void
judge_absent(const ClusterLook *look, const ClusterTarget *target,
			 ClusterVerdict *verdict)
{
	char		whole[FILENAME_MAX];
	struct stat status;
	bool		missing = target->required;

	cluster_look_path(look, target->path, whole);
	*strrchr(whole, '/') = '\0';
	if (target->file.kind == CLUSTER_SLOT)
		missing = (stat(whole, &status) == 0 && S_ISDIR(status.st_mode)) ||
			(look->server != NULL && look->server->live->has_slot(target->file.slot));
	else if (target->file.kind == CLUSTER_RELATION_MAP && !target->file.shared &&
			 (look->server == NULL || look->server->live->in_recovery()))
		missing = missing && stat(whole, &status) == 0;
	else if (target->file.kind == CLUSTER_TWO_PHASE)
		missing = missing && !cluster_look_gone_on(look, &look->control);
	if (missing)
		cluster_verdict_set(verdict, CLUSTER_MISSING, CLUSTER_REASON_NOT_THERE,
							0, 0);
}

static void
look_once(ClusterLook *look, ClusterTarget *target, uint64_t redo,
		  ClusterVerdict *verdict)
{
	char		whole[FILENAME_MAX];

	cluster_look_path(look, target->path, whole);
	target->lacks = false;
	target->found = cluster_read(&look->reader, whole, &target->file,
								 verdict) == FILE_SCAN_OK;
	if (!target->found)
		judge_absent(look, target, verdict);
	else if (verdict->status == CLUSTER_OK &&
			 target->file.kind == CLUSTER_RELATION_MAP)
		check_mapped_files(look, target, verdict);
	else if (look->server != NULL)
		look->server->live->check(look->server, &target->file, redo, verdict);
	if (look->server == NULL && verdict->status == CLUSTER_OK)
		check_by_wal(look, target, verdict);
}

/* One look in the running server, and what cannot be asked under the lock. */
static void
look_live(ClusterLook *look, ClusterTarget *target, bool locked, Doubt *doubt,
		  ClusterVerdict *verdict)
{
	ClusterKind kind = target->file.kind;
	uint64_t	redo = kind == CLUSTER_CONTROL ? look->server->live->redo() : 0;

	doubt->sure = locked;
	if (locked)
		look->server->live->lock(kind);
	look_once(look, target, redo, verdict);
	if (locked)
		look->server->live->unlock(kind);
	if (kind == CLUSTER_CONTROL && verdict->reason == CLUSTER_REASON_CONTROL_REDO)
		doubt->sure = locked && look->server->live->redo() == redo;
	else if (kind == CLUSTER_RELATION_MAP && target->found &&
			 verdict->status == CLUSTER_OK &&
			 look->server->live->knows_map(target->file.shared, target->database))
		check_memory(look->server->live, target, doubt, verdict);
}

/* Decides a suspicion in the running server. */
static void
decide_live(ClusterLook *look, ClusterTarget *target, Doubt *doubt,
			ClusterVerdict *verdict)
{
	bool		locked = verdict->status != CLUSTER_IO_ERROR;

	for (int i = 0; i < LOCKED_LOOKS; i++)
	{
		look_live(look, target, locked, doubt, verdict);
		if (verdict->status == CLUSTER_OK || doubt->sure || !locked)
			return;
	}
	/* it changed all the time, so the server writes it and has it */
	cluster_verdict_set(verdict, CLUSTER_OK, CLUSTER_REASON_NONE, 0, 0);
}

/* Decides the same of the map of a database, which may be dropped or moved. */
static void
decide_database(ClusterLook *look, ClusterTarget *target, Doubt *doubt,
				ClusterVerdict *verdict)
{
	ClusterDatabase database = {target->database, 0};

	target->found = false;
	if (look->server->live->lock_database(&database))
	{
		cluster_look_map_path(look->server, target, &database);
		decide_live(look, target, doubt, verdict);
		look->server->live->unlock_database(&database);
	}
	else
		cluster_verdict_set(verdict, CLUSTER_OK, CLUSTER_REASON_NONE, 0, 0);
}

/* Decides a suspicion in another directory. */
static void
decide_other(ClusterLook *look, ClusterTarget *target,
			 ClusterVerdict *verdict)
{
	for (int i = 0; i < PAUSED_LOOKS && look->pauses > 0 &&
		 verdict->status != CLUSTER_OK; i++)
	{
		look->pauses--;
		host_interrupts();
		usleep(PAUSE_MICROSECONDS);
		look_once(look, target, 0, verdict);
	}
	if (target->file.kind == CLUSTER_RELATION_MAP && !target->file.shared &&
		verdict->status != CLUSTER_OK)
	{
		if (is_changing(look, target))
			cluster_verdict_set(verdict, CLUSTER_NOT_VERIFIABLE,
								CLUSTER_REASON_MAP_CHANGING, 0, 0);
		else
			excuse_folder(look, target, verdict);
	}
	excuse_redo(look, verdict);
}

bool
cluster_look_at(ClusterLook *look, ClusterTarget *target,
				ClusterVerdict *verdict)
{
	Doubt		doubt = {0};

	host_interrupts();
	if (look->server == NULL)
	{
		look_once(look, target, 0, verdict);
		decide_other(look, target, verdict);
	}
	else
	{
		look_live(look, target, false, &doubt, verdict);
		if (verdict->status != CLUSTER_OK &&
			target->file.kind == CLUSTER_RELATION_MAP && !target->file.shared)
			decide_database(look, target, &doubt, verdict);
		else if (verdict->status != CLUSTER_OK)
			decide_live(look, target, &doubt, verdict);
	}
	return target->found || verdict->status != CLUSTER_OK;
}

/* ---- paths ---- */

void
cluster_look_map_path(const ClusterServer *server, ClusterTarget *target,
					  const ClusterDatabase *database)
{
	char		folder[CLUSTER_PATH_SIZE / 2];

	cluster_database_folder(database, server->live->tablespace_folder(),
							folder, sizeof(folder));
	snprintf(target->path, sizeof(target->path), "%s/" CLUSTER_MAP_NAME,
			 folder);
}
