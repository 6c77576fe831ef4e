/*
 * list.h
 *	  The files of a backup, which are those of its manifest, or those that are
 *	  there.
 */
#ifndef ACCEL_BACKUP_LIST_H
#define ACCEL_BACKUP_LIST_H

#include "manifest/manifest.h"

/* More files do not fit into a manifest that is read, as servers write them. */
#define BACKUP_FILES_MAX	(4 * 1024 * 1024)

typedef struct BackupEntry
{
	int64_t		size;			/* expected bytes, -1 if unknown */
	int64_t		found;			/* bytes in an archive, -1 if not yet */
	int64_t		part;			/* its blocks' numbers in the chain's
								 * BackupParts, -1 if they are not there */
	uint64_t	name;			/* its path, as offset in the list's names */
	uint8_t		algorithm;		/* ManifestAlgorithm */
	bool		ignored;		/* nothing is expected of it */
	bool		told;			/* something of it as a whole was found */
	uint8_t		reason;			/* BackupIncrementReason, of one in an archive */
	uint8_t		digest[MANIFEST_DIGEST_MAX];
} BackupEntry;

/* The folder of a BackupStored is that of the backup itself. */
#define BACKUP_STORED_OWN	UINT64_MAX

/* Where the file lies that has the bytes of an entry, if by another name. */
typedef struct BackupStored
{
	uint64_t	folder;			/* beside the backup's, as offset in the
								 * list's names, or BACKUP_STORED_OWN */
	uint64_t	offset;			/* in a bundle */
	uint64_t	bytes;			/* there */
	uint32_t	bundle;			/* its number, 0 if it is a file of its own */
	uint8_t		format;			/* DecodeFormat */
	bool		nothing;		/* an empty file of which nothing is stored */
} BackupStored;

typedef struct BackupList
{
	uint32_t	count;
	uint32_t	room;
	BackupEntry *entries;
	char	   *names;
	uint64_t	names_used;
	uint64_t	names_room;
	uint32_t   *by_path;		/* numbers of entries, after the end */
	uint32_t   *by_size;		/* the same, largest first */
	BackupStored *stored;		/* of the entries, NULL if they lie as named */
	uint32_t	stored_count;
	uint32_t	stored_room;
} BackupList;

/* Adds a file, whose digest may be NULL. */
extern void backup_list_add(BackupList *list, const char *path, int64_t size,
							ManifestAlgorithm algorithm, const uint8_t *digest);

/* Says where the file is that was added last.  All of a list are, or none. */
extern void backup_list_add_stored(BackupList *list,
								   const BackupStored *stored);

/* Keeps another name in the list.  Returns its offset. */
extern uint64_t backup_list_add_name(BackupList *list, const char *name);

/* No more files come.  Returns the path that came twice, or NULL. */
extern const char *backup_list_end(BackupList *list);

/* Returns the number of a file, or -1.  To be called after the end. */
extern int64_t backup_list_find(const BackupList *list, const char *path);

/* Does it have files below this folder?  The same. */
extern bool backup_list_has_below(const BackupList *list, const char *folder);

extern const char *backup_list_path(const BackupList *list, uint32_t entry);

extern void backup_list_free(BackupList *list);

#endif							/* ACCEL_BACKUP_LIST_H */
