/*
 * event.c
 *	  Which storage ends with a record, for what was proved of it before.
 *
 * Each fork ends by itself.  A move to another tablespace and CREATE DATABASE
 * make the main fork, log its pages, and only then make the next fork.  So a
 * free space or visibility map that is made says nothing of the pages.  The
 * main fork is always the first, so it begins the map anew, too.  So does an
 * init fork, which is the only one that WAL tells of an unlogged relation.
 */
#include "lost/event.h"

typedef struct Report
{
	LostEventFn event;
	void	   *arg;
} Report;

/* Returns the block from which on a fork ends. */
static uint32_t
end_of_fork(const WalStorageEvent *fact, uint32_t fork)
{
	const uint32_t first = WAL_FORK_BIT(WAL_FORK_MAIN) |
		WAL_FORK_BIT(WAL_FORK_INIT);
	bool		begins_anew = fact->kind == WAL_STORAGE_CREATED &&
		(fact->forks & first) != 0;

	return begins_anew || (fact->forks & WAL_FORK_BIT(fork)) != 0 ?
		fact->block : LOST_STAYS;
}

static void
on_fact(void *arg, const WalStorageEvent *fact)
{
	const Report *report = arg;
	LostEvent	event = {fact->tablespace, fact->database, fact->relation,
	end_of_fork(fact, WAL_FORK_MAIN), end_of_fork(fact, WAL_FORK_MAP)};

	/* a database ends in all tablespaces at once */
	if (event.database != 0 && event.relation == 0)
		event.tablespace = 0;
	if (event.first != LOST_STAYS || event.map_first != LOST_STAYS)
		report->event(report->arg, &event);
}

bool
lost_events(const uint8_t *rec, const WalBlocks *blocks, LostEventFn event,
			void *arg)
{
	Report		report = {event, arg};

	return wal_storage_events(rec, blocks, on_fact, &report);
}
