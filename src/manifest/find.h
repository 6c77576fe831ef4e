/*
 * find.h
 *	  Finds the backups below a directory.
 *
 * A folder is one by what lies right in it.  That is a backup_manifest, a
 * backup_label, or the archive base.tar, compressed or not.  In repositories it
 * is pgBackRest's backup.manifest, or a folder data of which barman says what
 * it is.
 */
#ifndef ACCEL_BACKUP_FIND_H
#define ACCEL_BACKUP_FIND_H

typedef enum BackupFindKind
{
	BACKUP_FIND_PLAIN,			/* a data directory */
	BACKUP_FIND_TAR,			/* archives */
	BACKUP_FIND_STORED,			/* in the repository of another program */
	BACKUP_FIND_SERVER,			/* a data directory that a server works in */
	BACKUP_FIND_LINK,			/* a symbolic link to a folder, not followed */
	BACKUP_FIND_FAILED			/* a folder that cannot be read, errno says
								 * why */
} BackupFindKind;

/*
 * Calls found for each, with its path below root, which is "." for root
 * itself.  Nothing is looked for within a data directory, nor beyond symbolic
 * links.
 */
extern void backup_find(const char *root,
						void (*found) (void *arg, const char *path,
									   BackupFindKind kind),
						void *arg);

#endif							/* ACCEL_BACKUP_FIND_H */
