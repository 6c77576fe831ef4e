/*
 * name.h
 *	  Takes the names of WAL files apart into timeline, segment number and
 *	  kind.
 *
 * A name's digits mean a segment number only together with the segment size,
 * which a directory's files tell.  Until then their order is that of the
 * numbers all the same.
 */
#ifndef ACCEL_WAL_NAME_H
#define ACCEL_WAL_NAME_H

#include "decode/format.h"
#include "wal/format.h"

#define WAL_NAME_DIGITS	24
#define WAL_NAME_FOLDER	16		/* digits of a sub-folder's name */
#define WAL_NAME_DIGEST	20		/* bytes */
#define WAL_NAME_SIZE	120		/* folder, digits, digest, suffixes,
								 * terminator */

#define WAL_KIND_SEGMENT	0
#define WAL_KIND_PARTIAL	1
#define WAL_KIND_HISTORY	2	/* of a timeline, with high and low 0 */
#define WAL_KIND_BACKUP		3	/* what a base backup leaves */
#define WAL_KIND_MISSING	UINT32_MAX	/* no file, a gap in a list */

/* Where ".partial" stands in a name. */
typedef enum WalPartialPlace
{
	WAL_PARTIAL_NONE,
	WAL_PARTIAL_AFTER_DIGITS,	/* pgBackRest has the digest after it */
	WAL_PARTIAL_AFTER_DIGEST,
	WAL_PARTIAL_LAST			/* pg_receivewal, after the suffix */
} WalPartialPlace;

/* It is flat, and whatever is not known is zero. */
typedef struct WalName
{
	uint32_t	timeline;
	uint32_t	high;			/* of the LSN, 32 bits */
	uint32_t	low;			/* segments within those 4 GB */
	uint32_t	kind;

	/* how the file is named, all 0 if as the server does */
	uint8_t		suffix;			/* that of a DecodeFormat */
	uint8_t		partial;		/* WalPartialPlace */
	uint8_t		in_folder;		/* in one of timeline and high */
	uint8_t		has_digest;
	uint8_t		digest[WAL_NAME_DIGEST];	/* that pgBackRest appends */
	uint32_t	offset;			/* of a backup's start, in the segment */
} WalName;

/* Returns the name of a segment by its number. */
extern WalName wal_name_of(uint32_t timeline, uint64_t segno,
						   uint32_t segment_size, uint32_t kind);

/*
 * Takes a file name apart.  It has 24 upper-case hexadecimal digits, whose
 * timeline is not 0, then nothing, ".partial" or what archivers append.  The
 * folder whose name is the first 16 of those digits may stand before it.
 * Returns false if it is another file.
 */
extern bool wal_name_parse(const char *file_name, WalName *name);

/*
 * Does the same for what stands beside the segments, histories and backup
 * files.
 */
extern bool wal_name_parse_beside(const char *file_name, WalName *name);
extern void wal_name_print(const WalName *name, char file_name[WAL_NAME_SIZE]);

/* Is it the name of a folder of segments, as pgBackRest and barman make them? */
extern bool wal_name_is_folder(const char *file_name);

/* Returns what the suffix promises. */
extern DecodeFormat wal_name_format(const WalName *name);

/* Returns the number as it is, by the digits alone. */
extern uint64_t wal_name_segno(const WalName *name, uint32_t segment_size);

/* Returns where a segment starts, of a possible name. */
extern WalLsn wal_name_start(const WalName *name, uint32_t segment_size);

/*
 * Returns false if no segment of this size has the name, or if it would end
 * beyond the last LSN.
 */
extern bool wal_name_possible(const WalName *name, uint32_t segment_size);

/*
 * Compares by timeline, number, kind, then as the file is named.  Returns less
 * than, equal to or greater than zero.
 */
extern int	wal_name_compare(const WalName *a, const WalName *b);

/* Does the same by number first, of one number the newest timeline first. */
extern int	wal_name_compare_segments(const WalName *a, const WalName *b);

#endif							/* ACCEL_WAL_NAME_H */
