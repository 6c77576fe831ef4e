/* needs: kernel native export */
/*
 * test_server_crc.c
 *	  Finding the server's CRC-32C pointer, and the comparison before the swap.
 *
 * This program plays the server: it exports pg_comp_crc32c, and beside it the
 * things that a differently built server could export under that name.  The
 * kernels that must not pass the comparison are wrong in one respect each.
 */
#define _GNU_SOURCE				/* server_crc.c */
#include "unit.h"

#include "kernel/kernel.h"

/* the code under test, with its static functions */
#include "server/server_compare.c"
#include "server/server_crc.c"

static uint32_t choose(uint32_t reg, const void *data, size_t len);

/* clang's address sanitizer enlarges a variable, its symbol too. */
#ifdef __clang__
#define PLAIN	__attribute__((no_sanitize("address")))
#else
#define PLAIN
#endif

/* A server's exports: the pointer, and what it is not. */
PLAIN ChecksumCrcFn pg_comp_crc32c = choose;
uint32_t	pg_comp_crc32c_sb8(uint32_t reg, const void *data, size_t len);
const ChecksumCrcFn exported_constant = crc32c_slicing8;
void	   *exported_array[2] = {(void *) 1, (void *) 2};

uint32_t
pg_comp_crc32c_sb8(uint32_t reg, const void *data, size_t len)
{
	return crc32c_slicing8(reg, data, len);
}

/*
 * A local function stands for one that the server does not export.  It differs
 * from the others, which a compiler could fold with it.
 */
static uint32_t
local(uint32_t reg, const void *data, size_t len)
{
	return crc32c_slicing8(reg, data, len > 0 ? len - 1 : 0);
}

static uint32_t
choose(uint32_t reg, const void *data, size_t len)
{
	pg_comp_crc32c = pg_comp_crc32c_sb8;
	return pg_comp_crc32c(reg, data, len);
}

static void
test_symbol(const char *what, void *address, const char *expected)
{
	const char *reason = reason_against(address);

	if (expected == NULL)
		check(reason == NULL, "%s: refused, %s", what, reason);
	else
		check(reason != NULL && strstr(reason, expected) != NULL,
			  "%s: \"%s\" instead of \"%s\"", what,
			  reason ? reason : "accepted", expected);
}

/* libc's environ, not a copy of it that the linker put into this program */
static void *
data_of_a_library(void)
{
	void	   *library = dlopen("libc.so.6", RTLD_LAZY);

	return library ? dlsym(library, "_dl_argv") ? dlsym(library, "_dl_argv") :
		dlsym(library, "__environ") : NULL;
}

static void
test_kinds_of_servers(void)
{
	test_symbol("no symbol", NULL, "without a run-time choice");
	test_symbol("a pointer", &pg_comp_crc32c, NULL);
	test_symbol("a function", (void *) (uintptr_t) pg_comp_crc32c_sb8,
				"is a function");
	test_symbol("a constant", (void *) (uintptr_t) &exported_constant,
				"read-only");
	test_symbol("an array", exported_array, "not a function pointer");
	test_symbol("inside an object", &exported_array[1],
				"not a function pointer");
	test_symbol("of a library", data_of_a_library(), "belongs to a library");
}

static void
test_finding(void)
{
	ServerCrc	server;

	server_crc_find(&server);
	check(server.pointer == &pg_comp_crc32c, "pointer not found: %s",
		  server.reason ? server.reason : "no reason");
	check(server.own == pg_comp_crc32c_sb8,
		  "saved before the server had chosen");
	check(server.own_name != NULL &&
		  strcmp(server.own_name, "pg_comp_crc32c_sb8") == 0,
		  "named %s", server.own_name ? server.own_name : "nothing");
	check(pg_comp_crc32c == pg_comp_crc32c_sb8, "written to");

	pg_comp_crc32c = local;
	server_crc_find(&server);
	check(server.pointer == &pg_comp_crc32c && server.own_name == NULL,
		  "a hidden function was named %s",
		  server.own_name ? server.own_name : "nothing");

	/* someone was here before us; abs() bears three arguments */
	pg_comp_crc32c = (ChecksumCrcFn) (uintptr_t) dlsym(RTLD_DEFAULT, "abs");
	server_crc_find(&server);
	check(server.pointer == NULL && server.reason != NULL &&
		  strstr(server.reason, "another library") != NULL,
		  "a function of a library was taken for the server's own");
	pg_comp_crc32c = choose;
}

/* Wrong in one respect each; right otherwise. */
#define BROKEN(name, condition) \
	static uint32_t \
	broken_##name(uint32_t reg, const void *data, size_t len) \
	{ \
		uintptr_t	at = (uintptr_t) data; \
		uint32_t	right = crc32c_slicing8(reg, data, len); \
		\
		(void) at; \
		return (condition) ? right ^ 1 : right; \
	}

BROKEN(empty, len == 0)
BROKEN(one_length, len == 1)
BROKEN(one_middle_length, len == 777)
BROKEN(longest_short, len == 1100)
BROKEN(one_case, len == 300 && at % 64 == 63)
BROKEN(one_alignment, at % 64 == 13 && len >= 900)
BROKEN(page_end, len > 256 && len < 280 && (at + len) % 4096 == 0)
BROKEN(page_crossing, len > 256 && len < 280 &&
	   at / 4096 != (at + len - 1) / 4096)
BROKEN(chained, len == 20 && reg != CHECKSUM_CRC_INIT)
BROKEN(aligned_bulk, len == 4096 && at % 64 == 0)
BROKEN(misaligned_bulk, len >= 8192 && at % 64 != 0)
BROKEN(huge, len > 1024 * 1024)

static uint32_t
broken_incoming(uint32_t reg, const void *data, size_t len)
{
	(void) reg;
	return crc32c_slicing8(CHECKSUM_CRC_INIT, data, len);
}

static uint32_t
broken_finished(uint32_t reg, const void *data, size_t len)
{
	return ~crc32c_slicing8(~reg, data, len);
}

static uint32_t
broken_polynomial(uint32_t reg, const void *data, size_t len)
{
	return crc32_slicing8(reg, data, len);
}

static void
test_comparison(void)
{
	static const struct
	{
		const char *name;
		ChecksumCrcFn kernel;
	}			broken[] = {
		{"empty input", broken_empty},
		{"one length", broken_one_length},
		{"one middle length", broken_one_middle_length},
		{"the longest of the short", broken_longest_short},
		{"one case", broken_one_case},
		{"one alignment", broken_one_alignment},
		{"ends at a page border", broken_page_end},
		{"crosses a page border", broken_page_crossing},
		{"aligned bulk", broken_aligned_bulk},
		{"misaligned bulk", broken_misaligned_bulk},
		{"above 1 MB", broken_huge},
		{"chained, one length", broken_chained},
		{"incoming CRC ignored", broken_incoming},
		{"finished instead of raw", broken_finished},
		{"another polynomial", broken_polynomial},
	};
	void	   *buffer = malloc(SERVER_COMPARE_SIZE);
	ChecksumSelfTest result;

	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *kernel = &checksum_kernel_table[i];

		if (kernel->algorithm != CHECKSUM_crc32c || !checksum_available(kernel))
			continue;
		unit.subject = kernel->name;
		server_compare(kernel->crc, crc32c_slicing8, buffer, &result);
		check(result.failures == 0, "kernel %s: %s", kernel->name,
			  result.first_failure);
		check(result.cases > 30000, "only %lld cases",
			  (long long) result.cases);
	}
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
	{
		unit.subject = broken[i].name;
		server_compare(broken[i].kernel, crc32c_slicing8, buffer, &result);
		check(result.failures > 0 && result.first_failure[0] != '\0',
			  "passed though broken: %s", broken[i].name);
	}
	free(buffer);
}

int
main(int argc, char **argv)
{
	unit_begin("test_server_crc", argc, argv);
	checksum_init();
	test_kinds_of_servers();
	test_finding();
	test_comparison();
	return unit_finish();
}
