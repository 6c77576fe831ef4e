/*
 * origin.h
 *	  Where a backup began, and where the one before it did.
 *
 * An incremental backup names the one before it by the start of its WAL, and
 * that one is of the same cluster.
 */
#ifndef ACCEL_BACKUP_ORIGIN_H
#define ACCEL_BACKUP_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct BackupOrigin
{
	bool		known;			/* its backup_label says so */
	bool		has_system;
	uint64_t	system;			/* identifier, of the manifest */
	uint64_t	start;			/* LSN */
	uint32_t	timeline;
	uint64_t	previous_start; /* 0 for a full backup */
	uint32_t	previous_timeline;
} BackupOrigin;

/* Reads what it says in few bytes, also from the beginning of base.tar. */
extern void backup_origin_read(const char *root, bool tar,
							   BackupOrigin *origin);

/*
 * Finds the backups that number n of count is incremental to, among the same,
 * full first.  Returns how many there are, at most "most", or -1 if one of
 * them is not there.
 */
extern int	backup_origin_priors(const BackupOrigin *origins, size_t count,
								 size_t n, size_t *priors, int most);

#endif							/* ACCEL_BACKUP_ORIGIN_H */
