/*
 * files.c
 *	  All files of a data directory or plain backup that carry a CRC-32C of
 *	  their own, judged in order.
 *
 * In the running server the databases are those of its catalog, since a folder
 * that CREATE DATABASE is filling is none yet.  Elsewhere they are the folders
 * that have a PG_VERSION.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cluster/files.h"
#include "cluster/look.h"
#include "cluster/relations.h"
#include "cluster/wal.h"
#include "host/host.h"

/* for another directory, a second in all */
#define PAUSES			100

#define NAME_SIZE		80

/* The names of a folder that a filter lets pass, in order. */
typedef struct Names
{
	bool		(*filter) (const char *name, int major);
	int			major;
	char		(*names)[NAME_SIZE];
	size_t		count;
	size_t		room;
	bool		failed;			/* the folder cannot be read */
} Names;

typedef struct Scan
{
	ClusterLook look;
	int			major;
	bool		catalogs;		/* files are held against these */
	ClusterRowFn row;
	void	   *arg;
	uint32_t   *unmounted;		/* tablespaces that were reported */
	size_t		nunmounted;
	size_t		room;
} Scan;

/* ---- names ---- */

static bool
is_hex(const char *name, size_t digits)
{
	return strspn(name, "0123456789ABCDEF") == digits;
}

static bool
is_number(const char *name, int major)
{
	size_t		digits = strspn(name, "0123456789");

	(void) major;
	return digits > 0 && digits <= 10 && name[digits] == '\0';
}

static bool
is_tablespace_folder(const char *name, int major)
{
	char		start[16];

	snprintf(start, sizeof(start), "PG_%d_", major);
	return strncmp(name, start, strlen(start)) == 0 && strlen(name) < 32;
}

/* Names of two-phase files have the epoch since 17. */
static bool
has_epochs(int major)
{
	return major != 15 && major != 16;
}

static bool
is_two_phase(const char *name, int major)
{
	size_t		digits = has_epochs(major) ? 16 : 8;

	return strlen(name) == digits && is_hex(name, digits);
}

/* The server reads every folder of pg_replslot but those half made or dropped. */
static bool
is_slot(const char *name, int major)
{
	size_t		len = strlen(name);

	(void) major;
	return name[0] != '.' && len < CLUSTER_NAME_SIZE &&
		(len < 4 || strcmp(name + len - 4, ".tmp") != 0);
}

static bool
is_snapshot(const char *name, int major)
{
	size_t		high = strspn(name, "0123456789ABCDEF");
	size_t		low;

	(void) major;
	if (high == 0 || high > 8 || name[high] != '-')
		return false;
	low = strspn(name + high + 1, "0123456789ABCDEF");
	return low > 0 && low <= 8 && strcmp(name + high + 1 + low, ".snap") == 0;
}

static bool
is_summary(const char *name, int major)
{
	(void) major;
	return is_hex(name, 40) && strcmp(name + 40, ".summary") == 0;
}

static void
add_name(void *arg, const char *name)
{
	Names	   *names = arg;

	if (!names->filter(name, names->major))
		return;
	HOST_MAKE_ROOM(names->names, names->count, names->room);
	snprintf(names->names[names->count++], NAME_SIZE, "%s", name);
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Reports what is no file of a kind, or not there. */
static void
report_row(Scan *scan, ClusterKind kind, const char *path,
		   ClusterStatus status, ClusterReason reason, uint64_t value,
		   uint64_t expected)
{
	ClusterRow	row = {0};

	cluster_verdict_set(&row.verdict, status, reason, value, expected);
	row.path = path;
	row.kind = kind;
	row.bytes = -1;
	row.live = scan->look.server != NULL;
	scan->row(scan->arg, &row);
}

/*
 * A folder that is not there has no names.  One that cannot be read is
 * reported.
 */
static Names
list(Scan *scan, ClusterKind kind, const char *folder,
	 bool (*filter) (const char *name, int major))
{
	Names		names = {filter, scan->major, NULL, 0, 0, false};
	char		whole[FILENAME_MAX];

	cluster_look_path(&scan->look, folder, whole);
	names.failed = !host_list(whole, add_name, &names) &&
		errno != ENOENT && errno != ENOTDIR;
	if (names.failed)
		report_row(scan, kind, folder, CLUSTER_IO_ERROR,
				   CLUSTER_REASON_UNREADABLE, (uint64_t) errno, 0);
	if (names.count > 1)
		qsort(names.names, names.count, NAME_SIZE, compare_names);
	return names;
}

/*
 * Reads the number with which a file begins, 0 if unknown, -1 if there is no
 * file.
 */
static int
read_number(const char *directory, const char *name)
{
	char		whole[FILENAME_MAX];
	char text[	16] = "";
	FileScan	file;
	FileScanResult opened;

	snprintf(whole, sizeof(whole), "%s/%s", directory, name);
	opened = file_scan_open(&file, whole);
	if (opened == FILE_SCAN_MISSING || opened == FILE_SCAN_IRREGULAR)
		return -1;
	if (opened != FILE_SCAN_OK)
		return 0;
	(void) file_scan_read(&file, text, sizeof(text) - 1, 0);
	file_scan_close(&file);
	return atoi(text);
}

/* ---- rows ---- */

static void
target_begin(const Scan *scan, ClusterTarget *target, ClusterKind kind)
{
	memset(target, 0, sizeof(*target));
	target->file.kind = kind;
	target->file.major = scan->major;
}

/* What the files of another directory must hold, by its WAL. */
static void
read_past(Scan *scan)
{
	ClusterLook *look = &scan->look;

	if (look->server == NULL)
		look->past = cluster_wal_past(look->directory, &look->control,
									  look->reader.throttle);
}

static void
judge(Scan *scan, ClusterTarget *target)
{
	ClusterRow	row = {0};

	if (!cluster_look_at(&scan->look, target, &row.verdict))
		return;
	row.path = target->path;
	row.kind = target->file.kind;
	row.bytes = target->found && row.verdict.status != CLUSTER_IO_ERROR &&
		row.verdict.reason != CLUSTER_REASON_IRREGULAR ?
		(int64_t) target->file.size : -1;
	row.live = scan->look.server != NULL;
	row.map = target->lacks ? target->file.head : NULL;
	if (row.kind == CLUSTER_CONTROL && row.verdict.status == CLUSTER_OK &&
		cluster_control_read(target->file.head, &scan->look.control))
	{
		row.control = &scan->look.control;
		read_past(scan);
	}
	scan->row(scan->arg, &row);
}

static void
judge_control(Scan *scan)
{
	ClusterTarget target;

	target_begin(scan, &target, CLUSTER_CONTROL);
	snprintf(target.path, sizeof(target.path), CLUSTER_CONTROL_NAME);
	target.required = true;
	judge(scan, &target);
}

/* ---- relation maps ---- */

static void
judge_shared_map(Scan *scan)
{
	ClusterTarget target;

	target_begin(scan, &target, CLUSTER_RELATION_MAP);
	snprintf(target.path, sizeof(target.path), "global/" CLUSTER_MAP_NAME);
	target.file.shared = true;
	target.required = true;
	judge(scan, &target);
}

static void
judge_own_maps(Scan *scan)
{
	const ClusterServer *server = scan->look.server;
	ClusterTarget target;

	for (size_t i = 0; i < server->ndatabases; i++)
	{
		target_begin(scan, &target, CLUSTER_RELATION_MAP);
		target.database = server->databases[i].oid;
		target.required = true;
		cluster_look_map_path(server, &target, &server->databases[i]);
		judge(scan, &target);
	}
}

/* A folder of a tablespace with parts of databases has no PG_VERSION. */
static bool
is_database(const Scan *scan, const char *folder)
{
	char		path[CLUSTER_PATH_SIZE + 16];
	char		whole[FILENAME_MAX];
	struct stat status;

	snprintf(path, sizeof(path), "%s/PG_VERSION", folder);
	cluster_look_path(&scan->look, path, whole);
	return stat(whole, &status) == 0;
}

static void
judge_maps_below(Scan *scan, const char *folder)
{
	Names		databases = list(scan, CLUSTER_RELATION_MAP, folder, is_number);
	ClusterTarget target;
	uint32_t	tablespace;

	if (sscanf(folder, "pg_tblspc/%u/", &tablespace) != 1)
		tablespace = CLUSTER_PG_DEFAULT;

	for (size_t i = 0; i < databases.count; i++)
	{
		target_begin(scan, &target, CLUSTER_RELATION_MAP);
		snprintf(target.path, sizeof(target.path), "%s/%s", folder,
				 databases.names[i]);
		target.required = is_database(scan, target.path);
		target.database = (uint32_t) strtoul(databases.names[i], NULL, 10);
		target.tablespace = tablespace;
		snprintf(target.path, sizeof(target.path), "%s/%s/" CLUSTER_MAP_NAME,
				 folder, databases.names[i]);
		judge(scan, &target);
	}
	host_free(databases.names);
}

/*
 * Does the link lead nowhere, as to a tablespace that is not mounted?  The
 * server never removes what is there.
 */
static bool
is_dangling(const Scan *scan, const char *link)
{
	char		whole[FILENAME_MAX];
	struct stat status;

	cluster_look_path(&scan->look, link, whole);
	return lstat(whole, &status) == 0 && S_ISLNK(status.st_mode) &&
		stat(whole, &status) != 0 && errno == ENOENT;
}

static void
judge_maps_of_tablespaces(Scan *scan)
{
	Names		tablespaces = list(scan, CLUSTER_RELATION_MAP, "pg_tblspc",
								   is_number);

	for (size_t i = 0; i < tablespaces.count; i++)
	{
		char		tablespace[NAME_SIZE + 16];
		Names		folders;

		snprintf(tablespace, sizeof(tablespace), "pg_tblspc/%s",
				 tablespaces.names[i]);
		if (is_dangling(scan, tablespace))
			report_row(scan, CLUSTER_RELATION_MAP, tablespace,
					   CLUSTER_MISSING, CLUSTER_REASON_LINK, 0, 0);
		folders = list(scan, CLUSTER_RELATION_MAP, tablespace,
					   is_tablespace_folder);
		for (size_t n = 0; n < folders.count; n++)
		{
			char		folder[2 * NAME_SIZE + 32];

			snprintf(folder, sizeof(folder), "%s/%s", tablespace,
					 folders.names[n]);
			judge_maps_below(scan, folder);
		}
		host_free(folders.names);
	}
	host_free(tablespaces.names);
}

/*
 * Does a server seem to be at work there?  One that crashed leaves the number
 * of its process, and one in another container is not seen.
 */
static bool
is_at_work(const Scan *scan)
{
	int			pid = read_number(scan->look.directory, "postmaster.pid");

	return pid == 0 || (pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH));
}

/* Was the server shut down, so that its files are all that there is? */
static bool
is_shut_down(const Scan *scan)
{
	return scan->look.databases.control.state == CLUSTER_STATE_SHUTDOWNED;
}

/*
 * Reports a database that has no folder.  If the server was not shut down, WAL
 * may say more than its files do.
 */
static void
report_database(Scan *scan, const char *path, uint32_t database)
{
	bool		sure = is_shut_down(scan);

	report_row(scan, CLUSTER_RELATION_MAP, path,
			   sure ? CLUSTER_MISSING : CLUSTER_NOT_VERIFIABLE,
			   sure ? CLUSTER_REASON_DATABASE_GONE : CLUSTER_REASON_DATABASE_OPEN,
			   database, 0);
}

/* Is nothing there of what a catalog names, though the server did not go on? */
static bool
is_lost(Scan *scan, const char *path)
{
	char		whole[FILENAME_MAX];
	struct stat status;

	cluster_look_path(&scan->look, path, whole);
	return stat(whole, &status) != 0 && (errno == ENOENT || errno == ENOTDIR) &&
		!cluster_look_gone_on(&scan->look, &scan->look.databases.control);
}

/*
 * Is the folder of a tablespace lost, as where a file system is not mounted?
 * One row says so, in the place of all that catalogs have in it.
 */
static bool
is_unmounted(Scan *scan, uint32_t tablespace)
{
	bool		sure = is_shut_down(scan);
	char		link[32];
	char		of_release[32];
	char		folder[CLUSTER_PATH_SIZE];

	if (tablespace == CLUSTER_PG_DEFAULT)
		return false;
	for (size_t i = 0; i < scan->nunmounted; i++)
		if (scan->unmounted[i] == tablespace)
			return true;
	snprintf(link, sizeof(link), "pg_tblspc/%u", tablespace);
	cluster_release_folder(scan->major, scan->look.databases.control.catalog,
						   of_release, sizeof(of_release));
	snprintf(folder, sizeof(folder), "%s/%s", link, of_release);
	if (!is_lost(scan, folder))
		return false;
	HOST_MAKE_ROOM(scan->unmounted, scan->nunmounted, scan->room);
	scan->unmounted[scan->nunmounted++] = tablespace;
	if (!is_dangling(scan, link))	/* else reported with the maps */
		report_row(scan, CLUSTER_RELATION_MAP, folder,
				   sure ? CLUSTER_MISSING : CLUSTER_NOT_VERIFIABLE,
				   sure ? CLUSTER_REASON_TABLESPACE_GONE : CLUSTER_REASON_TABLESPACE_OPEN,
				   tablespace, 0);
	return true;
}

typedef struct Relations
{
	Scan	   *scan;
	uint32_t	database;
} Relations;

static void
judge_relation(void *arg, const ClusterRelation *relation)
{
	const Relations *relations = arg;
	Scan	   *scan = relations->scan;

	host_interrupts();
	if (is_lost(scan, relation->path) &&
		!is_unmounted(scan, relation->tablespace))
		report_row(scan, CLUSTER_RELATION, relation->path, CLUSTER_MISSING,
				   CLUSTER_REASON_RELATION_GONE, relation->oid,
				   relations->database);
}

/*
 * A database has a folder, and its relations have files.  After a crash, and on
 * a standby, pg_class may be older than these.
 */
static void
judge_database(Scan *scan, const ClusterDatabase *database)
{
	const ClusterControl *control = &scan->look.databases.control;
	Relations	relations = {scan, database->oid};
	char		folder[CLUSTER_PATH_SIZE];
	char		path[CLUSTER_PATH_SIZE + 16];

	cluster_database_folder_of(database, scan->major, control->catalog, folder,
							   sizeof(folder));
	snprintf(path, sizeof(path), "%s/PG_VERSION", folder);
	if (is_lost(scan, path))
		report_database(scan, path, database->oid);
	else if (is_shut_down(scan))
		cluster_relations_read(scan->look.directory, control, scan->major,
							   database, judge_relation, &relations);
}

static void
judge_databases(Scan *scan)
{
	ClusterDatabases *databases = &scan->look.databases;

	if (!scan->catalogs || scan->major == 0 || is_at_work(scan) ||
		!cluster_databases_read(databases, scan->look.directory))
		return;
	for (size_t i = 0; i < databases->count; i++)
	{
		const ClusterDatabaseRow *row = &databases->rows[i];

		host_interrupts();
		if (row->certain && !is_unmounted(scan, row->database.tablespace))
			judge_database(scan, &row->database);
	}
}

static void
judge_maps(Scan *scan)
{
	judge_shared_map(scan);
	if (scan->look.server != NULL)
		judge_own_maps(scan);
	else
	{
		judge_maps_below(scan, "base");
		judge_maps_of_tablespaces(scan);
		judge_databases(scan);
	}
}

/* ---- the others ---- */

static uint32_t
xid_of(const char *name)
{
	return (uint32_t) strtoul(name + strlen(name) - 8, NULL, 16);
}

static bool
is_listed(const Names *listed, uint32_t xid)
{
	for (size_t i = 0; i < listed->count; i++)
		if (xid_of(listed->names[i]) == xid)
			return true;
	return false;
}

/* One that is not before the next identifier is of the epoch before. */
static void
name_two_phase(const Scan *scan, ClusterTarget *target)
{
	const ClusterControl *control = &scan->look.control;
	uint32_t	xid = target->file.xid;

	if (has_epochs(scan->major))
		snprintf(target->path, sizeof(target->path), "pg_twophase/%08X%08X",
				 control->epoch - (xid >= control->next_xid ? 1 : 0), xid);
	else
		snprintf(target->path, sizeof(target->path), "pg_twophase/%08X", xid);
}

/* Prepared transactions of the WAL that the listing did not have. */
static void
judge_unlisted_two_phase(Scan *scan, const Names *listed)
{
	const ClusterPast *past = scan->look.past;
	ClusterTarget target;

	for (int i = 0; i < past->nprepared; i++)
	{
		if (is_listed(listed, past->prepared[i]))
			continue;
		target_begin(scan, &target, CLUSTER_TWO_PHASE);
		target.file.xid = past->prepared[i];
		target.required = true;
		name_two_phase(scan, &target);
		judge(scan, &target);
	}
}

static void
judge_two_phase(Scan *scan)
{
	Names		names = list(scan, CLUSTER_TWO_PHASE, "pg_twophase",
							 is_two_phase);
	ClusterTarget target;

	for (size_t i = 0; i < names.count; i++)
	{
		const char *name = names.names[i];

		target_begin(scan, &target, CLUSTER_TWO_PHASE);
		snprintf(target.path, sizeof(target.path), "pg_twophase/%s", name);
		target.file.xid = xid_of(name);
		judge(scan, &target);
	}
	if (scan->look.past != NULL && !names.failed)
		judge_unlisted_two_phase(scan, &names);
	host_free(names.names);
}

static void
judge_slot(Scan *scan, const char *name)
{
	ClusterTarget target;

	target_begin(scan, &target, CLUSTER_SLOT);
	snprintf(target.path, sizeof(target.path), "pg_replslot/%s/state", name);
	target.file.slot = name;
	judge(scan, &target);
}

/* Slots of the server's memory that the listing did not have. */
static void
judge_unlisted_slots(Scan *scan, const Names *listed)
{
	const ClusterLive *live = scan->look.server->live;
	size_t		room = live->slots_max();
	char		(*own)[CLUSTER_NAME_SIZE];
	size_t		count;

	if (room == 0)
		return;
	own = host_alloc(room * CLUSTER_NAME_SIZE);
	count = live->slots(own, room);
	for (size_t i = 0; i < count; i++)
		if (listed->count == 0 ||
			bsearch(own[i], listed->names, listed->count, NAME_SIZE,
					compare_names) == NULL)
			judge_slot(scan, own[i]);
	host_free(own);
}

static void
judge_slots(Scan *scan)
{
	Names		names = list(scan, CLUSTER_SLOT, "pg_replslot", is_slot);

	for (size_t i = 0; i < names.count; i++)
		judge_slot(scan, names.names[i]);
	if (scan->look.server != NULL)
		judge_unlisted_slots(scan, &names);
	host_free(names.names);
}

static void
judge_origins(Scan *scan)
{
	ClusterTarget target;

	target_begin(scan, &target, CLUSTER_ORIGINS);
	snprintf(target.path, sizeof(target.path), "pg_logical/replorigin_checkpoint");
	judge(scan, &target);
}

static void
judge_folder(Scan *scan, ClusterKind kind, const char *folder,
			 bool (*filter) (const char *name, int major))
{
	Names		names = list(scan, kind, folder, filter);
	ClusterTarget target;

	for (size_t i = 0; i < names.count; i++)
	{
		target_begin(scan, &target, kind);
		snprintf(target.path, sizeof(target.path), "%s/%s", folder,
				 names.names[i]);
		judge(scan, &target);
	}
	host_free(names.names);
}

/* ---- the directory ---- */

bool
cluster_files_own(const char *directory)
{
	struct stat status;
	struct stat own;

	return stat(directory, &status) == 0 && stat(".", &own) == 0 &&
		status.st_dev == own.st_dev && status.st_ino == own.st_ino;
}

static void
judge_all(Scan *scan)
{
	judge_control(scan);
	judge_maps(scan);
	judge_two_phase(scan);
	judge_slots(scan);
	judge_origins(scan);
	judge_folder(scan, CLUSTER_SNAPSHOT, "pg_logical/snapshots", is_snapshot);
	judge_folder(scan, CLUSTER_SUMMARY, "pg_wal/summaries", is_summary);
}

ClusterFilesResult
cluster_files_scan(const char *directory, const ClusterServer *server,
				   bool catalogs, bool direct, struct Throttle *throttle,
				   ClusterRowFn row, void *arg)
{
	Scan		scan = {{directory, server, {0}, PAUSES, NULL, {0}}, 0, catalogs, row, arg, NULL, 0, 0};
	struct stat status;

	if (stat(directory, &status) != 0)
		return CLUSTER_FILES_FAILED;
	if (!S_ISDIR(status.st_mode))
		return CLUSTER_FILES_NONE;
	if (access(directory, R_OK | X_OK) != 0)
		return CLUSTER_FILES_FAILED;
	scan.major = server != NULL ? server->live->major() :
		read_number(directory, "PG_VERSION");
	if (scan.major < 0)
		return CLUSTER_FILES_NO_CLUSTER;
	cluster_read_begin(&scan.look.reader, direct, throttle);
	judge_all(&scan);
	cluster_read_end(&scan.look.reader);
	cluster_databases_free(&scan.look.databases);
	host_free(scan.unmounted);
	return CLUSTER_FILES_OK;
}
