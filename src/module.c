/*
 * module.c
 *	  Load does detection, the self-test and the parameters.
 */
#include "compat.h"

#include <dlfcn.h>

#include "miscadmin.h"

#include "guc.h"
#include "kernel/checksum.h"
#include "server/accelerate.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static void refuse_second_copy(void);
static void log_failed_kernels(void);

void
_PG_init(void)
{
	refuse_second_copy();
	checksum_init();
	log_failed_kernels();
	accelerate_init(process_shared_preload_libraries_in_progress);
	accel_define_gucs();
}

/*
 * The server knows a library by its file.  A copy elsewhere would be another
 * one, and its parameters would be in the way of those that are defined.
 */
static void
refuse_second_copy(void)
{
	static char own_path[MAXPGPATH];
	void	  **loaded = find_rendezvous_variable("crc32c_accel");
	Dl_info		info;

	if (dladdr(own_path, &info) != 0)
		strlcpy(own_path, info.dli_fname, sizeof(own_path));
	if (*loaded != NULL && *loaded != own_path)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another copy of library \"crc32c_accel\" is already loaded"),
				 errdetail("\"%s\" is loaded, \"%s\" is another file.",
						   (const char *) *loaded, own_path),
				 errhint("Make shared_preload_libraries name the file that the extension's functions use, and restart the server.")));
	*loaded = own_path;
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
