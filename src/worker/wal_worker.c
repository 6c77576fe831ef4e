/*
 * wal_worker.c
 *	  Entry point of the parallel workers that verify write-ahead log.
 */
#include "compat.h"

#include "scan/wal_parallel.h"

extern PGDLLEXPORT void accel_wal_worker_main(dsm_segment *segment,
											  shm_toc *toc);

void
accel_wal_worker_main(dsm_segment *segment, shm_toc *toc)
{
	wal_parallel_work(segment, toc);
}
