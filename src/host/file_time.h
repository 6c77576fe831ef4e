/*
 * file_time.h
 *	  Times of files, to tell whether one was written since.
 */
#ifndef ACCEL_HOST_FILE_TIME_H
#define ACCEL_HOST_FILE_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/*
 * Clocks of file systems advance in steps, of some milliseconds or of seconds.
 * These are in microseconds.
 */
#define FILE_TIME_FINE_STEP		50000
#define FILE_TIME_COARSE_STEP	2000000

/* Of times so far away, none is told from another. */
#define FILE_TIME_SECONDS_MIN	(-INT64_C(200000000000))
#define FILE_TIME_SECONDS_MAX	INT64_C(9000000000000)

/* Returns microseconds since 1970. */
static inline int64_t
file_time_microseconds(const struct timespec *time)
{
	int64_t		seconds = time->tv_sec;

	if (seconds < FILE_TIME_SECONDS_MIN)
		seconds = FILE_TIME_SECONDS_MIN;
	if (seconds > FILE_TIME_SECONDS_MAX)
		seconds = FILE_TIME_SECONDS_MAX;
	return seconds * 1000000 + time->tv_nsec / 1000;
}

/*
 * A file written within the present step of its clock may be written once more
 * in that step, and would have the same time then.  Is it older than that?
 */
static inline bool
file_time_is_settled(const struct timespec *mtime)
{
	int64_t		step = mtime->tv_nsec == 0 ? FILE_TIME_COARSE_STEP :
		FILE_TIME_FINE_STEP;
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) != 0 ||
		llabs(file_time_microseconds(&now) - file_time_microseconds(mtime)) >= step;
}

#endif							/* ACCEL_HOST_FILE_TIME_H */
