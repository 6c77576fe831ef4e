/*
 * fork_transform.h
 *	  Tells storage that transforms pages from storage that damages them.
 */
#ifndef ACCEL_PAGE_FORK_TRANSFORM_H
#define ACCEL_PAGE_FORK_TRANSFORM_H

#include "host/throttle.h"
#include "page/fork.h"

/* What is said of a relation whose pages are transformed. */
#define FORK_TRANSFORMED_WORDS \
	"storage transforms its pages, by encryption for instance: the server reads valid pages where the files hold none"

/*
 * A block of the fork is not a valid page on disk.  Does the server's storage
 * manager read valid pages all the same, from this file?  Returns false where
 * that is not certain.  "throttle" is NULL for no bound.  Hold no lock but the
 * relation's.
 */
extern bool fork_is_transformed(const Fork *fork, BlockNumber blkno,
								Throttle *throttle);

#endif							/* ACCEL_PAGE_FORK_TRANSFORM_H */
