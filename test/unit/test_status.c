/* needs: wal */
/*
 * test_status.c
 *	  The words of statuses (page/status.def), over all families.
 *
 * A word means the same in each family, so that a script may filter by it.
 */
#include "unit.h"
#include "page/status.h"

typedef struct Row
{
	char		family;
	const char *word;
	const char *name;			/* as the function of the family says it */
	bool		is_finding;
} Row;

#define MAX_ROWS	200

static Row	rows[MAX_ROWS];
static size_t nrows;

static void
add(char family, const char *word, const char *name, bool is_finding)
{
	check(nrows < MAX_ROWS, "more than %d rows", MAX_ROWS);
	if (nrows < MAX_ROWS)
		rows[nrows++] = (Row) {family, word, name, is_finding};
}

static void
fill(void)
{
#define PAGE_STATUS(id, word, finding) add('p', word, page_status_name(id), finding);
#define WAL_STATUS(id, word, finding) add('w', word, wal_status_name(id), finding);
#define CLUSTER_STATUS(id, word, finding) add('c', word, cluster_status_name(id), finding);
#define BACKUP_STATUS(id, word, finding) add('b', word, backup_status_name(id), finding);
#define LOST_STATUS(id, word, finding) add('l', word, lost_status_name(id), finding);
#define LEDGER_STATUS(id, word, finding) add('d', word, ledger_status_name(id), finding);
#define HEAL_STATUS(id, word, finding) add('h', word, heal_status_name(id), finding);
#define RESTORE_STATUS(id, word, finding) add('r', word, restore_status_name(id), finding);
#include "page/status.def"
}

/* What is done to a block is no verdict, so "healed" need not begin with "ok". */
static void
check_row(const Row *row)
{
	bool		by_word = strncmp(row->word, "ok", 2) != 0 &&
		strcmp(row->word, "not_verifiable") != 0;

	check(strcmp(row->name, row->word) == 0, "%s is named %s", row->word, row->name);
	check(status_is_finding(row->word) == row->is_finding,
		  "%s of %c is another answer than its row", row->word, row->family);
	check(row->family == 'h' || row->family == 'r' || by_word == row->is_finding,
		  "%s of %c is against the rule of words", row->word, row->family);
}

int
main(int argc, char **argv)
{
	unit_begin("status", argc, argv);
	fill();
	for (size_t i = 0; i < nrows; i++)
	{
		check_row(&rows[i]);
		for (size_t j = 0; j < i; j++)
			check(rows[i].family != rows[j].family || strcmp(rows[i].word, rows[j].word) != 0,
				  "%s of %c stands there twice", rows[i].word, rows[i].family);
	}
	check(wal_status_of("ok_expired") == WAL_OK_EXPIRED, "a word of WAL");
	check(wal_status_of("no such word") == WAL_STATUSES, "no word of WAL");
	check(wal_status_is_finding(WAL_CORRUPT) && !wal_status_is_finding(WAL_OK_EXPIRED),
		  "findings of WAL");
	return unit_finish();
}
