/*
 * barman.h
 *	  Reads what barman writes of a backup in its repository.
 *
 * The folder of a backup, base/ID below that of its server, has the data
 * directory in the folder data.  Tablespaces lie beside that, by their OIDs.
 * A file with a line per value is there as backup.info, or, of releases from
 * 3.13.2 on, in the server's folder as meta/ID-backup.info.  The WAL of all
 * backups of a server is in its folder wals.
 */
#ifndef ACCEL_BACKUP_BARMAN_H
#define ACCEL_BACKUP_BARMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BARMAN_INFO		"backup.info"
#define BARMAN_DATA		"data"
#define BARMAN_META		"../../meta"	/* from the folder of a backup */

typedef struct Barman
{
	char	   *info;			/* the file's path from the folder, once read */
	char		status[32];		/* "" if it does not say one */
	char		encryption[32]; /* by what program, "" if by none */
	bool		has_system;
	uint64_t	system;			/* identifier */
	uint32_t   *tablespaces;	/* OIDs */
	size_t		ntablespaces;
	size_t		room;
} Barman;

/* Is a directory that of a backup of barman? */
extern bool barman_is(const char *root);

/*
 * Returns the path from that directory to the file that says what the backup
 * is, or NULL if there is none.
 */
extern char *barman_info(const char *root);

/* Reads that file, which is there.  Returns false if that fails, and errno says why. */
extern bool barman_read(const char *root, Barman *backup);

/* Parses the text of one, for which the rest of *backup is zero. */
extern void barman_parse(const char *info, Barman *backup);

/* Returns the directory of its WAL, or NULL if that is not there. */
extern char *barman_archive(const char *root);

#endif							/* ACCEL_BACKUP_BARMAN_H */
