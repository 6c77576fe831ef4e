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

	/* so many more are to be read, as a manifest says; may be NULL */
	void		(*expect) (void *arg, int64_t bytes);
} BackupProgress;

/* NULL if nobody asks. */
static inline void
backup_progress(const BackupProgress *progress, int64_t bytes)
{
	if (progress != NULL)
		progress->read(progress->arg, bytes);
}

#endif							/* ACCEL_BACKUP_PROGRESS_H */
