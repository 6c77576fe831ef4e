/*
 * trace_calls.c
 *	  Module for shared_preload_libraries: writes down the length of every CRC
 *	  that a server process computes.
 *
 * It puts itself before the server's function, in the pointer pg_comp_crc32c.
 * A process that ends leaves a file calls.<pid> in the data directory, with one
 * 32-bit word per call: the length, and the highest bit where a CRC begins.
 * For bench/traces.sh only.
 */
#include "postgres.h"

#include <unistd.h>

#include "fmgr.h"
#include "port/pg_crc32c.h"
#include "storage/ipc.h"

PG_MODULE_MAGIC;

#define MAX_CALLS	(1 << 20)
#define CRC_BEGINS	0x80000000u

void		_PG_init(void);

static pg_crc32c (*server_crc) (pg_crc32c crc, const void *data, size_t len);
static uint32 calls[MAX_CALLS];
static int	ncalls;
static pid_t owner;

static void
leave_calls(int code, Datum arg)
{
	char		name[64];
	FILE	   *file;

	if (owner != getpid() || ncalls == 0)
		return;
	snprintf(name, sizeof(name), "calls.%d", (int) owner);
	file = fopen(name, "w");
	if (file == NULL)
		return;
	fwrite(calls, sizeof(calls[0]), ncalls, file);
	fclose(file);
}

static pg_crc32c
counted_crc(pg_crc32c crc, const void *data, size_t len)
{
	if (owner != getpid())
	{
		owner = getpid();
		ncalls = 0;
		on_proc_exit(leave_calls, (Datum) 0);
	}
	if (ncalls < MAX_CALLS)
		calls[ncalls++] = (uint32) len | (crc == 0xFFFFFFFF ? CRC_BEGINS : 0);
	return server_crc(crc, data, len);
}

void
_PG_init(void)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, "x", 1);	/* the server chooses its function now */
	server_crc = pg_comp_crc32c;
	pg_comp_crc32c = counted_crc;
}
