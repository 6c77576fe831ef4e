/*
 * parse.h
 *	  Parses the JSON of a backup's manifest.
 */
#ifndef ACCEL_BACKUP_PARSE_H
#define ACCEL_BACKUP_PARSE_H

#include "manifest/manifest.h"

typedef enum ManifestParsed
{
	MANIFEST_PARSED,			/* up to its end, or to an error of the reader */
	MANIFEST_INVALID,			/* it is no JSON from "at" on */
	MANIFEST_EXCESSIVE			/* a string is longer than any in a manifest */
} ManifestParsed;

/*
 * Calls the events of a reader, which has begun, in their order.  No byte
 * after the size is read.
 */
extern ManifestParsed manifest_parse(ManifestReader *reader, const char *bytes,
									 size_t size, size_t *at);

#endif							/* ACCEL_BACKUP_PARSE_H */
