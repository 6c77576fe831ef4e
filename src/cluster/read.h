/*
 * read.h
 *	  Reads a file of a cluster once, in bounded memory, and judges it.
 */
#ifndef ACCEL_CLUSTER_READ_H
#define ACCEL_CLUSTER_READ_H

#include "cluster/control.h"
#include "cluster/format.h"
#include "host/file_scan.h"

struct Throttle;

/* One reader serves any number of files, one after the other. */
typedef struct ClusterReader
{
	uint8_t    *head;			/* CLUSTER_HEAD bytes, those of the last file */
	uint8_t    *piece;
	FileWindow *window;			/* for reads past the page cache, else NULL */
	struct Throttle *throttle;	/* NULL if no bound */
} ClusterReader;

/*
 * A direct one reads past the page cache.  A throttle waits, so hold no lock
 * while one reads.
 */
extern void cluster_read_begin(ClusterReader *reader, bool direct,
							   struct Throttle *throttle);
extern void cluster_read_end(ClusterReader *reader);

/*
 * Reads the file at path and judges it.  "file" has its kind, release and
 * name, while head and size are filled in.  FILE_SCAN_OK means that there is a
 * verdict, which may be about a failed read.  FILE_SCAN_MISSING means that
 * there is no such file.
 */
extern FileScanResult cluster_read(ClusterReader *reader, const char *path,
								   ClusterFile *file, ClusterVerdict *verdict);

/*
 * Reads what the pg_control of a directory says now, past the page cache if
 * direct.  Returns false if it is not ok.
 */
extern bool cluster_read_control(const char *directory, bool direct,
								 ClusterControl *control);

#endif							/* ACCEL_CLUSTER_READ_H */
