/*
 * module.c
 *	  Load: detection, self-test, parameters.
 */
#include "compat.h"

#include "miscadmin.h"

#include "guc.h"
#include "kernel/checksum.h"
#include "server/accelerate.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static void log_failed_kernels(void);

void
_PG_init(void)
{
	checksum_init();
	log_failed_kernels();
	accelerate_init(process_shared_preload_libraries_in_progress);
	accel_define_gucs();
}

static void
log_failed_kernels(void)
{
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *kernel = &checksum_kernel_table[i];

		if (checksum_kernel_failed(kernel))
			ereport(LOG,
					(errmsg("crc32c_accel: %s kernel \"%s\" failed its self-test and is not used",
							checksum_algorithm_name(kernel->algorithm),
							kernel->name)));
	}
}
