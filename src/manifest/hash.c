/*
 * hash.c
 *	  Computes the checksums of a manifest, CRC-32C by our kernels, SHA by the
 *	  host.
 */
#include <string.h>

#include "kernel/checksum.h"
#include "manifest/hash.h"

/*
 * Writes a CRC-32C as the server's manifests have it, which is the bytes of
 * memory.
 */
static void
store_crc(uint32_t crc, uint8_t *digest)
{
	memcpy(digest, &crc, sizeof(crc));
}

static HostShaAlgorithm
sha_of(ManifestAlgorithm algorithm)
{
	switch (algorithm)
	{
		case MANIFEST_SHA1:
			return HOST_SHA1;
		case MANIFEST_SHA224:
			return HOST_SHA224;
		case MANIFEST_SHA256:
			return HOST_SHA256;
		case MANIFEST_SHA384:
			return HOST_SHA384;
		default:
			return HOST_SHA512;
	}
}

void
backup_hash_begin(BackupHash *hash, ManifestAlgorithm algorithm)
{
	hash->algorithm = algorithm;
	hash->reg = CHECKSUM_CRC_INIT;
	hash->sha = NULL;
	if (algorithm != MANIFEST_NONE && algorithm != MANIFEST_CRC32C)
		hash->sha = host_sha_begin(sha_of(algorithm));
}

void
backup_hash_update(BackupHash *hash, const void *data, size_t len)
{
	if (hash->algorithm == MANIFEST_CRC32C)
		hash->reg = checksum_crc32c(hash->reg, data, len);
	else if (hash->sha != NULL)
		host_sha_add(hash->sha, data, len);
}

bool
backup_hash_end(BackupHash *hash, uint8_t digest[MANIFEST_DIGEST_MAX])
{
	HostSha    *sha = hash->sha;

	memset(digest, 0, MANIFEST_DIGEST_MAX);
	if (hash->algorithm == MANIFEST_CRC32C)
		store_crc(hash->reg ^ CHECKSUM_CRC_INIT, digest);
	hash->sha = NULL;
	return sha == NULL || host_sha_end(sha, digest);
}
