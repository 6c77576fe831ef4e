/*
 * judge.c
 *	  What becomes of a page that is given for a block, by the WAL.
 *
 * A page with an LSN is what the block must hold now, but for hint bits, under
 * two conditions.  No record with a later end names the block or ends its
 * storage, in WAL without a gap.  And the page is of this server's history.
 *
 * The LSN and the block do not prove the second.  Two clones that do the same
 * work write records of the same lengths, so a record of the same block ends
 * at the same LSN in both, with other rows.  What redo makes of our own record
 * does prove it, if that is the page.  Most records change a part of a page
 * only, and prove nothing of the rest.
 *
 * The record that ends at the LSN is there or it is missing.  If it is there
 * and names another block, the page is no version of this one.  Files that
 * were copied are the exception, since their pages keep the LSNs of the
 * original.
 *
 * A page of a base backup is of this history if the backup is.  It is if its own
 * WAL has the same records as this server's in the range that it needs, times
 * and transactions included.  Clones that wrote the very same bytes there cannot
 * be told apart.
 *
 * The backup began with a checkpoint, so its page has every change that ends
 * before the start.  That holds for a sequence, too, which logs its first value
 * after a checkpoint.  So the WAL must be whole from the start only.  A page
 * with a later LSN was written during the backup.  It may be torn, with a
 * checksum that fits by chance, so it is proven as one without a backup is.  A
 * record before the start with a later end than the page's LSN is of a write
 * that was lost then.
 *
 * A page may be the one that the page ledger knows at its LSN, by the masked
 * digest.  A row of the ledger is of this history, and one LSN is one page under
 * the mask, see page/ledger.c.  So that page is proven where the record at its
 * LSN tells of a part only.  What the mask hides is the given page's own, as it
 * is with a page of a backup.
 *
 * The server's page may have the LSN of the one that is given, with other
 * contents.  Then one of them is wrong.  The same proofs tell which one.
 *
 * So a backup that is not known to be this server's excuses no gap before its
 * start.  A clone may have kept an image of ours that we have changed since.
 */
#include <stdio.h>

#include "repair/judge.h"

#define RM_DBASE		4

/* ---- the history ---- */

static bool
changes_block(const WalBlockRow *row)
{
	switch (row->kind)
	{
		case WAL_ROW_IMAGE:
		case WAL_ROW_CHECK:
		case WAL_ROW_INIT:
		case WAL_ROW_CHANGE:
			return true;
		default:
			return false;
	}
}

/* A gap that ends where the page's record does may hide that record. */
static void
on_gap(RestoreProof *proof, const WalBlockRow *row)
{
	bool		open = row->end == 0;
	bool		before = row->lsn < proof->lsn &&
		(open || row->end >= proof->lsn);
	bool		later = open || row->end > proof->lsn;
	bool		after = later && (open || row->end > proof->since);

	if ((after || (before && proof->lsn > proof->since)) &&
		proof->gap.kind != WAL_ROW_GAP)
		proof->gap = *row;
	proof->unseen |= before;
	proof->has_gap |= after;
	proof->skipped |= later && !after;
}

/* A page that a backup read after the copy has no LSN of the copy. */
static void
on_copy(RestoreProof *proof, const WalBlockRow *row)
{
	proof->is_copy = true;
	if (row->end > proof->since)
		proof->copied = row->end;
	else
		proof->skipped = true;
}

void
restore_proof_row(void *arg, const WalBlockRow *row, bool is_last,
				  bool is_page)
{
	RestoreProof *proof = arg;

	(void) is_last;
	(void) is_page;
	if (row->kind == WAL_ROW_GAP)
		on_gap(proof, row);
	else if (row->end > proof->lsn && row->kind == WAL_ROW_CREATED &&
			 row->rmid == RM_DBASE)
		on_copy(proof, row);
	else if (row->end > proof->lsn)
	{
		proof->later = row->end;
		proof->later_kind = row->kind;
	}
	else if (row->end == proof->lsn && changes_block(row))
		proof->named = true;
}

RestoreVerdict
restore_proof_judge(const RestoreProof *proof)
{
	bool		has_lsn = proof->lsn > 1;	/* GistBuildLSN is 1 */
	bool		elsewhere = has_lsn && !proof->named && !proof->unseen &&
		!proof->is_copy;
	bool		by_backup = proof->backup == RESTORE_BACKUP_SAME &&
		proof->lsn <= proof->since;

	if (proof->later != 0 || proof->dropped)
		return RESTORE_OLDER;
	if (!has_lsn && !by_backup)
		return RESTORE_NO_LSN;
	if (!proof->own_history)
		return RESTORE_WHOSE_WAL;
	if (elsewhere || proof->content == RESTORE_CONTENT_OTHER)
		return RESTORE_FOREIGN;
	if (proof->backup == RESTORE_BACKUP_OTHER)
		return RESTORE_FOREIGN_BACKUP;
	if (proof->copied != 0)
		return RESTORE_COPIED;
	if (proof->has_gap || (proof->unseen && proof->lsn > proof->since))
		return RESTORE_GAP;
	if (proof->content == RESTORE_CONTENT_SAME &&
		(by_backup || !proof->skipped))
		return RESTORE_PROVEN;
	if (by_backup)
		return RESTORE_PROVEN_BY_BACKUP;
	if (proof->ledger == RESTORE_LEDGER_SAME && proof->named &&
		!proof->skipped)
		return RESTORE_PROVEN_BY_LEDGER;
	if (proof->backup == RESTORE_BACKUP_UNKNOWN)
		return RESTORE_BACKUP_WITHOUT_WAL;
	return proof->ledger == RESTORE_LEDGER_OTHER ? RESTORE_OTHER_IN_LEDGER :
		RESTORE_NO_IMAGE;
}

/* ---- in words ---- */

static void
report_older(const RestoreProof *proof, char *dst)
{
	const char *what = proof->later_kind == WAL_ROW_TRUNCATED ?
		"cut the block off" : proof->later_kind == WAL_ROW_CREATED ?
		"made its storage anew" : "changed the block";

	if (proof->later != 0)
		snprintf(dst, RESTORE_WORDS, "the page has LSN " WAL_LSN_FORMAT ", and WAL %s up to " WAL_LSN_FORMAT,
				 WAL_LSN_ARGS(proof->lsn), what, WAL_LSN_ARGS(proof->later));
	else
		snprintf(dst, RESTORE_WORDS, "the page has LSN " WAL_LSN_FORMAT ", and WAL dropped its storage since",
				 WAL_LSN_ARGS(proof->lsn));
}

static void
report_foreign(const RestoreProof *proof, char *dst)
{
	snprintf(dst, RESTORE_WORDS, proof->named ?
			 "the page that WAL has of the block at LSN " WAL_LSN_FORMAT " is another one" :
			 "no record that ends at LSN " WAL_LSN_FORMAT " names the block: the page is of another block or server",
			 WAL_LSN_ARGS(proof->lsn));
}

static void
report_gap(const RestoreProof *proof, char *dst)
{
	const WalBlockRow *gap = &proof->gap;

	if (gap->end != 0)
		snprintf(dst, RESTORE_WORDS, "WAL is missing from " WAL_LSN_FORMAT " to " WAL_LSN_FORMAT " (%s)",
				 WAL_LSN_ARGS(gap->lsn), WAL_LSN_ARGS(gap->end), gap->message);
	else
		snprintf(dst, RESTORE_WORDS, "WAL is missing from " WAL_LSN_FORMAT " on (%s)",
				 WAL_LSN_ARGS(gap->lsn), gap->message);
}

static void
report_backup(const RestoreProof *proof, RestoreVerdict verdict, char *dst)
{
	const char *whose = proof->whose != NULL ? proof->whose : "";

	snprintf(dst, RESTORE_WORDS, verdict == RESTORE_FOREIGN_BACKUP ?
			 "the WAL in the backup differs from this server's: it is a backup of another server or of a clone%s%s" :
			 "not all WAL that the backup needs is in it and in this server's WAL, so nothing tells whose it is%s%s",
			 whose[0] == '\0' ? "" : ": ", whose);
}

void
restore_proof_words(const RestoreProof *proof, RestoreVerdict verdict,
					char dst[RESTORE_WORDS])
{
	switch (verdict)
	{
		case RESTORE_PROVEN:
			snprintf(dst, RESTORE_WORDS, "WAL has the page at LSN " WAL_LSN_FORMAT ", and no later change",
					 WAL_LSN_ARGS(proof->lsn));
			break;
		case RESTORE_PROVEN_BY_BACKUP:
			snprintf(dst, RESTORE_WORDS, "the backup is of this server, and WAL has no change of the block since its start at " WAL_LSN_FORMAT,
					 WAL_LSN_ARGS(proof->since));
			break;
		case RESTORE_PROVEN_BY_LEDGER:
			snprintf(dst, RESTORE_WORDS, "the page ledger has the page at LSN " WAL_LSN_FORMAT ", and WAL has no later change",
					 WAL_LSN_ARGS(proof->lsn));
			break;
		case RESTORE_OTHER_IN_LEDGER:
			snprintf(dst, RESTORE_WORDS, "the page ledger has another page at LSN " WAL_LSN_FORMAT ", and WAL has no image there to tell which is right",
					 WAL_LSN_ARGS(proof->lsn));
			break;
		case RESTORE_FOREIGN_BACKUP:
		case RESTORE_BACKUP_WITHOUT_WAL:
			report_backup(proof, verdict, dst);
			break;
		case RESTORE_OLDER:
			report_older(proof, dst);
			break;
		case RESTORE_FOREIGN:
			report_foreign(proof, dst);
			break;
		case RESTORE_NO_LSN:
			snprintf(dst, RESTORE_WORDS, "the page has no LSN");
			break;
		case RESTORE_WHOSE_WAL:
			snprintf(dst, RESTORE_WORDS, "nothing tells whose WAL the directory holds");
			break;
		case RESTORE_COPIED:
			snprintf(dst, RESTORE_WORDS, "the files of its database were copied, up to " WAL_LSN_FORMAT,
					 WAL_LSN_ARGS(proof->copied));
			break;
		case RESTORE_GAP:
			report_gap(proof, dst);
			break;
		case RESTORE_NO_IMAGE:
			snprintf(dst, RESTORE_WORDS, "WAL has no later change, but no image of the page at its LSN " WAL_LSN_FORMAT,
					 WAL_LSN_ARGS(proof->lsn));
			break;
	}
}

/* ---- the block ---- */

bool
restore_must_prove(const RestoreFacts *facts, RestoreStatus *status)
{
	bool		has = facts->disk == RESTORE_DISK_GOOD || facts->cached;

	if (!has || facts->server_lsn < facts->lsn || facts->differs)
		return true;
	*status = facts->cached ? RESTORE_CACHED : RESTORE_HEALTHY;
	return false;
}

RestoreStatus
restore_choose(const RestoreFacts *facts, RestoreVerdict verdict)
{
	bool		has = facts->disk == RESTORE_DISK_GOOD || facts->cached;

	switch (verdict)
	{
		case RESTORE_PROVEN:
		case RESTORE_PROVEN_BY_BACKUP:
		case RESTORE_PROVEN_BY_LEDGER:
			return RESTORE_RESTORED;
		case RESTORE_OLDER:
			return RESTORE_OUTDATED;
		case RESTORE_FOREIGN:
		case RESTORE_FOREIGN_BACKUP:
			return RESTORE_INVALID_PAGE;
		default:
			return facts->allow_unproven && !has ? RESTORE_RESTORED :
				RESTORE_NOT_PROVEN;
	}
}
