/*
 * read.c
 *	  Reads a file of a cluster once, in bounded memory, and judges it.
 *
 * No length in a file drives an allocation.  The head is kept, and the rest is
 * summed piece by piece.
 */
#include <errno.h>
#include <stdio.h>

#include "cluster/judge.h"
#include "cluster/read.h"
#include "host/host.h"
#include "kernel/checksum.h"

#define PIECE_BYTES		(128 * 1024)

void
cluster_read_begin(ClusterReader *reader, bool direct,
				   struct Throttle *throttle)
{
	reader->head = host_alloc(CLUSTER_HEAD);
	reader->piece = host_alloc(PIECE_BYTES);
	reader->window = direct ? file_window_new(throttle) : NULL;
	reader->throttle = throttle;
}

void
cluster_read_end(ClusterReader *reader)
{
	host_free(reader->head);
	host_free(reader->piece);
	file_window_free(reader->window);
}

/*
 * Reads exactly len bytes, or else the verdict says why not.  A window takes
 * the turns of what it reads itself.
 */
static bool
read_exactly(const ClusterReader *reader, FileScan *scan, uint8_t *buffer,
			 size_t len, uint64_t at, ClusterVerdict *verdict)
{
	size_t		done = 0;
	ssize_t		got = 1;

	while (done < len && got > 0)
	{
		size_t		turn = reader->window != NULL ? len - done :
			host_turn(reader->throttle, len - done);

		got = file_scan_read(scan, buffer + done, turn, (off_t) (at + done));
		done += got > 0 ? (size_t) got : 0;
	}
	if (got < 0)
		cluster_verdict_set(verdict, CLUSTER_IO_ERROR,
							CLUSTER_REASON_UNREADABLE, (uint64_t) errno, 0);
	else if (done < len)
		cluster_verdict_set(verdict, CLUSTER_SIZE_MISMATCH,
							CLUSTER_REASON_SIZE, at + (uint64_t) done,
							(uint64_t) scan->size);
	return done == len;
}

static bool
sum(ClusterReader *reader, FileScan *scan, const ClusterExtent *extent,
	uint32_t *crc, ClusterVerdict *verdict)
{
	uint32_t	reg = CHECKSUM_CRC_INIT;
	uint64_t	at = extent->from;

	while (at < extent->to)
	{
		size_t		len = extent->to - at < PIECE_BYTES ?
			(size_t) (extent->to - at) : PIECE_BYTES;

		host_interrupts();
		if (!read_exactly(reader, scan, reader->piece, len, at, verdict))
			return false;
		reg = checksum_crc32c(reg, reader->piece, len);
		at += len;
	}
	*crc = reg ^ CHECKSUM_CRC_INIT;
	return true;
}

static void
judge_open(ClusterReader *reader, FileScan *scan, ClusterFile *file,
		   ClusterVerdict *verdict)
{
	size_t		head = file->size < CLUSTER_HEAD ? (size_t) file->size : CLUSTER_HEAD;
	ClusterExtent extent;
	uint32_t	crc;
	uint8_t		stored[4];

	memset(reader->head, 0, CLUSTER_HEAD);
	file->head = reader->head;
	if (read_exactly(reader, scan, reader->head, head, 0, verdict) &&
		cluster_judge_extent(file, &extent, verdict) &&
		read_exactly(reader, scan, stored, sizeof(stored), extent.crc_at, verdict) &&
		sum(reader, scan, &extent, &crc, verdict))
		cluster_judge(file, cluster_load32(stored), crc, verdict);
}

FileScanResult
cluster_read(ClusterReader *reader, const char *path, ClusterFile *file,
			 ClusterVerdict *verdict)
{
	FileScan	scan;
	FileScanResult opened = file_scan_open_direct(&scan, path, reader->window);

	memset(verdict, 0, sizeof(*verdict));
	file->size = 0;
	if (opened == FILE_SCAN_OK)
	{
		file->size = (uint64_t) scan.size;
		judge_open(reader, &scan, file, verdict);
		file_scan_close(&scan);
	}
	else if (opened == FILE_SCAN_MISSING)
		return FILE_SCAN_MISSING;
	else if (opened == FILE_SCAN_IRREGULAR)
		cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
							CLUSTER_REASON_IRREGULAR, 0, 0);
	else
		cluster_verdict_set(verdict, CLUSTER_IO_ERROR,
							CLUSTER_REASON_UNREADABLE, (uint64_t) errno, 0);
	return FILE_SCAN_OK;
}

bool
cluster_read_control(const char *directory, bool direct,
					 ClusterControl *control)
{
	char		path[FILENAME_MAX];
	uint8_t		data[CLUSTER_CONTROL_SIZE];
	ClusterFile file = {CLUSTER_CONTROL};
	ClusterVerdict verdict = {CLUSTER_OK};
	FileWindow *window = direct ? file_window_new(NULL) : NULL;
	FileScan	scan;
	ssize_t		got = -1;

	snprintf(path, sizeof(path), "%s/" CLUSTER_CONTROL_NAME, directory);
	if (file_scan_open_direct(&scan, path, window) == FILE_SCAN_OK)
	{
		got = file_scan_read(&scan, data, sizeof(data), 0);
		file_scan_close(&scan);
	}
	file_window_free(window);
	if (got != sizeof(data))
		return false;
	file.head = data;
	file.size = sizeof(data);
	cluster_control_judge(&file, &verdict);
	return verdict.status == CLUSTER_OK && cluster_control_read(data, control);
}
