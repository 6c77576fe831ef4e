/*
 * disk_page.c
 *	  Reads one page of a relation as it lies on disk.
 */
#include "compat.h"

#include "access/relation.h"
#include "utils/rel.h"

#include "page/decide.h"
#include "page/disk_page.h"
#include "page/fork_reader.h"
#include "page/relation_scan.h"

static void read_decided(Fork *fork, ForkReader *reader, BlockNumber blkno,
						 BlockDecision *decision);

void
disk_page_read(Oid relid, ForkNumber number, BlockNumber blkno, char *page)
{
	Relation	rel = scan_open_relation(relid);
	BlockDecision *decision = palloc(sizeof(BlockDecision));
	Fork		fork;
	ForkReader	reader;

	fork_describe(&fork, rel, number);
	fork_reader_init(&reader, &fork);
	read_decided(&fork, &reader, blkno, decision);
	if (decision->fate != BLOCK_JUDGED)
		disk_page_failed(&reader, blkno, decision->fate);
	memcpy(page, decision->image.data, BLCKSZ);
	pfree(decision);
	fork_reader_close(&reader);
	relation_close(rel, AccessShareLock);
}

static void
read_decided(Fork *fork, ForkReader *reader, BlockNumber blkno,
			 BlockDecision *decision)
{
	PageRules	rules = {false, InvalidXLogRecPtr};
	bool		opened = fork_reader_open(reader, blkno);

	if (!opened && reader->error == ENOENT && fork_follow(fork))
		opened = fork_reader_open(reader, blkno);
	if (!opened)
		decision->fate = reader->error == ENOENT ? BLOCK_GONE :
			BLOCK_UNREADABLE;
	else if (blkno < fork_reader_segment_end(reader))
		block_decide(reader, blkno, &rules, decision);
	else
		decision->fate = BLOCK_GONE;
}

void
disk_page_failed(const ForkReader *reader, BlockNumber blkno, BlockFate fate)
{
	const Fork *fork = reader->fork;

	if (fate == BLOCK_GONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block %u is not in fork \"%s\" of relation \"%s\"",
						blkno, forkNames[fork->fork],
						RelationGetRelationName(fork->rel))));
	ereport(ERROR,
			(errcode(ERRCODE_IO_ERROR),
			 errmsg("block %u of fork \"%s\" of relation \"%s\": %s",
					blkno, forkNames[fork->fork],
					RelationGetRelationName(fork->rel), reader->message)));
}
