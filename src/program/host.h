/*
 * host.h
 *	  What a program without a server is to the readers of files.
 *
 * It serves host/host.h.  What ends the program is here, too, so that every way
 * out cleans up.
 */
#ifndef ACCEL_PROGRAM_HOST_H
#define ACCEL_PROGRAM_HOST_H

#include <time.h>

#include "host/host.h"

#define PROGRAM_NAME	"crc32c_verify"

/* Exit statuses.  None is above 125, which would end a server's archiver. */
typedef enum ExitStatus
{
	EXIT_SOUND = 0,
	EXIT_FAILED = 1,			/* nothing is said about the data */
	EXIT_FINDINGS = 2,
	EXIT_UNVERIFIED = 3			/* no finding, but not all could be verified */
} ExitStatus;

/* Catches signals that end the program. */
extern void program_catch_signals(void);

/*
 * Calls fn before the program ends by a failure or a signal, the latest one
 * first.  It is not called in forked workers.
 */
extern void program_at_end(void (*fn) (void *arg), void *arg);
extern void program_forget_end(void);	/* takes the latest one back */

/* Prints a message, and goes on. */
extern void program_warn(const char *format,...)
			__attribute__((format(printf, 1, 2)));

/* Prints a message, and ends with EXIT_FAILED. */
_Noreturn extern void program_fail(const char *format,...)
			__attribute__((format(printf, 1, 2)));

/* From now on a failure is printed to standard output after these words, too. */
extern void program_fail_as(const char *words, int status);

/* A forked worker has nothing of its parent's to clean up. */
extern void program_become_worker(void);

/* Memory that is allocated after a mark is freed with it. */
extern uint64_t program_mark(void);
extern void program_release(uint64_t mark);

/* What host_server() says of the size of segments, in bytes. */
extern void program_segment_size(uint32_t size);

/* Returns the microseconds of a clock: since 1970, if it is CLOCK_REALTIME. */
extern int64_t program_time(clockid_t clock);

/* Returns a bound in kB/s that forked workers share, NULL if it is 0. */
extern struct Throttle *program_throttle(int64_t rate);

/* Returns zeroed memory that forked workers share. */
extern void *program_share(size_t size);

#endif							/* ACCEL_PROGRAM_HOST_H */
