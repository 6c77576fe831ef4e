/* needs: kernel pgport native export */
/*
 * test_accelerate.c
 *	  When a kernel takes the place of the server's CRC-32C, and when not.
 *
 * This program plays a server that exports pg_comp_crc32c, whose own function
 * is another one in each scenario: of every name that we know, of one that we
 * do not know, hidden, wrong, or not there.  What a packaged server cannot be
 * made to show is decided here; the rest is test/t/040 and following.
 */
#undef FRONTEND
#define _GNU_SOURCE				/* server_crc.c */

static void *scarce_malloc(unsigned long size);
static int	memory_is_scarce = 0;

/* the code under test, with its static functions and variables */
#include "postgres.h"
#define malloc(size)	scarce_malloc(size)
#include "server/accelerate.c"
#undef malloc
#include "server/server_compare.c"
#include "server/server_crc.c"

/* The server's replacements of the C library serve it alone. */
#undef printf
#undef vprintf
#undef snprintf
#undef strerror

#include "unit.h"

#include "kernel/kernel.h"

/* ---------------------------------------------------------------- *
 *		The server
 * ---------------------------------------------------------------- */

bool		IsUnderPostmaster = false;

static char logged[256];		/* messages since forget_log(), newest last */
static int	nlogged;

bool
errstart(int elevel, const char *domain)
{
	(void) domain;
	check(elevel == LOG, "a message of level %d", elevel);
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	(void) filename;
	(void) lineno;
	(void) funcname;
}

int
errmsg(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	vsnprintf(logged, sizeof(logged), fmt, args);
	va_end(args);
	return ++nlogged;
}

static void *
scarce_malloc(unsigned long size)
{
	return memory_is_scarce ? NULL : malloc(size);
}

/* clang's address sanitizer enlarges a variable, its symbol too. */
#ifdef __clang__
#define PLAIN	__attribute__((no_sanitize("address")))
#else
#define PLAIN
#endif

static bool own_is_wrong = false;
static int	own_called = 0;

/* Functions that differ, so that no compiler makes one of them. */
#define OWN_FUNCTION(name, number) \
	uint32_t name(uint32_t reg, const void *data, size_t len); \
	uint32_t \
	name(uint32_t reg, const void *data, size_t len) \
	{ \
		own_called = number; \
		return crc32c_slicing8(reg, data, len) ^ \
			(own_is_wrong && len == 777); \
	}

OWN_FUNCTION(pg_comp_crc32c_sb8, 1)
OWN_FUNCTION(pg_comp_crc32c_sse42, 2)
OWN_FUNCTION(pg_comp_crc32c_avx512, 3)
OWN_FUNCTION(pg_comp_crc32c_armv8, 4)
OWN_FUNCTION(pg_comp_crc32c_loongarch, 5)

static uint32_t
hidden_function(uint32_t reg, const void *data, size_t len)
{
	own_called = 6;
	return crc32c_slicing8(reg, data, len);
}

/* What another library would put there; it has to lie in the program. */
static uint32_t
foreign_function(uint32_t reg, const void *data, size_t len)
{
	own_called = 7;
	return crc32c_slicing8(reg, data, len);
}

static ChecksumCrcFn own_function = pg_comp_crc32c_sb8;
static uint32_t choose(uint32_t reg, const void *data, size_t len);
PLAIN ChecksumCrcFn pg_comp_crc32c = choose;

static uint32_t
choose(uint32_t reg, const void *data, size_t len)
{
	pg_comp_crc32c = own_function;
	return pg_comp_crc32c(reg, data, len);
}

/* ---------------------------------------------------------------- *
 *		Scenarios
 * ---------------------------------------------------------------- */

/* What a server's own function is, and which kernels are better than it. */
static const struct
{
	const char *name;
	const char *arch;			/* of the servers that have it */
	ChecksumCrcFn function;
	const char *better;			/* names between blanks */
	const char *lower_clock;	/* and where 512 bits lower the clock */
}			servers[] =

{
	{"pg_comp_crc32c_sb8", "any", pg_comp_crc32c_sb8,
	" avx512_fused_x8 avx512_fused avx512_fused_jump avx512 avx2 pclmul sse42_x3 sse42 pmull_eor3 pmull armv8 ", ""},
	{"pg_comp_crc32c_sse42", "x86_64", pg_comp_crc32c_sse42,
	" avx512_fused_x8 avx512_fused avx512_fused_jump avx512 avx2 pclmul sse42_x3 ", ""},
	{"pg_comp_crc32c_avx512", "x86_64", pg_comp_crc32c_avx512,
	" avx512_fused_x8 avx512_fused avx512_fused_jump avx512 ", " avx2 "},
	{"pg_comp_crc32c_armv8", "aarch64", pg_comp_crc32c_armv8,
	" pmull_eor3 pmull armv8 ", ""},
	{"pg_comp_crc32c_loongarch", "any", pg_comp_crc32c_loongarch, "", ""},
	{NULL, "any", hidden_function, "", ""},
};

/* A server starts: its function is still to be chosen, nothing is known. */
static void
start_server(ChecksumCrcFn own, bool preloaded)
{
	own_function = own;
	pg_comp_crc32c = choose;
	memset(comparisons, 0, sizeof(comparisons));
	IsUnderPostmaster = false;
	accelerate_wanted = false;
	nlogged = 0;
	logged[0] = '\0';
	accelerate_init(preloaded);
}

static void
check_log(int number, const char *part)
{
	check(nlogged == number && strstr(logged, part) != NULL,
		  "%d messages, the last \"%s\" instead of \"%s\"", nlogged, logged,
		  part);
	nlogged = 0;
	logged[0] = '\0';
}

/* The pointer, and what crc32c_server() says of it. */
static void
check_own(const char *reason)
{
	AccelerateStatus status;

	check(pg_comp_crc32c == own_function, "not the server's own function");
	accelerate_get_status(&status);
	check(!status.accelerated && strstr(status.reason, reason) != NULL,
		  "\"%s\" instead of \"%s\"", status.reason, reason);
	check(status.active_kernel == status.server_kernel,
		  "%s is active", status.active_kernel);
}

static void
check_kernel(const ChecksumKernel *kernel)
{
	AccelerateStatus status;

	check(pg_comp_crc32c == kernel->crc, "%s is not in use", kernel->name);
	accelerate_get_status(&status);
	check(status.preloaded && status.swappable && status.accelerated &&
		  status.reason[0] == '\0', "\"%s\"", status.reason);
	check(strcmp(status.active_kernel, kernel->name) == 0, "%s is active",
		  status.active_kernel);
	check(strncmp(status.self_test, "ok, ", 4) == 0, "self-test %s",
		  status.self_test);
}

/* A kernel that the lists do not know: tests of new rows begin elsewhere. */
static bool
is_listed(const char *word)
{
	return strstr(servers[0].better, word) != NULL ||
		strstr(" slicing8 bitwise ", word) != NULL;
}

/* Taken exactly when better, given back, taken again by a change of kernels. */
static void
test_server(int number, const ChecksumKernel *kernel)
{
	const char *name = servers[number].name ? servers[number].name : "function";
	const ChecksumKernel *slicing8 = checksum_find(CHECKSUM_crc32c, "slicing8");
	char		word[64];
	bool		better;

	if (strcmp(servers[number].arch, "any") != 0 &&
		strcmp(kernel->arch, "any") != 0 &&
		strcmp(kernel->arch, servers[number].arch) != 0)
		return;
	snprintf(word, sizeof(word), " %s ", kernel->name);
	if (!is_listed(word))
	{
		skip("%s: no server is known to be slower", kernel->name);
		return;
	}
	better = strstr(servers[number].better, word) != NULL ||
		((checksum_features() & CHECKSUM_FEATURE_slowclock) &&
		 strstr(servers[number].lower_clock, word) != NULL);
	unit.subject = kernel->name;
	checksum_use(kernel);
	start_server(servers[number].function, true);
	check(server.own_name == NULL ? servers[number].name == NULL :
		  strcmp(server.own_name, name) == 0, "named %s", server.own_name);
	check_own("accelerate_server is off");
	check_log(0, "");
	accelerate_switch(true);
	if (better)
	{
		check_kernel(kernel);
		check_log(1, kernel->name);
		accelerate_switch(true);
		check_log(0, "");
		checksum_use(slicing8);
		accelerate_kernel_changed();
		check_own("\"slicing8\" is not known to be better");
		check_log(2, "by its own");
		checksum_use(kernel);
		accelerate_kernel_changed();
		check_kernel(kernel);
		check_log(1, kernel->name);
	}
	else
	{
		check_own("is not known to be better");
		check_own(name);
		check_log(1, "is not accelerated");
	}
	accelerate_switch(false);
	check_own("accelerate_server is off");
	check_log(better ? 1 : 0, better ? name : "");
}

/* The server does without 512 bits where these lower the clock, unless forced. */
static void
test_lower_clock(void)
{
	const ChecksumKernel *best;
	const ChecksumKernel *row;

	checksum_use_best(CHECKSUM_crc32c, checksum_features());
	best = checksum_selected(CHECKSUM_crc32c);
	row = checksum_for_server();
	if (checksum_features() & CHECKSUM_FEATURE_slowclock)
		check(row > best && !(row->needs & CHECKSUM_FEATURE_avx512f) &&
			  (row->needs & CHECKSUM_FEATURE_vpclmul), "%s for the server",
			  row->name);
	else
		check(row == best, "%s for the server", row->name);
	checksum_use(best);
	row = checksum_for_server();
	check(row == best, "%s for the server, %s forced", row->name, best->name);
	checksum_use(checksum_find(CHECKSUM_crc32c, "slicing8"));
	row = checksum_for_server();
	check(strcmp(row->name, "slicing8") == 0, "%s for the server", row->name);
	checksum_use_best(CHECKSUM_crc32c, checksum_features());
}

/* The first kernel of this CPU that is better than the server's function. */
static const ChecksumKernel *
better_kernel(void)
{
	const ChecksumKernel *kernel;

	checksum_use_best(CHECKSUM_crc32c, checksum_features());
	kernel = checksum_for_server();
	return strcmp(kernel->name, "slicing8") == 0 ? NULL : kernel;
}

/* Only the postmaster talks. */
static void
test_child(const ChecksumKernel *kernel)
{
	start_server(pg_comp_crc32c_sb8, true);
	IsUnderPostmaster = true;
	accelerate_switch(true);
	check_kernel(kernel);
	accelerate_switch(false);
	check_own("is off");
	checksum_use(checksum_find(CHECKSUM_crc32c, "bitwise"));
	accelerate_switch(true);
	check_own("\"bitwise\" is not known to be better");
	check_log(0, "");
	checksum_use(kernel);
}

static void
test_not_preloaded(void)
{
	start_server(pg_comp_crc32c_sb8, false);
	accelerate_switch(true);
	check_own("not in shared_preload_libraries");
	accelerate_kernel_changed();
	check_own("not in shared_preload_libraries");
	check_log(0, "");
}

/* The server's function and the kernel give different results for one length. */
static void
test_disagreement(const ChecksumKernel *kernel)
{
	AccelerateStatus status;

	own_is_wrong = true;
	start_server(pg_comp_crc32c_sb8, true);
	accelerate_switch(true);
	check_own("disagrees with the server's own function");
	check_log(1, kernel->name);
	accelerate_get_status(&status);
	check(strncmp(status.self_test, "failed, length 777 ", 19) == 0,
		  "self-test %s", status.self_test);

	/* every kernel is compared, not only the first */
	own_is_wrong = false;
	start_server(pg_comp_crc32c_sb8, true);
	own_is_wrong = true;
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *other = &checksum_kernel_table[i];

		if (other->algorithm != CHECKSUM_crc32c || other == kernel ||
			!checksum_available(other))
			continue;
		checksum_use(other);
		accelerate_switch(true);
		check_own(other->needs == 0 || (other->needs & CHECKSUM_POLICY_REFERENCE) ?
				  "is not known to be better" : "disagrees");
	}
	checksum_use(kernel);
	accelerate_kernel_changed();
	check_kernel(kernel);		/* compared before the function went wrong */
	own_is_wrong = false;
}

/* No comparison, no swap; it is made when there is memory. */
static void
test_no_memory(const ChecksumKernel *kernel)
{
	memory_is_scarce = 1;
	start_server(pg_comp_crc32c_sb8, true);
	accelerate_switch(true);
	check_own("disagrees");
	memory_is_scarce = 0;
	accelerate_switch(true);
	check_kernel(kernel);
}

/* A function that somebody else put there is never written over. */
static void
test_other_library(const ChecksumKernel *kernel)
{
	AccelerateStatus status;

	start_server(pg_comp_crc32c_sb8, true);
	accelerate_switch(true);
	check_kernel(kernel);
	nlogged = 0;
	pg_comp_crc32c = foreign_function;
	accelerate_kernel_changed();
	check_log(1, "another library has replaced");
	accelerate_switch(false);
	check_log(0, "");
	accelerate_switch(true);
	check(pg_comp_crc32c == foreign_function, "written over");
	accelerate_get_status(&status);
	check(!status.accelerated && status.active_kernel == NULL &&
		  strstr(status.reason, "another library") != NULL, "\"%s\"",
		  status.reason);
}

/* A server without a pointer that could be replaced. */
static void
test_no_pointer(void)
{
	AccelerateStatus status;

	/* abs() of the C library bears three arguments */
	start_server((ChecksumCrcFn) (uintptr_t) dlsym(RTLD_DEFAULT, "abs"), true);
	accelerate_switch(false);
	check_log(0, "");
	accelerate_switch(true);
	check_log(1, "cannot be accelerated");
	IsUnderPostmaster = true;
	accelerate_kernel_changed();
	check_log(0, "");
	check(pg_comp_crc32c == own_function, "written to");
	accelerate_get_status(&status);
	check(status.preloaded && !status.swappable && !status.accelerated &&
		  strcmp(status.self_test, "not run") == 0 &&
		  strstr(status.reason, "another library") != NULL, "\"%s\"",
		  status.reason);
	start_server(own_function, false);
	accelerate_switch(true);
	check_log(0, "");
}

int
main(int argc, char **argv)
{
	const ChecksumKernel *kernel;

	unit_begin("test_accelerate", argc, argv);
	checksum_init();
	for (int i = 0; i < checksum_kernel_count; i++)
		if (checksum_kernel_table[i].algorithm == CHECKSUM_crc32c &&
			checksum_available(&checksum_kernel_table[i]))
			for (int j = 0; j < (int) lengthof(servers); j++)
				test_server(j, &checksum_kernel_table[i]);
	test_lower_clock();
	test_not_preloaded();
	test_no_pointer();
	kernel = better_kernel();
	if (kernel == NULL)
		skip("no kernel that is better than slicing8 on this CPU");
	else
	{
		test_child(kernel);
		test_disagreement(kernel);
		test_no_memory(kernel);
		test_other_library(kernel);
	}
	return unit_finish();
}
