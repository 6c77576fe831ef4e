/*
 * tar.h
 *	  Members of a tar archive, one after the other.
 *
 * Pure.  It takes a stream of bytes and gives members, their bytes and what is
 * wrong.  The formats are those of POSIX (ustar and pax) and of GNU tar, as
 * far as regular files and directories go.  PostgreSQL writes the first, with
 * sizes of GNU's where octal digits do not suffice.  Its size is fixed,
 * whatever the archive says.  After a header that is none, the next one that
 * is one is looked for.
 */
#ifndef ACCEL_BACKUP_TAR_H
#define ACCEL_BACKUP_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK			512
#define TAR_NAME_MAX		1024	/* with terminator */
#define TAR_EXTENSION_MAX	(64 * 1024) /* bytes of a long name, or of pax */

typedef enum TarKind
{
	TAR_FILE,
	TAR_DIRECTORY,
	TAR_LINK,					/* symbolic */
	TAR_OTHER					/* hard links, devices, sparse files */
} TarKind;

typedef struct TarMember
{
	uint64_t	offset;			/* of its first header, in the archive */
	uint64_t	size;			/* of its data */
	TarKind		kind;
	char		name[TAR_NAME_MAX]; /* without "./" before and "/" after it */
} TarMember;

typedef enum TarReason
{
	TAR_FINE,
	TAR_NO_HEADER,				/* what stands where one should be is none */
	TAR_BAD_EXTENSION,			/* a long name, or pax, that makes no sense */
	TAR_TRUNCATED,				/* the archive ends within a member */
	TAR_NO_END,					/* it ends without two blocks of zeros */
	TAR_TRAILING				/* something follows them */
} TarReason;

typedef struct TarDamage
{
	TarReason	reason;
	uint64_t	offset;			/* in the archive */
	uint64_t	skipped;		/* bytes from there to the next header */
} TarDamage;

typedef enum TarResult
{
	TAR_MEMBER,
	TAR_DAMAGE,					/* reading may go on */
	TAR_END						/* all of the archive was read */
} TarResult;

/* Reads the next bytes of the archive, fewer than len only at its end. */
typedef size_t (*TarReadFn) (void *arg, uint8_t *buffer, size_t len);

typedef struct TarReader
{
	TarReadFn	read;
	void	   *arg;
	uint64_t	offset;			/* in the archive, of what is read next */
	bool		input_ended;
	bool		ended;

	/* the present member */
	uint64_t	left;			/* of its data */
	uint32_t	padding;		/* after them */

	/* what is known of the next one */
	bool		has_block;		/* block is the next header */
	bool		has_name;		/* both by an extension */
	bool		has_size;
	bool		sparse;
	uint64_t	begin;			/* of its first header */
	uint64_t	size;
	char		name[TAR_NAME_MAX];

	uint8_t		block[TAR_BLOCK];
	uint8_t		extension[TAR_EXTENSION_MAX];
} TarReader;

extern void tar_begin(TarReader *reader, TarReadFn read, void *arg);

/* The next member, or what is wrong before it. */
extern TarResult tar_next(TarReader *reader, TarMember *member,
						  TarDamage *damage);

/*
 * Reads the next bytes of the present member, fewer than len only at their
 * end.
 */
extern size_t tar_read(TarReader *reader, uint8_t *buffer, size_t len);

#endif							/* ACCEL_BACKUP_TAR_H */
