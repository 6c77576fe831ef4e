/*
 * databases.c
 *	  Which databases a data directory or plain backup has, by its pg_database.
 *
 * A crash in CREATE or DROP DATABASE leaves a folder that belongs to no
 * database, and nobody ever removes it.  What it lacks is no damage.  A row
 * counts unless its page says, or pg_xact does, that it was never committed or
 * was deleted.  From 15.4 on DROP DATABASE marks the row before it removes
 * files (DATCONNLIMIT_INVALID_DB).  A row that is in WAL alone is not seen.
 * Where pg_xact cannot be asked, as in an archive, a row counts, but is not
 * certain.
 *
 * These are facts of PostgreSQL's bufpage.h, itemid.h, htup_details.h, clog.c
 * and pg_database.h, 15 to 19.
 */
#include <stdio.h>

#include "cluster/control.h"
#include "cluster/databases.h"
#include "cluster/format.h"
#include "cluster/map.h"
#include "cluster/read.h"
#include "cluster/slru.h"
#include "host/host.h"
#include "host/print.h"

#define PAGE_MAX		32768
#define PAGES_MAX		65536	/* a pg_database of more is not read */

/* page header */
#define PAGE_LOWER		12		/* pd_lower, 16 bits */
#define PAGE_FIRST		24		/* line pointers, 32 bits each */
#define LINE_NORMAL		1		/* LP_NORMAL */

/* tuple header */
#define ROW_XMIN		0
#define ROW_XMAX		4
#define ROW_INFOMASK	20
#define ROW_HOFF		22
#define XMIN_COMMITTED	0x0100
#define XMIN_INVALID	0x0200
#define XMAX_COMMITTED	0x0400
#define XMAX_NONE		(0x0800 | 0x0080 | 0x1000)	/* invalid, locks only,
													 * several lockers */

/* row of pg_database */
#define DATABASE_OID	0
#define DATABASE_LIMIT	80		/* datconnlimit, 32 bits */
#define DATABASE_TABLESPACE 92	/* dattablespace */
#define DATABASE_BYTES	96
#define LIMIT_INVALID	(-2)

#define FIRST_NORMAL_XID	3

typedef enum Fate
{
	FATE_UNKNOWN,
	FATE_COMMITTED,
	FATE_NOT_COMMITTED
} Fate;

typedef struct Reading
{
	const char *directory;
	const ClusterControl *control;
	uint8_t		page[PAGE_MAX];
	ClusterDatabases *databases;
} Reading;

/* Returns how many bytes at an offset of a file could be read, or -1. */
static ssize_t
read_at(const Reading *reading, const char *path, uint64_t offset, void *data,
		size_t bytes)
{
	char	   *whole = host_print("%s/%s", reading->directory, path);
	FileScan	scan;
	ssize_t		n = -1;

	if (file_scan_open(&scan, whole) == FILE_SCAN_OK)
	{
		n = file_scan_read(&scan, data, bytes, (off_t) offset);
		file_scan_close(&scan);
	}
	host_free(whole);
	return n;
}

/* Asks pg_xact.  What it has no file of is too old for a row without hints. */
static Fate
fate_of(const Reading *reading, uint32_t xid)
{
	char		path[CLUSTER_SLRU_PATH_SIZE];
	uint64_t	offset = cluster_slru_of_xid(reading->control, xid, path);
	uint8_t		byte;

	if (xid < FIRST_NORMAL_XID)
		return FATE_COMMITTED;
	if (read_at(reading, path, offset, &byte, 1) != 1)
		return FATE_UNKNOWN;
	switch (byte >> xid % 4 * 2 & 3)
	{
		case 0:					/* in progress, or a crash ended it */
		case 2:					/* aborted */
			return FATE_NOT_COMMITTED;
		case 1:
			return FATE_COMMITTED;
		default:
			return FATE_UNKNOWN;
	}
}

static Fate
made(const Reading *reading, const uint8_t *row, uint16_t mask)
{
	if ((mask & XMIN_COMMITTED) != 0)
		return FATE_COMMITTED;
	return (mask & XMIN_INVALID) != 0 ? FATE_NOT_COMMITTED :
		fate_of(reading, cluster_load32(row + ROW_XMIN));
}

static Fate
deleted(const Reading *reading, const uint8_t *row, uint16_t mask)
{
	if ((mask & XMAX_NONE) != 0)
		return FATE_NOT_COMMITTED;
	return (mask & XMAX_COMMITTED) != 0 ? FATE_COMMITTED :
		fate_of(reading, cluster_load32(row + ROW_XMAX));
}

static bool
take_row(Reading *reading, const uint8_t *row, uint32_t bytes)
{
	ClusterDatabases *databases = reading->databases;
	ClusterDatabaseRow *taken;
	const uint8_t *data;
	uint16_t	mask;
	Fate		begin;
	Fate		end;

	if (bytes < ROW_HOFF + 1 || bytes < row[ROW_HOFF] + DATABASE_BYTES)
		return false;
	data = row + row[ROW_HOFF];
	mask = cluster_load16(row + ROW_INFOMASK);
	begin = made(reading, row, mask);
	end = deleted(reading, row, mask);
	if ((int32_t) cluster_load32(data + DATABASE_LIMIT) == LIMIT_INVALID ||
		begin == FATE_NOT_COMMITTED || end == FATE_COMMITTED)
		return true;
	HOST_MAKE_ROOM(databases->rows, databases->count, databases->room);
	taken = &databases->rows[databases->count++];
	taken->database.oid = cluster_load32(data + DATABASE_OID);
	taken->database.tablespace = cluster_load32(data + DATABASE_TABLESPACE);
	taken->certain = begin == FATE_COMMITTED && end == FATE_NOT_COMMITTED;
	return true;
}

/* Takes the row of a line pointer (ItemIdData, which has bit fields). */
static bool
take_line(Reading *reading, uint32_t line)
{
	uint32_t	low = line & 0x7FFF;
	uint32_t	high = line >> 17;
	bool		little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	uint32_t	offset = little ? low : high;
	uint32_t	bytes = little ? high : low;

	return (line >> 15 & 3) != LINE_NORMAL ||
		(offset + bytes <= reading->control->block_size &&
		 take_row(reading, reading->page + offset, bytes));
}

/* Returns false for what is no page of rows. */
static bool
take_page(Reading *reading)
{
	const uint8_t *page = reading->page;
	uint32_t	lower = cluster_load16(page + PAGE_LOWER);

	if (lower != 0 && (lower < PAGE_FIRST || lower > reading->control->block_size))
		return false;
	for (uint32_t at = PAGE_FIRST; at + 4 <= lower; at += 4)
		if (!take_line(reading, cluster_load32(page + at)))
			return false;
	return true;
}

/* Returns the number of its file, or 0. */
static uint32_t
find_file(const Reading *reading)
{
	uint8_t		map[CLUSTER_MAP_SIZE] = {0};
	int			count;

	(void) read_at(reading, "global/pg_filenode.map", 0, map, sizeof(map));
	count = cluster_map_count(map);
	if (cluster_load32(map) != CLUSTER_MAP_MAGIC || count > CLUSTER_MAP_MAX)
		return 0;
	return cluster_map_find(map, count, CLUSTER_PG_DATABASE);
}

/* Returns false unless all pages could be read, and there are some. */
static bool
read_pages(Reading *reading, FileScan *scan)
{
	uint32_t	size = reading->control->block_size;
	ssize_t		n = 0;

	for (int block = 0; block < PAGES_MAX; block++)
	{
		n = file_scan_read(scan, reading->page, size, (off_t) block * size);
		if (n == 0)
			return block > 0;
		if (n != (ssize_t) size || !take_page(reading))
			return false;
	}
	return false;
}

static bool
read_rows(Reading *reading)
{
	char	   *path = host_print("%s/global/%u", reading->directory,
								  find_file(reading));
	FileScan	scan;
	bool		known = false;

	if (file_scan_open(&scan, path) == FILE_SCAN_OK)
	{
		known = read_pages(reading, &scan);
		file_scan_close(&scan);
	}
	host_free(path);
	return known;
}

bool
cluster_databases_read(ClusterDatabases *databases, const char *directory)
{
	ClusterControl *control = &databases->control;
	Reading    *reading;

	if (databases->read)
		return databases->known;
	databases->read = true;
	if (!cluster_read_control(directory, false, control) ||
		control->block_size < 1024 || control->block_size > PAGE_MAX)
		return false;
	reading = host_alloc(sizeof(Reading));
	reading->directory = directory;
	reading->control = control;
	reading->databases = databases;
	databases->known = read_rows(reading);
	host_free(reading);
	return databases->known;
}

bool
cluster_databases_lack(ClusterDatabases *databases, const char *directory,
					   uint32_t oid)
{
	if (!cluster_databases_read(databases, directory))
		return false;
	for (size_t i = 0; i < databases->count; i++)
		if (databases->rows[i].database.oid == oid)
			return false;
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
cluster_release_folder(int major, uint32_t catalog, char folder[32])
{
	snprintf(folder, 32, "PG_%d_%u", major, catalog);
}

void
cluster_databases_free(ClusterDatabases *databases)
{
	host_free(databases->rows);
	memset(databases, 0, sizeof(*databases));
}
