/*
 * accelerate.c
 *	  Lets the selected kernel compute the server's own CRC-32C, and ends
 *	  that again.
 *
 * WAL records, pg_control, backup manifests, two-phase state, slots and
 * snapshots are all checksummed through one function pointer of the server
 * (server_crc.c finds it).  Every process has its own copy.  The postmaster
 * sets its one when it reads the configuration, and children inherit it by
 * fork.  A reload sets it in each process when that process reads its
 * configuration.  Both functions give the same value for the same bytes.  So
 * processes may switch at different moments, and between any two pieces of one
 * record.
 *
 * The pointer is written here only (set_pointer).  It holds the server's own
 * function, or a kernel that
 *
 * - is the one selected for this process (crc32c_accel.kernel caps it), or the
 *   best one without vectors of 512 bits where these lower the clock,
 * - is better than the server's own function,
 * - agreed with the server's own function in every case of server_compare(),
 *   in this process or in the postmaster before the fork.
 */
#include "compat.h"

#include "miscadmin.h"

#include "server/accelerate.h"
#include "server/server_compare.h"

/*
 * A row of kernels.def (best first) is better than a function of the server if
 * it is above the row named.  The first line counts whose features the CPU has.
 * We know nothing about a function that is not listed, and leave it in place.
 */
typedef struct ServerFunction
{
	const char *name;
	const char *row;
	uint32		features;
} ServerFunction;

static const ServerFunction server_functions[] = {
	{"pg_comp_crc32c_sb8", "slicing8", 0},
	/* one chain of crc32 instructions each */
	{"pg_comp_crc32c_sse42", "sse42", 0},
	{"pg_comp_crc32c_armv8", "slicing8", 0},

	/*
	 * PostgreSQL 18 has one accumulator of 512 bits.  Where these lower the
	 * clock, 256 are better.
	 */
	{"pg_comp_crc32c_avx512", "pclmul", CHECKSUM_FEATURE_slowclock},
	{"pg_comp_crc32c_avx512", "avx2", 0},
};

static ServerCrc server;
static bool accelerate_preloaded = false;
static bool accelerate_wanted = false;

/*
 * Comparisons, one per row of kernels.def (64 at most).  One of 0 cases was
 * not made yet.
 */
static ChecksumSelfTest comparisons[64];

static const ChecksumSelfTest *compare_kernel(const ChecksumKernel *kernel);
static bool is_better(const ChecksumKernel *kernel);
static const char *function_name(ChecksumCrcFn function);
static const ChecksumKernel *kernel_of(ChecksumCrcFn function);
static bool may_replace(char *reason, size_t size);
static void set_pointer(void);
static void log_change(ChecksumCrcFn function);

void
accelerate_init(bool preloaded)
{
	accelerate_preloaded = preloaded;
	server_crc_find(&server);
	if (preloaded && server.pointer != NULL)
		(void) compare_kernel(checksum_for_server());
}

void
accelerate_switch(bool wanted)
{
	accelerate_wanted = wanted;
	set_pointer();
}

void
accelerate_kernel_changed(void)
{
	set_pointer();
}

void
accelerate_get_status(AccelerateStatus *status)
{
	const ChecksumSelfTest *test;
	ChecksumCrcFn active;

	memset(status, 0, sizeof(*status));
	status->preloaded = accelerate_preloaded;
	status->swappable = server.pointer != NULL;
	if (!status->swappable)
	{
		strlcpy(status->self_test, "not run", sizeof(status->self_test));
		strlcpy(status->reason, server.reason, sizeof(status->reason));
		return;
	}
	active = *server.pointer;
	status->accelerated = kernel_of(active) != NULL;
	status->server_kernel = server.own_name;
	status->active_kernel = function_name(active);
	test = compare_kernel(checksum_for_server());
	if (test->failures == 0)
		snprintf(status->self_test, sizeof(status->self_test),
				 "ok, " INT64_FORMAT " cases", (int64) test->cases);
	else
		snprintf(status->self_test, sizeof(status->self_test),
				 "failed, %s", test->first_failure);
	if (!status->accelerated)
		(void) may_replace(status->reason, sizeof(status->reason));
}

/*
 * Called by assign hooks, so it must not raise errors.  It takes malloc, not
 * palloc, and a comparison that cannot be made has failed.
 */
static const ChecksumSelfTest *
compare_kernel(const ChecksumKernel *kernel)
{
	ChecksumSelfTest *result = &comparisons[kernel - checksum_kernel_table];
	void	   *buffer;

	if (result->cases > 0)
		return result;
	buffer = malloc(SERVER_COMPARE_SIZE);
	if (buffer != NULL)
		server_compare(kernel->crc, server.own, buffer, result);
	else
	{
		result->failures = 1;
		strlcpy(result->first_failure, "out of memory",
				sizeof(result->first_failure));
	}
	free(buffer);
	return result;
}

static bool
is_better(const ChecksumKernel *kernel)
{
	if (server.own_name == NULL || (kernel->needs & CHECKSUM_POLICY_REFERENCE))
		return false;
	for (int i = 0; i < (int) lengthof(server_functions); i++)
	{
		const ServerFunction *function = &server_functions[i];

		if (strcmp(function->name, server.own_name) == 0 &&
			(function->features & ~checksum_features()) == 0)
			return kernel < checksum_find(CHECKSUM_crc32c, function->row);
	}
	return false;
}

/* Returns our kernel's name, or the server's symbol, or NULL. */
static const char *
function_name(ChecksumCrcFn function)
{
	const ChecksumKernel *kernel = kernel_of(function);

	if (kernel != NULL)
		return kernel->name;
	return function == server.own ? server.own_name : NULL;
}

static const ChecksumKernel *
kernel_of(ChecksumCrcFn function)
{
	for (int i = 0; i < checksum_kernel_count; i++)
		if (checksum_kernel_table[i].algorithm == CHECKSUM_crc32c &&
			checksum_kernel_table[i].crc == function)
			return &checksum_kernel_table[i];
	return NULL;
}

/* May the selected kernel stand in for the server's function?  If not, why. */
static bool
may_replace(char *reason, size_t size)
{
	const ChecksumKernel *kernel = checksum_for_server();

	reason[0] = '\0';
	if (server.pointer == NULL)
		strlcpy(reason, server.reason, size);
	else if (!accelerate_preloaded)
		strlcpy(reason, "crc32c_accel is not in shared_preload_libraries", size);
	else if (*server.pointer != server.own && kernel_of(*server.pointer) == NULL)
		strlcpy(reason, "another library has replaced the server's CRC-32C function", size);
	else if (!accelerate_wanted)
		strlcpy(reason, "crc32c_accel.accelerate_server is off", size);
	else if (!is_better(kernel))
		snprintf(reason, size, "kernel \"%s\" is not known to be better than the server's own %s",
				 kernel->name,
				 server.own_name ? server.own_name : "function");
	else if (compare_kernel(kernel)->failures > 0)
		snprintf(reason, size, "kernel \"%s\" disagrees with the server's own function",
				 kernel->name);
	return reason[0] == '\0';
}

/*
 * The postmaster reports what it does, its children stay silent.  A pointer
 * that someone else has taken over since is never written.
 */
static void
set_pointer(void)
{
	ChecksumCrcFn wanted = server.own;
	ChecksumCrcFn before;
	char		reason[192];

	if (!accelerate_preloaded || server.pointer == NULL)
	{
		if (accelerate_preloaded && accelerate_wanted && !IsUnderPostmaster)
			ereport(LOG,
					(errmsg("crc32c_accel: the server's CRC-32C cannot be accelerated: %s",
							server.reason)));
		return;
	}
	before = *server.pointer;
	if (may_replace(reason, sizeof(reason)))
		wanted = checksum_for_server()->crc;
	else if (accelerate_wanted && !IsUnderPostmaster)
		ereport(LOG,
				(errmsg("crc32c_accel: the server's CRC-32C is not accelerated: %s",
						reason)));
	if (before == wanted ||
		(before != server.own && kernel_of(before) == NULL))
		return;
	*(ChecksumCrcFn volatile *) server.pointer = wanted;
	if (!IsUnderPostmaster)
		log_change(wanted);
}

static void
log_change(ChecksumCrcFn function)
{
	const char *name = function_name(function);

	if (kernel_of(function) != NULL)
		ereport(LOG,
				(errmsg("crc32c_accel: the server's CRC-32C is now computed by kernel \"%s\"",
						name)));
	else
		ereport(LOG,
				(errmsg("crc32c_accel: the server's CRC-32C is now computed by its own function \"%s\"",
						name ? name : "?")));
}
