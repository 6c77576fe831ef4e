/*
 * beside.h
 *	  Judges what a restore needs beside the segments of an archive, which is
 *	  history files, and backup files that agree with themselves.
 */
#ifndef ACCEL_WAL_BESIDE_H
#define ACCEL_WAL_BESIDE_H

#include "wal/segment.h"

typedef void (*WalBesideFn) (void *arg, const WalSegmentResult *result);

/*
 * Judges what stands beside the segments of an archive, and what does not and
 * should.  A pg_wal is none, since an archive may have what it lacks.  The
 * lowest segment of each timeline is read, which throttle bounds unless it is
 * NULL.
 */
extern void wal_beside_judge(const WalDirectory *dir,
							 struct Throttle *throttle, WalBesideFn row,
							 void *arg);

/*
 * Judges the text of a file that its directory has, and nothing else.  If
 * direct, it is read past the page cache.
 */
extern void wal_beside_judge_alone(const char *directory, const WalName *name,
								   bool direct, WalSegmentResult *result);

#endif							/* ACCEL_WAL_BESIDE_H */
