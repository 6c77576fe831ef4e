/*
 * spool.h
 *	  A temporary directory with those files of archives that are read again.
 *
 * WAL has to be read at any place, and files that carry a CRC of their own are
 * looked up by their names.  So these members of archives become files, where
 * temporary files go.  A server has as many as temp_file_limit lets them.  They
 * are gone when the work ends, however it ends.
 */
#ifndef ACCEL_BACKUP_SPOOL_H
#define ACCEL_BACKUP_SPOOL_H

#include "host/temporary.h"

typedef struct BackupSpool
{
	HostFolder	folder;
	uint64_t	bytes;			/* written */
	int			fd;				/* of the file that is written, -1 if none */
} BackupSpool;

/* In the memory that is allocated now, with which it ends at the latest. */
extern BackupSpool *backup_spool_begin(void);
extern void backup_spool_end(BackupSpool *spool);

/*
 * Begins a file, or makes a folder, and the folders that it is in.  The path
 * is one that backup_path_kept() or backup_folder_kept() knows.  Returns false
 * if its name does not fit, or is in use, and errno says why.  Any other
 * failure ends the work.
 */
extern bool backup_spool_create(BackupSpool *spool, const char *path);
extern bool backup_spool_folder(BackupSpool *spool, const char *path);

extern void backup_spool_write(BackupSpool *spool, const void *data,
							   size_t len);
extern void backup_spool_close(BackupSpool *spool);

#endif							/* ACCEL_BACKUP_SPOOL_H */
