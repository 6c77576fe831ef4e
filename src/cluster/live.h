/*
 * live.h
 *	  What the running server's locks and memory say of its own cluster's
 *	  files.
 */
#ifndef ACCEL_CLUSTER_LIVE_H
#define ACCEL_CLUSTER_LIVE_H

#include "cluster/databases.h"
#include "cluster/format.h"
#include "cluster/state.h"

typedef struct ClusterLive ClusterLive;

/*
 * The running server, and what the caller asked its catalogs, in flat arrays of
 * its own.
 */
typedef struct ClusterServer
{
	const ClusterLive *live;
	const ClusterDatabase *databases;	/* but those half dropped */
	size_t		ndatabases;
	const ClusterPrepared *prepared;
	size_t		nprepared;
} ClusterServer;

/* Where no server runs, none of these is called. */
struct ClusterLive
{
	/* The release, and the folder that a tablespace has for it. */
	int			(*major) (void);
	const char *(*tablespace_folder) (void);

	/*
	 * Takes the lock that keeps the server from writing a file of this kind,
	 * or from removing it.  Logical snapshots, origins and summaries have
	 * none, since they are renamed into place.
	 */
	void		(*lock) (ClusterKind kind);
	void		(*unlock) (ClusterKind kind);

	bool		(*in_recovery) (void);

	/* The redo LSN of the checkpoint in pg_control, by the server's memory. */
	uint64_t	(*redo) (void);

	/*
	 * Compares a file that is ok with the server's memory, and a slot
	 * whatever it is.  "redo" is what redo() said before the file was read.
	 * Decides under the lock only, and may be wrong without it.
	 */
	void		(*check) (const ClusterServer *server, const ClusterFile *file,
						  uint64_t redo, ClusterVerdict *verdict);

	/* The oldest identifiers that a row of any database may have. */
	void		(*oldest) (uint32_t *xid, uint32_t *multi);

	/*
	 * Does this session know which file a mapped catalog has in memory, and
	 * which?  It is 0 if memory has no such mapping.
	 */
	bool		(*knows_map) (bool shared, uint32_t database);
	uint32_t	(*mapped) (bool shared, uint32_t relation);

	/*
	 * Copies the names of this server's persistent slots, at most room, and
	 * returns how many.
	 */
	size_t		(*slots) (char (*names)[CLUSTER_NAME_SIZE], size_t room);
	size_t		(*slots_max) (void);
	bool		(*has_slot) (const char *name);

	/*
	 * Locks a database against being dropped or moved.  Returns false,
	 * without a lock, if there is no such database (any more).
	 */
	bool		(*lock_database) (ClusterDatabase *database);
	void		(*unlock_database) (const ClusterDatabase *database);
};

extern const ClusterLive cluster_live;

#endif							/* ACCEL_CLUSTER_LIVE_H */
