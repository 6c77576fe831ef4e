/*
 * ledger.c
 *	  What the page ledger knows of blocks, and what a copy's disk makes of it.
 *
 * The ledger has the LSN K and the masked digest D of a block, as they lay on
 * disk when it was read.  L is the LSN that lies on disk in the copy that is
 * judged, and R is its redo point, read before.  The claims are these.
 *
 * (1) If L = K, the digests are equal, or the copies have diverged.  Replay is
 *	   deterministic.  The page after the record that ends at K depends on the
 *	   page before and the record.  What else changes a page is hidden by the
 *	   mask, as wal_consistency_checking asserts it after each record.
 *
 * (2) If L < K <= R and the digests differ, a write was lost.  A row of the
 *	   ledger is younger in WAL than each K that it has.  A copy that shows the
 *	   row has therefore replayed the record that ends at K.  A completed
 *	   checkpoint or restartpoint has put all before R on this disk.  Nothing
 *	   gives a block an older page later.
 *
 * (3) Without the condition on digests, (2) is wrong.  The LSN may lag for good
 *	   where only hint bits or the all-visible mark moved it.  That is so with
 *	   wal_log_hints, full_page_writes or checksums on one side alone.  Sorted
 *	   builds of GiST indexes in 15 leave LSN 1 on disk.  The digests are equal
 *	   then.  What the mask hides is given up for that.
 *
 * (4) A sequence is judged by its LSN alone, since its mask hides its value.
 *	   No hint bit moves the LSN of its page.
 *
 * (5) If L > K, the page has changed since, and nothing is said.
 *
 * (6) A block that was recorded with K <= R, and is absent now or all zeros, is
 *	   gone, where nothing may cut it off.  No index of core is truncated in
 *	   place, nor is a sequence.  VACUUM truncates tables.  There the visibility
 *	   map must have the block, and no dirty buffer a page, see map_witness.c.
 *
 * (7) K > R says nothing yet, since the page may be in shared buffers alone.
 *
 * A row is about one file, and a number of a file may be used again.  The new
 * file is created by a record after the row was taken.  Each of its pages with
 * an LSN is then younger than the row, which is (5).  Pages without an LSN
 * (wal_level minimal) are not judged.  For (6) some page of the file must be as
 * old as the row.  That page proves that the file is the one that was read.
 *
 * A row that came by other ways than WAL is no evidence for this copy.  That
 * is a dump, logical replication, COPY or a cluster that pg_upgrade made.  So
 * its system identifier must be ours, and the LSN at which it was taken must
 * lie in our history, on the timeline that it names.
 *
 * After pg_upgrade the claims hold for rows of the old cluster, if the caller
 * says that it was one.  pg_upgrade copies the files of user relations under
 * their OIDs and numbers.  The new WAL begins after the old one, which ended
 * with a shutdown checkpoint, so K <= R.  Catalogs and sequences are made anew.
 * The files of catalogs have old numbers, too, so they are not judged.  Pages
 * of a sequence have an LSN of the new WAL, which is (5).  The masks of 15 to
 * 19 hide the same: 1,065 pages of all access methods had equal digests in 15,
 * 17, 18 and 19.
 *
 * Recording anew must not destroy evidence.  On the same history an older page
 * never replaces a newer one, nor one of the same LSN that has another digest.
 * What is not there any more stays known as well, but for tables.
 *
 * It is proven by experiment in test/t/095_page_ledger.pl and its two
 * successors.
 */
#include <string.h>

#include "page/ledger.h"

static const char *const reason_words[] = {
#define LEDGER_REASON(id, words) words,
	LEDGER_REASON_LIST
#undef LEDGER_REASON
};

const char *
ledger_reason_words(LedgerReason reason)
{
	return reason_words[reason];
}

static LedgerVerdict
not_verifiable(LedgerReason reason)
{
	return (LedgerVerdict)
	{
		LEDGER_NOT_VERIFIABLE, reason
	};
}

static LedgerVerdict
verdict_of(LedgerStatus status)
{
	return (LedgerVerdict)
	{
		status, LEDGER_NO_REASON
	};
}

/* The block is absent, or all zeros. */
static LedgerVerdict
judge_nothing(const LedgerFacts *facts)
{
	if (facts->known.lsn > facts->redo)
		return not_verifiable(LEDGER_IN_FLIGHT);
	if (facts->kind == LEDGER_TABLE)
		return facts->initialized ? verdict_of(LEDGER_GONE) :
			not_verifiable(LEDGER_MAYBE_CUT);
	return facts->same_file ? verdict_of(LEDGER_GONE) :
		not_verifiable(LEDGER_MAYBE_REUSED);
}

/* The page is older than the one that was recorded. */
static LedgerVerdict
judge_older(const LedgerFacts *facts)
{
	if (facts->kind != LEDGER_SEQUENCE &&
		facts->read.digest == facts->known.digest)
		return verdict_of(LEDGER_OK);
	if (facts->known.lsn > facts->redo)
		return not_verifiable(LEDGER_IN_FLIGHT);
	if (facts->read.lsn < LEDGER_FIRST_LSN)
		return not_verifiable(LEDGER_WITHOUT_LSN);
	return verdict_of(LEDGER_STALE_PAGE);
}

LedgerVerdict
ledger_judge(const LedgerFacts *facts)
{
	const LedgerPage *known = &facts->known;
	const LedgerPage *read = &facts->read;

	if (known->lsn < LEDGER_FIRST_LSN)
		return verdict_of(LEDGER_OK);
	if (read->disk == LEDGER_UNREAD)
		return not_verifiable(LEDGER_DAMAGED);
	if (read->disk == LEDGER_NOTHING)
		return judge_nothing(facts);
	if (read->lsn > known->lsn)
		return verdict_of(LEDGER_OK);
	if (read->lsn < known->lsn)
		return judge_older(facts);
	return verdict_of(read->digest == known->digest ? LEDGER_OK :
					  LEDGER_DIVERGED);
}

static bool
has_mask_of_15(uint32_t mask)
{
	return mask / 100 >= 15 && mask / 100 <= 19;
}

/* Does the same page have the same digest under both masks? */
static bool
masks_agree(uint32_t one, uint32_t other)
{
	return one == other || (one % 100 == other % 100 &&
							has_mask_of_15(one) && has_mask_of_15(other));
}

LedgerReason
ledger_refuse(const LedgerOrigin *row, const LedgerOrigin *here, bool upgraded)
{
	bool		old = upgraded && row->system != here->system;

	if (row->system != here->system && !old)
		return LEDGER_FOREIGN_SYSTEM;
	if (row->taken > here->taken || (row->timeline != here->timeline && !old))
		return LEDGER_OTHER_HISTORY;
	return row->mask == here->mask || (old && masks_agree(row->mask, here->mask)) ?
		LEDGER_NO_REASON : LEDGER_OTHER_MASK;
}

/* Is what was read to be known from now on?  */
static bool
replaces(const LedgerPage *known, const LedgerPage *read, LedgerKind kind)
{
	if (read->disk == LEDGER_NOTHING)
		return kind == LEDGER_TABLE && known->lsn >= LEDGER_FIRST_LSN;
	return read->disk == LEDGER_PAGE && read->lsn >= LEDGER_FIRST_LSN &&
		read->lsn > known->lsn;
}

bool
ledger_merge(LedgerPage *known, const LedgerPage *read, LedgerKind kind)
{
	bool		changed = false;

	for (int i = 0; i < LEDGER_BLOCKS; i++)
	{
		if (!replaces(&known[i], &read[i], kind))
			continue;
		known[i] = read[i];
		if (read[i].disk == LEDGER_NOTHING)
			known[i].lsn = known[i].digest = 0;
		changed = true;
	}
	return changed;
}

/* The high byte comes first, on every machine. */
static void
store_number(uint8_t *bytes, uint64_t number, int size)
{
	for (int i = size - 1; i >= 0; i--, number >>= 8)
		bytes[i] = (uint8_t) number;
}

static uint64_t
load_number(const uint8_t *bytes, int size)
{
	uint64_t	number = 0;

	for (int i = 0; i < size; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* The bytes that a number takes. */
static int
width_of(uint64_t number)
{
	int			width = 0;

	for (; number > 0; number >>= 8)
		width++;
	return width;
}

/* The oldest and the newest LSN that is known, in one of count blocks. */
static void
find_range(const LedgerPage *known, size_t count, uint64_t *oldest,
		   uint64_t *newest)
{
	*oldest = UINT64_MAX;
	*newest = 0;
	for (size_t i = 0; i < count; i++)
	{
		if (known[i].lsn != 0 && known[i].lsn < *oldest)
			*oldest = known[i].lsn;
		if (known[i].lsn > *newest)
			*newest = known[i].lsn;
	}
}

void
ledger_pack(const LedgerPage *known, LedgerArrays *arrays)
{
	size_t		count = LEDGER_BLOCKS;
	uint8_t    *lsn = arrays->lsns + LEDGER_LSN_BYTES;
	uint64_t	oldest;
	uint64_t	newest;
	int			width;

	while (count > 0 && known[count - 1].lsn == 0)
		count--;
	find_range(known, count, &oldest, &newest);
	width = count == 0 ? 0 : width_of(newest - oldest + 1);
	store_number(arrays->lsns, oldest, LEDGER_LSN_BYTES);
	for (size_t i = 0; i < count; i++, lsn += width)
	{
		store_number(lsn, known[i].lsn == 0 ? 0 : known[i].lsn - oldest + 1,
					 width);
		store_number(arrays->digests + i * LEDGER_DIGEST_BYTES,
					 known[i].digest, LEDGER_DIGEST_BYTES);
	}
	arrays->lsn_bytes = lsn - arrays->lsns;
	arrays->digest_bytes = count * LEDGER_DIGEST_BYTES;
}

bool
ledger_unpack(LedgerPage *known, const uint8_t *lsns, size_t lsn_bytes,
			  const uint8_t *digests, size_t digest_bytes)
{
	size_t		count = digest_bytes / LEDGER_DIGEST_BYTES;
	size_t		width;
	uint64_t	oldest;

	memset(known, 0, LEDGER_BLOCKS * sizeof(LedgerPage));
	if (lsn_bytes < LEDGER_LSN_BYTES || count > LEDGER_BLOCKS ||
		digest_bytes != count * LEDGER_DIGEST_BYTES)
		return false;
	lsn_bytes -= LEDGER_LSN_BYTES;
	width = count == 0 ? 0 : lsn_bytes / count;
	if (lsn_bytes != count * width || width > LEDGER_LSN_BYTES)
		return false;
	oldest = load_number(lsns, LEDGER_LSN_BYTES);
	lsns += LEDGER_LSN_BYTES;
	for (size_t i = 0; i < count; i++, lsns += width)
	{
		uint64_t	number = load_number(lsns, (int) width);

		known[i].lsn = number == 0 ? 0 : oldest + number - 1;
		known[i].digest = (uint32_t) load_number(digests + i * LEDGER_DIGEST_BYTES,
												 LEDGER_DIGEST_BYTES);
	}
	return true;
}
