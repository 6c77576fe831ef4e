/*
 * label.h
 *	  What backup_label, tablespace_map and pg_control say of a backup.
 *
 * Pure.  Facts of PostgreSQL's xlogbackup.c and pg_control.h, 15 to 19.
 */
#ifndef ACCEL_BACKUP_LABEL_H
#define ACCEL_BACKUP_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BACKUP_LABEL_MAX	1024

typedef struct BackupLabel
{
	uint64_t	start;			/* START WAL LOCATION */
	uint64_t	checkpoint;		/* CHECKPOINT LOCATION */
	uint32_t	timeline;		/* START TIMELINE */
	bool		from_standby;
	uint64_t	previous_start; /* INCREMENTAL FROM LSN, 0 for a full backup */
	uint32_t	previous_timeline;	/* INCREMENTAL FROM TLI */
	char		label[BACKUP_LABEL_MAX];
} BackupLabel;

/*
 * Parses backup_label, a text with a terminator.  Returns false if it is none.
 */
extern bool backup_label_read(const char *lines, BackupLabel *label);

/*
 * Reads the tablespace of the next line of tablespace_map.  Moves *at on, and
 * sets it to 0 at the end.  Returns false if the line is none.
 */
extern bool backup_map_next(const char *lines, size_t *at,
							uint32_t *tablespace);

#define BACKUP_CONTROL_BYTES	320 /* as many are enough */

typedef struct BackupControl
{
	uint64_t	system;
	uint32_t	version;
	uint64_t	checkpoint;
	uint64_t	redo;
	uint32_t	timeline;
	uint64_t	min_recovery;	/* 0 if there is none */
	uint32_t	min_recovery_timeline;
	bool		shut_down;		/* no recovery is needed */
	bool		in_recovery;	/* that of a standby, stopped or not */
	uint32_t	block_size;
	uint32_t	segment_blocks; /* of a relation's file */
	uint32_t	wal_block_size;
	bool		checksums;
} BackupControl;

/*
 * Parses pg_control.  Returns false if it is too short, of a version that is
 * not known or of another byte order.  The version is set then.
 */
extern bool backup_control_read(const uint8_t *bytes, size_t size,
								BackupControl *control);

#endif							/* ACCEL_BACKUP_LABEL_H */
