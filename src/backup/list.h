/*
 * list.h
 *	  The files of a backup, which are those of its manifest, or those that are
 *	  there.
 */
#ifndef ACCEL_BACKUP_LIST_H
#define ACCEL_BACKUP_LIST_H

#include "backup/manifest.h"

/* More files do not fit into a manifest that is read, as servers write them. */
#define BACKUP_FILES_MAX	(4 * 1024 * 1024)

typedef struct BackupEntry
{
	int64		size;			/* expected bytes, -1 if unknown */
	int64		found;			/* bytes in an archive, -1 if not yet */
	int64		part;			/* its blocks' numbers in the chain's
								 * BackupParts, -1 if they are not there */
	uint64		name;			/* its path, as offset in the list's names */
	uint8		algorithm;		/* ManifestAlgorithm */
	bool		ignored;		/* nothing is expected of it */
	bool		told;			/* something of it as a whole was found */
	uint8		reason;			/* BackupIncrementReason, of one in an archive */
	uint8		digest[MANIFEST_DIGEST_MAX];
} BackupEntry;

typedef struct BackupList
{
	uint32		count;
	uint32		room;
	BackupEntry *entries;
	char	   *names;
	uint64		names_used;
	uint64		names_room;
	uint32	   *by_path;		/* numbers of entries, after the end */
	uint32	   *by_size;		/* the same, largest first */
} BackupList;

/* Adds a file, whose digest may be NULL. */
extern void backup_list_add(BackupList *list, const char *path, int64 size,
							ManifestAlgorithm algorithm, const uint8 *digest);

/* No more files come.  Returns the path that came twice, or NULL. */
extern const char *backup_list_end(BackupList *list);

/* Returns the number of a file, or -1.  To be called after the end. */
extern int64 backup_list_find(const BackupList *list, const char *path);

extern const char *backup_list_path(const BackupList *list, uint32 entry);

extern void backup_list_free(BackupList *list);

#endif							/* ACCEL_BACKUP_LIST_H */
