/*
 * slru_files.c
 *	  Are the files of pg_xact and pg_multixact there, and long enough?
 *
 * Segments that pg_control still calls needed may have been cut off since.  So
 * a row of missing ones before the oldest that is there is no finding, unless
 * the running server is asked.  It cuts only below the oldest identifier of
 * all databases, so what its catalog names after a file was looked for must
 * have been there.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cluster/format.h"
#include "cluster/look.h"
#include "cluster/slru.h"
#include "cluster/slru_files.h"
#include "host/file_scan.h"
#include "host/host.h"

#define ROWS_MAX	100			/* of a folder */

/* A segment that is not as it must be. */
typedef struct Bad
{
	uint64_t	segment;
	int64_t		bytes;			/* -1 if missing, or unreadable by error */
	int			error;
	bool		sure;			/* it was not cut off */
} Bad;

typedef struct Scan
{
	const char *directory;
	const ClusterServer *server;	/* NULL if it is not this server's */
	ClusterControl control;
	ClusterRowFn row;
	void	   *arg;
	Bad			bad[ROWS_MAX];
	int			nbad;
	bool		older;			/* one that is there came before */
} Scan;

static bool
read_control(Scan *scan)
{
	bool		read;

	if (scan->server != NULL)
		scan->server->live->lock(CLUSTER_CONTROL);
	read = cluster_read_control(scan->directory, false, &scan->control);
	if (scan->server != NULL)
		scan->server->live->unlock(CLUSTER_CONTROL);
	return read;
}

/* The number of the oldest member, or of the newest where it is not known. */
static uint64_t
first_member(const Scan *scan)
{
	ClusterSlruNeed offsets;
	char		path[CLUSTER_SLRU_PATH_SIZE];
	char		whole[FILENAME_MAX];
	uint8_t		bytes[8] = {0};
	uint64_t	at;
	uint64_t	found = 0;
	int			width;
	uint64_t	segment = cluster_slru_first_member(&scan->control, &at, &width);
	FileScan	file;

	if (cluster_slru_need(CLUSTER_SLRU_OFFSETS, &scan->control, 0, &offsets))
	{
		cluster_slru_path(&offsets, segment, path);
		snprintf(whole, sizeof(whole), "%s/%s", scan->directory, path);
		if (file_scan_open(&file, whole) == FILE_SCAN_OK)
		{
			if (file_scan_read(&file, bytes, (size_t) width, (int64_t) at) == width)
				found = width == 8 ? cluster_load64(bytes) : cluster_load32(bytes);
			file_scan_close(&file);
		}
	}
	if (found == 0 || (width == 8 && found >= scan->control.next_offset))
		return scan->control.next_offset - 1;
	return found;
}

static void
look_at(Scan *scan, const ClusterSlruNeed *need, uint64_t segment)
{
	char		path[CLUSTER_SLRU_PATH_SIZE];
	char		whole[FILENAME_MAX];
	struct stat status;
	Bad			bad = {segment, -1, 0, scan->older || segment == need->last};

	cluster_slru_path(need, segment, path);
	snprintf(whole, sizeof(whole), "%s/%s", scan->directory, path);
	if (stat(whole, &status) == 0)
	{
		scan->older = bad.sure = true;
		bad.bytes = status.st_size;
		if (S_ISREG(status.st_mode) &&
			(uint64_t) status.st_size >= cluster_slru_bytes(need, segment))
			return;
	}
	else if (errno != ENOENT)
		bad.error = errno;
	if (scan->nbad < ROWS_MAX)
		scan->bad[scan->nbad++] = bad;
}

static void
report(const Scan *scan, const ClusterSlruNeed *need, const Bad *bad)
{
	ClusterRow	row = {0};
	char		path[CLUSTER_SLRU_PATH_SIZE];

	if (bad->error != 0)
		cluster_verdict_set(&row.verdict, CLUSTER_IO_ERROR,
							CLUSTER_REASON_UNREADABLE, (uint64_t) bad->error, 0);
	else if (bad->bytes < 0)
		cluster_verdict_set(&row.verdict, CLUSTER_MISSING,
							CLUSTER_REASON_NOT_THERE, 0, 0);
	else
		cluster_verdict_set(&row.verdict, CLUSTER_SIZE_MISMATCH,
							CLUSTER_REASON_SIZE_LEAST, (uint64_t) bad->bytes,
							cluster_slru_bytes(need, bad->segment));
	cluster_slru_path(need, bad->segment, path);
	row.path = path;
	row.kind = CLUSTER_SLRU;
	row.bytes = bad->bytes;
	row.live = scan->server != NULL;
	scan->row(scan->arg, &row);
}

/* Asks this server what it needs by now. */
static void
ask_again(Scan *scan)
{
	if (scan->server != NULL)
		scan->server->live->oldest(&scan->control.oldest_xid,
								   &scan->control.oldest_multi);
}

static void
check_one(Scan *scan, ClusterSlru slru)
{
	ClusterSlruNeed need;
	uint64_t	member = slru == CLUSTER_SLRU_MEMBERS ? first_member(scan) : 0;

	scan->nbad = 0;
	scan->older = false;
	if (!cluster_slru_need(slru, &scan->control, member, &need))
		return;
	for (uint64_t segment = need.first;;
		 segment = cluster_slru_next(&need, segment))
	{
		host_interrupts();
		look_at(scan, &need, segment);
		if (segment == need.last)
			break;
	}
	if (scan->nbad == 0)
		return;
	ask_again(scan);
	if (!cluster_slru_need(slru, &scan->control, member, &need))
		return;
	for (int i = 0; i < scan->nbad; i++)
		if (cluster_slru_needs(&need, scan->bad[i].segment) &&
			(scan->bad[i].sure || (scan->server != NULL && slru != CLUSTER_SLRU_MEMBERS)))
			report(scan, &need, &scan->bad[i]);
}

void
slru_files_scan(const char *directory, const ClusterServer *server,
				ClusterRowFn row, void *arg)
{
	Scan	   *scan = host_alloc(sizeof(Scan));
	char		label[FILENAME_MAX];
	struct stat status;

	memset(scan, 0, sizeof(*scan));
	scan->directory = directory;
	scan->server = server;
	scan->row = row;
	scan->arg = arg;
	snprintf(label, sizeof(label), "%s/backup_label", directory);
	if ((server != NULL || stat(label, &status) != 0) && read_control(scan))
	{
		ask_again(scan);
		for (ClusterSlru slru = 0; slru < CLUSTER_SLRUS; slru++)
			check_one(scan, slru);
	}
	host_free(scan);
}
