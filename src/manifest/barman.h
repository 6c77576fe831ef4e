/*
 * barman.h
 *	  Reads what barman writes of a backup in its repository.
 *
 * The folder of a backup has a file backup.info, with a line per value, and the
 * data directory in the folder data.  Tablespaces lie beside that, by their
 * OIDs.  The WAL of all backups of a server is in the folder wals.
 */
#ifndef ACCEL_BACKUP_BARMAN_H
#define ACCEL_BACKUP_BARMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BARMAN_INFO		"backup.info"
#define BARMAN_DATA		"data"

typedef struct Barman
{
	char		status[32];		/* "" if it does not say one */
	bool		has_system;
	uint64_t	system;			/* identifier */
	uint32_t   *tablespaces;	/* OIDs */
	size_t		ntablespaces;
	size_t		room;
} Barman;

/* Is a directory that of a backup of barman? */
extern bool barman_is(const char *root);

/* Reads its backup.info.  Returns false if that fails, and errno says why. */
extern bool barman_read(const char *root, Barman *backup);

/* Parses the text of one, for which the rest of *backup is zero. */
extern void barman_parse(const char *info, Barman *backup);

/* Returns the directory of its WAL, or NULL if that is not there. */
extern char *barman_archive(const char *root);

#endif							/* ACCEL_BACKUP_BARMAN_H */
