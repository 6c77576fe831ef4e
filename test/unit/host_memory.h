/*
 * host_memory.h
 *	  Memory for rooms that ask their host, of a test that is the host itself.
 */
#ifndef ACCEL_TEST_HOST_MEMORY_H
#define ACCEL_TEST_HOST_MEMORY_H

#include <stdlib.h>

#include "host/host.h"

void *
host_alloc(size_t size)
{
	return malloc(size == 0 ? 1 : size);
}

void *
host_grow(void *memory, size_t size)
{
	return realloc(memory, size == 0 ? 1 : size);
}

void
host_free(void *memory)
{
	free(memory);
}

#endif							/* ACCEL_TEST_HOST_MEMORY_H */
