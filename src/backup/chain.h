/*
 * chain.h
 *	  An incremental backup and those before it, as pg_combinebackup takes them.
 *
 * A restored cluster has each block of the newest backup that has it, and
 * recovery reads the WAL of the last backup alone.  So a page of an earlier
 * backup matters only if no later one has the block.  Only the last backup's
 * WAL can restore it then.
 */
#ifndef ACCEL_BACKUP_CHAIN_H
#define ACCEL_BACKUP_CHAIN_H

#include "backup/blocks.h"
#include "backup/meta.h"
#include "backup/parts.h"
#include "manifest/list.h"

typedef struct BackupLink
{
	const char *root;
	const BackupParts *parts;	/* of one in archives, NULL if of root */
	const BackupMeta *meta;
	const BackupList *list;		/* of its files, ended */
	BackupSink *sink;			/* of findings in it */

	/* the incremental file that was asked for last */
	char		path[BACKUP_PATH_MAX];
	BackupBlocks blocks;
} BackupLink;

/* The full backup comes first, and the last one is what shall be restored. */
typedef struct BackupChain
{
	int			count;
	BackupLink *links;
} BackupChain;

/* Of one cluster, and each begun where the one before it says? */
extern void backup_chain_check(const BackupChain *chain);

/* Has each incremental file of the last one what it is a part of? */
extern void backup_chain_check_sources(const BackupChain *chain);

/*
 * Is a page of the nth backup replaced?  It is if a later backup has the
 * block, or if the last one has no such file or block.  The block number is
 * absolute.
 */
extern bool backup_chain_replaces(BackupChain *chain, int n,
								  const char *path, uint32_t block);

#endif							/* ACCEL_BACKUP_CHAIN_H */
