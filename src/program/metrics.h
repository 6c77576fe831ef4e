/*
 * metrics.h
 *	  Metrics of a run, for Prometheus's textfile collector.
 */
#ifndef ACCEL_PROGRAM_METRICS_H
#define ACCEL_PROGRAM_METRICS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Metrics
{
	const char *command;
	const char *subject;
	uint64_t	files;			/* judged */
	uint64_t	read;			/* of them */
	uint64_t	findings;		/* files that have one */
	uint64_t	unverified;		/* files */
	uint64_t	bytes;			/* verified */
	int			status;			/* how the run ends */
	double		seconds;		/* that it took */
} Metrics;

/* Writes the file.  Returns false if that fails, with a message. */
extern bool metrics_write(const char *path, const Metrics *metrics);

#endif							/* ACCEL_PROGRAM_METRICS_H */
