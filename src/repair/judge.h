/*
 * judge.h
 *	  What becomes of a page that is given for a block, by the WAL.
 *
 * Rows of the block's history go in as wal/block_history.h puts them.  They
 * are of all WAL from before the record that ends at the page's LSN.
 */
#ifndef ACCEL_REPAIR_JUDGE_H
#define ACCEL_REPAIR_JUDGE_H

#include "page/status.h"
#include "wal/block_history.h"

/* Is the page what redo makes of the record that ends at its LSN? */
typedef enum RestoreContent
{
	RESTORE_CONTENT_UNKNOWN,	/* that record does not tell */
	RESTORE_CONTENT_SAME,
	RESTORE_CONTENT_OTHER
} RestoreContent;

/* Is the page the one that the page ledger knows of its LSN? */
typedef enum RestoreLedger
{
	RESTORE_LEDGER_NONE,		/* it knows none */
	RESTORE_LEDGER_SAME,
	RESTORE_LEDGER_OTHER
} RestoreLedger;

/* Has the backup that the page is of the same WAL as this server? */
typedef enum RestoreBackup
{
	RESTORE_BACKUP_NONE,		/* it is of no backup */
	RESTORE_BACKUP_SAME,
	RESTORE_BACKUP_OTHER,
	RESTORE_BACKUP_UNKNOWN
} RestoreBackup;

typedef struct RestoreProof
{
	WalLsn		lsn;			/* of the page */
	bool		own_history;	/* the WAL is this server's for certain */
	RestoreContent content;
	RestoreLedger ledger;
	RestoreBackup backup;
	const char *whose;			/* the one of several that is not the same */
	WalLsn		since;			/* the start of the backup, 0 if the page was
								 * written later, or is of none */

	/* zero at first */
	bool		named;			/* by a record that ends at lsn */
	bool		unseen;			/* that record may be missing */
	WalLsn		later;			/* end of the last record after it, or 0 */
	WalRowKind	later_kind;
	bool		is_copy;		/* its database was copied by files, after lsn */
	WalLsn		copied;			/* end of such a copy after since, or 0 */
	bool		skipped;		/* a gap or copy after lsn, before since */
	bool		has_gap;		/* after lsn and since */
	WalBlockRow gap;			/* the first one that matters */
	bool		dropped;		/* the storage, after the last row */
} RestoreProof;

typedef enum RestoreVerdict
{
	RESTORE_PROVEN,
	RESTORE_PROVEN_BY_BACKUP,
	RESTORE_PROVEN_BY_LEDGER,
	RESTORE_OLDER,				/* WAL has a later record */
	RESTORE_FOREIGN,			/* WAL has another page there */
	RESTORE_FOREIGN_BACKUP,
	RESTORE_NO_LSN,				/* this and what follows is not proven */
	RESTORE_WHOSE_WAL,
	RESTORE_COPIED,
	RESTORE_GAP,
	RESTORE_BACKUP_WITHOUT_WAL,
	RESTORE_OTHER_IN_LEDGER,
	RESTORE_NO_IMAGE
} RestoreVerdict;

/* The arg is the RestoreProof.  A WalBlockHistory calls it with each row. */
extern void restore_proof_row(void *arg, const WalBlockRow *row, bool is_last,
							  bool is_page);

extern RestoreVerdict restore_proof_judge(const RestoreProof *proof);

#define RESTORE_WORDS	(WAL_MESSAGE_SIZE + 128)

/* The verdict in words. */
extern void restore_proof_words(const RestoreProof *proof,
								RestoreVerdict verdict,
								char dst[RESTORE_WORDS]);

/* What the server has of the block. */
typedef enum RestoreDisk
{
	RESTORE_DISK_GOOD,
	RESTORE_DISK_ZEROS,
	RESTORE_DISK_DAMAGED
} RestoreDisk;

typedef struct RestoreFacts
{
	WalLsn		lsn;			/* of the page that is given */
	RestoreDisk disk;
	bool		cached;			/* the disk's is not good, the buffer's is */
	WalLsn		server_lsn;		/* of the good page, disk's or buffer's, or 0 */
	bool		allow_unproven;
	bool		differs;		/* the disk's is good and has the LSN of the
								 * one that is given, but other contents */
} RestoreFacts;

/* Returns false, with the status, if the WAL need not be asked. */
extern bool restore_must_prove(const RestoreFacts *facts,
							   RestoreStatus *status);

/* RESTORED means to write the page. */
extern RestoreStatus restore_choose(const RestoreFacts *facts,
									RestoreVerdict verdict);

#endif							/* ACCEL_REPAIR_JUDGE_H */
