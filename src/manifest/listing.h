/*
 * listing.h
 *	  What the file system says of all files of a backup, without reading them.
 */
#ifndef ACCEL_BACKUP_LISTING_H
#define ACCEL_BACKUP_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#define BACKUP_MANIFEST_DIGITS	65	/* of its own checksum, with terminator */

/* Times are microseconds since 1970. */
typedef struct BackupListing
{
	uint64_t	files;
	uint64_t	bytes;			/* of them all */
	uint64_t	digest;			/* of names, sizes, modification times, and of
								 * the manifest's own checksum */
	bool		settled;		/* what is written from now on has another
								 * time */
	bool		has_manifest;
	int64_t		manifest_at;	/* its modification time */
	char		manifest[BACKUP_MANIFEST_DIGITS];	/* its last line says so,
													 * "" if none */
	int64_t		written_at;		/* the latest modification time of a file */
	int64_t		changed_at;		/* the latest change of a file or of root */
} BackupListing;

/*
 * Lists a backup, its WAL included.  In tar format these are the files right
 * in root.  What cannot be listed is in the digest as such.
 */
extern void backup_listing_read(const char *root, bool tar,
								BackupListing *listing);

/* Adds to a digest what else it is to tell apart, or another digest. */
extern uint64_t backup_listing_mix(uint64_t digest, const void *data,
								   uint64_t len);

#endif							/* ACCEL_BACKUP_LISTING_H */
