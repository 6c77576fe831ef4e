/*
 * restore.h
 *	  Writes a page that is given over a block that lost it.
 *
 * The caller goes round: restore_look(), then with the WAL up to a present
 * that was taken after it restore_prove(), then restore_write(), which may ask
 * for another round.
 */
#ifndef ACCEL_REPAIR_RESTORE_H
#define ACCEL_REPAIR_RESTORE_H

#include "compat.h"

#include "common/relpath.h"
#include "storage/block.h"

#include "page/ledger.h"
#include "repair/backup_page.h"
#include "repair/judge.h"
#include "wal/stream.h"

#define RESTORE_MESSAGE	(RESTORE_WORDS + BACKUP_PAGE_WORDS)

typedef struct Restore Restore;

/*
 * Begins with size bytes that are to be the page of a block.  Keeps
 * RowExclusiveLock on the relation until the end of the transaction.  Errors
 * are those of heal_block().
 */
extern Restore *restore_begin(Oid relid, ForkNumber fork, BlockNumber blkno,
							  const char *page, size_t size,
							  bool allow_unproven);

/* The page is that of a backup.  What names it must last as long. */
extern void restore_use_backup(Restore *ctx, const BackupNames *names);

/*
 * Returns the relation, which is open until restore_end(), or NULL if the WAL
 * is not complete for the block, so that nothing proves a page.
 */
extern Relation restore_relation(const Restore *ctx);

/* What the page ledger has of the block, in a row that is evidence. */
extern void restore_know(Restore *ctx, const LedgerPage *known);

/* Looks at the page and the block.  False means that all is said. */
extern bool restore_look(Restore *ctx);

/* The WAL must be read up to the present, own_history as in RestoreProof. */
extern void restore_prove(Restore *ctx, WalStream *stream, WalLsn present,
						  bool own_history);

/* Returns false if the block has changed since restore_look(). */
extern bool restore_write(Restore *ctx);

/* Ends it.  The message must hold RESTORE_MESSAGE bytes. */
extern RestoreStatus restore_end(Restore *ctx, char *message);

#endif							/* ACCEL_REPAIR_RESTORE_H */
