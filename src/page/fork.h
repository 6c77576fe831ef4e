/*
 * fork.h
 *	  What is known of one fork of a relation before its files are read.
 */
#ifndef ACCEL_PAGE_FORK_H
#define ACCEL_PAGE_FORK_H

#include "compat.h"

#include "utils/relcache.h"

#include "page/finding.h"

typedef struct Fork
{
	Relation	rel;			/* open and locked */
	ForkNumber	fork;
	bool		md;				/* files of the magnetic disk manager */
	bool		checksums;		/* stored checksums mean something */
	bool		test_lsn;		/* pages carry LSNs */
	PageKind	kind;			/* of its pages */
	char		path[SCAN_PATH_SIZE];	/* of segment 0 */
} Fork;

extern void fork_describe(Fork *fork, Relation rel, ForkNumber number);

/*
 * Describes the fork anew after its file was not found.  Returns true if it
 * has another file by now.
 */
extern bool fork_follow(Fork *fork);

/* The path of a segment, "base/5/16384.1" say, into dst. */
extern void fork_segment_path(const Fork *fork, BlockNumber segment,
							  char dst[SCAN_PATH_SIZE]);

/* Why the fork cannot be verified, in words, NULL if it can. */
extern const char *fork_why_not_verifiable(const Fork *fork);

/*
 * How many blocks a fork of its kind begins with, and never lacks.  It is 1
 * where the first is that of an index or a sequence, else 0.
 */
extern BlockNumber fork_first_blocks(const Fork *fork);

/* Has the fork got another file, as in fork_follow()? */
extern bool fork_moved(const Fork *fork);

/* Must the fork exist, or is it made when it is needed? */
extern bool fork_required(const Fork *fork);

#endif							/* ACCEL_PAGE_FORK_H */
