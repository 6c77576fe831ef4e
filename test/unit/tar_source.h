/*
 * tar_source.h
 *	  An archive in memory, for what reads archives.
 */
#ifndef TAR_SOURCE_H
#define TAR_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct Source
{
	const uint8_t *bytes;
	size_t		len;
	size_t		at;
} Source;

/* A TarReadFn */
static size_t
read_source(void *arg, uint8_t *buffer, size_t len)
{
	Source	   *source = arg;

	if (len > source->len - source->at)
		len = source->len - source->at;
	memcpy(buffer, source->bytes + source->at, len);
	source->at += len;
	return len;
}

#endif							/* TAR_SOURCE_H */
