/*
 * replace.h
 *	  Writes a file so that its name leads to the old or the new one, whole.
 */
#ifndef ACCEL_PROGRAM_REPLACE_H
#define ACCEL_PROGRAM_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

/* At most one is at work at a time. */
typedef struct Replace
{
	const char *path;			/* the caller's */
	char	   *temporary;
	FILE	   *file;			/* to write to */
} Replace;

/* Begins a file beside path.  Returns false if that fails, with a message. */
extern bool replace_begin(Replace *replace, const char *path);

/*
 * Gives it its name, if done, or else removes it.  If durable, it is on disk
 * then.  Returns false if that fails, with a message.  The old file is there
 * then.
 */
extern bool replace_end(Replace *replace, bool done, bool durable);

#endif							/* ACCEL_PROGRAM_REPLACE_H */
