/*
 * walk.h
 *	  All files of a plain backup, folder by folder.
 */
#ifndef ACCEL_BACKUP_WALK_H
#define ACCEL_BACKUP_WALK_H

typedef enum BackupWalkKind
{
	BACKUP_WALK_FILE,
	BACKUP_WALK_LINK,			/* to a folder, where none belongs */
	BACKUP_WALK_OTHER,			/* neither a file nor a folder */
	BACKUP_WALK_FAILED			/* cannot be read, errno says why */
} BackupWalkKind;

/*
 * Calls entry for each file below root, with its path there.  What a backup's
 * manifest does not list by right is passed over.  Symbolic links lead to other
 * folders as tablespaces only.
 */
extern void backup_walk(const char *root,
						void (*entry) (void *arg, const char *path,
									   BackupWalkKind kind),
						void *arg);

#endif							/* ACCEL_BACKUP_WALK_H */
