/*
 * runs.h
 *	  Cuts a list of segments into runs, for the processes that share it.
 *
 * A run is of segments in succession, which one process judges.  The runs follow
 * from the list's length alone, so every process knows them.
 */
#ifndef ACCEL_WAL_RUNS_H
#define ACCEL_WAL_RUNS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct WalRuns
{
	uint64_t	count;			/* segments */
	uint32_t	processes;
	uint32_t	segment_size;	/* bytes */
	bool		compressed;		/* files are, some of them */
} WalRuns;

/* The segments begin .. end of a list. */
typedef struct WalRun
{
	uint64_t	begin;
	uint64_t	end;
} WalRun;

extern uint64_t wal_runs_count(const WalRuns *runs);

/* The run of this number, from 0 on. */
extern WalRun wal_runs_find(const WalRuns *runs, uint64_t number);

#endif							/* ACCEL_WAL_RUNS_H */
