/*
 * guc.c
 *	  Configuration parameters.
 *
 * The values of the kernel parameters are "auto" and the names of the rows of
 * kernel/kernels.def.  The integer that stands for a row is its index.
 */
#include "compat.h"

#include <limits.h>

#include "utils/guc.h"

#include "guc.h"
#include "kernel/checksum.h"
#include "run/history.h"
#include "server/accelerate.h"

#define KERNEL_AUTO		(-1)

enum
{
#define KERNEL(algorithm, arch, name, needs, preferred, summary) ROW_##algorithm##_##name,
#include "kernel/kernels.def"
#undef KERNEL
};

#define ENTRY_crc32c(name)	{#name, ROW_crc32c_##name, false},
#define ENTRY_crc32(name)
#define ENTRY_page(name)
static const struct config_enum_entry crc32c_kernel_options[] = {
	{"auto", KERNEL_AUTO, false},
#define KERNEL(algorithm, arch, name, needs, preferred, summary) ENTRY_##algorithm(name)
#include "kernel/kernels.def"
#undef KERNEL
	{NULL, 0, false}
};
#undef ENTRY_crc32c
#undef ENTRY_page

#define ENTRY_crc32c(name)
#define ENTRY_page(name)	{#name, ROW_page_##name, false},
static const struct config_enum_entry page_kernel_options[] = {
	{"auto", KERNEL_AUTO, false},
#define KERNEL(algorithm, arch, name, needs, preferred, summary) ENTRY_##algorithm(name)
#include "kernel/kernels.def"
#undef KERNEL
	{NULL, 0, false}
};

static int	accel_kernel = KERNEL_AUTO;
static int	accel_page_kernel = KERNEL_AUTO;
static bool accel_accelerate_server = false;

static bool check_kernel(int *newval, void **extra, GucSource source);
static void assign_kernel(int newval, void *extra);
static void assign_page_kernel(int newval, void *extra);
static void assign_accelerate_server(bool newval, void *extra);

void
accel_define_gucs(void)
{
	DefineCustomEnumVariable("crc32c_accel.kernel",
							 "Forces a CRC kernel instead of the best one that this CPU can run.",
							 "CRC-32 then uses its best kernel that requires no further CPU features.",
							 &accel_kernel, KERNEL_AUTO,
							 crc32c_kernel_options, PGC_SUSET, 0,
							 check_kernel, assign_kernel, NULL);
	DefineCustomEnumVariable("crc32c_accel.page_kernel",
							 "Forces a page checksum kernel instead of the best one that this CPU can run.",
							 NULL,
							 &accel_page_kernel, KERNEL_AUTO,
							 page_kernel_options, PGC_SUSET, 0,
							 check_kernel, assign_page_kernel, NULL);
	DefineCustomBoolVariable("crc32c_accel.accelerate_server",
							 "Computes the server's own CRC-32C (WAL, backup manifests, two-phase state, slots) with this extension's kernel.",
							 "Requires crc32c_accel in shared_preload_libraries; crc32c_server() shows what is in use and why.",
							 &accel_accelerate_server, false,
							 PGC_SIGHUP, 0,
							 NULL, assign_accelerate_server, NULL);
	DefineCustomIntVariable("crc32c_accel.history_keep_time",
							"Sets how long the history of verify_database() is kept.",
							"A run that completes deletes what is older, save the last verdict on each relation. -1 keeps all.",
							&history_keep_minutes, history_keep_minutes,
							-1, INT_MAX, PGC_SUSET, GUC_UNIT_MIN,
							NULL, NULL, NULL);
	MarkGUCPrefixReserved("crc32c_accel");
}

static bool
check_kernel(int *newval, void **extra, GucSource source)
{
	const ChecksumKernel *kernel;
	char		reason[CHECKSUM_REASON_SIZE];

	if (*newval == KERNEL_AUTO)
		return true;
	kernel = &checksum_kernel_table[*newval];
	if (checksum_available(kernel))
		return true;
	checksum_unavailable_reason(kernel, reason);
	GUC_check_errcode(ERRCODE_FEATURE_NOT_SUPPORTED);
	GUC_check_errmsg("kernel \"%s\" cannot run here: %s",
					 kernel->name, reason);
	return false;
}

static void
assign_kernel(int newval, void *extra)
{
	uint32		mask = checksum_features();

	if (newval != KERNEL_AUTO)
		mask = checksum_kernel_table[newval].needs;
	checksum_use_best(CHECKSUM_crc32, mask);
	if (newval == KERNEL_AUTO)
		checksum_use_best(CHECKSUM_crc32c, mask);
	else
		checksum_use(&checksum_kernel_table[newval]);
	accelerate_kernel_changed();
}

static void
assign_page_kernel(int newval, void *extra)
{
	if (newval == KERNEL_AUTO)
		checksum_use_best(CHECKSUM_page, checksum_features());
	else
		checksum_use(&checksum_kernel_table[newval]);
}

static void
assign_accelerate_server(bool newval, void *extra)
{
	accelerate_switch(newval);
}
