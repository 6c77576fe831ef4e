/*
 * backups_state.h
 *	  The file that remembers the verdicts on backups.
 */
#ifndef ACCEL_PROGRAM_BACKUPS_STATE_H
#define ACCEL_PROGRAM_BACKUPS_STATE_H

#include "backup/plan.h"
#include "program/state_file.h"

typedef struct BackupsState
{
	StateFile	file;
	BackupVerdict **verdicts;	/* each stays where it is */
	size_t		count;
	size_t		room;
} BackupsState;

/*
 * Opens the file, which is made if there is none, and reads what it remembers.
 * A damaged one is told of, and nothing is remembered then.
 */
extern void backups_state_open(BackupsState *state, const char *path,
							   const char *directory);

/* Returns what is remembered of a backup, NULL if nothing is. */
extern BackupVerdict *backups_state_find(const BackupsState *state,
										 const char *backup);

/*
 * Remembers a copy of a verdict, in place of an earlier one.
 */
extern void backups_state_remember(BackupsState *state,
								   const BackupVerdict *verdict);

/*
 * Writes what is to be remembered, without what is gone.  Returns false if that
 * fails, with a message.
 */
extern bool backups_state_write(BackupsState *state);

#endif							/* ACCEL_PROGRAM_BACKUPS_STATE_H */
