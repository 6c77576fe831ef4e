/*
 * fork.c
 *	  What is known of one fork of a relation before its files are read.
 */
#include "compat.h"

#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "storage/smgr.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "page/fork.h"
#include "page/relation_kind.h"

void
fork_describe(Fork *fork, Relation rel, ForkNumber number)
{
	memset(fork, 0, sizeof(*fork));
	fork->rel = rel;
	fork->fork = number;
	fork->md = SMGR_IS_MD(RelationGetSmgr(rel));
	fork->checksums = DataChecksumsEnabled();
	fork->test_lsn = rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT ||
		number == INIT_FORKNUM;
	fork->kind = relation_page_kind(rel, number);
	RELATION_PATH(rel, number, fork->path, SCAN_PATH_SIZE);
}

/*
 * ALTER SEQUENCE gives its sequence a new file under a lock that lets us read.
 * The old one is emptied at its commit and goes with the next checkpoint.
 * (What else changes files waits for our lock.)  The news is sent before the
 * file is touched.
 */
bool
fork_follow(Fork *fork)
{
	char		path[SCAN_PATH_SIZE];

	strlcpy(path, fork->path, SCAN_PATH_SIZE);
	AcceptInvalidationMessages();
	fork_describe(fork, fork->rel, fork->fork);
	return strcmp(path, fork->path) != 0;
}

void
fork_segment_path(const Fork *fork, BlockNumber segment,
				  char dst[SCAN_PATH_SIZE])
{
	if (segment == 0)
		strlcpy(dst, fork->path, SCAN_PATH_SIZE);
	else
		snprintf(dst, SCAN_PATH_SIZE, "%s.%u", fork->path, segment);
}

const char *
fork_why_not_verifiable(const Fork *fork)
{
	Form_pg_class class = fork->rel->rd_rel;
	Form_pg_index index = fork->rel->rd_index;

	if (class->relpersistence == RELPERSISTENCE_TEMP)
		return "temporary relations live in their session's memory";
	if (class->relpersistence == RELPERSISTENCE_UNLOGGED &&
		fork->fork != INIT_FORKNUM && RecoveryInProgress())
		return "unlogged relations have no contents on a standby";
	if (index != NULL && !index->indislive)
		return "the index is being dropped concurrently, or that has failed";
	if (index != NULL && !index->indisready)
		return "the index is being built concurrently, past shared buffers, or such a build has failed";
	return NULL;
}

/*
 * All access methods of the server write block 0 when an index is built,
 * before it can be used, into its init fork, too.  And a sequence has nothing
 * else.
 */
BlockNumber
fork_first_blocks(const Fork *fork)
{
	return fork_required(fork) && PAGE_KIND_HAS_FIRST(fork->kind) &&
		fork_why_not_verifiable(fork) == NULL ? 1 : 0;
}

bool
fork_moved(const Fork *fork)
{
	Fork		now = *fork;

	return fork_follow(&now);
}

/* An index has no init fork before it is built. */
bool
fork_required(const Fork *fork)
{
	return fork->fork == MAIN_FORKNUM ||
		(fork->fork == INIT_FORKNUM &&
		 fork->rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		 fork_why_not_verifiable(fork) == NULL);
}
