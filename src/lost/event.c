/*
 * event.c
 *	  What WAL says of storage that is truncated, dropped or made anew.
 *
 * These are facts of PostgreSQL's storage_xlog.h, xact.h (ParseCommitRecord()
 * and ParseAbortRecord() of xactdesc.c), dbcommands_xlog.h and tablespace.h,
 * 15 to 19.  XLOG_SMGR_CREATE always makes the storage of relations with WAL,
 * at wal_level minimal too.  XLOG_DBASE_CREATE_* makes databases.
 *
 * Each fork ends by itself.  A move to another tablespace and CREATE DATABASE
 * make the main fork, log its pages, and only then make the next fork.  So a
 * free space or visibility map that is made says nothing of the pages.  The
 * main fork is always the first, so it begins the map anew, too.  So does an
 * init fork, which is the only one that WAL tells of an unlogged relation.
 */
#include "lost/event.h"
#include "lost/witness.h"

#define RM_XACT		1
#define RM_SMGR		2
#define RM_DBASE	4
#define RM_TBLSPC	5

#define SMGR_CREATE		0x10
#define SMGR_TRUNCATE	0x20

/* xl_smgr_truncate.flags */
#define TRUNCATE_MAIN	0x1
#define TRUNCATE_MAP	0x2

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

static bool
take_locator(Data *data, LostEvent *event)
{
	return take32(data, &event->tablespace) &&
		take32(data, &event->database) && take32(data, &event->relation);
}

/* Parses xl_smgr_create, which has a locator and a fork. */
static bool
creation(Data *data, LostEvent *event)
{
	uint32_t	fork;

	if (!take_locator(data, event) || !take32(data, &fork))
		return false;
	if (fork == LOST_FORK_MAP || fork == LOST_FORK_FREE_SPACE)
		event->first = LOST_STAYS;
	if (fork == LOST_FORK_FREE_SPACE)
		event->map_first = LOST_STAYS;
	return true;
}

/* Parses xl_smgr_truncate, which has a block, a locator and flags. */
static bool
truncation(Data *data, LostEvent *event)
{
	uint32_t	block;
	uint32_t	flags;

	if (!take32(data, &block) || !take_locator(data, event) ||
		!take32(data, &flags))
		return false;
	event->first = (flags & TRUNCATE_MAIN) != 0 ? block : LOST_STAYS;
	event->map_first = (flags & TRUNCATE_MAP) != 0 ? block : LOST_STAYS;
	return true;
}

static bool
storage_events(uint8_t info, Data *data, LostEventFn report, void *arg)
{
	LostEvent	event = {0};
	bool		known = (info == SMGR_CREATE && creation(data, &event)) ||
		(info == SMGR_TRUNCATE && truncation(data, &event));

	if (known && (event.first != LOST_STAYS || event.map_first != LOST_STAYS))
		report(arg, &event);
	return known;
}

/*
 * Reports the relations that end with a transaction.  It dropped them, or it
 * made them and then failed.
 */
static bool
transaction_events(uint8_t info, Data *data, LostEventFn report, void *arg)
{
	uint32_t	xinfo = 0;
	uint32_t	n;

	if (take(data, 8) == NULL ||	/* xact_time */
		((info & XACT_HAS_INFO) != 0 && !take32(data, &xinfo)))
		return false;
	if ((xinfo & XINFO_DBINFO) != 0 && take(data, 8) == NULL)
		return false;
	if ((xinfo & XINFO_SUBXACTS) != 0 &&
		(!take32(data, &n) || take(data, (uint64_t) n * 4) == NULL))
		return false;
	if ((xinfo & XINFO_RELATIONS) == 0)
		return true;
	if (!take32(data, &n) ||
		(uint64_t) n * LOCATOR_BYTES > data->length - data->at)
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		LostEvent	event = {0};

		take_locator(data, &event);
		report(arg, &event);
	}
	return true;
}

/*
 * Reports a database that is made or dropped.  Its OID comes first in each
 * such record.
 */
static bool
database_events(Data *data, LostEventFn report, void *arg)
{
	LostEvent	event = {0};

	if (!take32(data, &event.database))
		return false;
	report(arg, &event);
	return true;
}

static bool
tablespace_events(Data *data, LostEventFn report, void *arg)
{
	LostEvent	event = {0};

	if (!take32(data, &event.tablespace))
		return false;
	report(arg, &event);
	return true;
}

static bool
ends_transaction(uint8_t info)
{
	switch (info & XACT_OPMASK)
	{
		case XACT_COMMIT:
		case XACT_ABORT:
		case XACT_COMMIT_PREPARED:
		case XACT_ABORT_PREPARED:
			return true;
		default:
			return false;
	}
}

bool
lost_event_tells(const uint8_t *rec)
{
	switch (rec[WAL_REC_RMID])
	{
		case RM_XACT:
			return ends_transaction(rec[WAL_REC_INFO]) &&
				(rec[WAL_REC_INFO] & XACT_HAS_INFO) != 0;
		case RM_SMGR:
		case RM_DBASE:
		case RM_TBLSPC:
			return true;
		default:
			return false;
	}
}

bool
lost_events(const uint8_t *rec, const WalBlocks *blocks, LostEventFn event,
			void *arg)
{
	uint8_t		info = rec[WAL_REC_INFO];
	Data		data = {blocks->main, blocks->main_length, 0};

	if (!lost_event_possible(rec))
		return true;
	if (blocks->main_present < blocks->main_length)
		return false;
	switch (rec[WAL_REC_RMID])
	{
		case RM_XACT:
			return transaction_events(info, &data, event, arg);
		case RM_SMGR:
			return storage_events(info & WAL_INFO_MASK, &data, event, arg);
		case RM_DBASE:
			return database_events(&data, event, arg);
		default:
			return tablespace_events(&data, event, arg);
	}
}
