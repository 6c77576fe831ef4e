/*
 * output.h
 *	  What the program prints of files, in each of its formats, and how it ends.
 */
#ifndef ACCEL_PROGRAM_OUTPUT_H
#define ACCEL_PROGRAM_OUTPUT_H

#include <stdio.h>

#include "program/host.h"
#include "program/options.h"
#include "wal/segment.h"

#define OUTPUT_WORDS	1024

typedef struct Output
{
	const Options *options;
	const char *subject;		/* what is verified */
	FILE	   *file;			/* rows go to it */
	uint64_t	begin;			/* microseconds */
	uint64_t	shown;			/* progress, likewise */
	uint64_t	done;			/* bytes of a backup, for progress */
	uint64_t	expected;		/* of them, as far as is known */
	char		stage[64];		/* what these are of, if it must be said */
	uint64_t	files;			/* or images of blocks */
	uint64_t	read;			/* of them, now */
	uint64_t	records;
	uint64_t	pages;			/* of a backup */
	uint64_t	bytes;			/* verified now */
	uint64_t	findings;		/* files that have one */
	uint64_t	unverified;		/* files */
	bool		failed;			/* a file of ours was not written */
	char		first[OUTPUT_WORDS];	/* what was found first */
} Output;

extern void output_begin(Output *output, const Options *options,
						 const char *subject);

/* Is a status a finding, or does it say that there is no verdict? */
extern bool output_is_reported(WalStatus status);

/*
 * A file was judged.  It is printed under this name, or if that is NULL, under
 * that of its result.  NULL words are those of the result.
 */
extern void output_row(Output *output, const char *name,
					   const WalSegmentResult *result, const char *words);

/* An object in JSON.  A member is null where it is not known. */
typedef struct Json
{
	FILE	   *file;
	bool		begun;			/* it has a member */
} Json;

extern void json_text(Json *json, const char *name, bool known,
					  const char *value);
extern void json_lsn(Json *json, const char *name, bool known, WalLsn lsn);
extern void json_bool(Json *json, const char *name, bool value);

/* An array, null if it is empty. */
extern void json_texts(Json *json, const char *name,
					   const char *const *values, int count);
extern void json_number(Json *json, const char *name, bool known,
						uint64_t value);

/* A row about something else than a file of WAL. */
typedef struct OutputRow
{
	bool		finding;
	bool		unverified;
	const char *status;
	const char *words;			/* may be "" */
	void		(*columns) (Json *json, const void *of);
	const void *of;
	bool		told;			/* shown even if it is neither, unless quiet */
} OutputRow;

extern void output_other(Output *output, const char *name, const OutputRow *row);

/*
 * Prints how far it came, if that is wanted, every second and at the end.  The
 * total is 0 where it is not known.
 */
extern void output_progress(Output *output, const char *units, uint64_t done,
							uint64_t total);

/* Returns the status by what was found. */
extern ExitStatus output_status(const Output *output);

/* Prints the last line, writes metrics, and returns how the program ends. */
extern int	output_end(Output *output);

#endif							/* ACCEL_PROGRAM_OUTPUT_H */
