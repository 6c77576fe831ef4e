/*
 * rows.c
 *	  The rows of a mapped catalog, by the files of a data directory or plain
 *	  backup.
 *
 * A row counts unless its page says, or pg_xact does, that it was never
 * committed or was deleted.  One that is in WAL alone is not seen.  Where
 * pg_xact cannot be asked, as in an archive, a row counts, but is not certain.
 * Nor is one that several transactions lock or change, since their members are
 * not read.  Pages of a backup may be torn.  So rows of a damaged page do not
 * count, nor what follows a row that cannot be one, as where there are no
 * checksums.
 *
 * These are facts of PostgreSQL's bufpage.h, itemid.h, htup_details.h and
 * clog.c, 15 to 19.
 */
#include <stdio.h>
#include <unistd.h>

#include "cluster/format.h"
#include "cluster/map.h"
#include "cluster/read.h"
#include "cluster/rows.h"
#include "cluster/slru.h"
#include "host/host.h"
#include "host/print.h"
#include "page/judge.h"

#define PAGE_MIN		1024
#define PAGE_MAX		32768
#define PAGES_MAX		65536	/* a catalog of more is not read */

/* page header */
#define PAGE_LOWER		12		/* pd_lower, 16 bits */
#define PAGE_FIRST		24		/* line pointers, 32 bits each */
#define LINE_NORMAL		1		/* LP_NORMAL */

/* tuple header */
#define ROW_XMIN		0
#define ROW_XMAX		4
#define ROW_COLUMNS		18		/* t_infomask2 */
#define ROW_INFOMASK	20
#define ROW_HOFF		22
#define ROW_HEADER		23
#define COLUMNS_MASK	0x07FF
#define HAS_NULLS		0x0001
#define XMIN_COMMITTED	0x0100
#define XMIN_INVALID	0x0200
#define XMAX_COMMITTED	0x0400
#define XMAX_NONE		(0x0800 | 0x0080)	/* invalid, locks only */
#define XMAX_SEVERAL	0x1000	/* a multixact */

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
	ClusterTakeRow take;
	void	   *arg;
	uint8_t		page[PAGE_MAX];
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
	if ((mask & XMAX_SEVERAL) != 0)
		return FATE_UNKNOWN;
	return (mask & XMAX_COMMITTED) != 0 ? FATE_COMMITTED :
		fate_of(reading, cluster_load32(row + ROW_XMAX));
}

/* Do the columns begin where they must, by either alignment? */
static bool
has_header(const uint8_t *row)
{
	uint32_t	columns = cluster_load16(row + ROW_COLUMNS) & COLUMNS_MASK;
	uint32_t	nulls = (cluster_load16(row + ROW_INFOMASK) & HAS_NULLS) != 0 ?
		(columns + 7) / 8 : 0;
	uint32_t	header = ROW_HEADER + nulls;

	return row[ROW_HOFF] == (header + 7) / 8 * 8 ||
		row[ROW_HOFF] == (header + 3) / 4 * 4;
}

static bool
take_row(Reading *reading, const uint8_t *row, uint32_t bytes)
{
	uint16_t	mask;
	Fate		begin;
	Fate		end;

	if (bytes < ROW_HEADER || bytes < row[ROW_HOFF] || !has_header(row))
		return false;
	mask = cluster_load16(row + ROW_INFOMASK);
	begin = made(reading, row, mask);
	end = deleted(reading, row, mask);
	return begin == FATE_NOT_COMMITTED || end == FATE_COMMITTED ||
		reading->take(reading->arg, row + row[ROW_HOFF], bytes - row[ROW_HOFF],
					  begin == FATE_COMMITTED && end == FATE_NOT_COMMITTED);
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

/* Is it a page in order?  One of another size than ours has no verdict. */
static bool
is_page(const Reading *reading, uint32_t block)
{
	PageRules	rules = {reading->control->checksum_version != 0, 0, PAGE_KIND_ANY};
	uint32_t	lower = cluster_load16(reading->page + PAGE_LOWER);
	PageVerdict verdict = {PAGE_OK};

	if (reading->control->block_size == PAGE_BYTES)
		page_judge((const char *) reading->page, block, &rules, &verdict);
	return (verdict.status == PAGE_OK || verdict.status == PAGE_NEW) &&
		(lower == 0 || lower >= PAGE_FIRST) && lower <= reading->control->block_size;
}

/* Returns false for what is no page of rows. */
static bool
take_page(Reading *reading, uint32_t block)
{
	const uint8_t *page = reading->page;
	uint32_t	lower = cluster_load16(page + PAGE_LOWER);

	if (!is_page(reading, block))
		return false;
	for (uint32_t at = PAGE_FIRST; at + 4 <= lower; at += 4)
		if (!take_line(reading, cluster_load32(page + at)))
			return false;
	return true;
}

/* Returns the number of its file, or 0. */
static uint32_t
find_file(const Reading *reading, const char *folder, uint32_t catalog)
{
	char	   *path = host_print("%s/" CLUSTER_MAP_NAME, folder);
	uint8_t		map[CLUSTER_MAP_SIZE] = {0};
	int			count;

	(void) read_at(reading, path, 0, map, sizeof(map));
	host_free(path);
	count = cluster_map_count(map);
	if (cluster_load32(map) != CLUSTER_MAP_MAGIC || count > CLUSTER_MAP_MAX)
		return 0;
	return cluster_map_find(map, count, catalog);
}

/* Returns false unless all pages could be read, and there are some. */
static bool
read_pages(Reading *reading, FileScan *scan)
{
	uint32_t	size = reading->control->block_size;
	bool		known = true;

	for (uint32_t block = 0; block < PAGES_MAX; block++)
	{
		ssize_t		n = file_scan_read(scan, reading->page, size,
									   (off_t) block * size);

		if (n == 0)
			return known && block > 0;
		if (n != (ssize_t) size)
			return false;
		known = take_page(reading, block) && known;
	}
	return false;
}

static ClusterRows
read_file(Reading *reading, const char *folder, uint32_t file)
{
	char	   *path = host_print("%s/%s/%u", reading->directory, folder, file);
	char	   *part = host_print("%s/%s/INCREMENTAL.%u", reading->directory,
								  folder, file);
	ClusterRows result = CLUSTER_ROWS_UNKNOWN;
	FileScan	scan;

	if (file_scan_open(&scan, path) == FILE_SCAN_OK)
	{
		if (read_pages(reading, &scan))
			result = CLUSTER_ROWS_KNOWN;
		file_scan_close(&scan);
	}
	else if (access(part, F_OK) == 0)
		result = CLUSTER_ROWS_INCREMENTAL;
	host_free(part);
	host_free(path);
	return result;
}

ClusterRows
cluster_rows_read(const char *directory, const ClusterControl *control,
				  const char *folder, uint32_t catalog, ClusterTakeRow take,
				  void *arg)
{
	Reading    *reading;
	ClusterRows result;

	if (control->block_size < PAGE_MIN || control->block_size > PAGE_MAX)
		return CLUSTER_ROWS_UNKNOWN;
	reading = host_alloc(sizeof(Reading));
	reading->directory = directory;
	reading->control = control;
	reading->take = take;
	reading->arg = arg;
	result = read_file(reading, folder, find_file(reading, folder, catalog));
	host_free(reading);
	return result;
}
