/*
 * wal_name.h
 *	  The names of WAL files: timeline, segment number, kind.
 *
 * A name's digits mean a segment number only together with the segment size,
 * which a directory's files tell; until then their order is that of the
 * numbers all the same.
 */
#ifndef WAL_NAME_H
#define WAL_NAME_H

#include "verify/wal_format.h"

#pragma GCC visibility push(hidden)

#define WAL_NAME_DIGITS	24
#define WAL_NAME_SIZE	40		/* digits, the longest suffix, terminator */

/* The kinds before and after those of compressed or encrypted files. */
#define WAL_KIND_SEGMENT	0
#define WAL_KIND_PARTIAL	1
#define WAL_KIND_MISSING	UINT32_MAX	/* no file, a gap in a list */

typedef struct WalName
{
	uint32_t	timeline;
	uint32_t	high;			/* of the LSN, 32 bits */
	uint32_t	low;			/* segments within those 4 GB */
	uint32_t	kind;
} WalName;

/* The name of a segment by its number. */
extern WalName wal_name_of(uint32_t timeline, uint64_t segno,
						   uint32_t segment_size, uint32_t kind);

/*
 * Takes a file name apart: 24 upper-case hexadecimal digits, timeline not 0,
 * then nothing, ".partial" or what archivers append.  false: another file.
 */
extern bool wal_name_parse(const char *file_name, WalName *name);
extern void wal_name_print(const WalName *name, char file_name[WAL_NAME_SIZE]);

/* As it is, by the digits alone. */
extern uint64_t wal_name_segno(const WalName *name, uint32_t segment_size);

/*
 * false: no segment of this size has the name, or it would end beyond the last
 * LSN.
 */
extern bool wal_name_possible(const WalName *name, uint32_t segment_size);

/* By timeline, number, kind: less than, equal to, greater than zero. */
extern int	wal_name_compare(const WalName *a, const WalName *b);

/* The same, of numbers first; of one number the newest timeline first. */
extern int	wal_name_compare_segments(const WalName *a, const WalName *b);

#pragma GCC visibility pop

#endif							/* WAL_NAME_H */
