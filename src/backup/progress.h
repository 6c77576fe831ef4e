/*
 * progress.h
 *	  How much of a backup was read.
 */
#ifndef ACCEL_BACKUP_PROGRESS_H
#define ACCEL_BACKUP_PROGRESS_H

#include <stdint.h>

typedef struct BackupProgress
{
	/* so many bytes were read since it was called last */
	void		(*read) (void *arg, int64_t bytes);
	void	   *arg;
} BackupProgress;

/* NULL if nobody asks. */
static inline void
backup_progress(const BackupProgress *progress, int64_t bytes)
{
	if (progress != NULL)
		progress->read(progress->arg, bytes);
}

#endif							/* ACCEL_BACKUP_PROGRESS_H */
