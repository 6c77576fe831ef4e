/*
 * beside.h
 *	  What a restore needs beside the segments of an archive: history files.
 */
#ifndef ACCEL_WAL_BESIDE_H
#define ACCEL_WAL_BESIDE_H

#include "wal/segment.h"

typedef void (*WalBesideFn) (void *arg, const WalSegmentResult *result);

/*
 * Judges what stands beside the segments of an archive, and what does not and
 * should.  A pg_wal is none: what it lacks, an archive may have.  The lowest
 * segment of each timeline is read; throttle bounds that, NULL: nothing does.
 */
extern void wal_beside_judge(const WalDirectory *dir,
							 struct Throttle *throttle, WalBesideFn row,
							 void *arg);

#endif							/* ACCEL_WAL_BESIDE_H */
