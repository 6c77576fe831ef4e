/*
 * live.h
 *	  What the running server's locks and memory say of its own cluster's
 *	  files.
 */
#ifndef ACCEL_CLUSTER_LIVE_H
#define ACCEL_CLUSTER_LIVE_H

#include "cluster/format.h"
#include "cluster/state.h"

typedef struct ClusterDatabase
{
	uint32_t	oid;
	uint32_t	tablespace;
} ClusterDatabase;

/* What the caller asked the server's catalogs, in flat arrays of its own. */
typedef struct ClusterServer
{
	const ClusterDatabase *databases;	/* but those half dropped */
	size_t		ndatabases;
	const ClusterPrepared *prepared;
	size_t		nprepared;
} ClusterServer;

/* The release, and the folder that a tablespace has for it. */
extern int	cluster_live_major(void);
extern const char *cluster_live_tablespace_folder(void);

/*
 * Takes the lock that keeps the server from writing a file of this kind, or
 * from removing it.  Logical snapshots, origins and summaries have none, since
 * they are renamed into place.
 */
extern void cluster_live_lock(ClusterKind kind);
extern void cluster_live_unlock(ClusterKind kind);

extern bool cluster_live_in_recovery(void);

/* The redo LSN of the checkpoint in pg_control, by the server's memory. */
extern uint64_t cluster_live_redo(void);

/*
 * Compares a file that is ok with the server's memory, and a slot whatever it
 * is.  "redo" is what cluster_live_redo() said before the file was read.
 * Decides under the lock only, and may be wrong without it.
 */
extern void cluster_live_check(const ClusterServer *server,
							   const ClusterFile *file, uint64_t redo,
							   ClusterVerdict *verdict);

/* The oldest identifiers that a row of any database may have. */
extern void cluster_live_oldest(uint32_t *xid, uint32_t *multi);

/*
 * Does this session know which file a mapped catalog has in memory, and which?
 * It is 0 if memory has no such mapping.
 */
extern bool cluster_live_knows_map(bool shared, uint32_t database);
extern uint32_t cluster_live_mapped(bool shared, uint32_t relation);

/*
 * Copies the names of this server's persistent slots, at most room, and
 * returns how many.
 */
extern size_t cluster_live_slots(char (*names)[CLUSTER_NAME_SIZE], size_t room);
extern size_t cluster_live_slots_max(void);
extern bool cluster_live_has_slot(const char *name);

/*
 * Locks a database against being dropped or moved.  Returns false, without a
 * lock, if there is no such database (any more).
 */
extern bool cluster_live_lock_database(ClusterDatabase *database);
extern void cluster_live_unlock_database(const ClusterDatabase *database);

#endif							/* ACCEL_CLUSTER_LIVE_H */
