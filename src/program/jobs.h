/*
 * jobs.h
 *	  Judges the segments of a list, in forked processes or here.
 */
#ifndef ACCEL_PROGRAM_JOBS_H
#define ACCEL_PROGRAM_JOBS_H

#include "wal/segment.h"

/* Result number i of the list.  What is allocated meanwhile is freed then. */
typedef void (*JobsResultFn) (void *arg, size_t i,
							  const WalSegmentResult *result);

/* Judges the names of a list, and gives the results in order. */
extern void jobs_judge(const WalDirectory *dir, WalRange range,
					   const WalNames *list, int jobs,
					   struct Throttle *throttle, JobsResultFn result,
					   void *arg);

#endif							/* ACCEL_PROGRAM_JOBS_H */
