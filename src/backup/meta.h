/*
 * meta.h
 *	  Reads the small files that say what a backup is, namely control, label
 *	  and map.
 */
#ifndef ACCEL_BACKUP_META_H
#define ACCEL_BACKUP_META_H

#include "backup/sink.h"
#include "manifest/label.h"

#define BACKUP_MAJOR_SIZE	16

typedef struct BackupMeta
{
	bool		has_control;
	BackupControl control;
	bool		has_label;
	bool		bad_label;		/* there is one, but it says nothing */
	BackupLabel label;
	char		major[BACKUP_MAJOR_SIZE];	/* of PG_VERSION, "" if unknown */
} BackupMeta;

/* Reads them.  Those that are not there are only noted as such. */
extern void backup_meta_read(BackupMeta *meta, const char *root,
							 BackupSink *sink);

/* Sets major to the release that a PG_VERSION names, or "" if none. */
extern void backup_meta_release(const char *root, const char *path,
								char major[BACKUP_MAJOR_SIZE]);

/* What the manifest says, for comparison. */
typedef struct BackupFrame
{
	bool		has_system;
	uint64_t	system;
	bool		has_range;
	WalLsn		start;			/* the lowest */
	WalLsn		end;			/* the highest */
} BackupFrame;

/* Do they agree with each other, and with the manifest? */
extern void backup_meta_check(const BackupMeta *meta,
							  const BackupFrame *frame, BackupSink *sink);

/* Is every tablespace of tablespace_map there? */
extern void backup_meta_check_map(const char *root, BackupSink *sink);

/* Returns which folders that the server needs are there, as bits. */
extern uint32_t backup_meta_folders(const char *root);

/* Are all of them there? */
extern void backup_meta_check_folders(uint32_t there, BackupSink *sink);

#endif							/* ACCEL_BACKUP_META_H */
