/*
 * state_file.h
 *	  A file that remembers what was verified, between runs.
 */
#ifndef ACCEL_PROGRAM_STATE_FILE_H
#define ACCEL_PROGRAM_STATE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "program/replace.h"

/* An open file, locked against other runs. */
typedef struct StateFile
{
	/* the caller's */
	const char *path;
	const char *directory;		/* that is verified, resolved */
	const char *first_line;		/* which command and version wrote it */
	const char *what;			/* the directory is */

	bool		damaged;		/* nothing was remembered */
	int			fd;

	/* while it is written */
	Replace		replace;
	int			next;			/* descriptor of the new file */
	uint32_t	reg;			/* of the CRC of the lines */
} StateFile;

/*
 * Opens the file, which is made if there is none.  Gives all lines after the
 * first ones to parse, unless there are none.  One of another directory, or
 * that another run has, ends the program.
 */
extern void state_file_open(StateFile *state,
							bool (*parse) (void *arg, char *lines), void *arg);

/* Returns the next line, NULL if there is none. */
extern char *state_file_line(char **contents);

/*
 * Begins a new one, adds a line, and gives it the name.  Returns false if that
 * fails, with a message.  The old file is there then.
 */
extern bool state_file_begin(StateFile *state);
extern void state_file_put(StateFile *state, const char *line);
extern bool state_file_end(StateFile *state);

#endif							/* ACCEL_PROGRAM_STATE_FILE_H */
