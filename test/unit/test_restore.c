/* needs: kernel wal */
/*
 * test_restore.c
 *	  What becomes of a page that is given for a block, by rows made here.
 *
 * The page's LSN is 5000.  A row is a letter and what its end is after that.
 */
#include "unit.h"

#include "repair/judge.h"

#define LSN	5000

typedef struct Row
{
	char		what;			/* as on_row() has it, 0 for no row */
	int			begin;			/* both from LSN on */
	int			end;
} Row;

#define OPEN	INT32_MIN		/* a gap without an end */

typedef struct Case
{
	const char *name;
	Row			rows[4];
	RestoreContent content;
	RestoreVerdict verdict;
	const char *words;			/* in the message */
} Case;

#define SAME	RESTORE_CONTENT_SAME
#define OTHER	RESTORE_CONTENT_OTHER
#define UNKNOWN	RESTORE_CONTENT_UNKNOWN

static const Case cases[] = {
	{"an image that is the page", {{'i', -50, 0}}, SAME, RESTORE_PROVEN, "WAL has the page at LSN 0/1388"},
	{"an image for checks", {{'k', -50, 0}}, SAME, RESTORE_PROVEN, "no later change"},
	{"a record that makes it anew", {{'n', -50, 0}}, SAME, RESTORE_PROVEN, ""},
	{"earlier changes", {{'c', -200, -100}, {'i', -50, 0}}, SAME, RESTORE_PROVEN, ""},
	{"an image that is another page", {{'i', -50, 0}}, OTHER, RESTORE_FOREIGN, "is another one"},
	{"a change of a part", {{'c', -50, 0}}, UNKNOWN, RESTORE_NO_IMAGE, "no image of the page at its LSN 0/1388"},
	{"no record", {{0, 0, 0}}, UNKNOWN, RESTORE_FOREIGN, "no record that ends at LSN 0/1388 names the block"},
	{"a record that ends before", {{'i', -50, -1}}, SAME, RESTORE_FOREIGN, "names the block"},
	{"storage was made there", {{'m', -50, 0}}, UNKNOWN, RESTORE_FOREIGN, "names the block"},
	{"a later change", {{'i', -50, 0}, {'c', 1, 50}}, SAME, RESTORE_OLDER, "has LSN 0/1388, and WAL changed the block up to 0/13BA"},
	{"a change that ends one byte later", {{'i', -50, 0}, {'c', 0, 1}}, SAME, RESTORE_OLDER, "up to 0/1389"},
	{"the last change counts", {{'i', -50, 0}, {'c', 1, 50}, {'i', 50, 90}}, SAME, RESTORE_OLDER, "up to 0/13E2"},
	{"a later change alone", {{'c', 1, 50}}, UNKNOWN, RESTORE_OLDER, ""},
	{"cut off", {{'i', -50, 0}, {'t', 1, 50}}, SAME, RESTORE_OLDER, "cut the block off"},
	{"made anew", {{'i', -50, 0}, {'m', 1, 50}}, SAME, RESTORE_OLDER, "made its storage anew"},
	{"made before", {{'m', -90, -60}, {'i', -50, 0}}, SAME, RESTORE_PROVEN, ""},
	{"dropped", {{'i', -50, 0}, {'d', 0, 0}}, SAME, RESTORE_OLDER, "dropped its storage"},
	{"a copied database", {{'C', 1, 50}}, UNKNOWN, RESTORE_COPIED, "were copied, up to 0/13BA"},
	{"copied before", {{'C', -90, -60}, {'i', -50, 0}}, SAME, RESTORE_PROVEN, ""},
	{"copied over", {{'i', -50, 0}, {'C', 1, 50}}, SAME, RESTORE_COPIED, ""},
	{"copied and changed", {{'C', 1, 50}, {'c', 60, 90}}, UNKNOWN, RESTORE_OLDER, ""},
	{"a gap before its record", {{'g', -90, -50}, {'i', -50, 0}}, SAME, RESTORE_PROVEN, ""},
	{"a gap over its record", {{'g', -90, 0}}, UNKNOWN, RESTORE_GAP, "missing from 0/132E to 0/1388 (why)"},
	{"a gap that ends before", {{'g', -90, -1}}, UNKNOWN, RESTORE_FOREIGN, ""},
	{"a gap after its record", {{'i', -50, 0}, {'g', 0, 50}}, SAME, RESTORE_GAP, "missing from 0/1388 to 0/13BA"},
	{"a gap over all", {{'g', -90, 50}}, UNKNOWN, RESTORE_GAP, "missing from 0/132E to 0/13BA"},
	{"a gap at the end", {{'i', -50, 0}, {'g', 70, OPEN}}, SAME, RESTORE_GAP, "missing from 0/13CE on (why)"},
	{"nothing but a gap", {{'g', -90, OPEN}}, UNKNOWN, RESTORE_GAP, "missing from 0/132E on"},
	{"the first gap is said", {{'i', -50, 0}, {'g', 10, 20}, {'g', 30, 40}}, SAME, RESTORE_GAP, "to 0/139C"},
	{"a change after a gap", {{'i', -50, 0}, {'g', 10, 20}, {'c', 30, 40}}, SAME, RESTORE_OLDER, ""}
};

static void
on_row(RestoreProof *proof, const Row *row)
{
	static const char kinds[] = "ikncgmt";
	static const WalRowKind of[] = {WAL_ROW_IMAGE, WAL_ROW_CHECK, WAL_ROW_INIT, WAL_ROW_CHANGE,
	WAL_ROW_GAP, WAL_ROW_CREATED, WAL_ROW_TRUNCATED};
	WalBlockRow out = {.lsn = (WalLsn) (LSN + row->begin), .end = (WalLsn) (LSN + row->end)};

	if (row->what == 'd')
	{
		proof->dropped = true;
		return;
	}
	if (row->end == OPEN)
		out.end = 0;
	out.kind = row->what == 'C' ? WAL_ROW_CREATED : of[strchr(kinds, row->what) - kinds];
	out.rmid = row->what == 'C' ? 4 : row->what == 'm' || row->what == 't' ? 2 : 10;
	strcpy(out.message, "why");
	restore_proof_row(proof, &out, false, false);
}

static void
test_proofs(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const Case *c = &cases[i];
		RestoreProof proof = {.lsn = LSN, .own_history = true, .content = c->content};
		RestoreVerdict verdict;
		char		words[RESTORE_WORDS];

		for (int r = 0; r < 4 && c->rows[r].what != 0; r++)
			on_row(&proof, &c->rows[r]);
		verdict = restore_proof_judge(&proof);
		restore_proof_words(&proof, verdict, words);
		check(verdict == c->verdict, "%s: %d, expected %d", c->name, verdict, c->verdict);
		check(strstr(words, c->words) != NULL, "%s: %s", c->name, words);
		proof.own_history = false;
		verdict = restore_proof_judge(&proof);
		check(verdict == (c->verdict == RESTORE_OLDER ? RESTORE_OLDER : RESTORE_WHOSE_WAL),
			  "%s: of unknown WAL: %d", c->name, verdict);
	}
}

/* ---- pages of a backup ---- */

typedef struct BackupCase
{
	const char *name;
	int			since;			/* from LSN on */
	RestoreBackup backup;
	Row			rows[3];
	RestoreContent content;
	RestoreVerdict verdict;
	const char *words;
} BackupCase;

#define OURS	RESTORE_BACKUP_SAME

static const BackupCase backups[] = {
	{"not changed since", 100, OURS, {{'g', -90, 60}}, UNKNOWN, RESTORE_PROVEN_BY_BACKUP, "since its start at 0/13EC"},
	{"WAL from the start on", 100, OURS, {{'g', -90, 100}}, UNKNOWN, RESTORE_PROVEN_BY_BACKUP, ""},
	{"WAL from after the start", 100, OURS, {{'g', -90, 101}}, UNKNOWN, RESTORE_GAP, "to 0/13ED"},
	{"a gap later", 100, OURS, {{'g', -90, 60}, {'g', 200, 300}}, UNKNOWN, RESTORE_GAP, "to 0/14B4"},
	{"its record is there", 100, OURS, {{'c', -50, 0}}, UNKNOWN, RESTORE_PROVEN_BY_BACKUP, ""},
	{"its record is an image", 100, OURS, {{'i', -50, 0}}, SAME, RESTORE_PROVEN, ""},
	{"its record is another image", 100, OURS, {{'i', -50, 0}}, OTHER, RESTORE_FOREIGN, ""},
	{"its record is of another block", 100, OURS, {{0, 0, 0}}, UNKNOWN, RESTORE_FOREIGN, ""},
	{"changed since", 100, OURS, {{'g', -90, 60}, {'c', 150, 160}}, UNKNOWN, RESTORE_OLDER, "up to 0/1428"},
	{"a write was lost before", 100, OURS, {{'c', -50, 0}, {'c', 10, 20}}, UNKNOWN, RESTORE_OLDER, ""},
	{"copied before", 100, OURS, {{'C', 10, 20}}, UNKNOWN, RESTORE_PROVEN_BY_BACKUP, ""},
	{"copied since", 100, OURS, {{'C', 110, 120}}, UNKNOWN, RESTORE_COPIED, ""},
	{"dropped", 100, OURS, {{'c', -50, 0}, {'d', 0, 0}}, UNKNOWN, RESTORE_OLDER, ""},
	{"a backup of a clone", 100, RESTORE_BACKUP_OTHER, {{'g', -90, 60}}, UNKNOWN, RESTORE_FOREIGN_BACKUP, "of a clone"},
	{"a backup without WAL", 100, RESTORE_BACKUP_UNKNOWN, {{'g', -90, 60}}, UNKNOWN, RESTORE_BACKUP_WITHOUT_WAL, "nothing tells whose"},
	{"an image, a backup without WAL", 100, RESTORE_BACKUP_UNKNOWN, {{'i', -50, 0}}, SAME, RESTORE_PROVEN, ""},
	{"an image, a gap before the start", 100, OURS, {{'i', -50, 0}, {'g', 10, 50}}, SAME, RESTORE_PROVEN, ""},
	{"an image, a gap before the start of nobody knows whose", 100, RESTORE_BACKUP_UNKNOWN, {{'i', -50, 0}, {'g', 10, 50}}, SAME, RESTORE_BACKUP_WITHOUT_WAL, "nothing tells whose it is"},
	{"an image, a gap up to the start of nobody knows whose", 100, RESTORE_BACKUP_UNKNOWN, {{'i', -50, 0}, {'g', 0, 100}}, SAME, RESTORE_BACKUP_WITHOUT_WAL, ""},
	{"an image, copied before the start of nobody knows whose", 100, RESTORE_BACKUP_UNKNOWN, {{'i', -50, 0}, {'C', 10, 20}}, SAME, RESTORE_BACKUP_WITHOUT_WAL, ""},
	{"at the start", 0, OURS, {{'g', -90, 0}}, UNKNOWN, RESTORE_PROVEN_BY_BACKUP, ""},
	{"written during the backup", -10, OURS, {{'c', -5, 0}}, UNKNOWN, RESTORE_NO_IMAGE, ""},
	{"written during the backup, an image", -10, OURS, {{'i', -5, 0}}, SAME, RESTORE_PROVEN, ""},
	{"its record is missing", -10, OURS, {{'g', -9, 0}}, UNKNOWN, RESTORE_GAP, "to 0/1388"}
};

static RestoreProof
proof_of(const BackupCase *c, WalLsn lsn)
{
	RestoreProof proof = {.lsn = lsn, .own_history = true, .content = c->content, .backup = c->backup,
	.since = (WalLsn) (LSN + c->since)};

	for (int r = 0; r < 3 && c->rows[r].what != 0; r++)
		on_row(&proof, &c->rows[r]);
	return proof;
}

static void
test_backups(void)
{
	RestoreProof proof;

	for (size_t i = 0; i < sizeof(backups) / sizeof(backups[0]); i++)
	{
		const BackupCase *c = &backups[i];
		RestoreVerdict verdict;
		char		words[RESTORE_WORDS];

		proof = proof_of(c, LSN);
		verdict = restore_proof_judge(&proof);
		restore_proof_words(&proof, verdict, words);
		check(verdict == c->verdict, "backup, %s: %d, expected %d", c->name, verdict, c->verdict);
		check(strstr(words, c->words) != NULL, "backup, %s: %s", c->name, words);
		proof.own_history = false;
		verdict = restore_proof_judge(&proof);
		check(verdict == (c->verdict == RESTORE_OLDER ? RESTORE_OLDER : RESTORE_WHOSE_WAL),
			  "backup, %s: of unknown WAL: %d", c->name, verdict);
	}
	proof = proof_of(&backups[0], LSN);
	proof.backup = RESTORE_BACKUP_OTHER;
	proof.whose = "/tuesday";
	{
		char		words[RESTORE_WORDS];

		restore_proof_words(&proof, restore_proof_judge(&proof), words);
		check(strstr(words, "of a clone: /tuesday") != NULL, "backup, one of several: %s", words);
	}
	proof = proof_of(&backups[0], 0);
	check(restore_proof_judge(&proof) == RESTORE_PROVEN_BY_BACKUP, "backup, no LSN");
	proof = proof_of(&backups[2], 1);
	check(restore_proof_judge(&proof) == RESTORE_GAP, "backup, no LSN, WAL from after the start");
}

/* ---- the page ledger ---- */

typedef struct LedgerCase
{
	const char *name;
	RestoreLedger ledger;
	RestoreBackup backup;
	int			since;			/* of the backup, from LSN on, 0 for none */
	Row			rows[3];
	RestoreContent content;
	RestoreVerdict verdict;
} LedgerCase;

#define KNOWN	RESTORE_LEDGER_SAME
#define NONE	RESTORE_BACKUP_NONE

static const LedgerCase ledgers[] = {
	{"a change of a part", KNOWN, NONE, 0, {{'c', -50, 0}}, UNKNOWN, RESTORE_PROVEN_BY_LEDGER},
	{"another page", RESTORE_LEDGER_OTHER, NONE, 0, {{'c', -50, 0}}, UNKNOWN, RESTORE_OTHER_IN_LEDGER},
	{"an image that is the page", RESTORE_LEDGER_OTHER, NONE, 0, {{'i', -50, 0}}, SAME, RESTORE_PROVEN},
	{"an image that is another page", KNOWN, NONE, 0, {{'i', -50, 0}}, OTHER, RESTORE_FOREIGN},
	{"a later change", KNOWN, NONE, 0, {{'c', -50, 0}, {'c', 1, 50}}, UNKNOWN, RESTORE_OLDER},
	{"no record", KNOWN, NONE, 0, {{0, 0, 0}}, UNKNOWN, RESTORE_FOREIGN},
	{"a gap after it", KNOWN, NONE, 0, {{'c', -50, 0}, {'g', 10, 20}}, UNKNOWN, RESTORE_GAP},
	{"a gap over its record", KNOWN, NONE, 0, {{'g', -90, 0}}, UNKNOWN, RESTORE_GAP},
	{"files that were copied", KNOWN, NONE, 0, {{'c', -50, 0}, {'C', 1, 50}}, UNKNOWN, RESTORE_COPIED},
	{"a backup without WAL", KNOWN, RESTORE_BACKUP_UNKNOWN, 100, {{'c', -50, 0}}, UNKNOWN, RESTORE_PROVEN_BY_LEDGER},
	{"a gap before the start of nobody knows whose", KNOWN, RESTORE_BACKUP_UNKNOWN, 100, {{'c', -50, 0}, {'g', 10, 50}}, UNKNOWN, RESTORE_BACKUP_WITHOUT_WAL},
	{"a backup that proves itself", RESTORE_LEDGER_OTHER, OURS, 100, {{'c', -50, 0}}, UNKNOWN, RESTORE_PROVEN_BY_BACKUP},
	{"written during the backup", KNOWN, OURS, -10, {{'c', -5, 0}}, UNKNOWN, RESTORE_PROVEN_BY_LEDGER}
};

static void
test_ledger(void)
{
	for (size_t i = 0; i < sizeof(ledgers) / sizeof(ledgers[0]); i++)
	{
		const LedgerCase *c = &ledgers[i];
		RestoreProof proof = {.lsn = LSN, .own_history = true, .content = c->content, .ledger = c->ledger,
			.backup = c->backup, .since = c->since == 0 ? 0 : (WalLsn) (LSN + c->since)};
		RestoreVerdict verdict;

		for (int r = 0; r < 3 && c->rows[r].what != 0; r++)
			on_row(&proof, &c->rows[r]);
		verdict = restore_proof_judge(&proof);
		check(verdict == c->verdict, "ledger, %s: %d, expected %d", c->name, verdict, c->verdict);
	}
}

static void
test_no_lsn(void)
{
	for (WalLsn lsn = 0; lsn < 3; lsn++)
	{
		RestoreProof proof = {.lsn = lsn, .own_history = true, .content = SAME};

		check(restore_proof_judge(&proof) == (lsn < 2 ? RESTORE_NO_LSN : RESTORE_FOREIGN),
			  "an LSN of %d", (int) lsn);
	}
}

/* ---- the block ---- */

typedef struct BlockCase
{
	const char *name;
	RestoreFacts facts;
	int			at_once;		/* the status without WAL, or -1 */
	RestoreStatus unproven;		/* the status of a page that is not proven */
} BlockCase;

#define GOOD	RESTORE_DISK_GOOD
#define ZEROS	RESTORE_DISK_ZEROS
#define DAMAGED	RESTORE_DISK_DAMAGED

static const BlockCase blocks[] = {
	{"damaged", {LSN, DAMAGED, false, 0, false, false}, -1, RESTORE_NOT_PROVEN},
	{"zeros", {LSN, ZEROS, false, 0, false, false}, -1, RESTORE_NOT_PROVEN},
	{"damaged, vouched for", {LSN, DAMAGED, false, 0, true, false}, -1, RESTORE_RESTORED},
	{"zeros, vouched for", {LSN, ZEROS, false, 0, true, false}, -1, RESTORE_RESTORED},
	{"good and newer", {LSN, GOOD, false, LSN + 1, true, false}, RESTORE_HEALTHY, RESTORE_NOT_PROVEN},
	{"good and the same", {LSN, GOOD, false, LSN, true, false}, RESTORE_HEALTHY, RESTORE_NOT_PROVEN},
	{"good, the same LSN, another page", {LSN, GOOD, false, LSN, false, true}, -1, RESTORE_NOT_PROVEN},
	{"good, the same LSN, another page, vouched for", {LSN, GOOD, false, LSN, true, true}, -1, RESTORE_NOT_PROVEN},
	{"good and older", {LSN, GOOD, false, LSN - 1, false, false}, -1, RESTORE_NOT_PROVEN},
	{"good and older, vouched for", {LSN, GOOD, false, LSN - 1, true, false}, -1, RESTORE_NOT_PROVEN},
	{"good in memory", {LSN, DAMAGED, true, LSN, true, false}, RESTORE_CACHED, RESTORE_NOT_PROVEN},
	{"good in memory above zeros", {LSN, ZEROS, true, LSN + 9, true, false}, RESTORE_CACHED, RESTORE_NOT_PROVEN},
	{"older in memory", {LSN, DAMAGED, true, LSN - 1, false, false}, -1, RESTORE_NOT_PROVEN},
	{"older in memory, vouched for", {LSN, DAMAGED, true, LSN - 1, true, false}, -1, RESTORE_NOT_PROVEN}
};

static void
test_blocks(void)
{
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
	{
		const BlockCase *c = &blocks[i];
		RestoreStatus status = RESTORE_NOT_VERIFIABLE;
		bool		must = restore_must_prove(&c->facts, &status);

		check(must == (c->at_once < 0), "%s: WAL is asked", c->name);
		check(must || (int) status == c->at_once, "%s: %s", c->name, restore_status_name(status));
		check(restore_choose(&c->facts, RESTORE_PROVEN) == RESTORE_RESTORED, "%s: proven", c->name);
		check(restore_choose(&c->facts, RESTORE_OLDER) == RESTORE_OUTDATED, "%s: older", c->name);
		check(restore_choose(&c->facts, RESTORE_FOREIGN) == RESTORE_INVALID_PAGE, "%s: foreign", c->name);
		for (int v = RESTORE_NO_LSN; v <= RESTORE_NO_IMAGE; v++)
			check(restore_choose(&c->facts, (RestoreVerdict) v) == c->unproven, "%s: not proven", c->name);
	}
	check(strcmp(restore_status_name(RESTORE_CACHED), "bad_on_disk_cached_ok") == 0, "a name");
}

int
main(int argc, char **argv)
{
	unit_begin("restore", argc, argv);
	test_proofs();
	test_no_lsn();
	test_backups();
	test_ledger();
	test_blocks();
	return unit_finish();
}
