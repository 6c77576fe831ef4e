/*
 * version.h
 *	  The versions of WAL, by the magic number of its pages.
 */
#ifndef ACCEL_WAL_VERSION_H
#define ACCEL_WAL_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What differs from version to version. */
typedef struct WalVersion
{
	uint16_t	magic;
	bool		supported;
	uint16_t	overwrite_flag; /* XLP_FIRST_IS_OVERWRITE_CONTRECORD */
	uint16_t	all_flags;		/* XLP_ALL_FLAGS */
	uint8_t		last_rmgr;		/* of the server's own resource managers */
	const char *name;			/* "15" */
} WalVersion;

/* Returns NULL if it is not known. */
extern const WalVersion *wal_version(uint16_t magic);

/* Returns the same, NULL if this library cannot judge it. */
extern const WalVersion *wal_version_supported(uint16_t magic);
extern const char *wal_version_name(uint16_t magic);

/* Returns the n-th version, newest first, NULL if there are no more. */
extern const WalVersion *wal_version_at(size_t n);

#endif							/* ACCEL_WAL_VERSION_H */
