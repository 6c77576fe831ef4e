/*
 * json.h
 *	  Reads a backup's manifest, first its own checksum, then what it says.
 */
#ifndef ACCEL_BACKUP_JSON_H
#define ACCEL_BACKUP_JSON_H

#include "manifest/list.h"
#include "page/status.h"

/*
 * The most ranges of WAL that a backup needs.  One with more is not a
 * backup's.
 */
#define BACKUP_RANGES_MAX	1024

typedef struct BackupManifest
{
	BackupStatus status;		/* ok, or why nothing of it counts */
	char	   *message;		/* if not ok */
	bool		has_system;
	uint64_t	system;			/* identifier */
	int64_t		newest;			/* the latest modification of a file, in
								 * seconds since 1970, 0 if unknown */
	BackupList	list;
	int			nranges;
	ManifestRange ranges[BACKUP_RANGES_MAX];
} BackupManifest;

/*
 * Returns the bytes of a manifest, whatever they are, and a byte of zero after
 * them.  Else returns NULL, and its status says why.
 */
extern char *backup_manifest_bytes(BackupManifest *manifest, const char *path,
								   bool direct, size_t *size);

/* Says what is wrong with it, unless something already is. */
extern void backup_manifest_fail(BackupManifest *manifest,
								 BackupStatus status, char *message);

/* Nothing of it counts. */
extern void backup_manifest_drop(BackupManifest *manifest);

/*
 * Reads it from a file.  What is wrong with it is a status, never an error.
 * Memory is bounded to 512 MB of the manifest, as many of paths, and 100 bytes
 * per file.
 */
extern void backup_manifest_read(BackupManifest *manifest, const char *path,
								 bool direct);

#endif							/* ACCEL_BACKUP_JSON_H */
