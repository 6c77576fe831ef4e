/*
 * hash.c
 *	  Computes the checksums of a manifest, CRC-32C by our kernels, SHA by the
 *	  server.
 */
#include "compat.h"

#include "backup/hash.h"
#include "kernel/checksum.h"

/*
 * Writes a CRC-32C as the server's manifests have it, which is the bytes of
 * memory.
 */
static void
store_crc(uint32 crc, uint8 *digest)
{
	memcpy(digest, &crc, sizeof(crc));
}

static pg_cryptohash_type
crypto_type(ManifestAlgorithm algorithm)
{
	switch (algorithm)
	{
		case MANIFEST_SHA224:
			return PG_SHA224;
		case MANIFEST_SHA256:
			return PG_SHA256;
		case MANIFEST_SHA384:
			return PG_SHA384;
		default:
			return PG_SHA512;
	}
}

void
backup_hash_begin(BackupHash *hash, ManifestAlgorithm algorithm)
{
	hash->algorithm = algorithm;
	hash->reg = CHECKSUM_CRC_INIT;
	hash->crypto = NULL;
	hash->failed = false;
	if (algorithm == MANIFEST_NONE || algorithm == MANIFEST_CRC32C)
		return;
	hash->crypto = pg_cryptohash_create(crypto_type(algorithm));
	hash->failed = hash->crypto == NULL || pg_cryptohash_init(hash->crypto) < 0;
}

void
backup_hash_update(BackupHash *hash, const void *data, size_t len)
{
	if (hash->algorithm == MANIFEST_CRC32C)
		hash->reg = checksum_crc32c(hash->reg, data, len);
	else if (hash->crypto != NULL && !hash->failed)
		hash->failed = pg_cryptohash_update(hash->crypto, data, len) < 0;
}

bool
backup_hash_end(BackupHash *hash, uint8 digest[MANIFEST_DIGEST_MAX])
{
	memset(digest, 0, MANIFEST_DIGEST_MAX);
	if (hash->algorithm == MANIFEST_CRC32C)
		store_crc(hash->reg ^ CHECKSUM_CRC_INIT, digest);
	else if (hash->crypto != NULL)
	{
		if (!hash->failed)
			hash->failed = pg_cryptohash_final(hash->crypto, digest,
											   manifest_digest_length(hash->algorithm)) < 0;
		pg_cryptohash_free(hash->crypto);
		hash->crypto = NULL;
	}
	return !hash->failed;
}
