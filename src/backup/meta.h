/*
 * meta.h
 *	  The small files that say what a backup is: control, label, map.
 */
#ifndef ACCEL_BACKUP_META_H
#define ACCEL_BACKUP_META_H

#include "backup/label.h"
#include "backup/sink.h"

#define BACKUP_MAJOR_SIZE	16

typedef struct BackupMeta
{
	bool		has_control;
	BackupControl control;
	bool		has_label;
	bool		bad_label;		/* there is one, but it says nothing */
	BackupLabel label;
	char		major[BACKUP_MAJOR_SIZE];	/* of PG_VERSION; "": unknown */
} BackupMeta;

/* Reads them.  Those that are not there are only noted as such. */
extern void backup_meta_read(BackupMeta *meta, const char *root,
							 BackupSink *sink);

/* The release that a PG_VERSION names, "": none. */
extern void backup_meta_release(const char *root, const char *path,
								char major[BACKUP_MAJOR_SIZE]);

/* What the manifest says, for comparison. */
typedef struct BackupFrame
{
	bool		has_system;
	uint64		system;
	bool		has_range;
	XLogRecPtr	start;			/* the lowest */
	XLogRecPtr	end;			/* the highest */
} BackupFrame;

/* Do they agree with each other, and with the manifest? */
extern void backup_meta_check(const BackupMeta *meta,
							  const BackupFrame *frame, BackupSink *sink);

/* Is every tablespace of tablespace_map there? */
extern void backup_meta_check_map(const char *root, BackupSink *sink);

/* The folders that the server needs, those that are there: by bits. */
extern uint32 backup_meta_folders(const char *root);

/* Are all of them there? */
extern void backup_meta_check_folders(uint32 there, BackupSink *sink);

#endif							/* ACCEL_BACKUP_META_H */
