/* needs: kernel ledger */
/*
 * test_ledger.c
 *	  The page ledger: verdicts on blocks, which rows are evidence, and what a
 *	  new recording changes.
 *
 * A table has the cases that the proof at the head of page/ledger.c names.
 * Every combination of facts is then held against the rules written once more
 * here, in another order.
 */
#include "unit.h"
#include "page/ledger.h"

#define K	UINT64_C(0x100000500)

typedef struct Case
{
	const char *title;
	LedgerFacts facts;
	LedgerStatus status;
	LedgerReason reason;
} Case;

#define FACTS(kind, known, disk, lsn, digest, redo, initialized, same_file) \
	{kind, {known, 7, LEDGER_PAGE}, {lsn, digest, disk}, redo, initialized, same_file}

static const Case cases[] = {
	{"not recorded", FACTS(LEDGER_INDEX, 0, LEDGER_NOTHING, 0, 0, K, true, true), LEDGER_OK, LEDGER_NO_REASON},
	{"the same", FACTS(LEDGER_TABLE, K, LEDGER_PAGE, K, 7, K, false, true), LEDGER_OK, LEDGER_NO_REASON},
	{"changed since", FACTS(LEDGER_TABLE, K, LEDGER_PAGE, K + 1, 8, K, false, true), LEDGER_OK, LEDGER_NO_REASON},
	{"the same LSN, another page", FACTS(LEDGER_TABLE, K, LEDGER_PAGE, K, 8, 0, false, true), LEDGER_DIVERGED, LEDGER_NO_REASON},
	{"an old page", FACTS(LEDGER_TABLE, K, LEDGER_PAGE, K - 1, 8, K, false, true), LEDGER_STALE_PAGE, LEDGER_NO_REASON},
	{"an old page, in flight", FACTS(LEDGER_TABLE, K, LEDGER_PAGE, K - 1, 8, K - 1, false, true), LEDGER_NOT_VERIFIABLE, LEDGER_IN_FLIGHT},
	{"an LSN that lags", FACTS(LEDGER_TABLE, K, LEDGER_PAGE, K - 1, 7, K, false, true), LEDGER_OK, LEDGER_NO_REASON},
	{"GiST of 15", FACTS(LEDGER_INDEX, K, LEDGER_PAGE, 1, 7, K, false, true), LEDGER_OK, LEDGER_NO_REASON},
	{"no LSN", FACTS(LEDGER_INDEX, K, LEDGER_PAGE, 1, 8, K, false, true), LEDGER_NOT_VERIFIABLE, LEDGER_WITHOUT_LSN},
	{"an old sequence", FACTS(LEDGER_SEQUENCE, K, LEDGER_PAGE, K - 1, 7, K, false, true), LEDGER_STALE_PAGE, LEDGER_NO_REASON},
	{"a sequence in flight", FACTS(LEDGER_SEQUENCE, K, LEDGER_PAGE, K - 1, 7, K - 1, false, true), LEDGER_NOT_VERIFIABLE, LEDGER_IN_FLIGHT},
	{"a damaged page", FACTS(LEDGER_TABLE, K, LEDGER_UNREAD, 0, 0, K, true, true), LEDGER_NOT_VERIFIABLE, LEDGER_DAMAGED},
	{"a block of an index is gone", FACTS(LEDGER_INDEX, K, LEDGER_NOTHING, 0, 0, K, false, true), LEDGER_GONE, LEDGER_NO_REASON},
	{"a block of an index, in flight", FACTS(LEDGER_INDEX, K, LEDGER_NOTHING, 0, 0, K - 1, false, true), LEDGER_NOT_VERIFIABLE, LEDGER_IN_FLIGHT},
	{"a block of what may be another file", FACTS(LEDGER_INDEX, K, LEDGER_NOTHING, 0, 0, K, false, false), LEDGER_NOT_VERIFIABLE, LEDGER_MAYBE_REUSED},
	{"a sequence is gone", FACTS(LEDGER_SEQUENCE, K, LEDGER_NOTHING, 0, 0, K, false, true), LEDGER_GONE, LEDGER_NO_REASON},
	{"a block of a table may be cut off", FACTS(LEDGER_TABLE, K, LEDGER_NOTHING, 0, 0, K, false, true), LEDGER_NOT_VERIFIABLE, LEDGER_MAYBE_CUT},
	{"a block of a table is gone", FACTS(LEDGER_TABLE, K, LEDGER_NOTHING, 0, 0, K, true, false), LEDGER_GONE, LEDGER_NO_REASON},
};

static void
test_case(const Case *c)
{
	LedgerVerdict verdict = ledger_judge(&c->facts);

	check(verdict.status == c->status && verdict.reason == c->reason,
		  "%s: %s, reason %d", c->title, ledger_status_name(verdict.status),
		  (int) verdict.reason);
}

/* A finding needs all that the proof asks for. */
static bool
may_be_found(const LedgerFacts *f, LedgerStatus status)
{
	bool		older = f->read.disk == LEDGER_PAGE && f->read.lsn < f->known.lsn;

	if (f->known.lsn < LEDGER_FIRST_LSN)
		return false;
	switch (status)
	{
		case LEDGER_DIVERGED:
			return f->read.disk == LEDGER_PAGE && f->read.lsn == f->known.lsn &&
				f->read.digest != f->known.digest;
		case LEDGER_STALE_PAGE:
			return older && f->known.lsn <= f->redo &&
				f->read.lsn >= LEDGER_FIRST_LSN &&
				(f->kind == LEDGER_SEQUENCE || f->read.digest != f->known.digest);
		case LEDGER_GONE:
			return f->read.disk == LEDGER_NOTHING && f->known.lsn <= f->redo &&
				(f->kind == LEDGER_TABLE ? f->initialized : f->same_file);
		default:
			return false;
	}
}

static void
test_all_facts(void)
{
	static const uint64_t lsns[] = {0, 1, 2, K - 1, K, K + 1};

	for (int bits = 0; bits < 3 * 6 * 3 * 6 * 2 * 6 * 2 * 2; bits++)
	{
		int			n = bits;
		LedgerFacts facts = {0};
		LedgerVerdict verdict;
		bool		named = false;

#define PICK(count) (n % (count)); n /= (count)
		facts.kind = (LedgerKind) PICK(3);
		facts.known.lsn = lsns[n % 6]; n /= 6;
		facts.read.disk = (LedgerDisk) PICK(3);
		facts.read.lsn = lsns[n % 6]; n /= 6;
		facts.read.digest = (uint32_t) PICK(2);
		facts.redo = lsns[n % 6]; n /= 6;
		facts.initialized = PICK(2);
		facts.same_file = PICK(2);
		verdict = ledger_judge(&facts);
		unit_at((size_t) bits, 0, 0);
		for (LedgerStatus status = LEDGER_STALE_PAGE; status <= LEDGER_GONE; status++)
		{
			named = named || may_be_found(&facts, status);
			check((verdict.status == status) == may_be_found(&facts, status),
				  "facts %d are %s", bits, ledger_status_name(verdict.status));
		}
		check((verdict.status == LEDGER_NOT_VERIFIABLE) ==
			  (verdict.reason != LEDGER_NO_REASON), "facts %d: no reason", bits);
		check(!named || status_is_finding(ledger_status_name(verdict.status)),
			  "facts %d are no finding", bits);
	}
}

static void
test_origins(void)
{
	const LedgerOrigin here = {5, 3, 1501, K};
	LedgerOrigin row = here;

	check(ledger_refuse(&row, &here, false) == LEDGER_NO_REASON, "our own row");
	row.system++;
	check(ledger_refuse(&row, &here, false) == LEDGER_FOREIGN_SYSTEM, "a foreign system");
	row = here;
	row.timeline--;
	check(ledger_refuse(&row, &here, false) == LEDGER_OTHER_HISTORY, "another timeline");
	row = here;
	row.taken++;
	check(ledger_refuse(&row, &here, false) == LEDGER_OTHER_HISTORY, "the future");
	row = here;
	row.mask++;
	check(ledger_refuse(&row, &here, false) == LEDGER_OTHER_MASK, "another mask");
	row = (LedgerOrigin) {6, 9, 1801, K};
	check(ledger_refuse(&row, &here, true) == LEDGER_NO_REASON, "the old cluster, of another release");
	row.mask = 1802;
	check(ledger_refuse(&row, &here, true) == LEDGER_OTHER_MASK, "the old cluster, another mask");
	row.mask = 2001;
	check(ledger_refuse(&row, &here, true) == LEDGER_OTHER_MASK, "the old cluster, a release that nobody tried");
	row.mask = 1401;
	check(ledger_refuse(&row, &here, true) == LEDGER_OTHER_MASK, "the old cluster, a release that is too old");
	row.mask = 1801;
	row.taken++;
	check(ledger_refuse(&row, &here, true) == LEDGER_OTHER_HISTORY, "the old cluster, the future");
	row = here;
	row.timeline--;
	check(ledger_refuse(&row, &here, true) == LEDGER_OTHER_HISTORY, "our own, another timeline, after pg_upgrade");
	row = here;
	row.mask = 1801;
	check(ledger_refuse(&row, &here, true) == LEDGER_OTHER_MASK, "our own, another mask, after pg_upgrade");
	for (int reason = LEDGER_NO_REASON + 1; reason < LEDGER_REASONS; reason++)
		check(ledger_reason_words((LedgerReason) reason) != NULL, "no words for %d", reason);
}

/* What one block is known by after it was known, and then read. */
static LedgerPage
merged(LedgerKind kind, LedgerPage before, LedgerPage read, bool *changed)
{
	static LedgerPage known[LEDGER_BLOCKS];
	static LedgerPage reads[LEDGER_BLOCKS];
	int			at = (int) (unit_random() % LEDGER_BLOCKS);

	memset(known, 0, sizeof(known));
	memset(reads, 0, sizeof(reads));
	known[at] = before;
	reads[at] = read;
	*changed = ledger_merge(known, reads, kind);
	return known[at];
}

static void
test_merge(void)
{
	const LedgerPage before = {K, 7, LEDGER_PAGE};
	const LedgerPage none = {0};
	bool		changed;
	LedgerPage	now;

#define MERGE(kind, from, disk, lsn, digest) \
	(now = merged(kind, from, (LedgerPage) {lsn, digest, disk}, &changed))

	MERGE(LEDGER_TABLE, none, LEDGER_PAGE, K, 7);
	check(changed && now.lsn == K && now.digest == 7, "the first time");
	MERGE(LEDGER_TABLE, before, LEDGER_PAGE, K, 7);
	check(!changed, "the same page is written again");
	MERGE(LEDGER_TABLE, before, LEDGER_PAGE, K + 1, 8);
	check(changed && now.lsn == K + 1 && now.digest == 8, "a newer page");
	MERGE(LEDGER_TABLE, before, LEDGER_PAGE, K - 1, 8);
	check(!changed && now.lsn == K && now.digest == 7, "an older page replaces evidence");
	MERGE(LEDGER_TABLE, before, LEDGER_PAGE, K, 8);
	check(!changed && now.digest == 7, "another page replaces evidence");
	MERGE(LEDGER_TABLE, before, LEDGER_UNREAD, 0, 0);
	check(!changed && now.lsn == K, "damage replaces evidence");
	MERGE(LEDGER_TABLE, before, LEDGER_NOTHING, 0, 0);
	check(changed && now.lsn == 0 && now.digest == 0, "a table was cut off");
	MERGE(LEDGER_INDEX, before, LEDGER_NOTHING, 0, 0);
	check(!changed && now.lsn == K, "a block of an index is forgotten");
	MERGE(LEDGER_SEQUENCE, before, LEDGER_NOTHING, 0, 0);
	check(!changed && now.lsn == K, "a sequence is forgotten");
	MERGE(LEDGER_INDEX, none, LEDGER_PAGE, 1, 8);
	check(!changed && now.lsn == 0, "a page without an LSN is known");
}

/* Packs what is known, and sees it come back. */
static void
check_arrays(const LedgerPage *known, LedgerArrays *arrays, size_t count, int width)
{
	static LedgerPage again[LEDGER_BLOCKS];

	memset(arrays, 0xaa, sizeof(*arrays));
	ledger_pack(known, arrays);
	check(arrays->digest_bytes == count * 4, "%zu bytes of %zu blocks", arrays->digest_bytes, count);
	check(arrays->lsn_bytes == 8 + count * width, "%zu bytes of LSNs of %zu blocks", arrays->lsn_bytes, count);
	check(ledger_unpack(again, arrays->lsns, arrays->lsn_bytes, arrays->digests,
						arrays->digest_bytes), "%zu blocks do not fit", count);
	for (size_t i = 0; i < LEDGER_BLOCKS; i++)
		check(again[i].lsn == known[i].lsn && again[i].digest == known[i].digest,
			  "block %zu of %zu", i, count);
}

static void
test_arrays(void)
{
	static LedgerPage known[LEDGER_BLOCKS];
	static LedgerPage again[LEDGER_BLOCKS];
	static LedgerArrays arrays;
	const uint64_t first = UINT64_C(0x0102030405060708);

	for (size_t count = 2; count <= LEDGER_BLOCKS; count += 1 + unit_random() % 100)
		for (int width = 1; width <= 8; width++)
		{
			uint64_t	far = UINT64_MAX >> (64 - 8 * width);
			uint64_t	base = 1 + unit_random() % (UINT64_MAX - far + 1 == 0 ? 1 : UINT64_MAX - far + 1);

			memset(known, 0, sizeof(known));
			for (size_t i = 0; i < count; i++)
				known[i] = (LedgerPage) {base + unit_random() % far, (uint32_t) unit_random(), LEDGER_UNREAD};
			if (count > 3)
				known[unit_random() % (count - 2)].lsn = 0;
			known[count - 2].lsn = base;
			known[count - 1].lsn = base + far - 1;
			check_arrays(known, &arrays, count, width);
		}
	memset(known, 0, sizeof(known));
	check_arrays(known, &arrays, 0, 0);
	known[0].lsn = known[1].lsn = UINT64_MAX;
	check_arrays(known, &arrays, 2, 1);
	known[0].lsn = 1;
	check_arrays(known, &arrays, 2, 8);
	known[0].lsn = first;
	known[0].digest = 0x0A0B0C0D;
	known[1].lsn = first + 0x1233;
	check_arrays(known, &arrays, 2, 2);
	check(arrays.lsns[0] == 1 && arrays.lsns[7] == 8 && arrays.lsns[8] == 0 && arrays.lsns[9] == 1 &&
		  arrays.lsns[10] == 0x12 && arrays.lsns[11] == 0x34 &&
		  arrays.digests[0] == 0x0A && arrays.digests[3] == 0x0D, "the high byte does not come first");
	check(!ledger_unpack(again, arrays.lsns, 11, arrays.digests, 8), "part of an LSN");
	check(!ledger_unpack(again, arrays.lsns, 7, arrays.digests, 0), "no oldest LSN");
	check(!ledger_unpack(again, arrays.lsns, 9, arrays.digests, 0), "LSNs without digests");
	check(!ledger_unpack(again, arrays.lsns, 8 + 9, arrays.digests, 4), "an LSN of nine bytes");
	check(!ledger_unpack(again, arrays.lsns, 12, arrays.digests, 7), "part of a digest");
	check(!ledger_unpack(again, arrays.lsns, 8 + LEDGER_BLOCKS + 1, arrays.digests,
						 (LEDGER_BLOCKS + 1) * 4), "too many blocks");
}

int
main(int argc, char **argv)
{
	unit_begin("ledger", argc, argv);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		test_case(&cases[i]);
	test_all_facts();
	test_origins();
	test_merge();
	test_arrays();
	return unit_finish();
}
