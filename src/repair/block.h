/*
 * block.h
 *	  Writes a page over a block of a relation, with WAL.
 *
 * Whoever writes has proved before that the page is the right one.
 */
#ifndef ACCEL_REPAIR_BLOCK_H
#define ACCEL_REPAIR_BLOCK_H

#include "page/decide.h"
#include "wal/blocks.h"

/* Says why a fork cannot be written, in words, or returns NULL if it can. */
extern const char *repair_why_not(const Fork *fork);

extern void repair_block_tag(const Fork *fork, BlockNumber blkno,
							 WalBlockTag *tag);

/*
 * Decides a block as block_decide() does, or as block_decide_and_hold() if
 * held is not NULL, and then whether it is older than a clean buffer's page.  A
 * block past the end raises 22023, a read error 58030.
 */
extern void repair_decide(ForkReader *reader, BlockNumber blkno,
						  PageRules *rules, BlockDecision *decision,
						  Buffer *held);

/*
 * Proves that the server reaches the block and that storage takes it, or
 * raises an error with nothing changed.  The image is what was read from disk.
 * It is written back, so nobody else may be writing the block.  If only the
 * page cache holds it, keep_cached leaves it there.
 */
extern void repair_prove_writable(const Fork *fork, BlockNumber blkno,
								  const char *image, bool keep_cached);

/*
 * Are two pages the same, but for their checksums?  The server sets that of
 * what it writes, not always of its buffer.
 */
extern bool repair_is_same_page(const char *disk, const char *page);

/*
 * Writes the page, or what the buffer has if it is NULL, and reads it into
 * disk, from the device by a direct reader.  Returns whether that is the page.
 * The buffer must be locked exclusively.  A page that replaces another one
 * takes a cleanup lock.
 */
extern bool repair_write(ForkReader *reader, BlockNumber blkno,
						 PageRules *rules, Buffer buffer, const char *page,
						 char *disk);

#endif							/* ACCEL_REPAIR_BLOCK_H */
