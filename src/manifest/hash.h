/*
 * hash.h
 *	  The checksums of a manifest, piece by piece.
 */
#ifndef ACCEL_BACKUP_HASH_H
#define ACCEL_BACKUP_HASH_H

#include "host/host.h"
#include "manifest/manifest.h"

typedef struct BackupHash
{
	ManifestAlgorithm algorithm;
	uint32_t	reg;			/* raw register of CRC-32C */
	HostSha    *sha;			/* NULL if none needed */
} BackupHash;

extern void backup_hash_begin(BackupHash *hash, ManifestAlgorithm algorithm);
extern void backup_hash_update(BackupHash *hash, const void *data,
							   size_t len);

/* Sets digest.  Returns false if it could not be computed. */
extern bool backup_hash_end(BackupHash *hash,
							uint8_t digest[MANIFEST_DIGEST_MAX]);

#endif							/* ACCEL_BACKUP_HASH_H */
