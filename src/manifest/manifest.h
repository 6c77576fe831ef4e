/*
 * manifest.h
 *	  What a backup manifest says, from the events of a JSON parser.
 *
 * The format is PostgreSQL's own, of the manual's chapter "Backup Manifest
 * Format".  It has version 1 (13 to 16) and 2 (from 17, with a system
 * identifier).  Pure, and of a fixed size whatever the manifest holds, since
 * files and ranges go to the caller one by one.  Anything that the format does
 * not know is an error, as it is for pg_verifybackup.
 */
#ifndef ACCEL_BACKUP_MANIFEST_H
#define ACCEL_BACKUP_MANIFEST_H

#include "manifest/names.h"

typedef enum ManifestAlgorithm
{
	MANIFEST_NONE,
	MANIFEST_CRC32C,
	MANIFEST_SHA224,
	MANIFEST_SHA256,
	MANIFEST_SHA384,
	MANIFEST_SHA512,
	MANIFEST_SHA1				/* of pgBackRest's alone */
} ManifestAlgorithm;

#define MANIFEST_DIGEST_MAX	64	/* bytes, of SHA-512 */
#define MANIFEST_OWN_DIGEST	32	/* SHA-256 of the manifest */

typedef struct ManifestFile
{
	char		path[BACKUP_PATH_MAX];
	uint64_t	size;
	ManifestAlgorithm algorithm;
	uint8_t		digest[MANIFEST_DIGEST_MAX];	/* as printed, CRCs too */
} ManifestFile;

typedef struct ManifestRange
{
	uint32_t	timeline;
	uint64_t	start;
	uint64_t	end;
} ManifestRange;

/* Caller-owned, no pointer to free. */
typedef struct ManifestReader
{
	/* the caller's */
	void		(*file) (void *arg, const ManifestFile *file);
	void		(*range) (void *arg, const ManifestRange *range);
	void	   *arg;

	/* what it says, at the end */
	uint32_t	version;
	bool		has_system;
	uint64_t	system;
	uint8_t		own[MANIFEST_OWN_DIGEST];
	int64_t		newest;			/* the latest modification of a file, in
								 * seconds since 1970, 0 if unknown */

	/* What is wrong with it, NULL if nothing so far. */
	const char *error;
	bool		unsupported;	/* its version is */

	/* where it stands */
	enum
	{
		MANIFEST_BEGIN, MANIFEST_TOP, MANIFEST_FILES, MANIFEST_FILE,
		MANIFEST_RANGES, MANIFEST_RANGE, MANIFEST_END
	}			place;
	int			field;			/* within place, -1 between two */
	uint32_t	top_seen;		/* fields, by bits */
	uint32_t	seen;			/* of the present file or range */
	ManifestFile now;
	ManifestRange range_now;
	char		checksum[2 * MANIFEST_DIGEST_MAX + 1];	/* as it came */
} ManifestReader;

extern void manifest_begin(ManifestReader *ctx);

/*
 * The events.  After an error they do nothing.  For a scalar, "number" says
 * that the token is one of JSON.  Otherwise it is a string, or a word (true,
 * false, null) with string false.
 */
extern void manifest_object_start(ManifestReader *ctx);
extern void manifest_object_end(ManifestReader *ctx);
extern void manifest_array_start(ManifestReader *ctx);
extern void manifest_array_end(ManifestReader *ctx);
extern void manifest_field(ManifestReader *ctx, const char *name);
extern void manifest_scalar(ManifestReader *ctx, const char *token,
							bool string, bool number);

/* Is it whole after the last event? */
extern bool manifest_finish(ManifestReader *ctx);

/* The name and the digest's length (bytes) of an algorithm. */
extern const char *manifest_algorithm_name(ManifestAlgorithm algorithm);
extern uint32_t manifest_digest_length(ManifestAlgorithm algorithm);

/* Reads an LSN, which must be all of the text. */
extern bool manifest_lsn(const char *token, uint64_t *lsn);

#endif							/* ACCEL_BACKUP_MANIFEST_H */
