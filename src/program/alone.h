/*
 * alone.h
 *	  A file of WAL that stands alone, under any path.
 */
#ifndef ACCEL_PROGRAM_ALONE_H
#define ACCEL_PROGRAM_ALONE_H

#include "wal/segment.h"

typedef struct Alone
{
	char	   *directory;
	WalName		name;
	WalFile    *file;			/* a segment, made ready, closed */
} Alone;

/*
 * Returns false if the path's last part names no file of WAL.  If direct, the
 * file is read past the page cache.
 */
extern bool alone_begin(Alone *alone, const char *path,
						struct Throttle *throttle, bool direct);

/* Opens the file.  If that fails, errno says why. */
extern FileScanResult alone_open(Alone *alone);

/*
 * Judges the file, as one of a cluster, or of any if system is 0, and
 * of a version, or of any if magic is 0.  A segment is
 * open before, and afterwards.
 */
extern void alone_judge(Alone *alone, uint64_t system, uint16_t magic,
						WalSegmentResult *result);

extern void alone_end(Alone *alone);

#endif							/* ACCEL_PROGRAM_ALONE_H */
