/*
 * pgbackrest.h
 *	  Reads what pgBackRest writes of a backup in its repository.
 *
 * A file backup.manifest lies in the folder of each backup.  It has sections,
 * and a line per value, which is JSON.  A file of the backup has its size and
 * its SHA-1 there.  One that an earlier backup has, too, is stored only there.
 */
#ifndef ACCEL_BACKUP_PGBACKREST_H
#define ACCEL_BACKUP_PGBACKREST_H

#include "decode/format.h"
#include "host/host.h"
#include "manifest/json.h"

#define PGBACKREST_MANIFEST	"backup.manifest"
#define PGBACKREST_COPY		PGBACKREST_MANIFEST ".copy"
#define PGBACKREST_DATA		"pg_data"	/* tablespaces lie beside it */
#define PGBACKREST_BUNDLES	"bundle"
#define PGBACKREST_VERSION	16

typedef struct PgBackRest
{
	DecodeFormat format;		/* of all files */
	char		version[PGBACKREST_VERSION];	/* of the server */
	uint32_t	id;				/* of its archive, beside the version */
	char	  **folders;		/* of the data directory, by their paths */
	size_t		nfolders;
	size_t		room;
	uint64_t	incremental;	/* files stored by their blocks, not read */
	bool		differs;		/* the copy of the manifest does */

	/* in pgbackrest_references() alone */
	char	  **references;		/* folders of other backups with files of it */
	size_t		nreferences;
	size_t		room_references;
	char		own[2 * HOST_SHA1_BYTES + 1];	/* checksum in the manifest */
	uint64_t	bytes;			/* that all files hold */
} PgBackRest;

/* Is a directory that of a backup of pgBackRest? */
extern bool pgbackrest_is(const char *root);

/* Reads the manifest of a backup. */
extern void pgbackrest_read(const char *root, bool direct,
							BackupManifest *manifest, PgBackRest *backup);

/*
 * Parses one, for which both arguments are zero.  A byte of zero follows the
 * bytes.
 */
extern void pgbackrest_parse(const char *bytes, size_t size,
							 BackupManifest *manifest, PgBackRest *backup);

/*
 * Reads of the manifest only which other backups it needs, its own checksum,
 * and how much is read to verify the backup.
 */
extern void pgbackrest_references(const char *root, PgBackRest *backup);

/* The same of its bytes, up to the first zero.  *backup is zero before. */
extern void pgbackrest_parse_references(const char *bytes, PgBackRest *backup);

/*
 * Returns the directory of WAL that belongs to the backup, or NULL if it is
 * not there.
 */
extern char *pgbackrest_archive(const char *root, const PgBackRest *backup);

#endif							/* ACCEL_BACKUP_PGBACKREST_H */
