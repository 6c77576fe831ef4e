/*
 * output.h
 *	  Segments of WAL that are written again, with some bytes changed.
 *
 * Each begins as a copy of its file, decompressed.  Then bytes of records are
 * replaced, in ascending order.  Page headers stay, and so does all between
 * the records.
 */
#ifndef ACCEL_RECOVER_OUTPUT_H
#define ACCEL_RECOVER_OUTPUT_H

#include "wal/files.h"
#include "wal/list.h"

typedef struct RecoverOutput
{
	const WalDirectory *dir;	/* of the files */
	const WalNames *list;		/* those in order, without a gap */
	uint32_t	page_size;
	const char *folder;			/* written to */

	/* zero at first */
	WalFiles   *files;
	uint8_t    *buffer;			/* WAL_PIECE_BYTES */
	uint8_t    *segment;		/* the one at work, which was the last read */
	size_t		done;			/* segments that were read */
	char		failed[WAL_NAME_SIZE];	/* the file that could not be read or
										 * written, with errno */
} RecoverOutput;

/* Begins with all set above.  It must be ended. */
extern void recover_output_begin(RecoverOutput *ctx);

/*
 * Replaces n bytes of a record, from *at on, which it advances over page
 * headers.  If bytes is NULL, they become zeros.
 */
extern bool recover_output_put(RecoverOutput *ctx, WalLsn *at,
							   const uint8_t *bytes, uint32_t n);

/* Everything from end on becomes zeros.  Writes the last segment. */
extern bool recover_output_end(RecoverOutput *ctx, WalLsn end);

/* Frees what it holds. */
extern void recover_output_free(RecoverOutput *ctx);

#endif							/* ACCEL_RECOVER_OUTPUT_H */
