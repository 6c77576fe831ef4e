/*
 * server_kernel.c
 *	  Module for shared_preload_libraries: lets a server that has chosen a better
 *	  function compute its CRC-32C by its own SSE4.2 one.
 *
 * The setting server_kernel.sse42 puts pg_comp_crc32c_sse42 into the pointer
 * pg_comp_crc32c, or puts back what the server had chosen.  SHOW gives the name
 * of the function that the pointer holds, whatever the setting is.  Preloaded
 * before crc32c_accel, which then finds the server's own choice.  For
 * bench/server.sh only.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* RTLD_DEFAULT, dladdr */
#endif

#include "postgres.h"

#include <dlfcn.h>

#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

typedef uint32 (*CrcFunction) (uint32 crc, const void *data, size_t len);

void		_PG_init(void);

static CrcFunction *pointer;	/* NULL where the server has no choice */
static CrcFunction own;
static CrcFunction sse42;
static bool wanted;

/*
 * A reload assigns anew what has not changed.  So only one of the two functions
 * gives way to the other; what another module has put there stays.
 */
static void
put_function(bool to_sse42, void *extra)
{
	if (pointer != NULL && *pointer == (to_sse42 ? own : sse42))
		*(CrcFunction volatile *) pointer = to_sse42 ? sse42 : own;
}

static const char *
show_function(void)
{
	Dl_info		info;

	if (pointer == NULL)
		return "a function fixed when it was built";
	if (dladdr((void *) *pointer, &info) == 0 ||
		info.dli_saddr != (void *) *pointer)
		return "a function without a name";
	return info.dli_sname;
}

void
_PG_init(void)
{
	pointer = dlsym(RTLD_DEFAULT, "pg_comp_crc32c");
	sse42 = (CrcFunction) dlsym(RTLD_DEFAULT, "pg_comp_crc32c_sse42");
	if (sse42 == NULL)
		pointer = NULL;
	if (pointer != NULL)
	{
		(void) (*pointer) (0xFFFFFFFF, "x", 1); /* the server chooses now */
		own = *(CrcFunction volatile *) pointer;
	}
	DefineCustomBoolVariable("server_kernel.sse42",
							 "Computes the server's CRC-32C by its SSE4.2 function.",
							 NULL, &wanted, false, PGC_SIGHUP, 0,
							 NULL, put_function, show_function);
}
