/*
 * state.h
 *	  The file that remembers what was verified of a WAL archive.
 */
#ifndef ACCEL_PROGRAM_STATE_H
#define ACCEL_PROGRAM_STATE_H

#include "program/state_file.h"
#include "wal/archive.h"

/* An open file, locked against other runs. */
typedef struct State
{
	StateFile	file;
	HostServer	owner;			/* of the archive, system 0 if none is known */
} State;

/*
 * Opens the file, which is made if there is none, and adds what it remembers to
 * an empty archive.  A damaged one is told of, and nothing is remembered then.
 * One of another archive, or that another run has, ends the program.
 */
extern void state_open(State *state, const char *path, const char *directory,
					   WalArchive *archive);

/*
 * Writes what is to be remembered.  That a file is replaced is remembered when
 * the run is complete.  Returns false if that fails, with a message.  The old
 * file is there then.
 */
extern bool state_write(State *state, const WalArchive *archive, bool complete);

#endif							/* ACCEL_PROGRAM_STATE_H */
