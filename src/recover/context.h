/*
 * context.h
 *	  The state of a recovery of blocks, and how it fails.
 */
#ifndef ACCEL_RECOVER_CONTEXT_H
#define ACCEL_RECOVER_CONTEXT_H

#include <sys/types.h>

#include "cluster/control.h"
#include "recover/filter.h"

#define RECOVER_MESSAGE	1024

/* A block as the user names it. */
typedef struct RecoverWanted
{
	const char *path;			/* of the relation's first file */
	WalBlockTag tag;
	bool		recovered;
	WalLsn		lsn;			/* of the page */
	char		message[RECOVER_MESSAGE];	/* why it was not recovered */
} RecoverWanted;

typedef struct Recover
{
	/* what is asked for */
	const char *backup;			/* plain, its folder */
	bool		is_cluster;		/* it is a data directory instead */
	const char **wal;			/* folders */
	size_t		nwal;
	bool		direct;			/* all of these is read past the page cache */
	const char *bindir;
	const char *out;
	uint32_t	timeline;		/* 0 for the newest */
	WalLsn		target;			/* WAL_LSN_MAX for the end of the WAL */
	RecoverWanted *wanted;
	size_t		nwanted;
	uint32_t	database;		/* whose tables are recovered instead, or 0 */
	const char **relations;		/* paths of theirs */
	size_t		nrelations;
	uint64_t	table_bytes;	/* of the files that are copied for them */
	void		(*say) (const char *line);

	/* of the backup */
	ClusterControl control;
	uint32_t	major;
	WalLsn		start;			/* where redo begins */
	uint32_t	start_timeline;
	ClusterRestart restart;		/* of a cluster */

	/* paths in out, allocated */
	char	   *scratch;
	char	   *links;			/* to files of WAL */
	char	   *data;			/* of the server */
	struct RecoverKeeper *keeper;

	WalLsn		end;			/* of the WAL that is replayed */
	RecoverFilter filter;
	char		message[RECOVER_MESSAGE];	/* why it failed */
} Recover;

/* Sets the message, and returns false. */
extern bool recover_fail(Recover *ctx, const char *format,...)
			__attribute__((format(printf, 2, 3)));

/* The same, with the words of errno. */
extern bool recover_fail_file(Recover *ctx, const char *what,
							  const char *path);

#endif							/* ACCEL_RECOVER_CONTEXT_H */
