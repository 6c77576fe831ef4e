/*
 * fate.h
 *	  What recovery makes of pages of a backup that are not in order.
 *
 * Pure.  It takes the records of the backup's WAL and gives a fate for each
 * page.  A page that was written while it was copied is torn.  The server
 * expects that.  The first change of a page after a backup's start logs an
 * image of all of it.  Recovery writes the image without reading what is
 * there.  So the first record that names the page decides, and it alone.
 *
 *	  it restores or initialises the page:	recovery does not see the damage
 *	  it does anything else:				recovery reads the page, and fails
 *	  none names it:						the damage stays
 *
 * It must be the first one, not any, since a hash index logs unchanged pages
 * without an image, which redo reads to lock them.  A page that is gone is as
 * good as restored.  That is so when its relation or database is dropped, its
 * file truncated below it, or its database copied anew.  It must happen before
 * any record names it.
 *
 * A relation map is like a page, since a record that updates it has all of it.
 * The files that it names are there, and not empty, or a record creates them:
 * CREATE DATABASE writes PG_VERSION and the map first.  So it is with files that
 * pg_class names.
 *
 * Redo of a database that is copied, by STRATEGY file_copy or to another
 * tablespace, copies the files as they are then.  What is wrong with them is
 * wrong in the copy, too.  So a suspect has places, of which each is decided by
 * itself, and the worst one counts.
 */
#ifndef ACCEL_BACKUP_FATE_H
#define ACCEL_BACKUP_FATE_H

#include "wal/blocks.h"

typedef enum BackupFate
{
	BACKUP_FATE_NONE,			/* no record names it */
	BACKUP_FATE_RESTORED,
	BACKUP_FATE_GONE,
	BACKUP_FATE_READ,			/* the first record that names it reads it */
	BACKUP_FATE_UNKNOWN,		/* WAL is missing that could have named it */
	BACKUP_FATE_REPLACED,		/* a later backup of the chain decides */
	BACKUP_FATE_RESET			/* of an unlogged relation, which recovery
								 * empties */
} BackupFate;

typedef enum BackupSuspectKind
{
	BACKUP_SUSPECT_PAGE,
	BACKUP_SUSPECT_FILE,		/* of a relation, as a whole */
	BACKUP_SUSPECT_MAP,
	BACKUP_SUSPECT_MAPPED,		/* the file of a relation, which a map lacks */
	BACKUP_SUSPECT_NAMED,		/* the same, which pg_class lacks */
	BACKUP_SUSPECT_VERSION		/* PG_VERSION of a database */
} BackupSuspectKind;

typedef struct BackupSuspect
{
	BackupSuspectKind kind;
	WalBlockTag tag;			/* relation 0 if it is of a database, block
								 * PAGE_BLOCK_MAX of a whole file */
	BackupFate	fate;
	WalLsn		lsn;			/* of the record that decided, 0 if none */
	uint32_t	number;			/* the caller's, of its kind */
	uint32_t	places;			/* without a fate: bit 0 is its own, bit n
								 * that of the copy n - 1 */
} BackupSuspect;

typedef struct BackupFolder
{
	uint32_t	tablespace;
	uint32_t	database;
} BackupFolder;

/* A folder that redo fills from one of the backup. */
typedef struct BackupCopy
{
	bool		live;			/* not dropped since */
	BackupFolder folder;
	BackupFolder source;		/* the first one, if that was a copy itself */
	WalLsn		lsn;			/* of the record */
} BackupCopy;

/* Beyond these, the record that copies a folder reads what is suspect there. */
#define BACKUP_COPIES_MAX	31

typedef struct BackupFates
{
	BackupSuspect *suspects;	/* by tag */
	size_t		count;
	size_t		open;			/* without a fate */
	uint32_t	block_size;
	WalLsn		lsn;			/* of the record at work, 0 in a gap */
	uint32_t	place;			/* that it concerns */
	uint32_t	ncopies;
	BackupCopy	copies[BACKUP_COPIES_MAX];
	bool		crowded;		/* there were more */
	WalBlocks	blocks;
} BackupFates;

/* Puts the suspects in order and sets the fate of each to NONE. */
extern void backup_fates_begin(BackupFates *ctx, BackupSuspect *suspects,
							   size_t count, uint32_t block_size);

/*
 * Takes the next record, whose CRC is right, and of which present bytes are at
 * hand.  One that cannot be decoded, or that is about storage and cannot be
 * understood, is as good as missing.
 */
extern void backup_fates_record(BackupFates *ctx, WalLsn lsn,
								const uint8_t *record, uint32_t present);

/* Records are missing here, so what has no fate yet will have none. */
extern void backup_fates_gap(BackupFates *ctx);

/* There are no more records.  A copy that stays is read, as its source was. */
extern void backup_fates_end(BackupFates *ctx);

#endif							/* ACCEL_BACKUP_FATE_H */
