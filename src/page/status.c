/*
 * status.c
 *	  Verdicts in words.
 */
#include <string.h>

#include "page/status.h"

typedef struct StatusRow
{
	const char *word;
	bool		is_finding;
} StatusRow;

static const StatusRow page_rows[] = {
#define PAGE_STATUS(id, word, is_finding) {word, is_finding},
#include "page/status.def"
};

static const StatusRow wal_rows[] = {
#define WAL_STATUS(id, word, is_finding) {word, is_finding},
#include "page/status.def"
};

static const StatusRow cluster_rows[] = {
#define CLUSTER_STATUS(id, word, is_finding) {word, is_finding},
#include "page/status.def"
};

static const StatusRow backup_rows[] = {
#define BACKUP_STATUS(id, word, is_finding) {word, is_finding},
#include "page/status.def"
};

static const StatusRow lost_rows[] = {
#define LOST_STATUS(id, word, is_finding) {word, is_finding},
#include "page/status.def"
};

static const StatusRow ledger_rows[] = {
#define LEDGER_STATUS(id, word, is_finding) {word, is_finding},
#include "page/status.def"
};

static const StatusRow heal_rows[] = {
#define HEAL_STATUS(id, word, is_finding) {word, is_finding},
#include "page/status.def"
};

static const StatusRow restore_rows[] = {
#define RESTORE_STATUS(id, word, is_finding) {word, is_finding},
#include "page/status.def"
};

const char *
page_status_name(PageStatus status)
{
	return page_rows[status].word;
}

const char *
wal_status_name(WalStatus status)
{
	return wal_rows[status].word;
}

const char *
cluster_status_name(ClusterStatus status)
{
	return cluster_rows[status].word;
}

const char *
backup_status_name(BackupStatus status)
{
	return backup_rows[status].word;
}

const char *
lost_status_name(LostStatus status)
{
	return lost_rows[status].word;
}

const char *
ledger_status_name(LedgerStatus status)
{
	return ledger_rows[status].word;
}

const char *
heal_status_name(HealStatus status)
{
	return heal_rows[status].word;
}

const char *
restore_status_name(RestoreStatus status)
{
	return restore_rows[status].word;
}

const char *
cluster_kind_name(ClusterKind kind)
{
	static const char *const names[] = {
#define CLUSTER_KIND(id, words) words,
		CLUSTER_KIND_LIST
#undef CLUSTER_KIND
	};

	return names[kind];
}

WalStatus
wal_status_of(const char *name)
{
	int			status = 0;

	while (status < WAL_STATUSES && strcmp(wal_rows[status].word, name) != 0)
		status++;
	return (WalStatus) status;
}

#define FAMILY(rows) {rows, sizeof(rows) / sizeof((rows)[0])}

/* A word is the same in all families, so the first row of it tells. */
bool
status_is_finding(const char *name)
{
	static const struct
	{
		const StatusRow *rows;
		size_t		count;
	}			families[] = {
		FAMILY(page_rows), FAMILY(wal_rows), FAMILY(cluster_rows),
		FAMILY(backup_rows), FAMILY(lost_rows), FAMILY(ledger_rows),
		FAMILY(heal_rows), FAMILY(restore_rows)
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		for (size_t row = 0; row < families[i].count; row++)
			if (strcmp(families[i].rows[row].word, name) == 0)
				return families[i].rows[row].is_finding;
	return true;
}

bool
wal_status_is_finding(WalStatus status)
{
	return wal_rows[status].is_finding;
}
