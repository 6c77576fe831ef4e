/*
 * verify_worker.c
 *	  Entry point of the parallel workers that verify a relation.
 */
#include "compat.h"

#include "scan/parallel_scan.h"

extern PGDLLEXPORT void accel_verify_worker_main(dsm_segment *segment,
												 shm_toc *toc);

void
accel_verify_worker_main(dsm_segment *segment, shm_toc *toc)
{
	parallel_scan_work(segment, toc);
}
