/*
 * storage.c
 *	  What WAL says of storage that is made, cut off, copied or dropped.
 *
 * These are facts of PostgreSQL's storage_xlog.h, xact.h (ParseCommitRecord()
 * and ParseAbortRecord() of xactdesc.c), dbcommands_xlog.h and tablespace.h,
 * 15 to 19.
 */
#include "wal/storage.h"

#define RM_XACT		1
#define RM_SMGR		2
#define RM_TBLSPC	5

/* xl_smgr_truncate.flags */
#define TRUNCATE_MAIN		0x1
#define TRUNCATE_MAP		0x2
#define TRUNCATE_FREE_SPACE	0x4

#define XACT_OPMASK				0x70
#define XACT_COMMIT				0x00
#define XACT_ABORT				0x20
#define XACT_COMMIT_PREPARED	0x30
#define XACT_ABORT_PREPARED		0x40
#define XACT_HAS_INFO			0x80
#define XINFO_DBINFO			0x01
#define XINFO_SUBXACTS			0x02
#define XINFO_RELATIONS			0x04	/* XACT_XINFO_HAS_RELFILELOCATORS */

#define LOCATOR_BYTES	12		/* RelFileLocator, three OIDs */

/* Records that have one fact. */
static const struct
{
	uint8_t		rmgr;
	uint8_t		info;
	WalStorageKind kind;
}			records[] = {
	{RM_SMGR, 0x10, WAL_STORAGE_CREATED},
	{RM_SMGR, 0x20, WAL_STORAGE_TRUNCATED},
	{WAL_RMGR_DATABASE, WAL_DATABASE_COPY, WAL_DATABASE_COPIED},
	{WAL_RMGR_DATABASE, 0x10, WAL_DATABASE_CREATED},
	{WAL_RMGR_DATABASE, 0x20, WAL_DATABASE_DROPPED},
	{RM_TBLSPC, 0x00, WAL_TABLESPACE_CREATED},
	{RM_TBLSPC, 0x10, WAL_TABLESPACE_DROPPED},
};

/* The main data that are being parsed.  at never passes length. */
typedef struct Data
{
	const uint8_t *bytes;
	uint32_t	length;
	uint32_t	at;
} Data;

/* The next n bytes, NULL if there are not as many. */
static const uint8_t *
take(Data *data, uint64_t n)
{
	const uint8_t *p = data->bytes + data->at;

	if (n > data->length - data->at)
		return NULL;
	data->at += (uint32_t) n;
	return p;
}

static bool
take32(Data *data, uint32_t *value)
{
	const uint8_t *p = take(data, 4);

	if (p != NULL)
		*value = wal_load32(p);
	return p != NULL;
}

/* Takes a number of items, and then the items. */
static bool
parse_items(Data *data, uint32_t item_bytes, uint32_t *n,
			const uint8_t **items)
{
	return take32(data, n) &&
		(*items = take(data, (uint64_t) *n * item_bytes)) != NULL;
}

static bool
parse_locator(Data *data, WalStorageEvent *event)
{
	return take32(data, &event->tablespace) &&
		take32(data, &event->database) && take32(data, &event->relation);
}

static bool
parse_fork(Data *data, WalStorageEvent *event)
{
	uint32_t	fork;

	if (!take32(data, &fork) || fork > WAL_FORK_MAX)
		return false;
	event->forks = WAL_FORK_BIT(fork);
	return true;
}

static bool
parse_truncated_forks(Data *data, WalStorageEvent *event)
{
	uint32_t	flags;

	if (!take32(data, &flags))
		return false;
	event->forks =
		((flags & TRUNCATE_MAIN) != 0 ? WAL_FORK_BIT(WAL_FORK_MAIN) : 0) |
		((flags & TRUNCATE_MAP) != 0 ? WAL_FORK_BIT(WAL_FORK_MAP) : 0) |
		((flags & TRUNCATE_FREE_SPACE) != 0 ?
		 WAL_FORK_BIT(WAL_FORK_FREE_SPACE) : 0);
	return true;
}

/* Parses the data of a record that has one fact, of which the kind is set. */
static bool
parse_event(Data *data, WalStorageEvent *event)
{
	switch (event->kind)
	{
		case WAL_STORAGE_CREATED:
			return parse_locator(data, event) && parse_fork(data, event);
		case WAL_STORAGE_TRUNCATED:
			return take32(data, &event->block) &&
				parse_locator(data, event) && parse_truncated_forks(data, event);
		case WAL_DATABASE_CREATED:
			return take32(data, &event->database) &&
				take32(data, &event->tablespace);
		case WAL_DATABASE_COPIED:
			return take32(data, &event->database) &&
				take32(data, &event->tablespace) &&
				take32(data, &event->source_database) &&
				take32(data, &event->source_tablespace);
		case WAL_DATABASE_DROPPED:
			return take32(data, &event->database) &&
				parse_items(data, 4, &event->ntablespaces, &event->tablespaces);
		case WAL_TABLESPACE_CREATED:
		case WAL_TABLESPACE_DROPPED:
			return take32(data, &event->tablespace);
		default:
			return false;
	}
}

static bool
single_event(const uint8_t *rec, Data *data, WalStorageFn report, void *arg)
{
	WalStorageEvent event = {.forks = WAL_FORKS_ALL};

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
	{
		if (records[i].rmgr != rec[WAL_REC_RMID] ||
			records[i].info != (rec[WAL_REC_INFO] & WAL_INFO_MASK))
			continue;
		event.kind = records[i].kind;
		if (!parse_event(data, &event))
			return false;
		report(arg, &event);
		return true;
	}
	return false;
}

/*
 * Reports the relations that end with a transaction.  It dropped them, or it
 * made them and then failed.
 */
static bool
transaction_events(Data *data, WalStorageFn report, void *arg)
{
	WalStorageEvent event = {WAL_STORAGE_DROPPED,.forks = WAL_FORKS_ALL};
	Data		relations = {0};
	const uint8_t *subtransactions;
	uint32_t	xinfo;
	uint32_t	n;

	if (take(data, 8) == NULL ||	/* xact_time */
		!take32(data, &xinfo))
		return false;
	if ((xinfo & XINFO_DBINFO) != 0 && take(data, 8) == NULL)
		return false;
	if ((xinfo & XINFO_SUBXACTS) != 0 &&
		!parse_items(data, 4, &n, &subtransactions))
		return false;
	if ((xinfo & XINFO_RELATIONS) == 0)
		return true;
	if (!parse_items(data, LOCATOR_BYTES, &n, &relations.bytes))
		return false;
	relations.length = n * LOCATOR_BYTES;
	while (parse_locator(&relations, &event))
		report(arg, &event);
	return true;
}

bool
wal_storage_tells(const uint8_t *rec)
{
	uint8_t		info = rec[WAL_REC_INFO];

	switch (rec[WAL_REC_RMID])
	{
		case RM_SMGR:
		case WAL_RMGR_DATABASE:
		case RM_TBLSPC:
			return true;
		case RM_XACT:
			info &= XACT_OPMASK | XACT_HAS_INFO;
			return info == (XACT_COMMIT | XACT_HAS_INFO) ||
				info == (XACT_ABORT | XACT_HAS_INFO) ||
				info == (XACT_COMMIT_PREPARED | XACT_HAS_INFO) ||
				info == (XACT_ABORT_PREPARED | XACT_HAS_INFO);
		default:
			return false;
	}
}

bool
wal_storage_events(const uint8_t *rec, const WalBlocks *blocks,
				   WalStorageFn event, void *arg)
{
	Data		data = {blocks->main, blocks->main_present, 0};

	if (!wal_storage_possible(rec))
		return true;
	if (rec[WAL_REC_RMID] == RM_XACT)
		return transaction_events(&data, event, arg);
	return single_event(rec, &data, event, arg);
}
