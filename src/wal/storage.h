/*
 * storage.h
 *	  What WAL says of storage that is made, cut off, copied or dropped.
 *
 * Pure.  It takes a decoded record and gives the facts in it.  Which pages end
 * or change by that is a question of the callers, whose rules about maps and
 * forks differ.
 *
 * The records are those of PostgreSQL 15 to 19, where they are the same.  In
 * 14 the records about databases had other numbers.  So a record must be of a
 * supported version, see wal_version_supported().
 */
#ifndef ACCEL_WAL_STORAGE_H
#define ACCEL_WAL_STORAGE_H

#include "wal/blocks.h"

#define WAL_FORK_BIT(fork)	(UINT32_C(1) << (fork))
#define WAL_FORKS_ALL		(WAL_FORK_BIT(WAL_FORK_MAX + 1) - 1)

typedef enum WalStorageKind
{
	WAL_STORAGE_CREATED,		/* a fork of a relation, at wal_level minimal,
								 * too */
	WAL_STORAGE_TRUNCATED,		/* some forks of a relation */
	WAL_STORAGE_DROPPED,		/* a relation with all of its forks */
	WAL_DATABASE_CREATED,		/* its relations are created after it */
	WAL_DATABASE_COPIED,		/* its files, and no record names a block */
	WAL_DATABASE_DROPPED,
	WAL_TABLESPACE_CREATED,
	WAL_TABLESPACE_DROPPED
} WalStorageKind;

/* What a kind does not have is 0. */
typedef struct WalStorageEvent
{
	WalStorageKind kind;
	uint32_t	tablespace;
	uint32_t	database;
	uint32_t	relation;
	uint32_t	forks;			/* a WAL_FORK_BIT for each, all of a database
								 * or tablespace */
	uint32_t	block;			/* truncated blocks of the main fork begin
								 * here */
	uint32_t	source_tablespace;	/* of a copy */
	uint32_t	source_database;
	uint32_t	ntablespaces;	/* of a dropped database */
	const uint8_t *tablespaces; /* four bytes for each */
} WalStorageEvent;

typedef void (*WalStorageFn) (void *arg, const WalStorageEvent *event);

#define WAL_STORAGE_RMGRS	6	/* up to Tablespace, since later ones tell
								 * nothing */

/* Can a record with this header be about storage? */
extern bool wal_storage_tells(const uint8_t *rec);

/* The same, without a call for most of them. */
static inline bool
wal_storage_possible(const uint8_t *rec)
{
	return rec[WAL_REC_RMID] < WAL_STORAGE_RMGRS && wal_storage_tells(rec);
}

/*
 * Calls event for each fact in a decoded record, in the order of the record.
 * Returns false if the record is about storage and cannot be understood, or is
 * cut before its last fact.
 */
extern bool wal_storage_events(const uint8_t *rec, const WalBlocks *blocks,
							   WalStorageFn event, void *arg);

#endif							/* ACCEL_WAL_STORAGE_H */
