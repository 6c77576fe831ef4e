/*
 * progress.h
 *	  What every backend is verifying at present, for all to see.
 *
 * Lives in shared memory of its own, so it works in a preloaded library only;
 * otherwise all of this does nothing.
 */
#ifndef ACCEL_PROGRESS_H
#define ACCEL_PROGRESS_H

#include "datatype/timestamp.h"

#include "scan/sink.h"

#pragma GCC visibility push(hidden)

typedef struct ProgressRow
{
	int			pid;			/* 0: nothing going on */
	Oid			datid;
	Oid			relid;			/* InvalidOid: between two relations */
	ForkNumber	fork;
	int64		blocks_total;	/* of this fork */
	int64		blocks_done;
	int64		findings;		/* of the whole run */
	TimestampTz started;		/* of the whole run */
} ProgressRow;

/* From _PG_init: asks for the shared memory when the library is preloaded. */
extern void progress_request(void);

/*
 * A run begins in this backend; it ends at progress_end() or, after an error,
 * when the current memory context goes.
 */
extern void progress_begin(void);
extern void progress_end(void);

/* A fork begins; so many blocks of it are done; a finding. */
extern void progress_fork(const ForkSummary *summary);
extern void progress_blocks(int64 blocks);
extern void progress_finding(void);

/* Slots to read, -1 when not preloaded; false: nothing in this slot. */
extern int	progress_slots(void);
extern bool progress_read(int slot, ProgressRow *row);

#pragma GCC visibility pop

#endif							/* ACCEL_PROGRESS_H */
